"""An estimate of a candidate's mean width by deleted scores, symmetric in the trial rows and the new row.

With the leverages h_i of the m+1 rows, a row's *deleted* score R_i/(1-h_i) is the score of the regression that was
fitted without it. For a candidate outcome y,

    V(y) = the ⌈(1-α)(m+1)⌉-th smallest of the m+1 deleted scores · the mean of (ℓ_i + u_i)·σ_i over the m+1 rows.

Plain scores would reward a regression with many features for fitting its own rows. In the notation of `stacked`,

    1 - h_i = 1 - |ψ_i|² + (ψ_iᵀψ_new)²/(1 + |ψ_new|²),   1 - h_new = 1/(1 + |ψ_new|²).

Scores are convex in y. So on an interval of outcomes each is at most its larger value at the two ends, and at least the
smaller one, or 0 if its residual changes sign. The order statistics of these bounds enclose V. They are taken in
homogeneous coordinates: an outcome y is (1, y), and -∞ and +∞ are (0, -d) and (0, d) for some d > 0. V is homogeneous,
so the comparison of two candidates stays the same, and rays are bounded as intervals are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.reach import BLOCK, blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from confide.conformal.stacked import NewRows, Stack

# A row whose 1 - h is at most this is fitted by itself alone: its deleted score counts as infinite.
ALONE = 1e-9
# At most this many products of a trial row and a new row are in memory at once.
PRODUCTS = 2**18
# Bounds that hold for all new rows are tabulated for these numbers of changes and of leverages.
CHANGES = 96
LEVERAGES = 12
# Scores that differ by less, relatively, are equal.
EQUAL = 1e-11


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

    @property
    def farthest(self) -> NDArray[np.float64]:
        """The largest |s| in each interval; +∞ on a ray."""
        bounded = (self.finite_first > 0) & (self.finite_last > 0)
        return np.where(bounded, np.maximum(np.abs(self.first), np.abs(self.last)), np.inf)


@dataclass(frozen=True)
class DeletedScores:
    """The k-th smallest deleted score of a stack's rows and a new row, and bounds for it.

    Attributes
    ----------
    stack : Stack
        The candidate.
    rank : int
        k.
    norms, left : (m,) arrays
        |ψ_i|, and 1 - |ψ_i|².
    even : bool
        Whether both tails of all trial rows have the share 1.
    changes, leverages : (c,) and (l,) arrays
        Sizes |ψ_new|·|s| and |ψ_new|² of the tables.
    least, most : (l, c) and (c,) arrays
        Bounds for all new rows up to these sizes.
    """

    stack: Stack
    rank: int
    norms: NDArray[np.float64]
    left: NDArray[np.float64]
    even: bool
    changes: NDArray[np.float64]
    leverages: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    @classmethod
    def of(cls, stack: Stack, rank: int) -> DeletedScores:
        """Return the deleted scores of a stack, and the table of their bounds."""
        norms = np.linalg.norm(stack.features, axis=1)
        typical = np.quantile(np.abs(stack.residuals), 0.9) / max(float(np.median(norms)), 1e-12)
        self = cls(
            stack,
            rank,
            norms,
            1 - norms**2,
            even=bool((stack.lower == 1).all() and (stack.upper == 1).all()),
            changes=max(float(typical), 1e-300) * np.geomspace(1e-3, 1e2, CHANGES),
            leverages=np.geomspace(1e-3, 1e2, LEVERAGES),
            least=np.zeros((LEVERAGES, CHANGES)),
            most=np.full(CHANGES, np.inf),
        )
        for place, change in enumerate(self.changes):
            lowest, highest = self._ball(change, self.leverages[:, None])
            self.least[:, place] = _smallest(lowest, rank - 1)
            self.most[place] = _smallest(highest, rank)
        return self

    def everywhere(
        self, leverage: NDArray[np.float64], change: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds for new rows with |ψ_new|² = leverage and every |ψ_new|·|s| ≤ change, from the table."""
        row, column = np.searchsorted(self.leverages, leverage), np.searchsorted(self.changes, change)
        known = column < CHANGES
        column = np.minimum(column, CHANGES - 1)
        least = np.where(known & (row < LEVERAGES), self.least[np.minimum(row, LEVERAGES - 1), column], 0.0)
        return least, np.where(known, self.most[column], np.inf)

    def bands(self, new: NewRows, row: NDArray[np.intp], ends: Ends) -> NDArray[np.float64]:
        """Return bounds of two deleted scores of the trial rows on each interval: a (4, k) array.

        The scores are the (k-1)-th and the k-th smallest. Their lower bounds come first, then their upper bounds. With
        the new row's own score between these two, it is the k-th smallest of all; otherwise the nearer one is.
        """
        found = np.empty((4, len(row)))
        for block, kept, rank in self._blocks(new, row, ends):
            at_first, at_last, turns = self._at_ends(new, row[block], ends.take(block), kept)
            found[:2, block] = _two_smallest(np.where(turns, 0.0, np.minimum(at_first, at_last)), rank)
            found[2:, block] = _two_smallest(np.maximum(at_first, at_last), rank)
        return found

    def lines(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """Return two deleted scores at both ends of each interval, whether they are lines between, and their bounds.

        The scores are as in `bands`: at the first end, then at the last, a (4, k) array. The k-th smallest of convex
        functions is the line between its values at the ends if k of them are at most the line at both ends, and
        all but k-1 are lines that are at least as large at both ends.
        """
        found, bounds, straight = np.empty((4, len(row))), np.empty((4, len(row))), np.empty(len(row), dtype=bool)
        for block, kept, rank in self._blocks(new, row, ends):
            at_first, at_last, turns = self._at_ends(new, row[block], ends.take(block), kept)
            found[:2, block] = _two_smallest(at_first.copy(), rank)
            found[2:, block] = _two_smallest(at_last.copy(), rank)
            straight[block] = self._straight(at_first, at_last, turns, found[:, block], rank)
            bounds[:2, block] = np.minimum(found[:2, block], found[2:, block])
            bounds[2:, block] = np.maximum(found[:2, block], found[2:, block])
            bent = np.flatnonzero(~straight[block])
            lowest = np.where(turns[bent], 0.0, np.minimum(at_first[bent], at_last[bent]))
            bounds[:2, block[bent]] = _two_smallest(lowest, rank)
            bounds[2:, block[bent]] = _two_smallest(np.maximum(at_first[bent], at_last[bent]), rank)
        return found, straight, bounds

    def _straight(
        self,
        at_first: NDArray[np.float64],
        at_last: NDArray[np.float64],
        turns: NDArray[np.bool_],
        values: NDArray[np.float64],
        rank: int,
    ) -> NDArray[np.bool_]:
        """Return whether both scores are lines between their values at the ends."""
        straight = np.asarray(np.isfinite(values).all(axis=0))
        with np.errstate(invalid="ignore"):
            for place, needed in ((0, rank - 1), (1, rank)):
                first, last = values[place, :, None], values[place + 2, :, None]
                over_first, over_last = EQUAL * first + self.noise, EQUAL * last + self.noise
                most = ((at_first <= first + over_first) & (at_last <= last + over_last)).sum(axis=1)
                least = ((at_first >= first - over_first) & (at_last >= last - over_last) & ~turns).sum(axis=1)
                straight &= (most >= needed) & (least >= at_first.shape[1] - needed + (needed > 0))
        return straight

    def _blocks(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], int]]:
        """Yield blocks of intervals, the trial rows that can decide there, and the rank among them."""
        farthest = ends.farthest
        changes = np.where(
            np.isinf(farthest), np.inf, np.sqrt(new.squared[row]) * np.where(np.isinf(farthest), 0, farthest)
        )
        at_once = max(1, min(BLOCK, PRODUCTS // (len(self.norms) + 1)))
        for block in blocks_of(changes, self.changes[CHANGES // 2], at_once):
            yield block, *self._kept(float(changes[block[-1]]), float(new.squared[row[block]].max()))

    @property
    def noise(self) -> float:
        """Deleted scores that differ by no more than this may be equal."""
        tails = np.minimum(self.stack.lower, self.stack.upper)
        return 4 * float((self.stack.slack / tails).max(initial=0.0))

    def _ball(
        self, change: float, leverage: NDArray[np.float64] | float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds of every trial row's deleted score, whatever the direction of ψ_new."""
        residuals, lower, upper = self.stack.residuals, self.stack.lower, self.stack.upper
        moved = self.norms * change if np.isfinite(change) else np.full(len(self.norms), np.inf)
        nearest = np.maximum(0.0, np.maximum((residuals - moved) / upper, -(residuals + moved) / lower))
        farthest = np.maximum((residuals + moved) / upper, (moved - residuals) / lower)
        lowest = nearest / np.maximum(1 - self.norms**2 / (1 + leverage), ALONE)
        highest = np.where(self.left > ALONE, farthest / np.maximum(self.left, ALONE), np.inf)
        # Rounding of these bounds is far below this margin.
        return lowest * (1 - 1e-9), highest * (1 + 1e-9)

    def _kept(self, change: float, leverage: float) -> tuple[NDArray[np.intp], int]:
        """Return the trial rows that can be the (k-1)-th or the k-th, and k minus the number of those always below."""
        lowest, highest = self._ball(change, leverage)
        below = highest < _smallest(lowest, self.rank - 1)
        kept = ~below & (lowest <= _smallest(highest, self.rank))
        return np.flatnonzero(kept), self.rank - int(below.sum())

    def _at_ends(
        self, new: NewRows, row: NDArray[np.intp], ends: Ends, kept: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return the deleted scores of some trial rows at both ends, and whether their residual changes its sign."""
        left, residuals = self.left[kept], self.stack.residuals[kept]
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


def between(
    first: NDArray[np.float64], last: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest score of residuals between two."""
    smaller, larger = np.minimum(first, last), np.maximum(first, last)
    below, above = -1 / lower, 1 / upper
    least = np.maximum(smaller * above, larger * below)
    return np.maximum(least, 0.0, out=least), np.maximum(larger * above, smaller * below)


def _smallest(scores: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the k-th smallest score of each row; 0 for k = 0, and +∞ if there are fewer than k."""
    if not 0 < rank <= scores.shape[-1]:
        return np.full(scores.shape[:-1], np.inf if rank else 0.0)
    found: NDArray[np.float64] = np.partition(scores, rank - 1, axis=-1)[..., rank - 1]
    return found


def _two_smallest(scores: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the (k-1)-th and the k-th smallest score of each row, as two rows; changes the order of the scores."""
    if not 1 < rank <= scores.shape[1]:
        return np.array([_smallest(scores, rank - 1), _smallest(scores, rank)])
    scores.partition([rank - 2, rank - 1], axis=1)
    return scores[:, rank - 2 : rank].T
