"""What all methods share: one arm's rows, checked parameters, points, intervals and sets."""

from __future__ import annotations

import copy
import inspect
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.checks import (
    all_or_nothing,
    check_lengths,
    check_outcome,
    check_outcome_range,
    check_outcome_values,
    check_trial,
)
from confide.conformal.quantile import Calibration, check_alpha, check_weights
from confide.conformal.transductive import outcome_grid, rows_at_once, solve_on_grid, widened_range
from confide.intervals import InfiniteIntervalWarning, Intervals, IntervalSets, count_rows, shortage
from confide.learners import check_base_on, seeded
from confide.ratio import check_ratio, check_seen
from confide.scores import AbsoluteResidual, Grounded, Score, check_score, raised_scores
from confide.sharing import fit_once, predict_once
from confide.splits import Rows, check_shares, join, spawn_seeds, split, split_places

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Rows of both sources that an arm cannot do without.
LEAST_ROWS = 2
# Candidate outcomes a row of methods that search, before the changes between them are bisected.
GRID = 256


@dataclass(frozen=True)
class Arm:
    """The rows of one treatment, by source, and how its parts are seeded."""

    trial: Rows
    observational: Rows
    population: NDArray[np.float64] | None
    shares: tuple[float, float]
    split_seed: int
    base_seed: int
    ratio_seed: int

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """The outcomes of both sources."""
        return np.concatenate([self.observational.y, self.trial.y])

    def split_observational(self) -> tuple[Rows, Rows]:
        """Return the observational rows that fit and those that calibrate."""
        return split(self.observational, self.shares[0], self.split_seed)

    def split_trial(self) -> tuple[Rows, Rows]:
        """Return the trial's rows that fit and those that calibrate."""
        return split(self.trial, self.shares[1], self.split_seed)


class ArmEstimator(BaseEstimator, ABC):
    """Prediction intervals for one arm; a method fills in `_fit`.

    `_fit` sets ``score_``, ``base_`` and ``calibration_`` (the methods with weights also ``ratio_``), and
    names what it cannot do without in ``_needs`` and what it calibrates on in ``_calibrates_on``.
    """

    _needs: ClassVar[dict[str, int]]
    _calibrates_on: ClassVar[str]
    # Whether all new rows share an offset; a method that says so must agree with `offsets`.
    _shares_offset: ClassVar[bool] = False

    # The parameters that all methods have.
    base: Any
    score: Any
    calibration: Any
    alpha: float
    outcome_range: tuple[float, float] | None
    outcome_values: Any
    random_state: Any
    # What fit learns.
    score_: Score
    base_: Any
    ratio_: Any
    calibration_: Calibration
    grid_: NDArray[np.float64]
    outcome_range_: tuple[float, float] | None
    outcome_values_: NDArray[np.float64] | None
    n_features_in_: int

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Refuse a parameter that the class lacks, and list those it has."""
        known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        unknown = [name for name in params if name not in known]
        if unknown:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}; it has: {', '.join(known)}.")
        return object.__new__(cls)

    def fit(self, X: Any, y: Any, *, trial: Any, population: Any = None) -> Self:
        """Fit on one arm's rows.

        Parameters
        ----------
        X : (n, d) array
            Covariates, as numbers; NaN marks a missing one.
        y : (n,) array
            Outcomes under this arm's treatment.
        trial : (n,) boolean array
            True for rows of the randomised trial, False for observational rows.
        population : (N, d) array, default None
            Covariates of the whole observational table, all arms. Only `WCP` looks at it.
        """
        with all_or_nothing(self):
            check_alpha(self.alpha)
            shares = check_shares(self.calibration)
            X = validate_data(self, X, ensure_min_samples=LEAST_ROWS, ensure_all_finite="allow-nan", dtype=np.float64)
            y, trial = check_outcome(y), check_trial(trial)
            check_lengths(X=X, y=y, trial=trial)
            if self.outcome_range is not None and self.outcome_values is not None:
                raise ValueError("give outcome_range or outcome_values, not both: the values are a range already.")
            self.outcome_range_ = check_outcome_range(self.outcome_range, y)
            self.outcome_values_ = check_outcome_values(self.outcome_values, y)
            if self.outcome_values_ is not None:
                self.outcome_range_ = (float(self.outcome_values_[0]), float(self.outcome_values_[-1]))
            seeds = spawn_seeds(self.random_state, 3)
            rows = Rows(X, y)
            arm = Arm(rows[trial], rows[~trial], population, shares, *seeds)
            self._check_needed(trial)
            self.score_ = check_score(self.score)
            self._fit(arm)
        self._warn_of_shortage()
        return self

    def _needed(self) -> dict[str, int]:
        """Return how many rows of each source the method cannot do without."""
        return self._needs

    def _check_needed(self, trial: NDArray[np.bool_]) -> None:
        """Raise where the arm has too few rows of a source."""
        found = {"trial": int(trial.sum()), "observational": int((~trial).sum())}
        for source, least in self._needed().items():
            if found[source] < least:
                raise ValueError(
                    f"{type(self).__name__} needs at least {least} {source} row{'s' * (least > 1)}, "
                    f"got {found[source]}."
                )

    def learning_rows(self, trial: Any) -> NDArray[np.bool_]:
        """Return which of an arm's rows calibrate nothing, from their sources and the seed alone.

        Whatever treats rows before the arm sees them, such as an encoder, may be learnt from these rows and no others.
        ``random_state`` must be a number, or `fit` would draw another split.
        """
        trial = check_trial(trial)
        if len(trial) < LEAST_ROWS:
            raise ValueError(f"an arm needs at least {LEAST_ROWS} rows, got n_samples={len(trial)}.")
        self._check_needed(trial)
        places = {"trial": np.flatnonzero(trial), "observational": np.flatnonzero(~trial)}
        shares = dict(zip(("observational", "trial"), check_shares(self.calibration), strict=True))
        split_seed = spawn_seeds(self.random_state, 3)[0]
        learns = np.zeros(len(trial), dtype=bool)
        for part in self._learns_from(len(places["observational"])):
            source, _, only_fit = part.partition(" ")
            mine = places[source]
            learns[mine[split_places(len(mine), shares[source], split_seed)[0]] if only_fit else mine] = True
        return learns

    @abstractmethod
    def _learns_from(self, observational: int) -> tuple[str, ...]:
        """Return the parts of the arm that calibrate nothing, given how many observational rows there are.

        A part is a source, "trial" or "observational", or its fit rows, "trial fit" or "observational fit".
        """

    @abstractmethod
    def _fit(self, arm: Arm) -> None:
        """Learn the base model and the weights, and keep the calibration."""

    def _learn(self, rows: Rows, arm: Arm) -> Any:
        return self.score_.learn(self.base, rows, self._base_alpha(), arm.base_seed)

    def _learn_on(self, base_on: str, observational: Rows, trial: Rows, arm: Arm) -> Any:
        """Return the base model learnt from the rows that ``base_on`` names; "weighted" needs ``ratio_``."""
        if check_base_on(base_on) == "trial":
            return self._learn(trial, arm)
        if base_on == "weighted":
            return self._learn(self._weighted(observational, trial), arm)
        model = self._learn(observational, arm)
        return model if base_on == "observational" else Grounded(model, self.score_).fit(trial)

    def _weighted(self, observational: Rows, trial: Rows) -> Rows:
        """Return both sources' rows, weighing r̂/(n + m·r̂), of mean 1: as a sample of the trial's population."""
        check_seen(self.ratio_, "base_on='weighted'", "base_on='grounded'")
        rows = observational + trial
        ratio = self._weigh(rows.X, rows.y)
        weight = ratio / (len(observational) + len(trial) * ratio)
        if not weight.any():
            raise ValueError(
                f"the ratio is zero on all {len(rows)} rows the base model learns from. Check the ratio, or use "
                "base_on='grounded'."
            )
        return Rows(rows.X, rows.y, weight / weight.mean())

    def _fit_on_trial_alone(self, arm: Arm) -> None:
        """Do what `naive` does, for want of observational rows, and say so."""
        name = type(self).__name__
        warnings.warn(
            f"{name} found {len(arm.observational)} observational rows and calibrates on the trial alone, as naive "
            "does. Give observational rows of this treatment, or use naive.",
            stacklevel=6,
        )
        fit, calibration = arm.split_trial()
        self.base_ = self._learn(fit, arm)
        self.calibration_ = self._calibrate(calibration)

    def _search_grid(self, arm: Arm) -> NDArray[np.float64]:
        """Return the candidate outcomes of methods that search."""
        return outcome_grid(arm.outcomes, widened_range(arm.outcomes, self.outcome_range_), GRID)

    def _learn_ratio(self, ratio: Any, numerator: Any, denominator: Any, arm: Arm) -> Any:
        return fit_once(seeded(check_ratio(ratio), arm.ratio_seed), numerator, denominator)

    def _calibrate(self, rows: Rows, *, weighted: bool = False) -> Calibration:
        """Return the calibration on the rows, weighted by ``ratio_`` where the method weighs."""
        scores = self._calibration_scores(rows)
        if not weighted:
            return Calibration.of(scores)
        weights = self._weigh(rows.X, rows.y)
        if not weights.any():
            raise ValueError(
                f"the ratio is zero on all {len(rows)} calibration rows, so nothing can be calibrated. "
                "Check the ratio, or whether trial and observational rows overlap at all."
            )
        return Calibration.of(scores, weights)

    def _calibration_scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of rows, raised by what rounding may add to a new row's."""
        return raised_scores(self.score_, self.base_, rows, self._predict_base(rows.X))

    def _weigh(self, X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> NDArray[np.float64]:
        """Return the fitted ratio at covariates and outcomes."""
        return check_weights(self.ratio_.predict(join(X, y)), "the ratio")

    def shortage(self) -> str | None:
        """Return why all intervals are infinite, and what would help; None where they need not be."""
        if np.isfinite(self.calibration_.quantile(self._quantile_alpha(), 1.0)):
            return None
        rows = count_rows(len(self.calibration_.scores))
        return shortage(self._quantile_alpha(), rows, self._calibrates_on, f"All intervals are {self._reach()}")

    def _reach(self) -> str:
        """Return what an interval is where nothing bounds it."""
        return "infinite" if self.outcome_range_ is None else "as wide as the outcome"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return point predictions of the outcome under this arm's treatment."""
        X = self._check_new(X)
        if not len(X):
            return np.empty(0)
        points = self.score_.point(self._predict_base(X))
        return points if self.outcome_range_ is None else np.clip(points, *self.outcome_range_)

    def predict_interval(self, X: Any) -> Intervals:
        """Return one interval a row, the hull of its set; an end may be infinite."""
        return self.predict_set(X).hull()

    def predict_set(self, X: Any) -> IntervalSets:
        """Return one prediction set a row: intervals, or a subset of ``outcome_values``."""
        X = self._check_new(X)
        values = self.outcome_values_
        if not len(X):
            return IntervalSets(np.empty(0), np.empty(0), np.zeros(1, dtype=np.intp), values is not None)
        if values is None:
            return self._sets(X)
        step = rows_at_once(1, X.shape[1] + 1)
        chunks = [X[start : start + step] for start in range(0, len(X), step)]
        return IntervalSets.of_values(values, np.concatenate([self._members(chunk, values) for chunk in chunks]))

    def _sets(self, X: NDArray[np.float64]) -> IntervalSets:
        """Return the sets of a continuous outcome: here one interval a row."""
        quantile = self.calibration_.quantile(self.alpha, self._test_weight(X))
        return IntervalSets.of(self._clip(self.score_.interval(self._predict_base(X), quantile)))

    def _members(self, X: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each row's set has each value, one column a value, by the membership rule."""
        prediction = self._predict_base(X)
        return np.column_stack([self._is_member(X, np.full(len(X), value), prediction) for value in values])

    def _is_member(
        self, X: NDArray[np.float64], y: NDArray[np.float64], prediction: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return whether each outcome is in its row's set, by the membership rule."""
        scores = self.score_.score(prediction, y)
        return self.calibration_.contains(scores, self.alpha, self._test_weight(X, y))

    def _search(self, X: NDArray[np.float64], known: ArrayLike, tolerance: float) -> IntervalSets:
        """Return the sets by asking `_is_member` over ``grid_``, in bounded memory.

        ``known`` is an offset that is certainly inside; ``tolerance`` a share of the searched range.
        """

        def solve(X: NDArray[np.float64]) -> IntervalSets:
            prediction = self._predict_base(X)
            return solve_on_grid(
                lambda rows, y: self._is_member(X[rows], y, prediction[rows]),
                self.score_.interval(prediction, np.asarray(known)),
                self.grid_,
                tolerance * float(np.ptp(self.grid_)),
            )

        step = rows_at_once(len(self.grid_) + 2, X.shape[1] + 1)
        return IntervalSets.concatenate([solve(X[start : start + step]) for start in range(0, len(X), step)])

    def why_no_offset(self) -> str | None:
        """Return why intervals are not `anchors` moved apart by `offsets`; None where they are."""
        if not self._shares_offset:
            return "with this method each new row has an offset of its own, or none"
        if self.outcome_values_ is not None:
            return "the outcome is discrete: a set of values has no offset"
        if not hasattr(self.score_, "anchors"):
            return f"with score={self.score!r} each new row has an offset of its own"
        return None

    def has_one_width(self) -> bool:
        """Return whether all new rows have intervals of one width, but where the outcome's bounds cut them."""
        return self._shares_offset and self.outcome_values_ is None and type(self.score_) is AbsoluteResidual

    def anchors(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two ends a row that `offsets` move apart (by `confide.intervals.moved_apart`), at any level."""
        ends: tuple[NDArray[np.float64], NDArray[np.float64]] = self.score_.anchors(self._predict_base(X))  # type: ignore[attr-defined]
        return ends

    def offsets(self) -> tuple[float, float]:
        """Return how far all intervals reach below and above their `anchors` at the arm's level; may be infinite."""
        offset = float(self.calibration_.quantile(self.alpha))
        return offset, offset

    def with_alpha(self, alpha: float) -> Self:
        """Return a copy at another level; the base model and the ratio are kept."""
        other = self.at(alpha)
        other._warn_of_shortage()  # noqa: SLF001  (our own copy)
        return other

    def at(self, alpha: Any) -> Self:
        """Return what `with_alpha` returns, without a warning: for callers that warn in their own words."""
        check_is_fitted(self)
        other = copy.copy(self)
        other.set_alpha(alpha)
        return other

    def why_not_at(self, alpha: Any) -> str | None:  # noqa: ARG002
        """Return why the arm's parameters leave no room for a level between 0 and 1; None where they do."""
        return None

    def set_alpha(self, alpha: Any) -> None:
        """Set the level, and whatever moves with it."""
        check_alpha(alpha)
        self.alpha = alpha

    def _warn_of_shortage(self) -> None:
        if shortage := self.shortage():
            warnings.warn(shortage, InfiniteIntervalWarning, stacklevel=3)

    def _predict_base(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the base model predicts, which must be numbers."""
        prediction: NDArray[np.float64] = np.asarray(predict_once(self.base_, X), dtype=np.float64)
        if np.isnan(prediction).any():
            raise ValueError(
                f"the base model predicts NaN for {np.isnan(prediction).any(axis=-1).sum()} rows. "
                "Use a base model that always predicts a number."
            )
        return prediction

    def _test_weight(self, X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> ArrayLike:  # noqa: ARG002
        """Return the weight of new rows, were y their outcomes: 1, or one a row where the method weighs."""
        return 1.0

    def searches(self) -> bool:
        """Return whether sets are sought among the outcomes of ``grid_``, and so end where it does."""
        return False

    def _base_alpha(self) -> Any:
        """Return the level that a base model of quantiles is trained for."""
        return self.alpha

    def _quantile_alpha(self) -> Any:
        """Return the level of the quantile over ``calibration_``."""
        return self.alpha

    def _clip(self, intervals: Intervals) -> Intervals:
        return intervals if self.outcome_range_ is None else intervals.clip(*self.outcome_range_)

    def _check_new(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        checked: NDArray[np.float64] = validate_data(
            self, X, reset=False, ensure_all_finite="allow-nan", ensure_min_samples=0, dtype=np.float64
        )
        return checked

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibration_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags


class Weighted(ArmEstimator):
    """What methods share whose last quantile weighs by ``ratio_``."""

    def _test_weight(self, X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> NDArray[np.float64]:
        return self._weigh(X, y)

    def shortage(self) -> str | None:
        """Return why new rows of average weight have infinite intervals; None where they have not."""
        weights = np.diff(self.calibration_.cumulative)
        if np.isfinite(self.calibration_.quantile(self.alpha, weights.mean())):
            return None
        size = weights.sum() ** 2 / (weights**2).sum()
        rows = f"{count_rows(len(weights))}, worth {size:.1f} of equal weight"
        consequence = f"For new rows of average weight intervals are {self._reach()}"
        return shortage(self.alpha, rows, self._calibrates_on, consequence)


def weighs_outcome(ratio: Any) -> bool:
    """Return whether the ratio changes with y: if not, one weight a row serves all its candidate outcomes."""
    return "y" in getattr(ratio, "on", "xy")
