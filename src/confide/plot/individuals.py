"""Intervals of individuals, one vertical line per row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.intervals import Intervals
from confide.plot.canvas import axes_or_new
from confide.plot.style import (
    BLUE,
    DARK,
    FAR,
    GREY,
    PURPLE,
    SIZE,
    VERMILION,
    count,
    make_room_for_legend,
    one_finite_per_row,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

# Groups of intervals against 0, in the order in which they are drawn.
GROUPS = {"below 0": VERMILION, "containing 0": GREY, "above 0": BLUE}
# Widest line of an interval, in points; with many rows lines are thin and transparent.
WIDE = 2.5


def intervals(
    intervals: Intervals,
    points: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    zero: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one vertical line per row, in order of the points, or of the lower ends if there are none.

    An infinite end runs off the axes, with a triangle there; an empty interval is a cross at the lower edge, after all
    others. The legend counts both.

    Parameters
    ----------
    intervals : Intervals
        Intervals of outcomes or of effects.
    points : (n,) array, default None
        Point predictions.
    truth : (n,) array, default None
        What the intervals should contain: observed outcomes or, in simulations, effects. Those outside are marked and
        counted.
    zero : bool, default False
        Draw a line at 0, and group intervals below 0, containing 0 and above 0, each with its colour and number.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from confide import Intervals, plot
    >>> ax = plot.intervals(Intervals([0.5, -1.0], [2.0, 1.0]), points=[1.0, 0.0], zero=True)
    >>> ax.figure.savefig("effects.png")  # doctest: +SKIP
    """
    if not isinstance(intervals, Intervals):
        raise ValueError(  # noqa: TRY004  (whatever is wrong with an argument is a ValueError here)
            f"intervals must be Intervals, got {type(intervals).__name__}. Draw the hull() of IntervalSets, and "
            "Intervals(lower, upper) of two vectors."
        )
    if not len(intervals):
        raise ValueError("there are 0 intervals; a plot needs at least 1 row.")
    middle = None if points is None else one_finite_per_row(points, len(intervals), "points")
    known = None if truth is None else one_finite_per_row(truth, len(intervals), "truth")
    ax = axes_or_new(ax, *SIZE)
    order, group = _in_order(intervals, middle, zero=zero)
    lower, upper = intervals.lower[order], intervals.upper[order]
    inside = None if known is None else intervals.contains(known)[order]
    middle, known = (None if values is None else values[order] for values in (middle, known))
    shown = np.concatenate([values for values in (lower, upper, middle, known) if values is not None])
    if zero:
        shown = np.append(shown, 0.0)
        ax.axhline(0, color=DARK, linewidth=0.8)
    _draw_lines(ax, lower, upper, shown[np.isfinite(shown)], group[order] if zero else None)
    few = min(_room(ax, len(order)) / WIDE, 1.0)  # scales sizes and opacity down if there are many rows
    if middle is not None:
        ax.plot(middle, "_", color=DARK, markersize=2 + 3 * few, label="point", zorder=3)
    if known is not None and inside is not None:
        rank = np.arange(len(order))
        ax.plot(
            rank[inside],
            known[inside],
            "o",
            color=DARK,
            markersize=1.2 + 2.8 * few,
            markeredgewidth=0,
            alpha=0.4 + 0.6 * few,
            label=f"truth inside: {count(inside)}",
        )
        ax.plot(
            rank[~inside],
            known[~inside],
            "X",
            color=VERMILION,
            markersize=4 + 3 * few,
            markeredgewidth=0,
            zorder=4,
            label=f"truth outside: {count(~inside)}",
        )
    _mark_off_axes(ax, lower, upper)
    make_room_for_legend(ax, columns=2)
    rows = "1 row" if len(order) == 1 else f"{len(order):,} rows"
    first = "by group, then " if zero else ""
    ax.set_xlabel(f"{rows}, {first}in order of the {'lower end' if middle is None else 'point'}")
    ax.set_xticks([])
    return ax


def _in_order(
    intervals: Intervals, points: NDArray[np.float64] | None, *, zero: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows in the order in which they are drawn, and the group of each in `GROUPS`; empty ones last."""
    empty = np.isnan(intervals.lower)
    group = np.where(intervals.upper < 0, 0, np.where(intervals.lower > 0, 2, 1)) if zero else np.zeros(len(empty), int)
    group = np.where(empty, len(GROUPS), group)
    first = intervals.lower if points is None else points
    return np.lexsort((intervals.upper, first, group)), group


def _draw_lines(
    ax: Axes,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    finite: NDArray[np.float64],
    group: NDArray[np.intp] | None,
) -> None:
    """Draw the intervals, by group if there are groups; finite ends decide the limits of the axes."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  (optional)

    shown = (finite.min(), finite.max()) if len(finite) else (-1.0, 1.0)
    ax.update_datalim([(-0.5, shown[0]), (len(lower) - 0.5, shown[1])])
    ax.autoscale_view()
    low, high = ax.get_ylim()
    far = FAR * (high - low)
    ends = np.where(np.isinf(lower), low - far, lower), np.where(np.isinf(upper), high + far, upper)
    room = _room(ax, len(lower))
    width = np.clip(0.7 * room, 0.4, WIDE)
    strength = 1 - 0.4 ** min(room / width, 1.0)  # overlapping lines together are as opaque as one
    parts = {"interval": (~np.isnan(lower), BLUE)}
    if group is not None:
        parts = {f"{name}: {count(group == at)}": (group == at, GROUPS[name]) for at, name in enumerate(GROUPS)}
    for label, (rows, colour) in parts.items():
        rank = np.flatnonzero(rows)
        corners = np.stack([np.column_stack([rank, end[rows]]) for end in ends], axis=1)
        lines = LineCollection(list(corners), colors=colour, linewidths=width, alpha=strength, label=label)
        lines.set(zorder=1, snap=False)  # snapped to pixels, thin lines would be stripes
        ax.add_collection(lines, autolim=False)
    if not len(finite):
        ax.set_yticks([])


def _room(ax: Axes, rows: int) -> float:
    """Return the approximate width available per row, in points."""
    return 72 * float(ax.get_window_extent().width / ax.figure.dpi) / rows


def _mark_off_axes(ax: Axes, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    """Put a mark at the edge of the axes for each end that is infinite and each interval that is empty."""
    marks = {
        ("no lower end", "v", 0.0): np.isinf(lower),
        ("no upper end", "^", 1.0): np.isinf(upper),
        ("empty", "x", 0.0): np.isnan(lower),
    }
    for (what, marker, edge), rows in marks.items():
        if rows.any():
            rank = np.flatnonzero(rows)
            ax.plot(
                rank,
                np.full(len(rank), edge),
                marker,
                color=PURPLE,
                markersize=5,
                clip_on=False,
                zorder=5,
                transform=ax.get_xaxis_transform(),
                label=f"{what}: {count(rows)}",
            )
