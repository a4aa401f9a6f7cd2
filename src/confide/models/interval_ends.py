"""Interval ends as functions of the covariates: the second stage of wSCP-DR and of nested effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from confide.base.rounding import predictions_off, slack
from confide.conformal.intervals import Intervals, moved_apart, moved_out
from confide.conformal.quantile import check_weights
from confide.data.splits import Rows, join
from confide.models.base_model import learn, predictions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from confide.conformal.quantile import Calibration
    from confide.models.scores import Score
    from confide.typing import Level


class Ends(BaseEstimator, ABC):
    """The ends m̂ᴸ(x) and m̂ᴿ(x) of intervals, and how they are moved apart."""

    @abstractmethod
    def predict(
        self, X: NDArray[np.float64], prediction: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return m̂ᴸ(x) and m̂ᴿ(x), which may cross; ``prediction`` is the base model's, if it is known."""

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

    def widened(
        self,
        X: NDArray[np.float64],
        offset: ArrayLike,
        side: str = "both",
        prediction: NDArray[np.float64] | None = None,
    ) -> Intervals:
        """Return [m̂ᴸ(x) - offset, m̂ᴿ(x) + offset], empty where the ends cross; or one of the ends alone."""
        lower, upper = self.predict(X, prediction)
        if side == "both":
            return moved_apart(lower, upper, offset)
        return moved_out(lower if side == "lower" else upper, offset, side)


class IntervalEnds(Ends):
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

    def predict(
        self,
        X: NDArray[np.float64],
        prediction: NDArray[np.float64] | None = None,  # noqa: ARG002  (the ends do not lie around it)
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return m̂ᴸ(x) and m̂ᴿ(x), which may cross."""
        return np.asarray(self.lower_.predict(X)), np.asarray(self.upper_.predict(X))


class MovedEnds(Ends):
    """The ends of a score's intervals around a fitted model, at a quantile q(x) that changes with the row.

    The model is known everywhere, so q(x) alone has to be learnt from rows at which it is given: one regression, where
    `IntervalEnds` needs two. If q(x) is known everywhere too (`QuantileAt`), nothing has to be learnt. The ends are
    finite in either case: in place of an infinite q(x) stands the smallest whose interval has the whole domain.

    Parameters
    ----------
    model, score
        The fitted model, and the score whose intervals lie around its predictions.
    domain : (float, float)
        The outcomes that an interval in place of one with an infinite q(x) contains.
    bounds : (float, float), default None
        Declared bounds of the outcome, to which ends are clipped.
    seed : int
        Decides everything random.

    Attributes
    ----------
    capped_ : int
        Number of infinite ends among the rows that `fit` was given, in place of which finite ones stand.
    """

    def __init__(
        self, model: Any, score: Score, domain: tuple[float, float], bounds: tuple[float, float] | None, seed: int = 0
    ) -> None:
        self.model = model
        self.score = score
        self.domain = domain
        self.bounds = bounds
        self.seed = seed

    def fit(self, X: NDArray[np.float64], quantiles: NDArray[np.float64], known: QuantileAt | None = None) -> Self:
        """Learn q(x) from its values at some rows, unless it is known."""
        endless = 2 if self.bounds is None else int(np.isinf(self.bounds).sum())
        self.capped_ = endless * int(np.isinf(quantiles).sum())
        self.quantile_: Any = known
        self.range_ = (-np.inf, np.inf)
        if known is None:
            finite = self._finite(quantiles, predictions(self.model, X))
            self.quantile_ = learn(None, Rows(X, finite), self.seed)
            self.range_ = (float(finite.min()), float(finite.max()))
        return self

    def predict(
        self, X: NDArray[np.float64], prediction: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return m̂ᴸ(x) and m̂ᴿ(x); of an empty interval, the point prediction twice, within the bounds.

        A regressed q(x) stays within the values that it was learnt from.
        """
        if prediction is None:
            prediction = predictions(self.model, X)
        quantiles = np.clip(self.quantile_.predict(X), *self.range_)
        intervals = self.score.interval(prediction, self._finite(quantiles, prediction))
        if self.bounds is not None:
            intervals = intervals.clip(*self.bounds)
        empty = np.isnan(intervals.lower)
        point = np.clip(self.score.point(prediction), *(self.bounds or (-np.inf, np.inf)))
        return np.where(empty, point, intervals.lower), np.where(empty, point, intervals.upper)

    def _finite(self, quantiles: NDArray[np.float64], prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles; in place of an infinite one, that of the smallest interval with the whole domain."""
        far = [self.score.score(prediction, np.full(len(prediction), end)) for end in self.domain]
        return np.where(np.isinf(quantiles), np.maximum(*far), quantiles)


class QuantileAt(BaseEstimator):
    """The quantile of a weighted calibration at a new row, by a ratio on covariates alone."""

    def __init__(self, calibration: Calibration, ratio: Any, alpha: Level) -> None:
        self.calibration = calibration
        self.ratio = ratio
        self.alpha = alpha

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q(x), which may be infinite."""
        return self.calibration.quantile(self.alpha, check_weights(self.ratio.predict(join(X)), "the ratio"))
