"""Plots of what the library returns: intervals, coverage against width, weights, calibration.

Every function takes records, computes nothing but where to draw, and returns the matplotlib Axes: those given as
``ax``, or those of a new figure, ``ax.figure``. No pyplot, no global settings, no screen. matplotlib comes with
``pip install confide[plot]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from confide.canvas import axes_or_new
from confide.conformal.quantile import check_alpha
from confide.diagnostics import Coverage, Weights
from confide.held_out import Compared
from confide.intervals import Intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["calibration", "coverage", "intervals", "weights"]

# The palette of Okabe and Ito, which colour-blind people can tell apart; each with its marker, for print.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "osD^vPX"  # one more than colours: no two of many arms look alike
GREY, DARK = "#777777", "#222222"
SIZE = (7.0, 4.5)
# Groups of intervals against 0, in the order in which they are drawn.
GROUPS = {"below 0": VERMILION, "containing 0": GREY, "above 0": BLUE}
# Widest line of an interval, in points; of many rows the lines are thin, and one shows through the other.
WIDE = 2.5
# An infinite end is drawn this many heights of the axes away: off the axes however far they are zoomed out.
FAR = 1000.0
# Where on the horizontal axis, as a share of it, infinite widths stand, and where they are parted from the others.
AT_INFINITY, BEFORE_INFINITY = 0.95, 0.9


def intervals(
    intervals: Intervals,
    points: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    zero: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one vertical line a row, in order of the points, or of the lower ends where there are none.

    An end that is infinite runs off the axes, with a triangle there; an empty interval is a cross at the lower edge,
    after all others. The legend counts both.

    Parameters
    ----------
    intervals : Intervals
        Of outcomes or of effects.
    points : (n,) array, default None
        Point predictions.
    truth : (n,) array, default None
        What the intervals should contain: outcomes that were observed or, in simulations, effects. Those outside are
        marked and counted.
    zero : bool, default False
        Draw a line at 0, and put intervals below 0, containing 0 and above 0 apart, each with its colour and number.
    ax : Axes, default None
        Where to draw. None: a new figure.

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
    middle = None if points is None else _one_a_row(points, len(intervals), "points")
    known = None if truth is None else _one_a_row(truth, len(intervals), "truth")
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
    few = min(_room(ax, len(order)) / WIDE, 1.0)  # what is left of sizes and strengths where rows are many
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
            label=f"truth inside: {_count(inside)}",
        )
        ax.plot(
            rank[~inside],
            known[~inside],
            "X",
            color=VERMILION,
            markersize=4 + 3 * few,
            markeredgewidth=0,
            zorder=4,
            label=f"truth outside: {_count(~inside)}",
        )
    _mark_off_axes(ax, lower, upper)
    _make_room_for_legend(ax, columns=2)
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
    """Draw the intervals, by group where there are groups; what is finite decides the limits of the axes."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415  (optional)

    shown = (finite.min(), finite.max()) if len(finite) else (-1.0, 1.0)
    ax.update_datalim([(-0.5, shown[0]), (len(lower) - 0.5, shown[1])])
    ax.autoscale_view()
    low, high = ax.get_ylim()
    far = FAR * (high - low)
    ends = np.where(np.isinf(lower), low - far, lower), np.where(np.isinf(upper), high + far, upper)
    room = _room(ax, len(lower))
    width = np.clip(0.7 * room, 0.4, WIDE)
    strength = 1 - 0.4 ** min(room / width, 1.0)  # where lines overlap, all of them together are as strong as one
    parts = {"interval": (~np.isnan(lower), BLUE)}
    if group is not None:
        parts = {f"{name}: {_count(group == at)}": (group == at, GROUPS[name]) for at, name in enumerate(GROUPS)}
    for label, (rows, colour) in parts.items():
        rank = np.flatnonzero(rows)
        corners = np.stack([np.column_stack([rank, end[rows]]) for end in ends], axis=1)
        lines = LineCollection(list(corners), colors=colour, linewidths=width, alpha=strength, label=label)
        lines.set(zorder=1, snap=False)  # snapped to pixels, thin lines would be stripes
        ax.add_collection(lines, autolim=False)
    if not len(finite):
        ax.set_yticks([])


def _room(ax: Axes, rows: int) -> float:
    """Return the width that each of so many rows has, in points, about."""
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
                label=f"{what}: {_count(rows)}",
            )


def coverage(
    found: Iterable[Compared] | Mapping[str, list[Coverage]] | list[Coverage], alpha: float, *, ax: Axes | None = None
) -> Axes:
    """Draw coverage on held-out rows against mean width, one point a method and arm, with its exact 95 % interval.

    Above the line at 1-α and far to the left is good. A mean width that is infinite, because one set or more is, stands
    apart at the right edge, and its label says for how many rows. Methods that refused are named below the axes.

    Parameters
    ----------
    found : iterable of Compared, dict of lists of Coverage, or list of Coverage
        What `confide.held_out.compare_on_held_out` yields, or what `coverage_report` returns: by a name of
        your choice, or of one model.
    alpha : float
        The level that was asked for, for the line at 1-α.
    ax : Axes, default None
        Where to draw. None: a new figure.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Coverage
    >>> ax = plot.coverage({"mine": [Coverage(1, 200, 0.91, 0.86, 0.95, 3.2, 0.0)]}, alpha=0.1)
    """
    asked = 1 - float(check_alpha(alpha))
    arms, refused = _by_method(found)
    dots = sorted(((name, arm) for name, mine in arms.items() for arm in mine), key=lambda dot: dot[1].coverage)
    if not dots:
        raise ValueError(f"there is no coverage to draw{_refusals(refused)}; a plot needs at least 1 method.")
    ax = axes_or_new(ax, SIZE[0], max(SIZE[1], 0.17 * len(dots) + 1))
    looks = _looks([arm.treatment for _, arm in dots])
    _set_limits(ax, [arm for _, arm in dots], asked)
    ax.axhline(asked, color=DARK, linewidth=0.8, linestyle="--")
    ax.text(0.01, asked, f"asked: {_percent(asked)}", transform=ax.get_yaxis_transform(), va="bottom", color=DARK)
    low, high = ax.get_ylim()
    heights = _spread([(arm.coverage - low) / (high - low) for _, arm in dots], _line_height(ax))
    for (name, arm), height in zip(dots, heights, strict=True):
        colour, marker = looks[arm.treatment]
        finite = bool(np.isfinite(arm.width))
        transform = ax.transData if finite else ax.get_yaxis_transform()
        x = arm.width if finite else AT_INFINITY
        ax.errorbar(
            [x],
            [arm.coverage],
            [[arm.coverage - arm.low], [arm.high - arm.coverage]],
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=1.2,
            transform=transform,
        )
        text = (name or _named(arm.treatment)) + (f" (∞ for {_percent(arm.infinite)})" if not finite else "")
        ax.annotate(
            text,
            (x, arm.coverage),
            xycoords=transform,
            xytext=(1.03, height),
            textcoords=ax.transAxes,
            va="center",
            color=colour,
            fontsize="small",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.4,
                "shrinkA": 0,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )
    if len(looks) > 1 and "" not in arms:
        for label, (colour, marker) in looks.items():
            ax.plot([], [], marker, color=colour, label=_named(label))
        # Above the labels: inside it would hide something, and over the axes a title.
        ax.legend(loc="lower left", bbox_to_anchor=(1.02, 1), fontsize="small", frameon=False, borderpad=0)
    ax.set_xlabel("\n".join(["mean width of the sets", *wrap(f"refused: {', '.join(refused)}" if refused else "", 70)]))
    ax.set_ylabel("coverage on held-out rows")
    return ax


def _by_method(found: Any) -> tuple[dict[str, list[Coverage]], list[str]]:
    """Return the arms of each method that has some, and the methods that refused; one model alone has no name."""
    if isinstance(found, Mapping):
        arms = {str(name): _coverages(mine) for name, mine in found.items()}
        return arms, []
    records = list(found) if isinstance(found, Iterable) else [found]
    if all(isinstance(record, Compared) for record in records):
        arms = {each.method: each.arms for each in records if each.refused is None}
        return arms, [each.method for each in records if each.refused is not None]
    return {"": _coverages(records)}, []


def _coverages(records: Any) -> list[Coverage]:
    """Return the records as a list; raise for what is none."""
    found = list(records) if isinstance(records, Iterable) else [records]
    strange = [record for record in found if not isinstance(record, Coverage)]
    if strange:
        raise ValueError(
            f"found must hold Coverage, got a {type(strange[0]).__name__}: give what coverage_report, "
            "coverage_by_alpha or compare_on_held_out returns."
        )
    return found


def _refusals(refused: list[str]) -> str:
    return f", {len(refused)} methods refused ({', '.join(refused)})" if refused else ""


def _set_limits(ax: Axes, arms: list[Coverage], asked: float) -> None:
    """Set the axes' limits so that all bars are in, with room for infinite widths where there are some."""
    widths = np.array([arm.width for arm in arms])
    finite = widths[np.isfinite(widths)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    if len(finite) < len(widths):
        high = low + (high - low) / BEFORE_INFINITY
        ax.axvline(low + BEFORE_INFINITY * (high - low), color=GREY, linewidth=0.6, linestyle=":")
        ax.text(AT_INFINITY, -0.02, "∞", transform=ax.transAxes, ha="center", va="top")
        if not len(finite):
            ax.set_xticks([])
    ax.set_xlim(low, high)
    least = min(*(arm.low for arm in arms), asked)
    ax.set_ylim(least - 0.06 * (1 - least) - 0.005, 1 + 0.03 * (1 - least) + 0.005)


def _spread(heights: list[float], step: float) -> NDArray[np.float64]:
    """Return increasing heights, moved as little as it takes to be a step apart and, if they can, between 0 and 1."""
    steps = step * np.arange(len(heights))
    spread: NDArray[np.float64] = isotonic_regression(heights - steps, y_min=0, y_max=max(1 - steps[-1], 0)) + steps
    return spread


def weights(found: list[Weights], *, ax: Axes | None = None) -> Axes:
    """Draw which share of the weight the heaviest rows carry, one curve an arm.

    Equal weights are the diagonal; the further a curve is above it, the fewer rows decide. The label says what the
    weights are worth in rows of equal weight (n_eff), and the share of the heaviest row. The first stage of a method of
    two stages is dashed.

    Parameters
    ----------
    found : list of Weights
        What `confide.diagnostics.calibration_weights` returns.
    ax : Axes, default None
        Where to draw. None: a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import plot
    >>> from confide.diagnostics import Weights
    >>> ax = plot.weights([Weights(1, "calibration", np.array([0.5, 0.3, 0.2]))])
    """
    found = list(found)
    strange = [each for each in found if not isinstance(each, Weights)]
    if strange or not found:
        what = f"a {type(strange[0]).__name__}" if strange else "none"
        raise ValueError(f"found must be 1 Weights or more, got {what}: give calibration_weights(model).")
    ax = axes_or_new(ax, SIZE[0], SIZE[1] + 0.5)
    looks = _looks([each.treatment for each in found])
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label="all rows alike")
    for each in found:
        colour, _ = looks[each.treatment]
        carried = np.concatenate([[0.0], np.cumsum(each.shares)])
        rows = np.linspace(0, 1, len(carried)) if each.shares.any() else np.array([])
        dashes = "--" if each.stage == "first stage" else "-"
        ax.plot(rows, carried[: len(rows)], dashes, color=colour, linewidth=1.8, label=_worth(each))
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("share of the rows that calibrate, heaviest first")
    ax.set_ylabel("share of the weight that they carry")
    ax.legend(loc="lower right", fontsize="small", framealpha=0.9)
    return ax


def _worth(weights: Weights) -> str:
    """Return what the rows are worth, in words."""
    name = _named(weights.treatment) + (", first stage" if weights.stage == "first stage" else "")
    rows = f"{len(weights.shares):,} rows"
    if not weights.shares.any():
        return f"{name}: {rows}, all of weight 0" if len(weights.shares) else f"{name}: no row calibrates"
    if weights.alike:
        return f"{name}: {rows}, all alike"
    return f"{name}: {rows}, n_eff {weights.effective_size:,.0f}, heaviest {_percent(weights.largest_share)}"


def calibration(found: Mapping[float, list[Coverage]], *, ax: Axes | None = None) -> Axes:
    """Draw coverage on held-out rows against the level asked for, one curve an arm, with exact 95 % bands.

    On the diagonal a model covers as often as was asked. The bands are pointwise: each holds what this fitted model
    truly covers at its level with 95 % probability, all of them together with less. A hollow mark says that some sets
    were infinite.

    Parameters
    ----------
    found : dict of lists of Coverage
        What `confide.diagnostics.coverage_by_alpha` returns.
    ax : Axes, default None
        Where to draw. None: a new figure.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Coverage
    >>> ax = plot.calibration({0.1: [Coverage(1, 200, 0.91, 0.86, 0.95, 3.2, 0.0)]})
    """
    if not isinstance(found, Mapping) or not found:
        raise ValueError(
            f"found must be a dict of 1 level or more, got {type(found).__name__ if found else 'none'}: give "
            "coverage_by_alpha(model, X_test, y_test, treatment)."
        )
    by_arm: dict[Any, list[tuple[float, Coverage]]] = {}
    levels = {1 - float(check_alpha(alpha)): _coverages(records) for alpha, records in found.items()}
    for level in sorted(levels):
        for record in levels[level]:
            by_arm.setdefault(record.treatment, []).append((level, record))
    ax = axes_or_new(ax, SIZE[1] + 0.5, SIZE[1] + 0.5)
    ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, linestyle="--", label="as asked")
    looks, hollow = _looks(by_arm), False
    for label, mine in by_arm.items():
        colour, marker = looks[label]
        asked = np.array([level for level, _ in mine])
        achieved, low, high, infinite = (
            np.array([getattr(record, name) for _, record in mine]) for name in ("coverage", "low", "high", "infinite")
        )
        ax.fill_between(asked, low, high, color=colour, alpha=0.18, linewidth=0)
        rows = mine[0][1].n
        ax.plot(
            asked,
            achieved,
            marker,
            linestyle="-",
            color=colour,
            markersize=4,
            markerfacecolor="white",
            label=f"{_named(label)}: {rows:,} rows",
        )
        full = infinite == 0
        ax.plot(asked[full], achieved[full], marker, color=colour, markersize=4)
        hollow = hollow or not full.all()
    if hollow:
        ax.plot([], [], "o", color=DARK, markerfacecolor="white", label="hollow: some sets are infinite")
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("coverage asked for, 1-α")
    ax.set_ylabel("coverage on held-out rows")
    ax.legend(loc="upper left", fontsize="small", framealpha=0.9)
    return ax


def _one_a_row(values: ArrayLike, rows: int, name: str) -> NDArray[np.float64]:
    """Return one finite number a row."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (rows,):
        raise ValueError(f"{name} must be {rows} numbers, one an interval, got shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name} must be finite, got {array[bad[0]]} in row {bad[0]}. Leave out such rows.")
    return array


def _looks(labels: Iterable[Any]) -> dict[Any, tuple[str, str]]:
    """Return a colour and a marker for each treatment, in order."""
    distinct = list(dict.fromkeys(labels))
    if all(isinstance(label, str) for label in distinct) or all(isinstance(label, int | float) for label in distinct):
        distinct.sort()
    return {label: (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]) for at, label in enumerate(distinct)}


def _named(label: Any) -> str:
    """Return a treatment's label as it is if it is text, and otherwise what the number is."""
    return label if isinstance(label, str) else f"treatment {label}"


def _line_height(ax: Axes) -> float:
    """Return the height of a line of small text, about, as a share of the axes."""
    return 12 / 72 / float(ax.get_window_extent().height / ax.figure.dpi)


def _make_room_for_legend(ax: Axes, columns: int) -> None:
    """Put a legend at the top, with nothing behind it but lines that run off the axes."""
    entries = len(ax.get_legend_handles_labels()[0])
    if entries > 1:
        low, high = ax.get_ylim()
        taken = min(1.25 * _line_height(ax) * -(-entries // columns) + 0.05, 0.6)
        ax.set_ylim(low, low + (high - low) / (1 - taken))
        legend = ax.legend(loc="upper left", ncols=columns, fontsize="small", framealpha=0.9, edgecolor="none")
        for handle in filter(None, legend.legend_handles):
            handle.set(markersize=5, linewidth=2.5, alpha=1)  # of many rows the marks themselves are small and faint


def _count(rows: NDArray[np.bool_]) -> str:
    return f"{int(rows.sum()):,}"


def _percent(share: float) -> str:
    """Return a share as a percentage, with a decimal where it is below 10 %."""
    return f"{100 * share:.1f} %" if share < 0.1 and share > 0 else f"{100 * share:.3g} %"
