"""Pieces on which every candidate's estimate is made of lines: where the least one changes, in closed form.

On such a piece V = min(max(own, below), above) + rest, with the new row's own deleted score, two of the trial rows'
and the sum of those between, all four of them lines (see `deleted`). The piece is cut where the own score crosses one
of the two. On each part all V are lines. Their least is concave, so a candidate that is the least at both ends is the
least between; otherwise the part is cut where the least one at its first end meets the least one at its last end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal.pieces import Pieces
    from confide.conformal.reach import Parts

# A part this short, relative to its piece, is not cut further, and it is in.
SHORTEST = 1e-12
# In is rounded outwards by this share of the candidates' mean width.
OUTWARDS = 1e-9


@dataclass(frozen=True)
class Lines:
    """Four lines per candidate and piece.

    Attributes
    ----------
    first, last : (4, c, k) arrays
        Values of own, below, above and rest at both ends of each piece.
    possible : (c, k) boolean array
        Which candidates may be chosen.
    tie : (k,) array
        Estimates no further apart are tied.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    possible: NDArray[np.bool_]
    tie: NDArray[np.float64]

    def take(self, pieces: Pieces) -> Lines:
        """Return the lines on some pieces, and for the candidates that are still possible there."""
        place = pieces.origin
        bits = np.left_shift(np.int64(1), np.arange(len(self.possible)))[:, None]
        possible = (pieces.possible & bits) != 0
        return Lines(self.first[:, :, place], self.last[:, :, place], possible, self.tie[place])

    def at(self, place: NDArray[np.intp], share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at a share of the way from the first end to the last."""
        return self.first[:, :, place] * (1 - share) + self.last[:, :, place] * share


def settle_straight(pieces: Pieces, lines: Lines, bits: NDArray[np.int64], width: NDArray[np.float64]) -> list[Parts]:
    """Return the parts of pieces whose chosen candidate contains them, rounded outwards.

    Parameters
    ----------
    pieces : Pieces
        k pieces.
    lines : Lines
        The lines of every candidate on them.
    bits : (c, 1) array
        The bit of each candidate.
    width : (k,) array
        The candidates' mean width.
    """
    found = []
    place, begin, end = np.arange(len(pieces)), np.zeros(len(pieces)), np.ones(len(pieces))
    while len(place):
        possible = lines.possible[:, place]
        at_begin, at_end = lines.at(place, begin), lines.at(place, end)
        share = _bend(at_begin, at_end, possible)
        first, last = (np.where(possible, _estimate(each), np.inf) for each in (at_begin, at_end))
        least = first <= first.min(axis=0) + lines.tie[place]
        least &= last <= last.min(axis=0) + lines.tie[place]
        crossed = np.where(least.any(axis=0), np.nan, _crossing(first, last))
        share = np.where(np.isnan(share), crossed, share)
        short = end - begin <= SHORTEST
        done = np.isnan(share) | short
        chosen = np.where(short, possible, least)
        inside = done & ((((chosen * bits).sum(axis=0)) & pieces.within[place]) != 0)
        low, high = _outcomes(pieces, place[inside], begin[inside], end[inside])
        pad = OUTWARDS * width[place[inside]]
        found.append((pieces.row[place[inside]], low - pad, high + pad))
        cut = begin + (end - begin) * np.clip(share, SHORTEST, 1 - SHORTEST)
        place, begin, end = (
            np.tile(place[~done], 2),
            np.concatenate([begin[~done], cut[~done]]),
            np.concatenate([cut[~done], end[~done]]),
        )
    return found


def _estimate(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return V of each candidate."""
    own, below, above, rest = values
    estimate: NDArray[np.float64] = np.minimum(np.maximum(own, below), above) + rest
    return estimate


def _bend(first: NDArray[np.float64], last: NDArray[np.float64], possible: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return where the own score of a candidate first crosses one of its two lines, as a share; NaN for nowhere."""
    share = np.full(possible.shape[1], np.nan)
    for line in (1, 2):
        before, after = first[0] - first[line], last[0] - last[line]
        size = 1e-13 * (np.abs(first[line]) + np.abs(last[line]))
        crosses = possible & (((before < -size) & (after > size)) | ((before > size) & (after < -size)))
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.where(crosses, before / (before - after), np.nan)
        share = np.fmin(share, np.fmin.reduce(root, axis=0))
    return share


def _crossing(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where the least line at the first end meets the least line at the last end, as a share."""
    every = np.arange(first.shape[1])
    one, other = first.argmin(axis=0), last.argmin(axis=0)
    before = first[other, every] - first[one, every]
    after = last[one, every] - last[other, every]
    with np.errstate(divide="ignore", invalid="ignore"):
        share: NDArray[np.float64] = before / (before + after)
    return share


def _outcomes(
    pieces: Pieces, place: NDArray[np.intp], begin: NDArray[np.float64], end: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the outcomes at two shares of the way through pieces; a ray's are those of homogeneous coordinates."""
    low, high, beyond = pieces.low[place], pieces.high[place], pieces.beyond[place]
    found = []
    for share in (begin, end):
        with np.errstate(divide="ignore", invalid="ignore"):
            upwards = low + beyond * share / (1 - share)
            downwards = high - beyond * (1 - share) / share
            outcome = np.where(np.isposinf(high), upwards, np.where(np.isneginf(low), downwards, 0.0))
            outcome = np.where(np.isfinite(low) & np.isfinite(high), low * (1 - share) + high * share, outcome)
        found.append(np.where(share == 0, low, np.where(share == 1, high, outcome)))
    return found[0], found[1]
