"""Prediction sets of models whose refitted residuals are lines in the candidate outcome.

Refitted on its rows and on (x_new, ȳ), a linear smoother leaves residuals a_i + b_i·ȳ. The set of Algorithm 2 is then
known in closed form: the weight of calibration rows with a smaller residual than the new row's changes only where two
absolute values of lines cross, and between two crossings only the new row's own weight can change the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.grid import bisect
from confide.conformal.intervals import IntervalSets
from confide.conformal.quantile import level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.typing import Level

# The new rows' own weights: ``own(rows, outcomes)`` returns one per pair.
OwnWeight = Callable[["NDArray[np.intp]", "NDArray[np.float64]"], "NDArray[np.float64]"]


@dataclass(frozen=True)
class ResidualLines:
    """Residuals of k calibration rows and of one new row, as lines in its candidate outcome.

    Attributes
    ----------
    intercepts, slopes : (k + 1,) arrays
        a and b of a + b·ȳ; the new row comes last.
    """

    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]

    def smaller(self, slack: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where each calibration row's residual is smaller than the new row's: |e_i| < |e_new| - slack.

        Two open intervals per row, the first where the new residual is positive, the second where it is negative, with
        start ≥ end where there is none. The slack counts residuals as tied that differ by rounding alone.
        """
        starts, ends = [], []
        for sign in (1.0, -1.0):
            a_new, b_new = sign * self.intercepts[-1] - slack, sign * self.slopes[-1]
            # e_new - slack > e_i and e_new - slack > -e_i
            first = _half_line(a_new - self.intercepts[:-1], b_new - self.slopes[:-1])
            second = _half_line(a_new + self.intercepts[:-1], b_new + self.slopes[:-1])
            starts.append(np.maximum(first[0], second[0]))
            ends.append(np.minimum(first[1], second[1]))
        return np.array(starts), np.array(ends)

    def below(self, outcomes: NDArray[np.float64], weights: NDArray[np.float64], slack: float) -> NDArray[np.float64]:
        """Return the weight of calibration rows with a smaller residual, one value per outcome."""
        residuals = np.abs(self.intercepts[:, None] + self.slopes[:, None] * outcomes)
        total: NDArray[np.float64] = weights @ (residuals[:-1] < residuals[-1] - slack)
        return total


def _half_line(
    intercept: NDArray[np.float64], slope: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of {ȳ: intercept + slope·ȳ > 0}: open, infinite on one side, start ≥ end where it is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = -intercept / slope
    never = (slope == 0) & (intercept <= 0)
    start = np.where(slope > 0, root, np.where(never, np.inf, -np.inf))
    end = np.where(slope < 0, root, np.inf)
    return start, end


def solve_lines(
    lines: Sequence[ResidualLines],
    weights: NDArray[np.float64],
    own: OwnWeight,
    alpha: Level,
    grid: NDArray[np.float64],
    *,
    tolerance: float,
    slack: float,
) -> IntervalSets:
    """Return each row's set {ȳ: Σ_{|e_i| < |e_new|} w_i < (1-α)(Σ w_i + own weight)}, exact but for the own weight.

    The own weight is evaluated on the grid, and assumed to lie between its values at the ends of a grid cell. Where
    that does not decide, it is evaluated at the crossings too, and bisected between two of them.

    Parameters
    ----------
    lines : sequence of ResidualLines
        One per new row.
    weights : (k,) array
        Weights of the calibration rows, the same for all new rows.
    own : callable
        ``own(rows, outcomes)`` returns the new rows' weights, one per pair.
    alpha : float
        Miscoverage level.
    grid : (g,) array
        Outcomes in increasing order; its ends are those of the domain, and may be infinite.
    tolerance : float
        Absolute error of ends that the own weight decides; they are rounded outwards.
    slack : float
        Residuals no further apart than this are tied.
    """
    count, share, total = len(lines), level(alpha), float(weights.sum())
    at_grid = own(np.repeat(np.arange(count), len(grid)), np.tile(grid, count)).reshape(count, len(grid))
    least = share * (total + np.minimum(at_grid[:, :-1], at_grid[:, 1:]))
    most = share * (total + np.maximum(at_grid[:, :-1], at_grid[:, 1:]))
    found, unsure = [], []
    for row, line in enumerate(lines):
        cuts, below, cell = _pieces(line, weights, grid, slack)
        inside = (below < least[row, cell]) | (most[row, cell] == 0)
        maybe = ~inside & (below < most[row, cell])
        found.append(_Parts.of_runs(row, cuts, inside))
        unsure.append(_Pieces(np.full(maybe.sum(), row), cuts[:-1][maybe], cuts[1:][maybe], below[maybe]))
    pieces = _Pieces(*(np.concatenate(parts) for parts in zip(*(each.arrays() for each in unsure), strict=True)))
    if len(pieces.row):
        found.append(_settle(pieces, lambda rows, y: share * (total + own(rows, y)), tolerance))
    return _union(found, count, grid)


def _pieces(
    line: ResidualLines, weights: NDArray[np.float64], grid: NDArray[np.float64], slack: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return the cuts of the domain, and for each piece between two the weight below and its grid cell."""
    low, high = grid[0], grid[-1]
    starts, ends = line.smaller(slack)
    starts, ends = np.maximum(starts, low), np.minimum(ends, high)
    present = starts < ends
    weight = np.broadcast_to(weights, present.shape)[present]
    starts, ends = starts[present], ends[present]
    enters, leaves, first = starts > low, ends < high, float(weight[starts <= low].sum())
    cuts = np.concatenate([grid[1:-1], starts[enters], ends[leaves]])
    steps = np.concatenate([np.zeros(len(grid) - 2), weight[enters], -weight[leaves]])
    order = np.argsort(cuts)
    below = first + np.concatenate([[0.0], np.cumsum(steps[order])])
    cell = np.concatenate([[0], np.cumsum(order < len(grid) - 2)])
    return np.concatenate([[low], cuts[order], [high]]), below, cell


@dataclass(frozen=True)
class _Pieces:
    """Pieces of the domain where the own weight decides whether they are in the set: one entry per piece."""

    row: NDArray[np.intp]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    below: NDArray[np.float64]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.row, self.left, self.right, self.below


@dataclass(frozen=True)
class _Parts:
    """Closed intervals that are in a row's set: one entry per interval."""

    row: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of_runs(cls, row: int, cuts: NDArray[np.float64], inside: NDArray[np.bool_]) -> _Parts:
        """Return runs of neighbouring pieces that are inside."""
        change = np.diff(np.concatenate([[0], inside.astype(np.int8), [0]]))
        begin, stop = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
        return cls(np.full(len(begin), row), cuts[begin], cuts[stop])


def _settle(
    pieces: _Pieces, threshold: Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.float64]], tolerance: float
) -> _Parts:
    """Return the part of each piece that is in the set: its ends are evaluated, and bisected if they differ."""

    def member(index: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        needed = threshold(pieces.row[index], y)
        inside: NDArray[np.bool_] = (pieces.below[index] < needed) | (needed == 0)
        return inside

    every = np.arange(len(pieces.row))
    at_left, at_right = member(every, pieces.left), member(every, pieces.right)
    mixed = every[at_left != at_right]
    inner = np.where(at_left, pieces.left, pieces.right)[mixed]
    outer = np.where(at_left, pieces.right, pieces.left)[mixed]
    end = bisect(member, mixed, inner, outer, tolerance)
    lower, upper = pieces.left.copy(), pieces.right.copy()
    upper[mixed[at_left[mixed]]] = end[at_left[mixed]]
    lower[mixed[at_right[mixed]]] = end[at_right[mixed]]
    inside = at_left | at_right
    return _Parts(pieces.row[inside], lower[inside], upper[inside])


def _union(parts: list[_Parts], count: int, grid: NDArray[np.float64]) -> IntervalSets:
    """Return the unions of the parts; parts that touch become one component."""
    row, lower, upper = (np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "lower", "upper"))
    order = np.lexsort((upper, lower, row))
    row, lower, upper = row[order], lower[order], upper[order]
    # Parts overlap only at their ends, so comparing with the previous one shows whether a part begins a component.
    begins = np.ones(len(row), dtype=bool)
    begins[1:] = (row[1:] != row[:-1]) | (lower[1:] > upper[:-1])
    last = np.append(begins[1:], True)[: len(row)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[begins], minlength=count))])
    whole = np.zeros(count, dtype=bool)
    whole[row[begins]] = (lower[begins] == grid[0]) & (upper[last] == grid[-1])
    return IntervalSets(lower[begins], upper[last], starts, whole=whole)
