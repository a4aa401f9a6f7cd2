"""The paper's figures as PNG files, the same bytes each time; matplotlib is optional."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from confide.paper.averages import group_of
from confide.paper.settings import ALPHA
from confide.plot.canvas import new_figure, write_png

if TYPE_CHECKING:
    from pathlib import Path

    from confide.base.csv_rows import Row
    from confide.paper.averages import Line

MISSING = (
    "no PNG: matplotlib is not installed. Install confide[plot], and run the command again: nothing is recomputed."
)
# By table: what is drawn along the horizontal axis, of which CSV column.
AXES = {
    "dimension": [("d", "number of covariates d")],
    "trial-size": [("m", "trial rows m")],
    "coat-splits": [("calibration", "trial ratings that calibrate, m_cal"), ("fit", "trial ratings that fit, m_tr")],
}
COLOURS = ("#1b6ca8", "#e07b39", "#3a9d5d", "#c0392b", "#7d5ba6", "#8d6e63", "#d16ba5", "#6b7280", "#b5a642", "#2aa7b8")
MARKERS = "osD^vP*Xp"  # one fewer than colours, so that many methods get different pairs


def draw(path: Path, table: str, rows: list[Row], found: list[Line]) -> None:
    """Write coverage and width along the sweep, one panel per target; hollow where some intervals are infinite."""
    by_group = {group_of(table, row): row for row in rows if row["seed"] != ""}
    panels = [
        (axis, label, target) for axis, label in AXES[table] for target in dict.fromkeys(line.target for line in found)
    ]
    figure = new_figure(5 * len(panels), 8)
    axes = figure.subplots(2, len(panels), squeeze=False)
    for column, (axis, label, target) in enumerate(panels):
        mine = [line for line in found if line.target == target and line.group in by_group]
        swept = _swept(table, axis, mine, by_group)
        for row, metric in enumerate(("coverage", "width")):
            _panel(axes[row, column], metric, swept)
            axes[row, column].set_xlabel(label)
            axes[row, column].set_ylabel(metric)
            axes[row, column].set_title(f"{metric} of {target}")
            ticks = sorted({x for points in swept.values() for x, _ in points})
            axes[row, column].set_xscale("log" if table == "trial-size" else "linear")
            axes[row, column].set_xticks(ticks, [str(tick) for tick in ticks], fontsize="small")
            axes[row, column].set_xticks([], minor=True)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    write_png(figure, path)


def _swept(table: str, axis: str, found: list[Line], by_group: dict[str, Row]) -> dict[str, list[tuple[Any, Line]]]:
    """Return the points of each method along one axis; of two sweeps those that keep the other axis at its largest."""
    points: dict[str, list[tuple[Any, Line]]] = {}
    other = {"calibration": "fit", "fit": "calibration"}.get(axis) if table == "coat-splits" else None
    most = max(row[other] for row in by_group.values()) if other else None
    for line in found:
        row = by_group[line.group]
        if other is None or row[other] == most:
            points.setdefault(line.method, []).append((row[axis], line))
    return {name: sorted(mine, key=lambda point: point[0]) for name, mine in points.items()}


def _panel(axes: Any, metric: str, swept: dict[str, list[tuple[Any, Line]]]) -> None:
    for place, (name, points) in enumerate(swept.items()):
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        known = [(x, getattr(line, metric), line.infinite) for x, line in points if getattr(line, metric) is not None]
        shown = [(x, spread, infinite) for x, spread, infinite in known if math.isfinite(spread.mean)]
        axes.plot([x for x, *_ in shown], [spread.mean for _, spread, _ in shown], color=colour, linewidth=1.2)
        for hollow in (False, True):
            some = [(x, spread) for x, spread, infinite in shown if (infinite > 0 and metric == "width") is hollow]
            axes.errorbar(
                [x for x, _ in some],
                [spread.mean for _, spread in some],
                [0.0 if math.isnan(spread.sd) else spread.sd for _, spread in some],
                fmt=marker,
                color=colour,
                markerfacecolor="white" if hollow else colour,
                elinewidth=0.8,
                label=None if hollow else name,
            )
    if metric == "coverage":
        axes.axhline(1 - ALPHA, color="black", linestyle=":", linewidth=1)
