"""Comparison of all methods on held-out rows of the user's own trial."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from confide.base.advice import Advice
from confide.base.cache import Fits, sharing_fits
from confide.base.notebook import ShownRecord
from confide.data.splits import one_of_each, split_places
from confide.diagnostics.coverage import Coverage, coverage_report
from confide.diagnostics.weights import calibration_weights
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning, RefusalError, TrialAloneWarning
from confide.methods.promise import NOT_STATED, Promise
from confide.methods.registry import METHODS
from confide.model import CounterfactualIntervals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from confide.data.study import Study
    from confide.typing import Label, Level

__all__ = ["Compared", "compare", "compare_on_held_out"]

# Share of trial rows in the hold-out set; the others fit and calibrate.
HELD_OUT = 0.3
# Rows that must be left of it where not all represent people.
LEAST_HELD_OUT = 10


@dataclass(frozen=True)
class Compared(ShownRecord):
    """The result of one method on the held-out rows.

    Attributes
    ----------
    method : str
        Its name.
    promise : Promise
        The coverage it promises with its parameters.
    arms : list of Coverage
        Coverage with its exact interval and mean width, one record per treatment; empty if the method refuses.
    effective_sizes : dict
        Effective sample size n_eff of the calibration weights, by treatment; in two-stage methods the smaller one of
        the stages that have rows. If it is small, a few rows decide the widths, and the coverage too unless it is
        promised whatever the weights.
    refused : str or None
        Why it could not be fitted.
    by_group : list of Coverage
        Coverage by the groups that were named, one record per treatment and group; empty without any.
    """

    method: str
    promise: Promise
    arms: list[Coverage]
    effective_sizes: dict[Label, float]
    refused: str | None = None
    by_group: list[Coverage] = field(default_factory=list)

    @classmethod
    def of(
        cls, method: str, promise: Promise, model: CounterfactualIntervals, held_out: Study, by: Any = None
    ) -> Compared:
        """Return the result of a fitted model on the held-out rows, also by the groups of some columns."""
        stages: dict[Label, list[float]] = {label: [] for label in model.arms_}
        for weights in calibration_weights(model):
            stages[weights.treatment] += [weights.effective_size] * bool(len(weights.shares))
        sizes = {label: min(found, default=0.0) for label, found in stages.items()}
        rows = model, held_out.X, held_out.y, held_out.treatment
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the records count them
            warnings.simplefilter("ignore", PopulationWarning)  # these rows were drawn from the trial itself
            arms = coverage_report(*rows, assignment=held_out.assignment)
            by_group = [] if by is None else coverage_report(*rows, by, assignment=held_out.assignment)
        return cls(method, promise, arms, sizes, by_group=by_group)


def compare_on_held_out(
    study: Study,
    alpha: Level,
    seed: int,
    names: Iterable[str] = tuple(METHODS),
    models: Mapping[str, CounterfactualIntervals] | None = None,
    by: Any = None,
) -> Iterator[Compared]:
    """Yield the result of each method on the same hold-out set of trial rows, as `confide compare` shows it.

    Three tenths of the trial's rows are held out, or of its clusters, and methods are fitted on all other rows. If a
    method is chosen by these numbers, its coverage must be reported on other rows. A study with a target is refused.

    Parameters
    ----------
    study : Study
        The study.
    alpha : float
        The level of all methods.
    seed : int
        Decides the hold-out set and everything random in the methods.
    names, models, by
        As in `compare`.
    """
    yield from compare(*hold_out(study, seed), alpha, seed, names, models, by)


def on_held_out(model: CounterfactualIntervals, study: Study, seed: int, by: Any = None) -> Compared:
    """Return the result of a fitted model's own method and parameters, fitted again without the hold-out set."""
    name = model.method_
    try:
        parts = hold_out(study, seed)
    except RefusalError as error:
        return Compared(name, model.promise_, [], {}, error.args[0])
    return next(compare(*parts, model.alpha_, seed, [name], {name: model}, by))


def hold_out(study: Study, seed: int) -> tuple[Study, Study]:
    """Return the study without a hold-out set of the trial's rows, and the hold-out set.

    Whole clusters are held out, of which one row each is shown. If people were assigned with different probabilities,
    the hold-out set is thinned, so that each arm's rows represent everybody.
    """
    if study.target is not None:
        raise RefusalError("held-out rows are the trial's people, and the target's outcomes are not known.")
    rows = np.arange(len(study))
    in_trial = rows[study.trial]
    strata = _strata(study.treatment[study.trial])
    held, least = math.ceil(HELD_OUT * len(in_trial)), 1 if strata is None else len(np.unique(strata))
    if not least <= held <= len(in_trial) - least:
        raise RefusalError(
            Advice.of(
                f"{HELD_OUT:.0%} of the trial's {len(in_trial)} rows cannot be held out: both parts need {least} of "
                "them.",
                "Use a larger trial.",
            )
        )
    if study.cluster is None:
        _, test = train_test_split(in_trial, test_size=HELD_OUT, random_state=seed, stratify=strata)
    else:
        test = in_trial[split_places(len(in_trial), HELD_OUT, seed, study.cluster[in_trial])[1]]
    shown = test if study.cluster is None else test[one_of_each(study.cluster[test], seed)]
    shown = _thinned(study, shown, seed)
    if len(shown) < LEAST_HELD_OUT and len(shown) < len(test):
        raise RefusalError(
            Advice.of(
                f"of {len(test)} held-out rows {len(shown)} are left, one per cluster and as frequent as in the "
                "population: too few to show coverage.",
                "Use a larger trial.",
            )
        )
    return study.take(np.setdiff1d(rows, test)), study.take(shown)


def held_out_rows(study: Study) -> str:
    """Return in words which rows of the study `hold_out` shows."""
    said = f"On {HELD_OUT:.0%} of the trial's rows"
    if study.cluster is not None:
        said = f"On {HELD_OUT:.0%} of the trial's clusters, one row of each"
    if study.assigned_differently:
        said += (
            ", fewer of people who were likely to get their treatment, so that each treatment's rows are of everybody"
        )
    return said


def _thinned(study: Study, rows: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Return trial rows so that each arm's represent everybody: those assigned with large probability are thinned."""
    if study.assignment is None:
        return rows
    least = {label: study.received(label).min() for label in study.arms}
    keep = [least[label] for label in study.treatment[rows].tolist()] / study.assignment[rows]
    return np.asarray(rows[np.random.default_rng(seed).random(len(rows)) < keep])


def compare(
    study: Study,
    held_out: Study,
    alpha: Level,
    seed: int,
    names: Iterable[str] = tuple(METHODS),
    models: Mapping[str, CounterfactualIntervals] | None = None,
    by: Any = None,
) -> Iterator[Compared]:
    """Yield the result of each method, fitted on the study, on held-out rows of the trial.

    Known probabilities of the held-out rows' treatments are used. A method that cannot be fitted on these rows
    (`RefusalError`) is reported so; any other error is raised. Models that several methods learn from the same rows are
    fitted once: the results are those of separate fits.

    Parameters
    ----------
    study, held_out : Study
        The rows that methods are fitted on, and those that they are measured on.
    alpha : float
        The level of all methods.
    seed : int
        Decides everything random.
    names : iterable of str
        Names of methods, by default all; or of ``models``.
    models : mapping of str to CounterfactualIntervals, default None
        Unfitted models with other parameters, by the name to report them under; level and seed are set here.
    by : str or sequence of str, default None
        Columns for coverage by group, as in `coverage_report`; only models with these ``groups`` promise their level
        there.
    """
    fits = Fits()
    for name in names:
        own = (models or {}).get(name)
        model = CounterfactualIntervals(name) if own is None else clone(own)
        if not isinstance(model.method, str):
            model.method.set_params(alpha=None, random_state=None)
        model.set_params(alpha=alpha, random_state=seed)
        if model.effect == "bonferroni":
            model.set_params(arm_alpha=alpha)  # effects are not asked for: nothing is fitted at another level
        with sharing_fits(fits), warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
            warnings.simplefilter("ignore", TrialAloneWarning)
            try:
                model.fit(study)
                refused = None
            except RefusalError as error:
                refused = error.args[0]
        # Nothing is yielded inside the block: whoever asks would be in it, with its cache and without its warnings.
        if refused is None:
            yield Compared.of(name, model.promise_, model, held_out, by)
        else:
            yield Compared(name, METHODS[name].promise if name in METHODS else NOT_STATED, [], {}, refused)


def _strata(treatment: NDArray[Any]) -> NDArray[Any] | None:
    """Return the labels to stratify by, or None if a label has a single row."""
    return treatment if np.unique(treatment, return_counts=True)[1].min() > 1 else None
