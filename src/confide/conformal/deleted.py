"""An estimate of a candidate's mean width by deleted scores, symmetric in the trial rows and the new row.

With the leverages h_i of the m+1 rows, a row's *deleted* score R_i/(1-h_i) is the score of the regression that was
fitted without it. For a candidate outcome y,

    V(y) = the mean of the a-th to the b-th smallest of the m+1 deleted scores · that of (ℓ_i + u_i)·σ_i over the rows.

The width follows from the ⌈(1-α)(m+1)⌉-th smallest score alone, but two candidates are compared by it with much noise:
the mean of many of them, from about the median on, is steadier (`band_of`), at the price of a bias between candidates
whose scores are of different shape. Plain scores would reward a regression with many features for fitting its own rows.
With the new row's own deleted score and the sorted ones t of the trial rows,

    the sum of the a-th to the b-th smallest = own, but at least t_(a-1) and at most t_(b), + t_(a) + … + t_(b-1).

In the notation of `stacked`,

    1 - h_i = 1 - |ψ_i|² + (ψ_iᵀψ_new)²/(1 + |ψ_new|²),   1 - h_new = 1/(1 + |ψ_new|²).

Scores are convex in y. So on an interval of outcomes each is at most its larger value at the two ends, and at least the
smaller one, or 0 if its residual changes sign. Order statistics of these bounds enclose those of scores. They are taken
in homogeneous coordinates: an outcome y is (1, y), and -∞ and +∞ are (0, -d) and (0, d) for some d > 0. V is
homogeneous, so the comparison of two candidates stays the same, and rays are bounded as intervals are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.quantile import check_alpha
from confide.conformal.reach import BLOCK, blocks_of
from confide.conformal.tangents import ALONE, Band, Tangents, TrialRows, around, sums, tabulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from confide.conformal.stacked import NewRows, Stack
    from confide.typing import Level

# At most this many products of a trial row and a new row are in memory at once.
PRODUCTS = 2**19
# Bounds that hold for all new rows are tabulated for these numbers of changes and of leverages.
CHANGES = 96
LEVERAGES = 12
# With one or two features, changes of the trial's residuals are told apart by so many steps each way.
STEPS = {1: 32, 2: 16}
# Scores that differ by less, relatively, are equal.
EQUAL = 1e-11
# The scores that are averaged lie above the levels 1 - 5α and below 1 - 0.3α.
FARTHER, NEARER = 5, Fraction(3, 10)


def band_of(alpha: Level, rows: int) -> Band:
    """Return the ranks a and b for m trial rows: from ⌈(1-5α)(m+1)⌉ to ⌈(1-0.3α)(m+1)⌉, but b ≤ m.

    For α above 1/9 the band begins at half of 1-α. If m is large enough for α, ⌈(1-α)(m+1)⌉ is in the band.
    """
    share = check_alpha(alpha)
    lowest = max(1 - FARTHER * share, (1 - share) / 2)
    first, last = math.ceil(lowest * (rows + 1)), math.ceil((1 - NEARER * share) * (rows + 1))
    return Band(min(first, max(rows, 1)), min(last, max(rows, 1)))


@dataclass(frozen=True)
class Ends:
    """Intervals of outcomes of new rows, in homogeneous coordinates of the new row's residual.

    Attributes
    ----------
    first, last : (k,) arrays
        The new row's residual s at both ends.
    finite_first, finite_last : (k,) arrays
        1 for an end that is an outcome, 0 for one at infinity, where s is a direction.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    finite_first: NDArray[np.float64]
    finite_last: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        new: NewRows,
        row: NDArray[np.intp],
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        beyond: NDArray[np.float64],
    ) -> Ends:
        """Return the intervals [low, high] of outcomes of those rows; ``beyond`` is d of an end at infinity."""
        centre, stretch = new.centre[row], new.stretch[row]
        sides = []
        for outcome in (low, high):
            finite = np.isfinite(outcome)
            from_centre = np.where(finite, np.where(finite, outcome, 0.0) - centre, np.sign(outcome) * beyond)
            sides.append((from_centre / stretch, finite.astype(np.float64)))
        (first, finite_first), (last, finite_last) = sides
        return cls(first, last, finite_first, finite_last)

    def take(self, index: NDArray[np.intp]) -> Ends:
        """Return some of the intervals."""
        return Ends(self.first[index], self.last[index], self.finite_first[index], self.finite_last[index])

    def changes(self, new: NewRows, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the largest |ψ_new|·|s| in each interval of those rows; +∞ on a ray."""
        bounded = (self.finite_first > 0) & (self.finite_last > 0)
        farthest = np.maximum(np.abs(self.first), np.abs(self.last))
        return np.where(bounded, np.sqrt(new.squared[row]) * farthest, np.inf)


@dataclass(frozen=True)
class DeletedScores:
    """The band's deleted scores of a stack's rows and a new row, and bounds for them.

    Bounds are arrays of 2 × 6 × k numbers, for k intervals of outcomes: at the first end and at the last one, and
    between them the line from one to the other; lower bounds of the three sums of `Tangents`, then upper bounds.

    Attributes
    ----------
    rows : TrialRows
        The trial rows.
    band : Band
        The ranks a and b.
    even : bool
        Whether both tails of all trial rows have the share 1.
    changes, leverages : (c,) and (l,) arrays
        Sizes |ψ_new|·|s| and |ψ_new|² of the tables.
    least, most : (3, l·c) and (3, c) arrays
        Bounds of the sums for all new rows up to these sizes; upper bounds do not depend on the leverage.
    tangents : Tangents
        For the same sizes, around no change.
    """

    rows: TrialRows
    band: Band
    even: bool
    changes: NDArray[np.float64]
    leverages: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    tangents: Tangents

    @classmethod
    def of(cls, stack: Stack, band: Band) -> DeletedScores:
        """Return the deleted scores of a stack, and the tables of their bounds."""
        rows = TrialRows.of(stack)
        typical = np.quantile(np.abs(stack.residuals), 0.9) / max(float(np.median(rows.norms)), 1e-12)
        changes = max(float(typical), 1e-300) * np.geomspace(1e-3, 1e2, CHANGES)
        leverages = np.geomspace(1e-3, 1e2, LEVERAGES)
        tangents, least, most = tabulated(rows, band, changes, leverages, PRODUCTS)
        even = bool((stack.lower == 1).all() and (stack.upper == 1).all())
        return cls(rows, band, even, changes, leverages, least, most, tangents)

    @property
    def stack(self) -> Stack:
        """The candidate."""
        return self.rows.stack

    def limits(self, new: NewRows, row: NDArray[np.intp], ends: Ends) -> NDArray[np.float64]:
        """Return bounds of V's sum on intervals of outcomes of those rows, whatever the own score: a (2, k) array."""
        ball, known, small = self._balls(new, row, ends)
        slopes = (self.tangents.slope[::2, 0] @ new.features[row].T) * np.array([ends.first, ends.last])[:, None]
        least = self.tangents.value[0, 0] + slopes[:, 0].min(axis=0) - self.tangents.under[0, ball]
        most = self.tangents.value[2, 0] + slopes[:, 1].max(axis=0) + self.tangents.over[2, ball]
        least = np.where(known & small, np.maximum(least, self.least[0, ball]), 0.0)
        return np.array([least, np.where(known, np.minimum(most, self.most[2, ball % CHANGES]), np.inf)])

    def everywhere(self, new: NewRows, row: NDArray[np.intp], ends: Ends) -> NDArray[np.float64]:
        """Return bounds of the sums on intervals of outcomes of those rows, from tables."""
        ball, known, small = self._balls(new, row, ends)
        least = np.where(known & small, np.take(self.least, ball, axis=1), 0.0)
        most = np.where(known, np.take(self.most, ball % CHANGES, axis=1), np.inf)
        under = np.where(known & small, np.take(self.tangents.under, ball, axis=1), np.inf)
        over = np.where(known, np.take(self.tangents.over, ball, axis=1), np.inf)
        slope = self.tangents.slope[:, 0] @ new.features[row].T
        found = np.empty((2, 6, len(row)))
        for bounds, residual in zip(found, (ends.first, ends.last), strict=True):
            there = self.tangents.value[:, :1] + slope * residual
            bounds[:3] = np.maximum(there - under, least)
            bounds[3:] = np.minimum(there + over, most)
        return found

    def _balls(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the place of intervals in the tables, and whether their change and leverage are in them."""
        size = np.searchsorted(self.leverages, new.squared[row])
        column = np.searchsorted(self.changes, ends.changes(new, row))
        ball = np.minimum(size, LEVERAGES - 1) * CHANGES + np.minimum(column, CHANGES - 1)
        return ball, column < CHANGES, size < LEVERAGES

    def bands(self, new: NewRows, row: NDArray[np.intp], ends: Ends) -> NDArray[np.float64]:
        """Return bounds of the sums on intervals of outcomes of those rows, each from its own trial rows' scores."""
        found = np.empty((6, len(row)))
        for block, kept, band in self._blocks(new, row, ends):
            at_first, at_last, turns = self._at_ends(new, row[block], ends.take(block), kept)
            found[:3, block] = sums(np.where(turns, 0.0, np.minimum(at_first, at_last)), band)
            found[3:, block] = sums(np.maximum(at_first, at_last), band)
        return np.broadcast_to(found, (2, *found.shape))

    def cells(self, new: NewRows, row: NDArray[np.intp], ends: Ends) -> NDArray[np.float64]:
        """Return bounds of the sums on intervals with finite ends, from tangents that many of them share.

        Residuals change by ψ_iᵀc with c = ψ_new·s. With one or two features, all c lie in a few cells of a grid.
        """
        features = new.features[row]
        first, last = features * ends.first[:, None], features * ends.last[:, None]
        step = max(np.abs(first).max(initial=0.0), np.abs(last).max(initial=0.0), 1e-300) / STEPS[features.shape[1]]
        place = np.round((first + last) / (2 * step)).astype(np.intp)
        _, one, cell = np.unique(place @ np.array([1, 1000])[: place.shape[1]], return_index=True, return_inverse=True)
        centre = place[one] * step
        away, leverage = np.zeros((2, len(one)))
        for end in (first, last):
            np.maximum.at(away, cell, np.linalg.norm(end - centre[cell], axis=1))
        np.maximum.at(leverage, cell, new.squared[row])
        found = np.empty((2, 6, len(row)))
        at_once = max(1, PRODUCTS // (len(self.rows.norms) + 1))
        for begin in range(0, len(one), at_once):
            part = slice(begin, begin + at_once)
            there = np.flatnonzero((cell >= begin) & (cell < begin + at_once))
            tangents = Tangents.of(self.rows, self.band, centre[part], away[part], leverage[part])
            for bounds, end in zip(found, (first, last), strict=True):
                bounds[:, there] = tangents.at(cell[there] - begin, end[there])
        return found

    def lines(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """Return what the trial rows say at both ends of each interval, whether it is lines between, and its bounds.

        That is t_(a-1), the sum of t_(a) to t_(b-1), and t_(b), at the first end, then at the last: a (2, 3, k) array.
        The k-th smallest of convex functions is the line between its values at the ends if k of them are at most the
        line at both ends, and all but k-1 are lines that are at least as large at both ends. If the (a-1)-th and the
        b-th are such, the same functions are between them all along, and are lines.
        """
        found, bounds, straight = np.empty((2, 3, len(row))), np.empty((2, 6, len(row))), np.empty(len(row), dtype=bool)
        for block, kept, band in self._blocks(new, row, ends):
            at_first, at_last, turns = self._at_ends(new, row[block], ends.take(block), kept)
            found[0, :, block] = around(at_first.copy(), band).T
            found[1, :, block] = around(at_last.copy(), band).T
            straight[block] = self._straight(at_first, at_last, turns, found[:, :, block], band)
            below, rest, above = found[:, :, block].transpose(1, 0, 2)
            bounds[:, :, block] = np.array([below + rest, rest, rest + above] * 2).transpose(1, 0, 2)
            bent = np.flatnonzero(~straight[block])
            lowest = np.where(turns[bent], 0.0, np.minimum(at_first[bent], at_last[bent]))
            bounds[:, :3, block[bent]] = sums(lowest, band)
            bounds[:, 3:, block[bent]] = sums(np.maximum(at_first[bent], at_last[bent]), band)
        return found, straight, bounds

    def _straight(
        self,
        at_first: NDArray[np.float64],
        at_last: NDArray[np.float64],
        turns: NDArray[np.bool_],
        values: NDArray[np.float64],
        band: Band,
    ) -> NDArray[np.bool_]:
        """Return whether all values are lines between the ends."""
        straight = np.asarray(np.isfinite(values).all(axis=(0, 1)))
        with np.errstate(invalid="ignore"):
            for place, needed in ((0, band.first - 1), (2, band.last)):
                first, last = values[:, place, :, None]
                over_first, over_last = EQUAL * first + self.noise, EQUAL * last + self.noise
                most = ((at_first <= first + over_first) & (at_last <= last + over_last)).sum(axis=1)
                least = ((at_first >= first - over_first) & (at_last >= last - over_last) & ~turns).sum(axis=1)
                straight &= (most >= needed) & (least >= at_first.shape[1] - needed + (needed > 0))
        return straight

    def _blocks(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Band]]:
        """Yield blocks of intervals, the trial rows that can decide there, and the band among them."""
        changes = ends.changes(new, row)
        at_once = max(1, min(BLOCK, PRODUCTS // (len(self.rows.norms) + 1)))
        for block in blocks_of(changes, self.changes[CHANGES // 2], at_once):
            yield block, *self._kept(float(changes[block[-1]]), float(new.squared[row[block]].max()))

    @property
    def count(self) -> int:
        """The number of scores in the band."""
        return self.band.last - self.band.first + 1

    @property
    def noise(self) -> float:
        """Deleted scores that differ by no more than this may be equal."""
        tails = np.minimum(self.stack.lower, self.stack.upper)
        return 4 * float((self.stack.slack / tails).max(initial=0.0))

    def _kept(self, change: float, leverage: float) -> tuple[NDArray[np.intp], Band]:
        """Return the trial rows that can be the (a-1)-th to the b-th, and the band among them: others are below."""
        norms = self.rows.norms
        moved = norms * change if np.isfinite(change) else np.full(len(norms), np.inf)
        lowest, highest = self.rows.enclosed(self.stack.residuals, moved, leverage)
        below = highest < _smallest(lowest, self.band.first - 1)
        kept = ~below & (lowest <= _smallest(highest, self.band.last))
        skipped = int(below.sum())
        return np.flatnonzero(kept), Band(self.band.first - skipped, self.band.last - skipped)

    def _at_ends(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends, kept: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return the deleted scores of some trial rows at both ends, and whether their residual changes its sign."""
        left, residuals = self.rows.left[kept], self.stack.residuals[kept]
        products = new.features[row] @ self.stack.features[kept].T
        factors = products * products
        factors *= (1 / (1 + new.squared[row]))[:, None]
        factors += left
        alone = factors <= ALONE if left.min(initial=1.0) <= ALONE else None
        np.reciprocal(factors, out=factors)
        at_first, at_last = products * -ends.first[:, None], products * -ends.last[:, None]
        at_first += residuals if ends.finite_first.all() else ends.finite_first[:, None] * residuals
        at_last += residuals if ends.finite_last.all() else ends.finite_last[:, None] * residuals
        turns = at_first * at_last < 0
        for scores in (at_first, at_last):
            if self.even:
                np.abs(scores, out=scores)
            else:
                np.maximum(scores / self.stack.upper[kept], scores / -self.stack.lower[kept], out=scores)
            np.multiply(scores, factors, out=scores)
            if alone is not None:
                scores[alone] = np.inf
        return at_first, at_last, turns


def _smallest(scores: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the k-th smallest score of each row; 0 for k = 0, and +∞ if there are fewer than k."""
    if not 0 < rank <= scores.shape[-1]:
        return np.full(scores.shape[:-1], np.inf if rank else 0.0)
    found: NDArray[np.float64] = np.partition(scores, rank - 1, axis=-1)[..., rank - 1]
    return found
