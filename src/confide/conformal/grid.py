"""Solvers for prediction sets whose rule depends on the candidate outcome itself.

A *member* function answers, for many (row, candidate outcome) pairs at once, whether the candidate is in the
row's set. Solver 1 of the transductive methods needs nothing else: it never refits a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.conformal.intervals import Intervals, IntervalSets

Member = Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.bool_]]

# At most this many (row, candidate) pairs, and this many numbers in them, are in memory at once.
MAX_PAIRS = 2**17
MAX_NUMBERS = 2**22
# Candidates reach beyond the observed outcomes by this share of their range, on each side.
MARGIN = 0.1


def widened_range(outcomes: NDArray[np.float64], declared: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return the range of candidates: the declared bounds, or the outcomes' range, a tenth wider on each side.

    A new outcome lies outside the range of m exchangeable ones with probability at most 2/(m+1).
    """
    low, high = float(outcomes.min()), float(outcomes.max())
    margin = MARGIN * (high - low)
    floor, ceiling = (-np.inf, np.inf) if declared is None else declared
    return (
        floor if np.isfinite(floor) else low - margin,
        ceiling if np.isfinite(ceiling) else high + margin,
    )


def is_declared(bounds: tuple[float, float] | None, values: Any) -> bool:
    """Return whether no outcome can lie outside of what is searched: both bounds are finite, or values are declared."""
    return values is not None or (bounds is not None and bool(np.isfinite(bounds).all()))


def rows_at_once(candidates: int, columns: int) -> int:
    """Return how many rows fit the memory bound, given the number of candidates per row and of columns."""
    return max(1, min(MAX_PAIRS, MAX_NUMBERS // columns) // candidates)


def outcome_grid(outcomes: NDArray[np.float64], domain: tuple[float, float], size: int) -> NDArray[np.float64]:
    """Return candidate outcomes over the domain: half evenly spaced, half at quantiles of the outcomes.

    The quantiles keep the grid fine where the outcomes are dense, however far the domain reaches.
    """
    even = np.linspace(*domain, size - size // 2)
    dense = np.quantile(outcomes, np.linspace(0, 1, size // 2))
    return np.unique(np.concatenate([even, np.clip(dense, *domain)]))


def solve_on_grid(member: Member, core: Intervals, grid: NDArray[np.float64], tolerance: float) -> IntervalSets:
    """Return each row's set {y in the domain: member(row, y)}, for rows 0 to len(core) - 1.

    Membership is evaluated on the grid, whose ends are the domain's, and every change between neighbours is
    bisected until it is known to within ``tolerance``; ends are rounded outwards. A component that contains
    no grid point and lies outside the core is missed.

    Parameters
    ----------
    member : callable
        ``member(rows, outcomes)`` returns booleans, one per pair.
    core : Intervals
        Per row, an interval that is known to be inside, however narrow; NaN ends if there is none.
    grid : (g,) array
        Candidate outcomes in increasing order.
    tolerance : float
        Absolute error of a component's end.
    """
    count = len(core)
    core = core.clip(grid[0], grid[-1])
    # The core's ends join the candidates. A row without a core gets a grid point a second time instead.
    known = np.where(np.isnan(core), grid[0], core)
    candidates = np.concatenate([np.broadcast_to(grid, (count, len(grid))), known], axis=1)
    inside = (core.lower[:, None] <= candidates) & (candidates <= core.upper[:, None])
    rows, columns = np.nonzero(~inside)
    if len(rows):
        inside[rows, columns] = member(rows, candidates[rows, columns])

    order = np.argsort(candidates, axis=1, kind="stable")
    candidates = np.take_along_axis(candidates, order, axis=1)
    inside = np.take_along_axis(inside, order, axis=1)

    # A component begins after an outside candidate or at the domain's lower end, and ends likewise.
    outside = np.zeros((count, 1), dtype=bool)
    left_row, left = np.nonzero(inside & ~np.concatenate([outside, inside[:, :-1]], axis=1))
    right_row, right = np.nonzero(inside & ~np.concatenate([inside[:, 1:], outside], axis=1))
    last = candidates.shape[1] - 1
    ends_in = np.concatenate([candidates[left_row, left], candidates[right_row, right]])
    ends_out = np.concatenate(
        [candidates[left_row, np.maximum(left - 1, 0)], candidates[right_row, np.minimum(right + 1, last)]]
    )
    ends = bisect(member, np.concatenate([left_row, right_row]), ends_in, ends_out, tolerance)
    starts = np.concatenate([[0], np.cumsum(np.bincount(left_row, minlength=count))])
    return IntervalSets(ends[: len(left)], ends[len(left) :], starts, whole=np.asarray(inside.all(axis=1)))


def bisect(
    member: Member,
    rows: NDArray[np.intp],
    inside: NDArray[np.float64],
    outside: NDArray[np.float64],
    tolerance: float,
) -> NDArray[np.float64]:
    """Return, for each pair of an inside and an outside outcome, an outside one within tolerance of an inside one."""
    inside, outside = inside.copy(), outside.copy()
    wide = np.arange(len(rows))
    while True:
        middle = (inside + outside) / 2
        # Neighbouring floats cannot be split further, whatever the tolerance.
        splits = (np.abs(inside - outside) > tolerance) & (middle != inside) & (middle != outside)
        wide = wide[splits[wide]]
        if not len(wide):
            return outside
        is_member = member(rows[wide], middle[wide])
        inside[wide[is_member]] = middle[wide[is_member]]
        outside[wide[~is_member]] = middle[wide[~is_member]]
