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

from dataclasses import dataclass, replace
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
        nearest, highest = self.extremes(moved, residuals)
        lowest = nearest / np.maximum(1 - self.norms**2 / (1 + leverage), ALONE)
        return lowest * (1 - MARGIN), highest

    def extremes(
        self, moved: NDArray[np.float64], residuals: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least plain scores, and the largest deleted ones, of residuals that may have moved so far."""
        here = self.stack.residuals if residuals is None else residuals
        lower, upper = self.stack.lower, self.stack.upper
        nearest = np.maximum(0.0, np.maximum((here - moved) / upper, -(here + moved) / lower))
        farthest = np.maximum((here + moved) / upper, (moved - here) / lower)
        highest = np.where(self.left > ALONE, farthest / np.maximum(self.left, ALONE), np.inf)
        return nearest, highest * (1 + MARGIN)


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


def tabulated(
    rows: TrialRows, band: Band, changes: NDArray[np.float64], leverages: NDArray[np.float64], at_once: int
) -> tuple[Tangents, NDArray[np.float64], NDArray[np.float64]]:
    """Return the tangents around no change, and bounds of the sums that hold for all new rows up to some sizes.

    Parameters
    ----------
    rows, band
        As in `Tangents.of`.
    changes, leverages : (c,) and (l,) arrays
        The largest |ψ_new|·|s| and |ψ_new|². The balls of the first leverage come first, then those of the second.
    at_once : int
        So many products of a ball and a trial row are in memory at once.

    Returns
    -------
    tangents : Tangents
        Of l·c balls.
    least, most : (3, l·c) and (3, c) arrays
        Bounds of the sums, from the bounds of each score.
    """
    rows, scores, slopes = _by_score(rows)
    stack, left = rows.stack, np.maximum(rows.left, ALONE)
    first, last = band
    spans = [(max(first - 2, 0), last - 1), (first - 1, last - 1), (first - 1, last)]
    there = np.array([scores[begin:end].sum() for begin, end in spans])
    known = np.isfinite(there)
    least, under, over = np.empty((3, 3, len(leverages), len(changes)))
    most = np.empty((3, len(changes)))
    stretched = 1 / np.maximum(1 - rows.norms**2 / (1 + leverages[:, None]), ALONE)
    lost = 1 - rows.left * stretched
    step = max(1, at_once // (len(leverages) * len(scores) + 1))
    for begin in range(0, len(changes), step):
        some = slice(begin, begin + step)
        moved = rows.norms * changes[some, None]
        nearest, high = rows.extremes(moved)
        low = (nearest * (1 - MARGIN)) * stretched[:, None]
        turn = np.maximum(moved - np.abs(stack.residuals), 0.0) / left * (1 / stack.lower + 1 / stack.upper)
        swaps = {count: _swaps(scores, low, high, count) for count in {place for span in spans for place in span}}
        for place in np.flatnonzero(known):
            span = slice(*spans[place])
            under[place, :, some] = swaps[span.stop] + lost[:, span] @ high[:, span].T
            over[place, :, some] = swaps[span.start] + turn[:, span].sum(axis=1)
        least[:, :, some] = sums(low.reshape(-1, len(scores)), band).reshape(3, len(leverages), -1)
        most[:, some] = sums(high, band)
    under[~known] = over[~known] = np.inf
    value = np.where(known, there, 0.0)
    off = MARGIN * value[:, None]
    slope = np.array([slopes[begin:end].sum(axis=0) for begin, end in spans])
    tangents = Tangents(value[:, None], slope[:, None], under.reshape(3, -1) + off, over.reshape(3, -1) + off)
    return tangents, least.reshape(3, -1), most


def _by_score(rows: TrialRows) -> tuple[TrialRows, NDArray[np.float64], NDArray[np.float64]]:
    """Return trial rows in the order of their deleted scores without a change, those scores, and their slopes."""
    stack = rows.stack
    per_unit = 1 / np.where(stack.residuals < 0, -stack.lower, stack.upper) / np.maximum(rows.left, ALONE)
    scores = np.where(rows.left <= ALONE, np.inf, stack.residuals * per_unit)
    order = np.argsort(scores)
    parts = {name: getattr(stack, name)[order] for name in ("features", "residuals", "lower", "upper")}
    slopes = -per_unit[order, None] * parts["features"]
    return TrialRows(replace(stack, **parts), rows.norms[order], rows.left[order]), scores[order], slopes


def _sorted(values: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the values of each ball in the order of its scores, or in that of the one centre."""
    if len(order) == 1:
        return values[:, order[0]]
    return np.asarray(np.take(values, order + np.arange(len(values))[:, None] * values.shape[1]))


def _swaps(
    scores: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return by how much the sum of the smallest scores may be less than that of those which are so at the centre."""
    if not 0 < count < scores.shape[-1]:
        return np.zeros(low.shape[:-1])
    threshold = scores[..., count - 1 : count + 1].mean(axis=-1, keepdims=True)
    threshold = np.where(np.isfinite(threshold), threshold, scores[..., count - 1 : count])
    threshold = np.where(np.isfinite(threshold), threshold, 0.0)
    inside = np.maximum(high[..., :count] - threshold, 0.0).sum(axis=-1)
    outside = np.maximum(threshold - low[..., count:], 0.0).sum(axis=-1)
    found: NDArray[np.float64] = inside + outside
    return found


def around(scores: NDArray[np.float64], band: Band) -> NDArray[np.float64]:
    """Return t_(a-1), the sum of t_(a) to t_(b-1), and t_(b) of each row, as three rows; changes the scores' order."""
    first, last = band
    if last > scores.shape[1]:
        return np.full((3, len(scores)), np.inf)
    scores.partition([*([first - 2] if first > 1 else []), last - 1], axis=1)
    below = scores[:, first - 2] if first > 1 else np.zeros(len(scores))
    return np.array([below, scores[:, first - 1 : last - 1].sum(axis=1), scores[:, last - 1]])


def sums(scores: NDArray[np.float64], band: Band) -> NDArray[np.float64]:
    """Return the sums of t_(a-1) to t_(b-1), of t_(a) to t_(b-1), and of t_(a) to t_(b), as `around` does."""
    below, rest, above = around(scores, band)
    return np.array([below + rest, rest, rest + above])
