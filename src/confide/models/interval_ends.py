"""Regression of interval ends on covariates: the second stage of wSCP-DR and of nested effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from confide.base.rounding import predictions_off, slack
from confide.conformal.intervals import Intervals, moved_apart, moved_out
from confide.data.splits import Rows
from confide.models.base_model import learn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class IntervalEnds(BaseEstimator):
    """Two regressors, m̂ᴸ(x) and m̂ᴿ(x), of the lower and the upper ends of intervals.

    Parameters
    ----------
    regressor : regressor, default None
        The regressor of each end; None is `confide.models.auto.AutoRegressor`.
    seed : int
        Decides everything random.

    Attributes
    ----------
    capped_ : int
        Number of infinite ends that were replaced by the domain's end for training.
    """

    def __init__(self, regressor: Any = None, seed: int = 0) -> None:
        self.regressor = regressor
        self.seed = seed

    def fit(self, X: NDArray[np.float64], intervals: Intervals, domain: tuple[float, float]) -> Self:
        """Fit both regressors; an infinite end is replaced by the domain's, an empty interval is ignored."""
        present = ~np.isnan(intervals.lower)
        if not present.any():
            raise ValueError(
                "all intervals of the first stage are empty: there are no ends to learn from. Use a smaller alpha."
            )
        self.capped_ = int(np.isinf(np.asarray(intervals)).sum())
        ends = (np.where(np.isinf(end), cap, end)[present] for end, cap in zip(intervals, domain, strict=True))
        self.lower_, self.upper_ = (learn(self.regressor, Rows(X[present], end), self.seed) for end in ends)
        return self

    def predict(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return m̂ᴸ(x) and m̂ᴿ(x), which may cross."""
        return np.asarray(self.lower_.predict(X)), np.asarray(self.upper_.predict(X))

    def miss(self, X: NDArray[np.float64], intervals: Intervals, side: str = "both") -> NDArray[np.float64]:
        """Return max(m̂ᴸ(x) - lower, upper - m̂ᴿ(x)), by how much the ends miss each interval, as calibration scores.

        They are raised by the rounding error of a new row's score (`confide.base.rounding`). The score of an infinite
        interval is +∞, that of an empty one -∞. With a ``side`` only the "lower" or the "upper" end counts.
        """

        def missed(
            ends: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            below, above = ends[:, 0] - lower, upper - ends[:, 1]
            return np.maximum(below, above) if side == "both" else below if side == "lower" else above

        ends = self._columns(X)
        rounding = slack(missed, ends, predictions_off(self._columns, X, ends), *intervals)
        return np.where(np.isnan(intervals.lower), -np.inf, missed(ends, *intervals) + rounding)

    def _columns(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack(self.predict(X))

    def widened(self, X: NDArray[np.float64], offset: ArrayLike, side: str = "both") -> Intervals:
        """Return [m̂ᴸ(x) - offset, m̂ᴿ(x) + offset], empty where the ends cross; or one of the ends alone."""
        lower, upper = self.predict(X)
        if side == "both":
            return moved_apart(lower, upper, offset)
        return moved_out(lower if side == "lower" else upper, offset, side)
