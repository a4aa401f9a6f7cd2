"""Which candidate is estimated to be the narrowest, for a chunk of new rows (see `chosen` and `deleted`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.deleted import STEPS, DeletedScores, Ends
from confide.conformal.pieces import Pieces
from confide.conformal.straight import Lines
from confide.conformal.tangents import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from confide.conformal.reach import Parts
    from confide.conformal.stacked import NewRows, Rows

# Estimates that differ by less, relatively, are tied.
TIED = 1e-9
# Lower and upper bounds of V_k at both ends of k pieces, and between them the line from one to the other: two (c, 2, k)
# arrays; +∞ for candidates that are ruled out.
Bounds = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


@dataclass(frozen=True)
class Contest:
    """A chunk of new rows as all candidates see them: V_k and its bounds.

    Attributes
    ----------
    deleted : sequence of DeletedScores
        One per candidate.
    rows : list of NewRows
        One per candidate.
    widths : (c, n) array
        The mean of (ℓ_i + u_i)·σ_i over the m+1 rows, times the candidate's handicap.
    centre, lower, upper : (c, n) arrays
        The new row's own deleted score times the width is (y - centre)/upper above the centre, and (centre - y)/lower
        below.
    alone : (c, n) boolean array
        Whether the new row is fitted by itself alone; its own deleted score is then infinite.
    """

    deleted: Sequence[DeletedScores]
    rows: list[NewRows]
    widths: NDArray[np.float64]
    centre: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    alone: NDArray[np.bool_]

    @classmethod
    def of(cls, deleted: Sequence[DeletedScores], handicaps: Sequence[float], new: Sequence[Rows]) -> Contest:
        """Return the contest of new rows, as each candidate sees them."""
        rows = [scores.stack.place(each) for scores, each in zip(deleted, new, strict=True)]
        totals = [
            handicap * (scores.stack.widths + (each.lower + each.upper) * each.scale)
            for scores, handicap, each in zip(deleted, handicaps, new, strict=True)
        ]
        widths = np.array(totals) / (len(deleted[0].stack) + 1)
        squared = np.array([each.squared for each in rows])
        per_score = np.array([each.stretch for each in rows]) / (1 + squared) / widths
        return cls(
            deleted,
            rows,
            widths,
            centre=np.array([each.centre for each in rows]),
            lower=per_score * np.array([each.lower for each in rows]),
            upper=per_score * np.array([each.upper for each in rows]),
            alone=np.array([each.free for each in rows]) | (ALONE * (1 + squared) >= 1),
        )

    @property
    def bits(self) -> NDArray[np.int64]:
        """The bit of each candidate, as a column."""
        return np.left_shift(np.int64(1), np.arange(len(self.rows)))[:, None]

    def as_bits(self, candidates: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return sets of candidates, a (c, k) array, as bits."""
        bits: NDArray[np.int64] = (candidates * self.bits).sum(axis=0)
        return bits

    def winners(self, y: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the candidate that is chosen at one outcome of each row: the first of those that are tied."""
        every, bits = np.arange(len(y)), np.full(len(y), self.bits.sum())
        pieces = Pieces(every, y, y, bits, bits, self.widths.max(axis=0), every)
        bounds = self._bounds(pieces, [scores.bands for scores in self.deleted])
        return np.asarray(np.argmax(_may_be_least(*bounds), axis=0), dtype=np.intp)

    def possible(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which candidates may be chosen at an outcome that is in a set: a (c, n) array.

        A candidate that is never the least on a range that contains the sets of all candidates is ruled out, by bounds
        from tables.

        Parameters
        ----------
        low, high : (c, n) arrays
            Ranges that contain the candidates' sets.
        """
        rows = np.arange(self.widths.shape[1])
        bits = np.full(len(rows), self.bits.sum())
        pieces = Pieces(rows, low.min(axis=0), high.max(axis=0), bits, bits, self.widths[0], rows)
        limits = np.full((len(self.rows), 2, len(rows)), np.inf)
        for place, at, row, ends in self._each(pieces):
            found = self.deleted[place].limits(self.rows[place], row, ends)
            limits[place][:, at] = self._scaled(place, row, found)
        return np.asarray(limits[:, 0] <= limits[:, 1].min(axis=0))

    def winner_between(
        self, rows: NDArray[np.intp], low: NDArray[np.float64], high: NDArray[np.float64], possible: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Return the candidate that is chosen at all outcomes of each row between two, if bounds tell; otherwise -1."""
        # With one candidate, or the same end of all, there is nothing to choose.
        winner = np.where((possible.sum(axis=0) == 1) | (low == high), possible.argmax(axis=0), -1)
        at = np.flatnonzero(winner < 0)
        bits = self.as_bits(possible[:, at])
        pieces = Pieces(rows[at], low[at], high[at], bits, bits, self.widths[0, rows[at]], rows[at])
        remaining = possible[:, at] & _may_be_least(*self.by_tangents(pieces))
        winner[at] = np.where(remaining.sum(axis=0) == 1, remaining.argmax(axis=0), -1)
        return winner

    def by_tangents(self, pieces: Pieces) -> Bounds:
        """Return bounds of V_k on pieces with finite ends, from tangents that many of them share."""
        few = [scores.stack.features.shape[1] in STEPS for scores in self.deleted]
        sources = [each.cells if cells else each.everywhere for each, cells in zip(self.deleted, few, strict=True)]
        return self._bounds(pieces, sources)

    def with_lines(self, pieces: Pieces) -> tuple[Bounds, Lines, NDArray[np.bool_]]:
        """Return bounds of V_k on pieces, its lines, and whether all that matters on a piece is straight."""
        lines = np.zeros((2, 4, len(self.rows), len(pieces)))
        straight = np.ones(len(pieces), dtype=bool)
        tie = np.zeros(len(pieces))
        least, most = np.full((2, len(self.rows), 2, len(pieces)), np.inf)
        for place, at, row, ends in self._each(pieces):
            scores, width = self.deleted[place], self.widths[place, row]
            values, lines_there, sums = scores.lines(self.rows[place], row, ends)
            own, bent = self._own(place, pieces.take(at))
            least[place][:, at], most[place][:, at] = self._bounded(place, row, own, bent, sums)
            below, rest, above = (values[:, part] * width for part in range(3))
            # An own score that turns, but below the others, does not matter, nor does an infinite one.
            own[:, bent] = np.where((own < below).all(axis=0), 0.0, np.nan)[bent]
            own = np.where(self.alone[place, row], 2 * above, own)
            for part, line in enumerate((own, below, above, rest)):
                lines[:, part, place, at] = line
            straight[at] &= lines_there & np.isfinite(own).all(axis=0)
            tie[at] = np.maximum(tie[at], scores.noise * scores.count * width + TIED * (rest + above).max(axis=0))
        possible = (pieces.possible & self.bits) != 0
        return (least, most), Lines(lines[0], lines[1], possible, tie), straight

    def _each(self, pieces: Pieces) -> Iterator[tuple[int, NDArray[np.intp] | slice, NDArray[np.intp], Ends]]:
        """Yield for each candidate the pieces where it is possible, their rows, and their ends."""
        for place, (new, bit) in enumerate(zip(self.rows, self.bits[:, 0], strict=True)):
            among = np.flatnonzero(pieces.possible & bit)
            if not self.deleted[place].stack.determined or not len(among):
                continue
            at = slice(None) if len(among) == len(pieces) else among  # a slice is faster
            row = pieces.row[at]
            yield place, at, row, Ends.of(new, row, pieces.low[at], pieces.high[at], pieces.beyond[at])

    def decide(self, pieces: Pieces, least: NDArray[np.float64], most: NDArray[np.float64]) -> tuple[Parts, Pieces]:
        """Return the pieces that are in the sets, and those that are still open, with the candidates left to them."""
        possible = pieces.possible & self.as_bits(_may_be_least(least, most))
        some = (possible & pieces.within) != 0
        # If all estimates are infinite, all candidates are tied.
        inside = some & (((possible & ~pieces.within) == 0) | np.isposinf(least.min(axis=(0, 1))))
        still = some & ~inside
        return (pieces.row[inside], pieces.low[inside], pieces.high[inside]), pieces.take(still).among(possible[still])

    def _bounds(self, pieces: Pieces, sources: Sequence[Callable[[NewRows, Any, Ends], NDArray[np.float64]]]) -> Bounds:
        """Return bounds of V_k on pieces, from bounds of its sums by each candidate's source (see `DeletedScores`)."""
        least, most = np.full((2, len(self.rows), 2, len(pieces)), np.inf)
        for place, at, row, ends in self._each(pieces):
            sums = sources[place](self.rows[place], row, ends)
            found = self._bounded(place, row, *self._own(place, pieces.take(at)), sums)
            least[place][:, at], most[place][:, at] = found
        return least, most

    def _bounded(
        self,
        place: int,
        row: NDArray[np.intp],
        own: NDArray[np.float64],
        turns: NDArray[np.bool_],
        sums: NDArray[np.float64],
    ) -> Bounds:
        """Return bounds of V of one candidate at both ends of pieces.

        With the three sums of `Tangents`, V = min(max(own + second, first), third). Of lines this is a line as long as
        the same of them is the largest and the smallest. Where that may change, and with it the side on which the line
        would be, bounds are constant.
        """
        sums = self._scaled(place, row, sums)
        return _lower(own * (1 - TIED), turns, sums[:, :3]), _upper(own * (1 + TIED), sums[:, 3:])

    def _own(self, place: int, pieces: Pieces) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the new row's own deleted score times the width at both ends of pieces, and whether it may be zero."""
        row, centre = pieces.row, self.centre[place, pieces.row]
        first = np.where(np.isneginf(pieces.low), -pieces.beyond, pieces.low - centre)
        last = np.where(np.isposinf(pieces.high), pieces.beyond, pieces.high - centre)
        below, above, alone = -1 / self.lower[place, row], 1 / self.upper[place, row], self.alone[place, row]
        own = np.array([np.maximum(end * above, end * below) for end in (first, last)])
        own[:, alone] = np.inf
        return own, (first * last < 0) & ~alone

    def _scaled(self, place: int, row: NDArray[np.intp], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return bounds of V_k from those of deleted scores, the lower ones first, moved apart by rounding errors."""
        slack = self.deleted[place].noise * self.deleted[place].count
        apart = np.repeat([-1.0, 1.0], bounds.shape[-2] // 2)[:, None]
        scaled: NDArray[np.float64] = (bounds * (1 + apart * TIED) + apart * slack) * self.widths[place, row]
        return scaled


def _lower(own: NDArray[np.float64], turns: NDArray[np.bool_], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lower bounds of V at both ends, from those of the own score, and whether it turns, and of the sums."""
    free, least = own + sums[:, 1], sums[:, 0]
    found = np.minimum(np.maximum(free, least), sums[:, 2])
    bent = np.flatnonzero(turns | ((free > least)[0] != (free > least)[1]))
    own, sums = np.where(turns[bent], 0.0, own[:, bent].min(axis=0)), sums[:, :, bent].min(axis=0)
    found[:, bent] = np.minimum(np.maximum(own + sums[1], sums[0]), sums[2])
    return found


def _upper(own: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return upper bounds of V at both ends. The own score is convex: it is below the line between its ends."""
    free, most = np.maximum(own + sums[:, 1], sums[:, 0]), sums[:, 2]
    found = np.minimum(free, most)
    bent = np.flatnonzero((free > most)[0] != (free > most)[1])
    found[:, bent] = np.minimum(free[:, bent].max(axis=0), most[:, bent].max(axis=0))
    return found


def _may_be_least(least: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each candidate may have the least V somewhere on each piece: a (c, k) array."""
    best = most.sum(axis=1).argmin(axis=0)
    return np.asarray((least <= most[best, :, np.arange(len(best))].T).any(axis=1))
