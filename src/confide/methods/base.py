"""The base class of all methods: point predictions, intervals and sets of one fitted arm."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.conformal.grid import rows_at_once, solve_on_grid
from confide.conformal.intervals import Intervals, IntervalSets, count_rows, shortage
from confide.conformal.quantile import check_alpha
from confide.exceptions import InfiniteIntervalWarning
from confide.methods.learning import ArmLearner
from confide.models.scores import AbsoluteResidual

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class ArmEstimator(ArmLearner):
    """Prediction intervals for one arm, from what `ArmLearner` learns."""

    # Whether all new rows share one offset; if so, `offsets` must return it.
    _shares_offset: ClassVar[bool] = False

    def shortage(self) -> str | None:
        """Return why all intervals are infinite, with the remedy; None if they are not."""
        if np.isfinite(self.calibration_.quantile(self._quantile_alpha(), 1.0)):
            return None
        rows = count_rows(len(self.calibration_.scores))
        return shortage(self._quantile_alpha(), rows, self._calibrates_on, f"All intervals are {self._reach()}")

    def _reach(self) -> str:
        """Return the words for an interval without a finite quantile."""
        return "infinite" if self.outcome_range_ is None else "as wide as the outcome"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return point predictions of the outcome under this arm's treatment."""
        X = self._check_new(X)
        if not len(X):
            return np.empty(0)
        points = self.score_.point(self._predict_base(X))
        return points if self.outcome_range_ is None else np.clip(points, *self.outcome_range_)

    def predict_interval(self, X: Any) -> Intervals:
        """Return one interval per row, the hull of its set; an end may be infinite."""
        return self.predict_set(X).hull()

    def predict_set(self, X: Any) -> IntervalSets:
        """Return one prediction set per row: intervals, or a subset of ``outcome_values``."""
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
        """Return the sets of a continuous outcome: here one interval per row."""
        quantile = self.calibration_.quantile(self.alpha, self._test_weight(X))
        return IntervalSets.of(self._clip(self.score_.interval(self._predict_base(X), quantile)))

    def _members(self, X: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether each row's set contains each value, one column per value, by the membership rule."""
        prediction = self._predict_base(X)
        return np.column_stack([self._is_member(X, np.full(len(X), value), prediction) for value in values])

    def _is_member(
        self, X: NDArray[np.float64], y: NDArray[np.float64], prediction: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return whether each outcome is in its row's set, by the membership rule."""
        scores = self.score_.score(prediction, y)
        return self.calibration_.contains(scores, self.alpha, self._test_weight(X, y))

    def _search(self, X: NDArray[np.float64], known: ArrayLike, tolerance: float) -> IntervalSets:
        """Return the sets by evaluating `_is_member` over ``grid_``, in bounded memory.

        ``known`` is an offset that is certainly inside; ``tolerance`` is a share of the searched range.
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
        """Return why intervals are not `anchors` moved apart by `offsets`; None if they are."""
        if not self._shares_offset:
            return "with this method each new row has an offset of its own, or none"
        if self.outcome_values_ is not None:
            return "the outcome is discrete: a set of values has no offset"
        if not hasattr(self.score_, "anchors"):
            return f"with score={self.score!r} each new row has an offset of its own"
        return None

    def has_one_width(self) -> bool:
        """Return whether all new rows have intervals of one width, except where the outcome's bounds clip them."""
        return self._shares_offset and self.outcome_values_ is None and type(self.score_) is AbsoluteResidual

    def anchors(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two ends per row that `offsets` move apart (`confide.conformal.intervals.moved_apart`)."""
        ends: tuple[NDArray[np.float64], NDArray[np.float64]] = self.score_.anchors(self._predict_base(X))  # type: ignore[attr-defined]
        return ends

    def offsets(self) -> tuple[float, float]:
        """Return how far intervals reach below and above their `anchors` at the arm's level; may be infinite."""
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
        """Return why the arm's parameters do not support this level; None if they do."""
        return None

    def set_alpha(self, alpha: Any) -> None:
        """Set the level, and all parameters that depend on it."""
        check_alpha(alpha)
        self.alpha = alpha

    def _warn_of_shortage(self) -> None:
        if shortage := self.shortage():
            warnings.warn(shortage, InfiniteIntervalWarning, stacklevel=3)

    def _test_weight(self, X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> ArrayLike:  # noqa: ARG002
        """Return the weight of new rows if y were their outcomes: 1, or one per row in weighted methods."""
        return 1.0

    def searches(self) -> bool:
        """Return whether sets are searched over ``grid_``, and therefore cannot reach beyond it."""
        return False

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
