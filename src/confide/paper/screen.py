"""The command line's view of the reproduced tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from confide.paper import theorem_cases
from confide.paper.averages import shown, shown_coverage
from confide.paper.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.paper import Reproduced
    from confide.paper.averages import Line

# Number of cells of a sweep that fit side by side in 80 columns.
SIDE_BY_SIDE = 4
# Columns of Theorem 1 that fit 80 columns, and their headings there; the CSV has them all.
THEOREM = {name: name for name in ("n", "m", "d")} | {"‖θᴵ - θᴼ‖/σ": "‖Δθ‖/σ", "α": "α", "claimed": "claimed"}
THEOREM |= {"limit": "limit", "simulated (n)": "simulated", "verdict": "verdict"}


def reproduction_parts(found: Reproduced) -> list[Any]:
    """Return a reproduced table: protocols, figures beside the paper's, and why they differ."""
    seeds = f"{found.seeds} seed{'s' * (found.seeds > 1)}"
    head = f"[bold]{escape(found.title)}[/bold], {seeds}, {found.seconds:,.0f} s of one core"
    parts: list[Any] = [head, f"paper: {escape(found.paper)}.", f"ours:  {escape(found.ours)}."]
    if found.name == "theorem":
        parts.append(_theorem_table(found))
    elif PROTOCOLS[found.name].published:
        cells = dict.fromkeys((line.group, line.target) for line in found.lines)
        parts += [_beside_table(found, *cell) for cell in cells]
        parts += [_scale_table(found)] * any(line.more for line in found.lines)
    else:
        parts += _sweep_tables(found)
    parts += [f"[bold]why[/bold] {escape(methods)}: {escape(reason)}." for methods, reason in found.reasons]
    parts += [f"note: {escape(note)}" for note in found.notes]
    return [*parts, f"written: {escape(', '.join(found.files))}\n"]


def _beside_table(found: Reproduced, group: str, target: str) -> Table:
    """Return coverage and width of one cell, ours and the paper's in turn: mean ± standard deviation over seeds."""
    mine = [line for line in found.lines if (line.group, line.target) == (group, target)]
    infinite = any(line.infinite for line in mine)
    headings = ["coverage\nours", "\npaper", "width\nours", "\npaper", *["\n∞"] * infinite]
    rows = [
        [line.method, shown_coverage(line), shown(line.paper_coverage), shown(line.width), shown(line.paper_width)]
        + [f"{line.infinite:.0%}" if line.infinite else ""] * infinite
        for line in mine
    ]
    return _table(f"{group}, {target}".strip(", "), headings, rows)


def _scale_table(found: Reproduced) -> Table:
    """Return the widths of ratings that a reader can use: within the scale, and in ratings."""
    rows = [[line.method, *(shown(line.more.get(key), 2) for key in ("clipped", "ratings"))] for line in found.lines]
    return _table("", ["width within\n1 to 5", "ratings in\nthe set"], rows)


def _sweep_tables(found: Reproduced) -> list[Table]:
    """Return coverage, then width, per target, with the cells of the sweep side by side."""
    groups = list(dict.fromkeys(line.group for line in found.lines))
    parts: list[tuple[str, Callable[[Line], str]]] = [("coverage", shown_coverage), ("width", _finite_width)]
    tables = []
    for target in dict.fromkeys(line.target for line in found.lines):
        mine = {(line.group, line.method): line for line in found.lines if line.target == target}
        for what, show in parts:
            for start in range(0, len(groups), SIDE_BY_SIDE):
                some = groups[start : start + SIDE_BY_SIDE]
                rows = [
                    [method, *(show(mine[group, method]) if (group, method) in mine else "" for group in some)]
                    for method in dict.fromkeys(method for _, method in mine)
                ]
                tables.append(_table(f"{what} of {target}", [group.replace(", ", "\n") for group in some], rows))
    return tables


def _table(title: str, headings: list[str], rows: list[list[str]]) -> Table:
    """Return a table of methods that fits 80 columns; a method without any figure is left out."""
    table = Table(title=escape(title) or None, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("method", no_wrap=True)
    for heading in headings:
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for row in rows:
        if any(row[1:]):
            table.add_row(*map(escape, row))
    return table


def _finite_width(line: Line) -> str:
    return f"∞ ({line.infinite:.0%})" if line.infinite else shown(line.width)


def _theorem_table(found: Reproduced) -> Table:
    """Return the cases of Theorem 1: what it claims, and what is true."""
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    for heading in THEOREM.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in found.rows:
        cells = dict(zip(theorem_cases.HEADINGS, theorem_cases.cells(row), strict=True))
        table.add_row(*(cells[name].split(" (")[0] for name in THEOREM))
    return table
