"""Nonconformity scores: what the base model must predict, and how far an outcome is from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import RidgeCV

from confide.base.rounding import predictions_off, slack
from confide.base.validation import suggest
from confide.conformal.intervals import Intervals, moved_apart, moved_out
from confide.models.base_model import check_base, learn
from confide.models.held_out import held_out
from confide.models.preprocessing import standardised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.data.splits import Rows
    from confide.typing import Level


SIDES = ("both", "lower", "upper")
ONE_SIDE = SIDES[1:]
# The two ends that a score measures from, and the unit it measures in.
Ends = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


class Score(Protocol):
    """A nonconformity score: small where the outcome is as predicted.

    A prediction is one number per row, or several: whatever the model of `learn` predicts. A row's score depends on its
    own prediction and outcome only. It is also evaluated at predictions changed by their rounding error, which gives
    the rounding error of the score (`confide.base.rounding`).
    """

    def learn(self, base: Any, rows: Rows, alpha: Level, seed: int) -> Any:
        """Return a model whose ``predict`` gives, row by row, what the score compares an outcome with."""

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one score per row."""

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return the outcomes whose score is at most the quantile; one quantile, or one per row."""

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the point prediction."""

    def shift(self, prediction: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction plus ``by``, row by row."""


class AbsoluteResidual:
    """|y - μ̂(x)|, the paper's score: intervals of one width around the base model's prediction."""

    def ends(self, prediction: NDArray[np.float64]) -> Ends:
        """Return the prediction, twice, and a scale of 1."""
        return prediction, prediction, np.ones(1)

    def learn(self, base: Any, rows: Rows, alpha: Level, seed: int) -> Any:  # noqa: ARG002
        """Return the base model itself."""
        return learn(base, rows, seed)

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |y - prediction|."""
        return np.abs(y - prediction)

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return prediction ± quantile."""
        return moved_apart(*self.anchors(prediction), quantile)

    def anchors(self, prediction: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends that the quantile moves apart: the prediction itself, twice."""
        return prediction, prediction

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction itself."""
        return prediction

    def shift(self, prediction: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction moved."""
        return prediction + by


class ConformalisedQuantiles:
    """max(q̂_low(x) - y, y - q̂_high(x)): intervals around two quantile models (Romano and others).

    The models are trained at α/2 and 1-α/2 of the level in force at ``fit``, and kept when the level
    changes later. A third one, the median, is the point prediction.
    """

    def learn(self, base: Any, rows: Rows, alpha: Level, seed: int) -> Any:
        """Return models of the two quantiles and the median."""
        levels = (float(alpha) / 2, 0.5, 1 - float(alpha) / 2)
        return Columns([learn(quantile_model(base, level), rows, seed) for level in levels])

    def ends(self, prediction: NDArray[np.float64]) -> Ends:
        """Return the two quantiles, and a scale of 1."""
        return prediction[:, 0], prediction[:, 2], np.ones(1)

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far y is above the upper or below the lower quantile; negative inside."""
        return np.maximum(prediction[:, 0] - y, y - prediction[:, 2])

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return the quantiles moved apart by the quantile; empty where they would cross."""
        return moved_apart(*self.anchors(prediction), quantile)

    def anchors(self, prediction: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends that the quantile moves apart: the lower and the upper quantile."""
        return prediction[:, 0], prediction[:, 2]

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the median."""
        return prediction[:, 1]

    def shift(self, prediction: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return all three quantiles moved."""
        return prediction + by[:, None]


class NormalisedResidual:
    """|y - μ̂(x)|/σ̂(x): intervals that are wider where the base model errs more.

    σ̂ is a second model, of the absolute errors that μ̂ makes on fit rows it was not fitted on.
    """

    def learn(self, base: Any, rows: Rows, alpha: Level, seed: int) -> Any:  # noqa: ARG002
        """Return the models of the mean and of the size of its error."""
        mean = learn(base, rows, seed)
        places, predicted = held_out(mean, rows, seed)
        if len(places):
            rows = rows[places]
        else:
            predicted = mean.predict(rows.X)
        errors = np.abs(rows.y - predicted)
        size = learn(base, replace(rows, y=errors), seed)
        return Columns([mean, size], least=(-np.inf, FLOOR * float(errors.mean()) or 1.0))

    def ends(self, prediction: NDArray[np.float64]) -> Ends:
        """Return the mean, twice, and σ̂(x)."""
        return prediction[:, 0], prediction[:, 0], prediction[:, 1]

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the error divided by its usual size σ̂(x)."""
        return np.abs(y - prediction[:, 0]) / prediction[:, 1]

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return the mean ± quantile·σ̂(x), with the quantile rounded up, as the score may be rounded down."""
        return moved_apart(prediction[:, 0], prediction[:, 0], prediction[:, 1] * np.nextafter(quantile, np.inf))

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean."""
        return prediction[:, 0]

    def shift(self, prediction: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean moved, and the size of its error unchanged."""
        return np.column_stack([prediction[:, 0] + by, prediction[:, 1]])


class OneSided:
    """The signed form of a score, for intervals with one end: (y - upper)/scale, or (lower - y)/scale."""

    def __init__(self, score: Any, side: str) -> None:
        self.whole: Any = score
        self.side = side

    def learn(self, base: Any, rows: Rows, alpha: Level, seed: int) -> Any:
        """Return what the two-sided score learns."""
        return self.whole.learn(base, rows, alpha, seed)

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far y is beyond the end, in units of the scale; negative before it."""
        lower, upper, scale = self.whole.ends(prediction)
        beyond = lower - y if self.side == "lower" else y - upper
        return np.asarray(beyond / scale)

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return the intervals with one end, moved out by the quantile; the other end is infinite."""
        lower, upper, scale = self.whole.ends(prediction)
        # The quantile is rounded up, as the score may be rounded down.
        offset = scale * np.nextafter(quantile, np.inf)
        return moved_out(lower if self.side == "lower" else upper, offset, self.side)

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the point of the two-sided score."""
        return np.asarray(self.whole.point(prediction))

    def shift(self, prediction: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction plus ``by``."""
        return np.asarray(self.whole.shift(prediction, by))


# σ̂(x) is at least this share of the mean error, because a model of errors may predict zero or a negative value.
FLOOR = 0.05


class Columns(BaseEstimator):
    """Several fitted models, whose predictions are the columns; each at least as large as its ``least``."""

    def __init__(self, models: list[Any], least: tuple[float, ...] | None = None) -> None:
        self.models = models
        self.least = least

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one column per model."""
        columns = np.column_stack([model.predict(X) for model in self.models])
        return columns if self.least is None else np.maximum(columns, self.least)


class Shifted(BaseEstimator):
    """A model whose predictions are moved by a constant."""

    def __init__(self, model: Any, by: float) -> None:
        self.model = model
        self.by = by

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the model's prediction, moved."""
        moved: NDArray[np.float64] = self.model.predict(X) + self.by
        return moved


class Grounded(BaseEstimator):
    """A model of observational rows, corrected on trial rows.

    Hidden confounding biases the observational regression itself. The correction is a ridge regression of its errors
    on the covariates and its own prediction, fitted on trial rows; if these show little, it shrinks to a constant.
    """

    def __init__(self, model: Any, score: Score) -> None:
        self.model = model
        self.score = score

    def fit(self, rows: Rows) -> Self:
        """Learn the correction."""
        columns = self._columns(rows.X)
        ridge = standardised(RidgeCV(alphas=np.logspace(-1, 5, 13)))
        self.correction_ = ridge.fit(columns, rows.y - columns[:, -1])
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the model's prediction, moved by the correction."""
        return self.score.shift(self.model.predict(X), self.correction_.predict(self._columns(X)))

    def _columns(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([X, self.score.point(self.model.predict(X))])


def raised_scores(
    score: Score, model: Any, rows: Rows, prediction: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the scores of calibration rows, raised by the rounding error of a new row's score.

    They are given for intervals with both ends and, if the score has a signed form, with one of them. ``prediction`` is
    the model's prediction of all rows at once; see `confide.base.rounding`.
    """
    off = predictions_off(model.predict, rows.X, prediction)
    forms = {"both": score, **({side: OneSided(score, side) for side in ONE_SIDE} if hasattr(score, "ends") else {})}
    return {
        side: form.score(prediction, rows.y) + slack(form.score, prediction, off, rows.y)
        for side, form in forms.items()
    }


def quantile_model(base: Any, level: float) -> Any:
    """Return the base model set to predict that quantile; None means `AutoRegressor`."""
    base = check_base(base)
    parameters = base.get_params()
    if "quantile" in parameters:
        switches = {name: "quantile" for name in ("loss", "strategy") if name in parameters}
        return clone(base).set_params(quantile=level, **switches)
    if {"loss", "alpha"} <= set(parameters) and hasattr(base, "n_estimators"):
        return clone(base).set_params(loss="quantile", alpha=level)
    raise ValueError(
        f"conformity_score='cqr' needs a base model of quantiles, and {type(base).__name__} has no parameter for one. "
        "Use HistGradientBoostingRegressor, GradientBoostingRegressor, QuantileRegressor, or base=None."
    )


SCORES: dict[str, type[Score]] = {
    "absolute": AbsoluteResidual,
    "cqr": ConformalisedQuantiles,
    "normalised": NormalisedResidual,
}


def check_side(side: Any) -> str:
    """Return the side; raise if there is none of that name."""
    if side not in SIDES:
        raise ValueError(f"side {side!r} is unknown; {suggest(side, SIDES)}")
    return str(side)


def check_score(score: Any) -> Score:
    """Return the score of that name, or the score itself."""
    if isinstance(score, str):
        if score not in SCORES:
            raise ValueError(f"conformity_score {score!r} is unknown; {suggest(score, SCORES)}")
        return SCORES[score]()
    if not all(hasattr(score, name) for name in ("learn", "score", "interval", "point", "shift")):
        raise ValueError(
            f"conformity_score must be a name or have learn, score, interval, point and shift, got {score!r}."
        )
    found: Score = score
    return found
