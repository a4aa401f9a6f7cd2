"""Unions of many intervals per row, merged where they overlap or touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.intervals import IntervalSets

if TYPE_CHECKING:
    from numpy.typing import NDArray


def union_of(row: NDArray[np.intp], lower: NDArray[np.float64], upper: NDArray[np.float64], count: int) -> IntervalSets:
    """Return each row's union of closed intervals, for rows 0 to count - 1.

    Parameters
    ----------
    row : (k,) array
        The row that each interval belongs to, in any order.
    lower, upper : (k,) arrays
        Its ends, which may be infinite; lower ≤ upper.
    """
    if len(row) == count and (np.bincount(row, minlength=count) == 1).all():
        ends = np.empty((2, count))
        ends[:, row] = lower, upper
        whole = np.isneginf(ends[0]) & np.isposinf(ends[1])
        return IntervalSets(ends[0], ends[1], np.arange(count + 1), whole=whole)
    value = np.concatenate([lower, upper])
    step = np.repeat([1, -1], len(row))
    # At equal values intervals begin before others end, so that those that touch are merged.
    order = np.lexsort((-step, value, np.tile(row, 2)))
    value, step = value[order], step[order]
    depth = np.cumsum(step)
    begins, stops = (depth == 1) & (step == 1), depth == 0
    owner = np.tile(row, 2)[order][begins]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    whole = np.zeros(count, dtype=bool)
    whole[owner] = np.isneginf(value[begins]) & np.isposinf(value[stops])
    return IntervalSets(value[begins], value[stops], starts, whole=whole)


def runs(inside: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the runs of True in each row: the row, the first column, and the column after the last."""
    closed = np.zeros((len(inside), 1), dtype=bool)
    row, first = np.nonzero(inside & ~np.concatenate([closed, inside[:, :-1]], axis=1))
    _, last = np.nonzero(inside & ~np.concatenate([inside[:, 1:], closed], axis=1))
    return row, first, last + 1
