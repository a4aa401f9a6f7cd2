"""Bounds of sums of order statistics of deleted scores, by their tangents.

Residuals of trial rows change by ψ_iᵀc with c = ψ_new·s (see `deleted`). Let d_i(c) be their deleted scores, U_q the
sum of the q smallest, and Q the q rows that are the smallest at a centre c₀, with a threshold t between them and the
others. For every c in a ball around c₀, with d_i in [low_i, high_i] there,

    Σ_Q d_i(c) - E ≤ U_q(c) ≤ Σ_Q d_i(c),   E = Σ_Q (high_i - t)₊ + Σ_others (t - low_i)₊,

because U_q is at least q·t - Σ_i (t - d_i)₊. Only rows near the threshold add to E, so it is of the order of the square
of the radius. A sum from the p-th to the q-th smallest is U_q - U_(p-1). The scores of its rows are lines in c, but
for changes of sign and for the leverage of the new row, which are small terms of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal.stacked import Stack

# A row whose 1 - h is at most this is fitted by itself alone: its deleted score counts as infinite.
ALONE = 1e-9
# Rounding is far below this share.
MARGIN = 1e-9


class Band(NamedTuple):
    """The ranks of the deleted scores that are averaged, among those of the m+1 rows."""

    first: int
    last: int


@dataclass(frozen=True)
class TrialRows:
    """The trial rows of a stack, and what their deleted scores need.

    Attributes
    ----------
    stack : Stack
        The candidate.
    norms, left : (m,) arrays
        |ψ_i|, and 1 - |ψ_i|².
    """

    stack: Stack
    norms: NDArray[np.float64]
    left: NDArray[np.float64]

    @classmethod
    def of(cls, stack: Stack) -> TrialRows:
        """Return the trial rows of a stack."""
        norms = np.linalg.norm(stack.features, axis=1)
        return cls(stack, norms, 1 - norms**2)

    def enclosed(
        self, residuals: NDArray[np.float64], moved: NDArray[np.float64], leverage: NDArray[np.float64] | float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds of deleted scores whose residuals are off by no more than they may have moved."""
        lower, upper = self.stack.lower, self.stack.upper
        nearest = np.maximum(0.0, np.maximum((residuals - moved) / upper, -(residuals + moved) / lower))
        farthest = np.maximum((residuals + moved) / upper, (moved - residuals) / lower)
        lowest = nearest / np.maximum(1 - self.norms**2 / (1 + leverage), ALONE)
        highest = np.where(self.left > ALONE, farthest / np.maximum(self.left, ALONE), np.inf)
        return lowest * (1 - MARGIN), highest * (1 + MARGIN)


@dataclass(frozen=True)
class Tangents:
    """Three sums of deleted scores near some centres: at least value + slope·c - under, at most value + slope·c + over.

    The sums are those from the (a-1)-th to the (b-1)-th smallest, from the a-th to the (b-1)-th, and from the a-th to
    the b-th (see `deleted`).

    Attributes
    ----------
    value, under, over : (3, g) arrays
        For g balls; one value for balls that have the same centre.
    slope : (3, g, p) array
        As ``value``.
    """

    value: NDArray[np.float64]
    slope: NDArray[np.float64]
    under: NDArray[np.float64]
    over: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rows: TrialRows,
        band: Band,
        centre: NDArray[np.float64],
        radius: NDArray[np.float64],
        leverage: NDArray[np.float64],
    ) -> Tangents:
        """Return the tangents at the centres of balls.

        Parameters
        ----------
        rows : TrialRows
            m trial rows.
        band : Band
            The ranks a and b.
        centre : (g, p) or (1, p) array
            The centres c₀.
        radius, leverage : (g,) arrays
            The balls' radii, and the largest |ψ_new|² there.
        """
        stack, alone = rows.stack, rows.left <= ALONE
        residuals = stack.residuals - centre @ stack.features.T
        per_unit = 1 / np.where(residuals < 0, -stack.lower, stack.upper) / np.maximum(rows.left, ALONE)
        scores = np.where(alone, np.inf, residuals * per_unit)
        order = np.argsort(scores, axis=1)
        moved = rows.norms * radius[:, None]
        low, high = rows.enclosed(residuals, moved, leverage[:, None])
        loss = high * (1 - rows.left / np.maximum(1 - rows.norms**2 / (1 + leverage[:, None]), ALONE))
        turn = np.maximum(moved - np.abs(residuals), 0.0) / np.maximum(rows.left, ALONE)
        turn = turn * (1 / stack.lower + 1 / stack.upper)
        scores, per_unit, low, high, loss, turn = (
            _sorted(each, order) for each in (scores, per_unit, low, high, loss, turn)
        )
        slopes = -per_unit[:, :, None] * stack.features[order]
        first, last = band
        begins, ends = (max(first - 2, 0), first - 1, first - 1), (last - 1, last - 1, last)
        swaps = {count: _swaps(scores, low, high, count) for count in {*begins, *ends}}
        value, under, over = np.empty((3, 3, len(radius)))
        slope = np.empty((3, len(centre), centre.shape[1]))
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            there = scores[:, begin:end].sum(axis=1)
            slope[place] = slopes[:, begin:end].sum(axis=1)
            known = np.isfinite(there)
            value[place] = np.where(known, there - (slope[place] * centre).sum(axis=1), 0.0)
            off = MARGIN * np.where(known, there, 0.0)
            under[place] = np.where(known, swaps[end] + loss[:, begin:end].sum(axis=1) + off, np.inf)
            over[place] = np.where(known, swaps[begin] + turn[:, begin:end].sum(axis=1) + off, np.inf)
        return cls(value, slope, under, over)

    def at(self, ball: NDArray[np.intp], changes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bounds at changes c in balls with centres of their own: a (6, k) array, the lower ones first."""
        columns = [self.value.T, *np.moveaxis(self.slope, -1, 0).transpose(0, 2, 1), self.under.T, self.over.T]
        there = np.take(np.concatenate(columns, axis=1), ball, axis=0).T.reshape(len(columns), 3, len(ball))
        value = there[0] + np.einsum("psk,kp->sk", there[1:-2], changes)
        return np.concatenate([np.maximum(value - there[-2], 0.0), value + there[-1]])


def _sorted(values: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the values of each ball in the order of its scores, or in that of the one centre."""
    if len(order) == 1:
        return values[:, order[0]]
    return np.asarray(np.take(values, order + np.arange(len(values))[:, None] * values.shape[1]))


def _swaps(
    scores: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return by how much the sum of the smallest scores may be less than that of those which are so at the centre."""
    if not 0 < count < scores.shape[1]:
        return np.zeros(len(low))
    threshold = scores[:, count - 1 : count + 1].mean(axis=1, keepdims=True)
    threshold = np.where(np.isfinite(threshold), threshold, scores[:, count - 1 : count])
    threshold = np.where(np.isfinite(threshold), threshold, 0.0)
    inside = np.maximum(high[:, :count] - threshold, 0.0).sum(axis=1)
    outside = np.maximum(threshold - low[:, count:], 0.0).sum(axis=1)
    found: NDArray[np.float64] = inside + outside
    return found
