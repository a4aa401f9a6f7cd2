"""Nonconformity: what a base model predicts, and how far an outcome is from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from confide.checks import suggest
from confide.intervals import Intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Score(Protocol):
    """A nonconformity score: small where the outcome is as predicted."""

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one score a row."""

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return the outcomes whose score is at most the quantile; one quantile, or one a row."""

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the point prediction."""


class AbsoluteResidual:
    """|y - μ̂(x)|, the paper's score: intervals of one width around the base model's prediction."""

    def score(self, prediction: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |y - prediction|."""
        return np.abs(y - prediction)

    def interval(self, prediction: NDArray[np.float64], quantile: NDArray[np.float64]) -> Intervals:
        """Return prediction ± quantile."""
        return Intervals(prediction - quantile, prediction + quantile)

    def point(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prediction itself."""
        return prediction


SCORES: dict[str, type[Score]] = {"absolute": AbsoluteResidual}


def check_score(score: Any) -> Score:
    """Return the score of that name."""
    if score not in SCORES:
        raise ValueError(f"score {score!r} is unknown; {suggest(score, SCORES)}")
    return SCORES[score]()
