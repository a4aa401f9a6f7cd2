"""The weighted quantile, its membership form, and the calibration record that serves both.

Scores s_1..s_k carry weights w_i ≥ 0, the new point carries a mass w_∞ at +∞, and W = Σw + w_∞. Then

    Q(1-α) = the smallest s with Σ_{s_i ≤ s} w_i ≥ (1-α)·W, or +∞ if there is none,

and a score s is a member, s ≤ Q(1-α), iff Σ_{s_i < s} w_i < (1-α)·W. Both compare with the same level,
lowered by one relative tolerance, so that they agree to the last tie (the paper's Eqs. 2, 3 and 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Level

# Rounding of a cumulative sum must not push a rank up by one; see `level`.
TOLERANCE = 1e-12
# What was probably meant by a level that is none.
REMEDIES = {"alpha": " For 90 % intervals give 0.1.", "fdr": " For at most 10 % false picks give 0.1."}


def check_alpha(alpha: Level, name: str = "alpha") -> Fraction:
    """Return alpha as the decimal that was typed: 0.3 is 3/10, not the binary float beside it."""
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {alpha!r}.{REMEDIES.get(name, '')}")
    return Fraction(str(alpha))


def level(alpha: Level) -> float:
    """Return the share of the total weight at which the quantile is read: (1-α)·(1-1e-12)."""
    return float(1 - check_alpha(alpha)) * (1 - TOLERANCE)


def rows_needed(alpha: Level) -> int:
    """Return how many equally weighted rows give a finite interval: the least k with k ≥ (1-α)(k+1)."""
    share = level(alpha)
    return math.ceil(share / (1 - share))


def check_weights(weights: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return weights as floats; raise if one is negative, infinite or NaN."""
    array = np.asarray(weights, dtype=np.float64)
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise ValueError(f"{name} must be finite and at least 0, got {array[bad].flat[0]}.")
    return array


@dataclass(frozen=True)
class Calibration:
    """Scores sorted once and their cumulative weights: everything a quantile needs but alpha.

    Attributes
    ----------
    scores : (k,) array
        Calibration scores in increasing order; +∞ is allowed.
    cumulative : (k + 1,) array
        ``cumulative[i]`` is the weight of the i smallest scores; the last entry is their total.
    """

    scores: NDArray[np.float64]
    cumulative: NDArray[np.float64]

    @classmethod
    def of(cls, scores: ArrayLike, weights: ArrayLike | None = None) -> Calibration:
        """Return the calibration of scores with weights; without weights each score weighs 1."""
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim != 1:
            raise ValueError(f"scores must be one-dimensional, got shape {scores.shape}.")
        if np.isnan(scores).any():
            raise ValueError("scores must not be NaN; check the base model's predictions.")
        if weights is None:
            return cls(np.sort(scores), np.arange(len(scores) + 1, dtype=np.float64))
        weights = check_weights(weights, "weights")
        if weights.shape != scores.shape:
            raise ValueError(f"{len(scores)} scores need as many weights, got shape {weights.shape}.")
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], np.concatenate([[0.0], np.cumsum(weights[order])]))

    @property
    def total(self) -> float:
        """The weight of all calibration scores."""
        return float(self.cumulative[-1])

    def threshold(self, alpha: Level, test_weight: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Return the cumulative weight at which the quantile is read, one value per test weight."""
        return level(alpha) * (self.total + np.asarray(test_weight, dtype=np.float64))

    def quantile(self, alpha: Level, test_weight: ArrayLike = 1.0) -> NDArray[np.float64]:
        """Return Q(1-α), one value per test weight; +∞ where the calibration weight does not reach the level.

        Scores are sorted once, so m test weights cost m binary searches.
        """
        threshold = self.threshold(alpha, test_weight)
        rank = np.searchsorted(self.cumulative[1:], threshold, side="left")
        return np.where(threshold > 0, np.append(self.scores, np.inf)[rank], np.inf)

    def below(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the calibration weight strictly below each score."""
        return self.cumulative[np.searchsorted(self.scores, np.asarray(scores), side="left")]

    def contains(self, scores: ArrayLike, alpha: Level, test_weight: ArrayLike = 1.0) -> NDArray[np.bool_]:
        """Return whether each score is in the set; equal to ``scores <= quantile(alpha, test_weight)``."""
        threshold = self.threshold(alpha, test_weight)
        inside: NDArray[np.bool_] = (self.below(scores) < threshold) | (threshold == 0)
        return inside


def weighted_quantile(
    scores: ArrayLike, weights: ArrayLike, alpha: Level, test_weight: ArrayLike = 1.0
) -> float | NDArray[np.float64]:
    """Return the weighted (1-α)-quantile of scores with a mass of ``test_weight`` at +∞.

    Parameters
    ----------
    scores : (k,) array
        Calibration scores.
    weights : (k,) array
        Their weights, finite and at least 0; a common factor of weights and test weight changes nothing.
    alpha : float
        Miscoverage level, strictly between 0 and 1, read as the decimal that was typed.
    test_weight : float or (n,) array
        Weight of the new point, or one weight for each of n new points.

    Returns
    -------
    float or (n,) array
        The quantile, +∞ where the calibration scores cannot reach the level (an honest answer, not an error).
    """
    test_weight = check_weights(test_weight, "test_weight")
    quantile = Calibration.of(scores, weights).quantile(alpha, test_weight)
    return float(quantile) if quantile.ndim == 0 else quantile


def effective_sample_size(weights: ArrayLike) -> float:
    """Return the effective sample size n_eff = (Σw)²/Σw²: the number of equally weighted rows that is worth as much.

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
