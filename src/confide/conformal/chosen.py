"""Prediction sets of the candidate that is estimated to be the narrowest, chosen without losing the promise.

Candidates are stacks on the same trial rows (see `stacked`). For a new row with candidate outcome y,

    k̂(y) = argmin_k V_k(y)   (see `deleted`; the first of several),

and y is in the set iff it is in the set of candidate k̂(y). Every V_k is symmetric in the m trial rows and the new row,
so the scores under k̂(y) are as well, and the promise of one candidate holds: ≥ 1-α if the m+1 rows are exchangeable.
The candidate that is narrowest on the m trial rows alone would not keep it.

The sets of all candidates, and where each is chosen, are found without a grid:

1. Bounds of V_k that hold for every new row up to some leverage rule most candidates out. Where one remains, its set is
   the answer.
2. Otherwise V_k is bounded between the lower ends of the remaining candidates' sets, and between their upper ends, by
   tangents that many new rows share (see `tangents`). Where one candidate is the least, its end is the answer.
3. For the other rows the ends of all sets cut the line into pieces. A piece that is in all sets, or in none, needs no
   choice. Others are in if every candidate that may be the least contains them, and out if none does.
4. On pieces that are still open, V_k is mostly made of a few lines, and where the least one changes is known in closed
   form (see `straight`). Others are split.
5. Pieces shorter than `TOLERANCE` of the candidates' mean width that are still open are in: the set may be that much
   too large there, never too small. Candidates that differ by rounding alone count as tied, and an outcome is in if it
   is in the set of one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from confide.base.threads import threads_for
from confide.conformal.contest import Contest
from confide.conformal.deleted import DeletedScores, band_of
from confide.conformal.intervals import IntervalSets
from confide.conformal.pieces import Pieces, cut_at_ends, joined
from confide.conformal.quantile import level
from confide.conformal.reach import Parts, Reach
from confide.conformal.stacked import contained, rank_of, whole_line
from confide.conformal.straight import settle_straight
from confide.conformal.unions import union_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from confide.conformal.stacked import Rows, Stack
    from confide.typing import Level

# Pieces are not split below this share of the candidates' mean width; rays not beyond the width times 2 to this power.
TOLERANCE = 1e-6
DOUBLINGS = 30
# So many pieces are in memory at once.
AT_ONCE = 2**15
# The bits of an integer: which candidates are meant.
MOST_CANDIDATES = 62


@dataclass(frozen=True)
class Choice:
    """Candidates on the same trial rows, for one alpha.

    Attributes
    ----------
    stacks : tuple of Stack
        The candidates; the first one wins ties.
    rank : int
        k = ⌈(1-α)(m+1)⌉.
    reaches, deleted : tuples
        What each candidate's sets and estimates need.
    handicaps : tuple of float
        Factors of the candidates' estimates.
    share : float
        1-α, slightly less.
    weights : (m,) array or None
        The trial rows' weights, if they differ. V_k does not depend on them: it must be symmetric in the rows.
    side : {"both", "lower", "upper"}
        Which ends the sets have.
    """

    stacks: tuple[Stack, ...]
    rank: int
    reaches: tuple[Reach, ...]
    deleted: tuple[DeletedScores, ...]
    handicaps: tuple[float, ...]
    share: float
    weights: NDArray[np.float64] | None = None
    side: str = "both"

    @classmethod
    def of(
        cls,
        stacks: Sequence[Stack],
        alpha: Level,
        handicaps: Sequence[float] = (),
        weights: NDArray[np.float64] | None = None,
        side: str = "both",
    ) -> Choice:
        """Return the choice among stacks.

        Parameters
        ----------
        stacks : sequence of Stack
            Candidates, of the same trial rows in the same order.
        alpha : float
            Miscoverage level, strictly between 0 and 1, read as the decimal that was typed.
        handicaps : sequence of float
            Factors above 0 of the candidates' estimates: one with a larger factor is chosen only if it is so much
            narrower. Empty: 1 for all.
        weights : (m,) array, default None
            Weights of the trial rows (see `marks`); None: all weigh 1.
        side : {"both", "lower", "upper"}
            Which ends the sets have; the stacks' tails reach farther on the other side.
        """
        if not 1 <= len(stacks) <= MOST_CANDIDATES:
            raise ValueError(f"a choice needs 1 to {MOST_CANDIDATES} candidates, got {len(stacks)}.")
        rows = {len(stack) for stack in stacks}
        if len(rows) > 1:
            raise ValueError(f"candidates must have the same trial rows, got {', '.join(map(str, sorted(rows)))} rows.")
        rank = rank_of(alpha, rows.pop())
        reaches = tuple(Reach.of(stack, rank, weights, side) for stack in stacks)
        band = band_of(alpha, len(stacks[0]))
        deleted = tuple(DeletedScores.of(stack, band) for stack in stacks)
        factors = tuple(handicaps) or (1.0,) * len(stacks)
        return cls(tuple(stacks), rank, reaches, deleted, factors, level(alpha), weights, side)

    def weighing(self, weights: NDArray[np.float64] | None) -> Choice:
        """Return the same choice with other weights of the trial rows."""
        reaches = tuple(replace(reach, weights=weights) for reach in self.reaches)
        return replace(self, reaches=reaches, weights=weights)

    def among(self, rows: NDArray[np.intp], alpha: Level) -> Choice:
        """Return the same choice with new rows ranked among some trial rows, which weigh the same: those of a group.

        V_k is still that of all trial rows: it may be any function that is symmetric in them.
        """
        rank = rank_of(alpha, len(rows))
        return replace(self, rank=rank, reaches=tuple(each.among(rows, rank) for each in self.reaches), weights=None)

    def sets(self, new: Sequence[Rows], own: ArrayLike = 1.0) -> IntervalSets:
        """Return each new row's set of outcomes; the whole line where there are too few trial rows for alpha.

        Parameters
        ----------
        new : sequence of Rows
            The same new rows as each candidate sees them.
        own : float or (n,) array
            Their own weights, if trial rows have weights.
        """
        self._check(new)
        enough = self._enough(own, len(new[0]))
        if np.all(self.reaches[0].unbounded(enough)):
            return whole_line(len(new[0]))
        with threads_for(len(new[0])):
            solved = [
                self._solve(contest, None if enough is None else enough[part]) for part, contest in self._contests(new)
            ]
        return IntervalSets.concatenate(solved)

    def _enough(self, own: ArrayLike, rows: int) -> NDArray[np.float64] | None:
        """Return the weight of smaller scores that puts an outcome of each new row outside; None without weights."""
        if self.weights is None:
            return None
        return self.share * (float(self.weights.sum()) + np.broadcast_to(np.asarray(own, dtype=np.float64), rows))

    def contains(self, new: Sequence[Rows], values: ArrayLike, own: ArrayLike = 1.0) -> NDArray[np.bool_]:
        """Return whether each new row's set contains each value: an (n, v) array, for discrete outcomes."""
        return contained(self.sets(new, own), values)

    def chosen_at(self, new: Sequence[Rows], y: ArrayLike) -> NDArray[np.intp]:
        """Return the place of the candidate that is chosen at one outcome of each new row, which may be infinite."""
        self._check(new)
        outcomes = np.broadcast_to(np.asarray(y, dtype=np.float64), len(new[0]))
        with threads_for(len(new[0])):
            found = [contest.winners(outcomes[part]) for part, contest in self._contests(new)]
        return np.concatenate([np.zeros(0, dtype=np.intp), *found])

    def _check(self, new: Sequence[Rows]) -> None:
        """Raise unless every candidate has its view of the same number of new rows."""
        if len(new) != len(self.stacks) or len({len(rows) for rows in new}) > 1:
            lengths = ", ".join(str(len(rows)) for rows in new)
            raise ValueError(f"{len(self.stacks)} candidates need as many views of the new rows, got {lengths} rows.")

    def _contests(self, new: Sequence[Rows]) -> Iterator[tuple[slice, Contest]]:
        """Yield chunks of the new rows."""
        chunks = ((part, [rows.take(part) for rows in new]) for part in new[0].chunks())
        return ((part, Contest.of(self.deleted, self.handicaps, rows)) for part, rows in chunks)

    def _solve(self, contest: Contest, enough: NDArray[np.float64] | None) -> IntervalSets:
        """Return the sets of one chunk of new rows; ``enough`` as in `Reach.residuals`."""
        possible = contest.possible(*self._ranges(contest, enough))
        if enough is not None:
            possible[:, self.reaches[0].unbounded(enough)] = np.arange(len(possible))[:, None] == 0  # whoever is chosen
        sets = [self._set(contest, place, np.flatnonzero(possible[place]), enough) for place in range(len(self.stacks))]
        found = [self._agreed(contest, possible, sets)]
        several = np.ones(possible.shape[1], dtype=bool)
        several[found[0][0]] = False
        contested, candidate = [], []
        for place, (row, low, high) in enumerate(sets):
            open_ = several[row]
            contested.append((row[open_], low[open_], high[open_]))
            candidate.append(np.full(len(contested[-1][0]), place))
        if several.any():
            pieces, inside = cut_at_ends(
                _all(contested), np.concatenate(candidate), contest.as_bits(possible), contest.widths.max(axis=0)
            )
            found.append(inside)
            found.extend(self._settle(contest, pieces))
        return union_of(*_all(found), len(several))

    def _agreed(self, contest: Contest, possible: NDArray[np.bool_], sets: list[Parts]) -> Parts:
        """Return the sets of rows for which one candidate is chosen wherever lower ends differ, and one for upper ends.

        Of rows whose candidates have one finite interval each, which are most.
        """
        count = np.array([np.bincount(row, minlength=possible.shape[1]) for row, _, _ in sets])
        low, high = np.full((2, *possible.shape), np.nan)
        for place, (row, below, above) in enumerate(sets):
            low[place, row], high[place, row] = below, above
        # NaN, of candidates that are ruled out, is ignored.
        ends = [(np.fmin.reduce(each), np.fmax.reduce(each)) for each in (low, high)]
        known = [(np.isfinite(first) & np.isfinite(last)) | (first == last) for first, last in ends]
        plain = np.flatnonzero((count == possible).all(axis=0) & known[0] & known[1])
        winners = [contest.winner_between(plain, first[plain], last[plain], possible[:, plain]) for first, last in ends]
        agreed = (winners[0] >= 0) & (winners[1] >= 0)
        rows = plain[agreed]
        return rows, low[winners[0][agreed], rows], high[winners[1][agreed], rows]

    def _ranges(
        self, contest: Contest, enough: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a range that contains each candidate's set, from tables: two (c, n) arrays.

        On a side where sets have no end, it begins at the centre: all sets contain what lies beyond all centres.
        """
        low, high = np.empty((2, *contest.widths.shape))
        for place, new in enumerate(contest.rows):
            norm = np.sqrt(new.squared)
            below, above = (
                self.reaches[place].farthest(norm * tail, enough) * tail if self.side in ("both", side) else 0.0 * tail
                for side, tail in (("lower", new.lower), ("upper", new.upper))
            )
            low[place], high[place] = new.outcomes(slice(None), -below, above, self.stacks[place].rounding)
            low[place, new.free], high[place, new.free] = -np.inf, np.inf
        return low, high

    def _set(self, contest: Contest, place: int, at: NDArray[np.intp], enough: NDArray[np.float64] | None) -> Parts:
        """Return one candidate's sets of some new rows, as disjoint intervals of outcomes."""
        needed = None if enough is None else enough[at]
        sets = self.stacks[place].solve(contest.rows[place].take(at), self.reaches[place], needed)
        return at[sets.rows], sets.lower, sets.upper

    def _settle(self, contest: Contest, pieces: Pieces) -> Iterator[Parts]:
        """Yield the parts of the pieces that are in the sets."""
        width = contest.widths.max(axis=0)
        bounded = pieces.finite
        some = pieces.take(bounded)
        inside, left = contest.decide(some, *contest.by_tangents(some))
        yield inside
        pieces = joined([left, pieces.take(~bounded)])
        while len(pieces):
            waiting = []
            for begin in range(0, len(pieces), AT_ONCE):
                part = pieces.take(slice(begin, begin + AT_ONCE)).numbered()
                bounds, lines, straight = contest.with_lines(part)
                inside, left = contest.decide(part, *bounds)
                yield inside
                solved = left.take(straight[left.origin])
                yield from settle_straight(solved, lines.take(solved), contest.bits, width[solved.row])
                left = left.take(~straight[left.origin])
                short = np.where(left.finite, left.high - left.low, np.inf) <= TOLERANCE * width[left.row]
                final = short | (left.beyond > width[left.row] * 2.0**DOUBLINGS)
                yield left.row[final], left.low[final], left.high[final]
                waiting.extend(left.take(~final).split())
            pieces = joined(waiting)


def _all(parts: list[Parts]) -> Parts:
    """Return all intervals of several lots."""
    row, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
    return row, low, high
