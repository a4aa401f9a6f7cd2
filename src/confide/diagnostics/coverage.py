"""Coverage of a fitted model's sets on held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta
from sklearn.utils.validation import check_is_fitted

from confide.base.notebook import Records, ShownRecord
from confide.base.validation import check_lengths, check_outcome
from confide.data.encoding import as_table, kinds_of
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.weights.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from confide.conformal.intervals import Intervals
    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Labels, Table


CONFIDENCE = 0.95
# Levels of `coverage_by_alpha`: 5 % to 95 %.
ALPHAS = tuple(percent / 100 for percent in range(95, 0, -5))


@dataclass(frozen=True)
class Coverage(ShownRecord):
    """Achieved coverage of one arm on held-out rows.

    Attributes
    ----------
    treatment : label
        The arm.
    n : int
        Number of its held-out rows.
    coverage : float
        Share of them whose outcome is in its set.
    low, high : float
        Exact 95 % interval (Clopper and Pearson) for the coverage of this fitted model.
    width : float
        Mean size of the sets: length, or number of values where the outcome is discrete. Infinite if one set is.
    infinite : float
        Share of the sets that are infinite; of one-sided sets, at the end that they have.
    bound : float or None
        Mean of the end that one-sided sets have; infinite if one is. None if sets have two ends.
    group : str
        The group that these rows belong to, such as "sex = f"; empty if they are all of the arm's.
    """

    treatment: Labels
    n: int
    coverage: float
    low: float
    high: float
    width: float
    infinite: float
    bound: float | None = None
    group: str = ""


def coverage_report(
    model: CounterfactualIntervals,
    X_test: Table,
    y_test: ArrayLike,
    treatment: Labels,
    by: Any = None,
    *,
    assignment: ArrayLike | None = None,
) -> list[Coverage]:
    """Return, per arm of the test rows, and per group if asked, how often the model's sets contain the outcome.

    The rows must be a hold-out set of randomised rows from the trial's population. On rows that fitted or calibrated
    the model, coverage only repeats the level; on observational rows it is that of confounded outcomes, which is not
    what the model promises. Choosing a method or a parameter by this report makes the winner's coverage look better
    than it is: report that on a second hold-out set.

    Coverage is that of `predict_set`, which the promises are about. For most methods it is that of `predict_interval`;
    where sets are unions, or subsets of ``outcome_values``, the interval is their hull and covers as much or more.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted.
    X_test : frame or (n, d) array
        Covariates.
    y_test : (n,) array
        Outcomes under the assigned treatment.
    treatment : label or (n,) array
        The assigned treatment: one label, or one label per row.
    by : str or sequence of str, default None
        Columns of X_test, comparisons such as ``"age > 70"``, or positions in an array, crossed: one record per arm
        and group. A model promises its level within groups only if it was fitted with them (``groups=``). At most 20
        groups.
    assignment : (n,) array, default None
        The probability of each row's assigned treatment, if the trial assigned with probabilities that differ (see
        `CounterfactualIntervals.predict_interval`). The rows themselves must then represent everybody: coverage is
        their plain mean.

    Returns
    -------
    list of Coverage
        One record per arm among the test rows, in the model's order; with ``by``, one per arm and group that has rows,
        an arm's groups one after the other.
    """
    measured = Measured.of(model, X_test, y_test, treatment, assignment=assignment)
    parts = [("", np.full(len(measured.inside), fill_value=True))] if by is None else _groups(by, X_test)
    return Records(
        measured.at(rows, label, group)
        for label, arm in measured.arms.items()
        for group, mine in parts
        if (rows := mine & arm).any()
    )


def _groups(by: Any, X: Table) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the name and the rows of each group that the columns make."""
    groups = Groups.of(by, X, np.full(len(as_table(X)), fill_value=True), kinds_of(X))
    codes = groups.codes(X)
    return [(name, codes == number) for number, name in enumerate(groups.names)]


@dataclass(frozen=True)
class Measured:
    """The sets of test rows, measured: whether each contains its outcome, its size and its ends.

    ``arms`` are the rows of each treatment that has some, in the model's order.
    """

    inside: NDArray[np.bool_]
    measure: NDArray[np.float64]
    hulls: Intervals
    side: str
    arms: dict[Label, NDArray[np.bool_]]

    @classmethod
    def of(
        cls,
        model: CounterfactualIntervals,
        X_test: Table,
        y_test: ArrayLike,
        treatment: Labels,
        *,
        assignment: ArrayLike | None,
    ) -> Measured:
        """Return the measured sets of test rows, which are as in `coverage_report`."""
        check_is_fitted(model)
        y = check_outcome(y_test)
        if not len(y):
            raise ValueError("there are no test rows: hold out some rows of the trial.")
        check_lengths(X_test=X_test, y_test=y)
        sets = model.predict_set(X_test, treatment, assignment=assignment)
        given = np.broadcast_to(np.asarray(treatment), len(y))
        arms = {label: mine for label in model.arms_ if (mine := given == label).any()}
        return cls(sets.contains(y), sets.measure, sets.hull(), model.side_, arms)

    def at(self, rows: NDArray[np.bool_], treatment: Label, group: str = "") -> Coverage:
        """Return the record of some rows."""
        low, high = clopper_pearson(int(self.inside[rows].sum()), int(rows.sum()))
        infinite, bound = self.hulls.infinite[rows], None
        if self.side != "both":
            ends = getattr(self.hulls, self.side)[rows]
            infinite, present = np.isinf(ends), ends[~np.isnan(ends)]
            bound = float(present.mean()) if len(present) else np.nan
        return Coverage(
            treatment=treatment,
            n=int(rows.sum()),
            coverage=float(self.inside[rows].mean()),
            low=low,
            high=high,
            width=float(self.measure[rows].mean()),
            infinite=float(infinite.mean()),
            bound=bound,
            group=group,
        )


def coverage_by_alpha(
    model: CounterfactualIntervals,
    X_test: Table,
    y_test: ArrayLike,
    treatment: Labels,
    alphas: Iterable[float] | None = None,
    *,
    assignment: ArrayLike | None = None,
) -> dict[float, list[Coverage]]:
    """Return, per level, how often the model's sets contain the outcome at that level.

    The model is not refitted (`CounterfactualIntervals.with_alpha`); two-stage methods and nested effects repeat their
    second regression per level. The same rows are used at all levels, so the shares are correlated, and each exact
    interval is valid for its own level only. Infinite sets are counted without a warning.

    Parameters
    ----------
    model, X_test, y_test, treatment
        As in `coverage_report`, the rows held out as there.
    alphas : floats, default 0.95, 0.9, …, 0.05
        Miscoverage levels, strictly between 0 and 1. Of the default, levels that the model does not support
        are left out (for instance, `PooledDR` needs ``alpha + floor`` below 1).
    assignment : (n,) array, default None
        The probability of each row's assigned treatment, as in `coverage_report`.

    Returns
    -------
    dict
        `coverage_report` by alpha, in the order given.
    """
    check_is_fitted(model)
    if alphas is None:
        alphas = [alpha for alpha in ALPHAS if model._why_not_at(alpha) is None]
    found: dict[float, list[Coverage]] = {}
    for alpha in alphas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the records count them
            if found:
                warnings.simplefilter("ignore", PopulationWarning)  # the rows are the same: one warning is enough
            found[alpha] = coverage_report(model.with_alpha(alpha), X_test, y_test, treatment, assignment=assignment)
    if not found:
        raise ValueError("alphas must have at least one level that the model supports, got none; use [0.1].")
    return found


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Return the exact 95 % interval for a probability: the values that no one-sided binomial test at 2.5 % rejects."""
    tail = (1 - CONFIDENCE) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.isf(tail, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)
