"""The clipped quantile: for trials too small for a finite interval, with scores of the observational rows beside them.

With sorted trial scores S_(1) ≤ … ≤ S_(m), S_(0) = -∞ and S_(m+1) = +∞, and the ⌈(1-α)(N+1)⌉-th of N observational
scores Q̃,

    t = min(max(Q̃, S_(a)), S_(b)),

and a new row is in iff its score is at most t. **Whatever the observational rows are**, a/(m+1) ≤ coverage, and
coverage ≤ b/(m+1) without ties, because a ≤ b depend on m, N, α and β only: a new score is at most S_(j) with
probability ≥ j/(m+1). This floor is the promise, and it may be far below 1-α.

Bashari and others (*Synthetic-powered predictive inference*) choose a and b such that t is Q̃, with probability about
1-β, if the observational rows are like the trial's. The r-th smallest of m+1 exchangeable scores has rank k among N
others (1 plus the number of smaller ones) with probability

    P(k) = C(k+r-2, r-1)·C(N+m-k-r+2, m-r+1)/C(N+m+1, m+1).

Let R⁻_r and R⁺_r be its β/2 and 1-β/2 quantiles. With k = ⌈(1-α)(N+1)⌉, a = #{r: R⁺_r ≤ k} and b = #{r: R⁻_r ≤ k}.
Here a is at most m, so that t is finite if Q̃ is, and b is at least 1, so that no set is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.quantile import check_alpha
from confide.conformal.stacked import rank_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Level


@dataclass(frozen=True)
class ClippedQuantile:
    """Between which trial scores the quantile of observational scores is clipped; independent of all scores.

    Attributes
    ----------
    rows, others : int
        m and N.
    rank : int
        The rank of Q̃ among the observational scores; above N it is +∞.
    least, most : int
        a and b.
    """

    rows: int
    others: int
    rank: int
    least: int
    most: int

    @classmethod
    def of(cls, rows: int, others: int, alpha: Level, beta: Any) -> ClippedQuantile:
        """Return the clipped quantile of m trial scores and N observational ones, by rational arithmetic.

        Parameters
        ----------
        rows, others : int
            m and N, at least 0.
        alpha : float
            Miscoverage level, strictly between 0 and 1, read as the decimal that was typed.
        beta : float
            How often Q̃ may be clipped where the observational rows are like the trial's, strictly between 0 and 1. A
            larger one gives a higher floor, and intervals nearer to the trial's own.
        """
        if rows < 0 or others < 0:
            raise ValueError(f"rows and others must be at least 0, got {rows} and {others}.")
        half = check_alpha(beta, "beta") / 2
        rank = rank_of(alpha, others)
        reached = _at_most(rows, others, rank)
        least, most = sum(each >= 1 - half for each in reached), sum(each >= half for each in reached)
        return cls(rows, others, rank, min(least, rows), max(most, 1))

    @property
    def floor(self) -> Fraction:
        """The least coverage, whatever the observational rows are: a/(m+1)."""
        return Fraction(self.least, self.rows + 1)

    @property
    def ceiling(self) -> Fraction:
        """The most coverage without ties: b/(m+1)."""
        return Fraction(self.most, self.rows + 1)

    def offset(self, scores: ArrayLike, other_scores: ArrayLike) -> float:
        """Return t, the largest score that is in.

        Parameters
        ----------
        scores : (m,) array
            Trial scores; +∞ is allowed.
        other_scores : (N,) array
            Observational scores of the same score function, by models that did not see their rows.
        """
        own = _padded(scores, self.rows, "scores")
        others = _padded(other_scores, self.others, "other_scores")
        return float(min(max(others[self.rank], own[self.least]), own[self.most]))


def _at_most(rows: int, others: int, rank: int) -> list[Fraction]:
    """Return for r = 1..m+1 how probable it is that the r-th of m+1 exchangeable scores has at most this rank.

    This is so iff at least r of the m+1 are smaller than the k-th smallest of the N others. That many are j with
    probability C(k-1+j, j)·C(N-k+m+1-j, m+1-j)/C(N+m+1, m+1), which takes m+1 terms instead of k.
    """
    if rank > others:
        return [Fraction(1)] * (rows + 1)
    every, reached, tail = comb(others + rows + 1, rows + 1), [], 0
    for count in range(rows + 1, 0, -1):
        tail += comb(rank - 1 + count, count) * comb(others - rank + rows + 1 - count, rows + 1 - count)
        reached.append(Fraction(tail, every))
    return reached[::-1]


def _padded(scores: ArrayLike, count: int, name: str) -> NDArray[np.float64]:
    """Return the scores in increasing order, between -∞ and +∞."""
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (count,) or np.isnan(values).any():
        raise ValueError(f"{name} must be {count} numbers, none of them NaN, got shape {values.shape}.")
    return np.concatenate([[-np.inf], np.sort(values), [np.inf]])
