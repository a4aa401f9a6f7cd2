"""What to look at before trusting a number."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from confide.advice import give_advice
from confide.checks import check_lengths, check_outcome
from confide.conformal.quantile import check_weights
from confide.confounding import LEAST_ROWS, ConfoundingTest, hidden_confounding_test, log_losses, out_of_fold
from confide.intervals import InfiniteIntervalWarning
from confide.learners import FOLDS, logistic_on_splines
from confide.methods.registry import METHODS
from confide.population import PopulationWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from confide.conformal.quantile import Calibration
    from confide.counterfactual import CounterfactualIntervals
    from confide.methods._arm import ArmEstimator
    from confide.methods.registry import Method
    from confide.splits import Rows

__all__ = [
    "ArmDiagnostics",
    "ConfoundingTest",
    "Coverage",
    "Weights",
    "calibration_weights",
    "coverage_by_alpha",
    "coverage_report",
    "effective_sample_size",
    "hidden_confounding_test",
]

# Rows of each source that a fitted model keeps, an arm, to tell the sources apart; and rows that are asked for sets.
SAMPLE_ROWS = 2000
ASKED_ROWS = 200
CONFIDENCE = 0.95
# Levels of `coverage_by_alpha`: 5 % to 95 %.
ALPHAS = tuple(percent / 100 for percent in range(95, 0, -5))
# Relative difference below which weights are alike: they are differences of a cumulative sum.
ALIKE = 1e-9


def effective_sample_size(weights: ArrayLike) -> float:
    """Return n_eff = (Σw)²/Σw²: how many rows of equal weight the weights are worth.

    Parameters
    ----------
    weights : (k,) array
        Finite, at least 0, and not all 0. A common factor changes nothing.
    """
    values = check_weights(weights, "weights")
    if values.ndim != 1 or not values.any():
        raise ValueError(f"weights must be one vector of which at least one is above 0, got shape {values.shape}.")
    values = values / values.max()  # so that squares neither overflow nor vanish
    return float(values.sum() ** 2 / (values**2).sum())


@dataclass(frozen=True)
class Coverage:
    """Achieved coverage of one arm on held-out rows.

    Attributes
    ----------
    treatment : label
        The arm.
    n : int
        Its held-out rows.
    coverage : float
        Share of them whose outcome is in its set.
    low, high : float
        Exact 95 % interval (Clopper and Pearson) for the coverage of this fitted model.
    width : float
        Mean size of the sets: length, or number of values where the outcome is discrete. Infinite if one set is.
    infinite : float
        Share of the sets that are infinite.
    """

    treatment: Any
    n: int
    coverage: float
    low: float
    high: float
    width: float
    infinite: float


def coverage_report(model: CounterfactualIntervals, X_test: Any, y_test: Any, treatment: Any) -> list[Coverage]:
    """Return, for each arm among the test rows, how often the model's sets contain the outcome.

    The rows must be held out, and randomised rows of the trial's population: rows that fitted or calibrated the model
    say what was asked for, and observational rows say how the model does on confounded outcomes, which is not what it
    promises. Choosing a method or a parameter by this report makes the winner's own coverage look better than it is:
    report that on rows held out once more.

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
        The assigned treatment: one label, or one label a row.

    Returns
    -------
    list of Coverage
        One record an arm that the test rows have, in the model's order.
    """
    check_is_fitted(model)
    y = check_outcome(y_test)
    if not len(y):
        raise ValueError("there are no test rows: hold out some rows of the trial.")
    check_lengths(X_test=X_test, y_test=y)
    labels = np.asarray(treatment)
    sets = model.predict_set(X_test, treatment)
    inside, measure, infinite = sets.contains(y), sets.measure, sets.hull().infinite
    records = []
    for label in model.arms_:
        rows = np.broadcast_to(labels == label, len(y))
        if rows.any():
            low, high = clopper_pearson(int(inside[rows].sum()), int(rows.sum()))
            records.append(
                Coverage(
                    treatment=label,
                    n=int(rows.sum()),
                    coverage=float(inside[rows].mean()),
                    low=low,
                    high=high,
                    width=float(measure[rows].mean()),
                    infinite=float(infinite[rows].mean()),
                )
            )
    return records


def coverage_by_alpha(
    model: CounterfactualIntervals, X_test: Any, y_test: Any, treatment: Any, alphas: Iterable[float] | None = None
) -> dict[float, list[Coverage]]:
    """Return, for each level, how often the model's sets contain the outcome at that level.

    The model is not fitted anew (`CounterfactualIntervals.with_alpha`); the methods of two stages and nested effects
    regress once more a level. The same rows serve all levels, so that the shares rise and fall together, and each exact
    interval is for its own level alone. Infinite sets are counted and not warned of.

    Parameters
    ----------
    model, X_test, y_test, treatment
        As in `coverage_report`, the rows held out as there.
    alphas : floats, default 0.95, 0.9, …, 0.05
        Miscoverage levels, strictly between 0 and 1. Of the default, those are left out that the model's parameters
        leave no room for (``alpha + floor`` of `PooledDR` must be below 1).

    Returns
    -------
    dict
        `coverage_report` by alpha, in the order given.
    """
    check_is_fitted(model)
    if alphas is None:
        alphas = [alpha for alpha in ALPHAS if model.why_not_at(alpha) is None]
    found: dict[float, list[Coverage]] = {}
    for alpha in alphas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the records count them
            if found:
                warnings.simplefilter("ignore", PopulationWarning)  # the rows are the same: said once
            found[alpha] = coverage_report(model.with_alpha(alpha), X_test, y_test, treatment)
    if not found:
        raise ValueError("alphas must have at least one level that the model takes, got none: give one, such as [0.1].")
    return found


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Return the exact 95 % interval for a probability: what neither one-sided binomial test at 2.5 % rejects."""
    tail = (1 - CONFIDENCE) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.isf(tail, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


@dataclass(frozen=True)
class Weights:
    """Weights of the rows that calibrate one arm, in one stage of its method.

    Attributes
    ----------
    treatment : label
        The arm.
    stage : {"calibration", "first stage"}
        Whether the last quantile is over these rows, or the first stage's in methods of two stages.
    shares : (k,) array
        Share of each row in their weight, heaviest first; empty where no row calibrates, all 0 where none has weight.
    """

    treatment: Any
    stage: str
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, treatment: Any, stage: str, calibration: Calibration) -> Weights:
        """Return the weights of a calibration."""
        weights = np.sort(np.diff(calibration.cumulative))[::-1]
        return cls(treatment, stage, weights / weights.sum() if weights.any() else weights)

    @property
    def effective_size(self) -> float:
        """n_eff of the weights; 0 where there is none."""
        return effective_sample_size(self.shares) if self.shares.any() else 0.0

    @property
    def largest_share(self) -> float:
        """Share of the heaviest row; 0 where there is none."""
        return float(self.shares[0]) if len(self.shares) else 0.0

    @property
    def alike(self) -> bool:
        """Whether all rows weigh the same."""
        return bool(len(self.shares) and self.shares[0] - self.shares[-1] <= ALIKE * self.shares[0])


def calibration_weights(model: CounterfactualIntervals) -> list[Weights]:
    """Return the weights of the rows that calibrate a fitted model, arm by arm.

    A method of two stages has two records an arm: its first stage's, and its last quantile's.
    """
    check_is_fitted(model)
    return [weights for label, arm in model.arms_.items() for weights in _arm_weights(label, arm)]


def _arm_weights(label: Any, arm: ArmEstimator) -> list[Weights]:
    """Return the weights of an arm's last quantile and, in methods of two stages, before it of the first stage's."""
    first_stage = getattr(arm, "first_stage_", None)
    before = [] if first_stage is None else [Weights.of(label, "first stage", first_stage)]
    return [*before, Weights.of(label, "calibration", arm.calibration_)]


@dataclass(frozen=True)
class ArmSample:
    """Rows of one arm that a fitted model keeps for its diagnostics, at most `SAMPLE_ROWS` of each source."""

    observational: Rows
    trial: Rows
    counts: tuple[int, int]

    @classmethod
    def of(cls, rows: Rows, trial: NDArray[np.bool_], seed: int) -> ArmSample:
        """Draw the sample at random from an arm's rows."""
        rng = np.random.default_rng(seed)
        sources = np.flatnonzero(~trial), np.flatnonzero(trial)
        observational, in_trial = (rows[rng.permutation(index)[:SAMPLE_ROWS]] for index in sources)
        return cls(observational, in_trial, (len(sources[0]), len(sources[1])))


@dataclass(frozen=True)
class ArmDiagnostics:
    """What there is to know about one fitted arm, in plain numbers and words.

    Attributes
    ----------
    treatment : label
        The arm.
    method : str
        The method's name, or the estimator's class where it has none.
    promise : str
        What the method may promise; α is ``alpha``.
    alpha : float
        The level.
    observational, trial : int
        Rows of each source.
    calibration : int
        Rows that the last quantile is over.
    effective_size : float
        n_eff of their weights: the number of rows where all weigh the same.
    largest_share : float
        Share of the heaviest row in their weight.
    first_stage_size : float or None
        n_eff of the first stage's weights, in methods of two stages.
    overlap : float or None
        How alike trial and observational rows are in covariates and outcome: 1 if no classifier tells them apart, 0 if
        it always does. It is 2∫pq/(p+q), p and q the sources' densities: twice the chance that a row of either
        source, both being equally frequent, is taken for the other's, by a cross-validated classifier. None with
        fewer than 10 rows of a source.
    log_loss, log_loss_without_outcome : float or None
        Cross-validated log loss of telling the sources apart from covariates and outcome, and from covariates alone.
        The difference is what the outcome says beyond the covariates. It is no test of hidden confounding, and
        `hidden_confounding_test` may find otherwise.
    log_loss_error : float or None
        Standard error of the difference.
    clipped : int or None
        Rows of fit at which the ratio is at one of its limits; None without a ratio.
    infinite : float
        Share of infinite intervals at a sample of the trial's covariates.
    at_edge : float or None
        Share of sets there that touch the edge of the searched outcomes; None where the method searches none, or the
        edge is the declared ``outcome_range``.
    advice : tuple of str
        When not to trust the arm, and what to do; empty if no figure calls for a word.
    """

    treatment: Any
    method: str
    promise: str
    alpha: float
    observational: int
    trial: int
    calibration: int
    effective_size: float
    largest_share: float
    first_stage_size: float | None
    overlap: float | None
    log_loss: float | None
    log_loss_without_outcome: float | None
    log_loss_error: float | None
    clipped: int | None
    infinite: float
    at_edge: float | None
    advice: tuple[str, ...] = ()


def diagnose(label: Any, arm: ArmEstimator, sample: ArmSample, X: NDArray[np.float64], seed: int) -> ArmDiagnostics:
    """Return the diagnostics of a fitted arm, asked for sets at some of the trial's covariates."""
    *first_stage, weights = _arm_weights(label, arm)
    ratio = getattr(arm, "ratio_", None)
    hulls = arm.predict_interval(X[:ASKED_ROWS])
    at_edge = None
    if arm.searches() and arm.outcome_range_ is None:
        low, high = arm.grid_[[0, -1]]
        at_edge = float(np.mean((hulls.lower <= low) | (hulls.upper >= high)))
    method, promise = name_and_promise(arm)
    record = ArmDiagnostics(
        treatment=label,
        method=method,
        promise=promise,
        alpha=float(arm.alpha),
        observational=sample.counts[0],
        trial=sample.counts[1],
        calibration=len(weights.shares),
        effective_size=weights.effective_size,
        largest_share=weights.largest_share,
        first_stage_size=first_stage[0].effective_size if first_stage else None,
        clipped=getattr(ratio, "clipped_", None),
        infinite=float(hulls.infinite.mean()),
        at_edge=at_edge,
        **_tell_apart(sample, seed),
    )
    return replace(record, advice=give_advice(record, arm))


def _tell_apart(sample: ArmSample, seed: int) -> dict[str, Any]:
    """Return how well the sources are told apart on held-out rows, with and without the outcome."""
    names = ("overlap", "log_loss", "log_loss_without_outcome", "log_loss_error")
    sources = (sample.observational, sample.trial)
    if min(len(rows) for rows in sources) < LEAST_ROWS:
        return dict.fromkeys(names)
    rows = np.concatenate([rows.joined() for rows in sources])
    is_trial = np.repeat([False, True], [len(rows) for rows in sources])
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, is_trial))
    with_outcome, without = (
        out_of_fold({"splines": logistic_on_splines()}, columns, is_trial, folds, log_losses)
        for columns in (rows, rows[:, :-1])
    )
    # As if both sources were equally frequent: odds times n/m.
    odds = np.clip(with_outcome, 1e-6, 1 - 1e-6)
    odds = odds / (1 - odds) * np.sum(~is_trial) / np.sum(is_trial)
    taken_for_trial = odds / (1 + odds)
    overlap = np.mean(taken_for_trial[~is_trial]) + np.mean(1 - taken_for_trial[is_trial])
    losses = [log_losses(is_trial, probability) for probability in (with_outcome, without)]
    error = np.std(losses[0] - losses[1], ddof=1) / np.sqrt(len(is_trial))
    return dict(zip(names, map(float, (min(overlap, 1.0), losses[0].mean(), losses[1].mean(), error)), strict=True))


def name_and_promise(arm: ArmEstimator) -> tuple[str, str]:
    """Return the name of a fitted arm's method, or its class where it has none, and what it may promise."""
    known = registered(arm)
    return (type(arm).__name__, "not stated") if known is None else (known.name, _promise(known, arm))


def registered(arm: ArmEstimator) -> Method | None:
    """Return the method in METHODS that a fitted arm is; None for an estimator that is none of them."""
    params = arm.get_params(deep=False)
    looks_at = getattr(getattr(arm, "ratio_", None), "on", None)
    found = {}
    for record in METHODS.values():
        named = {name: value for name, value in record.parameters.items() if name != "ratio"}
        own = record.estimator == f"{type(arm).__module__}:{type(arm).__name__}"
        if own and all(params[name] == value for name, value in named.items()):
            found[record.ratio_on or ("y" if "ratio" in record.parameters else None)] = record
    return found.get(looks_at, found.get(None))


def _promise(record: Method, arm: ArmEstimator) -> str:
    """Return what the method may promise with this arm's parameters."""
    holds_intervals = record.promise.startswith("≥ 1-2α")
    if holds_intervals and getattr(arm, "refit", False):
        return "none proved with refit=True"
    if getattr(arm, "ratio_rows", "fit") == "all":
        return "none proved with ratio_rows='all'"
    levels = getattr(arm, "levels", None)
    if levels is None or not record.promise.startswith("≥"):
        return record.promise
    first, second = (f"{float(level):g}" for level in levels)
    return record.promise.replace("1-2α", f"1-{first}-{second}").replace("1-α", f"1-{second}")
