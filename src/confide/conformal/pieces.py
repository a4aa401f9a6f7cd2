"""Pieces of the line between the ends of several candidates' sets (see `chosen`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal.reach import Parts

# A piece is split into so many.
SPLIT = 4


@dataclass(frozen=True)
class Pieces:
    """Intervals of outcomes on which the choice matters: one entry per piece.

    Attributes
    ----------
    row : (k,) array
        The new row.
    low, high : (k,) arrays
        Its ends, one of which may be infinite.
    possible, within : (k,) arrays of integers
        Candidates that may be chosen, and candidates whose set contains the piece, as bits.
    beyond : (k,) array
        How far a ray is split off: the first part of [y, ∞) is [y, y + beyond].
    origin : (k,) array
        The place of the piece that it was taken from.
    """

    row: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    possible: NDArray[np.int64]
    within: NDArray[np.int64]
    beyond: NDArray[np.float64]
    origin: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Whether both ends are finite."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Pieces:
        """Return some of the pieces."""
        return Pieces(
            self.row[index],
            self.low[index],
            self.high[index],
            self.possible[index],
            self.within[index],
            self.beyond[index],
            self.origin[index],
        )

    def among(self, possible: NDArray[np.int64]) -> Pieces:
        """Return the pieces with other candidates that may be chosen."""
        return Pieces(self.row, self.low, self.high, possible, self.within, self.beyond, self.origin)

    def numbered(self) -> Pieces:
        """Return the pieces, each with its own place."""
        every = np.arange(len(self))
        return Pieces(self.row, self.low, self.high, self.possible, self.within, self.beyond, every)

    def split(self) -> list[Pieces]:
        """Return the parts of each piece: of equal length, or of a ray its first part and the rest."""
        finite = self.finite
        return [self.take(finite).split_intervals(), self.take(~finite).split_rays()]

    def split_intervals(self) -> Pieces:
        """Return the parts of pieces with finite ends, of equal length."""
        share = np.arange(SPLIT + 1) / SPLIT
        cuts = self.low[:, None] * (1 - share) + self.high[:, None] * share
        cuts[:, 0], cuts[:, -1] = self.low, self.high
        parts = self.take(np.repeat(np.arange(len(self)), SPLIT))
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        return Pieces(parts.row, low, high, parts.possible, parts.within, parts.beyond, parts.origin)

    def split_rays(self) -> Pieces:
        """Return the first part of each ray, and the rest, which is split twice as far next time."""
        upwards = np.isfinite(self.low)
        cut = np.where(upwards, self.low + self.beyond, self.high - self.beyond)
        parts = self.take(np.tile(np.arange(len(self)), 2))
        low, high = np.concatenate([self.low, cut]), np.concatenate([cut, self.high])
        return Pieces(parts.row, low, high, parts.possible, parts.within, 2 * parts.beyond, parts.origin)


def joined(parts: list[Pieces]) -> Pieces:
    """Return all pieces of several lots."""
    names = ("row", "low", "high", "possible", "within", "beyond", "origin")
    return Pieces(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def cut_at_ends(
    parts: Parts, candidate: NDArray[np.intp], possible: NDArray[np.int64], beyond: NDArray[np.float64]
) -> tuple[Pieces, Parts]:
    """Return the pieces between the ends of several candidates' sets: those where the choice matters, and those inside.

    Inside are the pieces that are in all sets. So are sets of a single outcome, which no piece would contain.

    Parameters
    ----------
    parts : tuple of three (k,) arrays
        Intervals of the candidates' sets: the new row, and both ends.
    candidate : (k,) array
        Whose set each is part of.
    possible : (n,) array of integers
        Which candidates may be chosen for each new row, as bits.
    beyond : (n,) array
        How far a ray is split off.
    """
    row, low, high = parts
    owner, value = np.tile(row, 2), np.concatenate([low, high])
    order = np.lexsort((value, owner))
    owner, value = owner[order], value[order]
    # Each end of an interval switches its candidate on or off; after the last end of a row all are off.
    switch = np.left_shift(np.int64(1), np.tile(candidate, 2)[order])
    within, among, at = np.bitwise_xor.accumulate(switch)[:-1], possible[owner[:-1]], owner[:-1]
    piece = (owner[1:] == at) & (value[1:] > value[:-1]) & (within != 0)
    every, matters = piece & (within == among), piece & (within != among)
    rows = at[matters]
    pieces = Pieces(rows, value[:-1][matters], value[1:][matters], among[matters], within[matters], beyond[rows], rows)
    single = low == high
    inside = (
        np.concatenate([at[every], row[single]]),
        np.concatenate([value[:-1][every], low[single]]),
        np.concatenate([value[1:][every], high[single]]),
    )
    return pieces, inside
