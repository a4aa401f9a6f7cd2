"""What the command line shows: tables and paragraphs from records, and nothing computed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from confide.advice import ASSUMPTIONS
from confide.confounding import LEVEL
from confide.experiments import theorem_study
from confide.experiments.reproduction.protocols import PROTOCOLS
from confide.experiments.reproduction.summary import shown, shown_coverage
from confide.experiments.story import ALPHA
from confide.held_out import HELD_OUT
from confide.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.confounding import ConfoundingTest
    from confide.experiments.reproduction import Reproduced
    from confide.experiments.reproduction.summary import Line
    from confide.experiments.story import Story
    from confide.held_out import Compared

# Cells of a sweep that stand side by side in 80 columns.
SIDE_BY_SIDE = 4
# Columns of Theorem 1 that fit 80 columns, and their headings there; the CSV has them all.
THEOREM = {name: name for name in ("n", "m", "d")} | {"‖θᴵ - θᴼ‖/σ": "‖Δθ‖/σ", "α": "α", "claimed": "claimed"}
THEOREM |= {"limit": "limit", "simulated (n)": "simulated", "verdict": "verdict"}


@cache
def console(*, error: bool = False) -> Console:
    """Return the console of standard output or error."""
    return Console(stderr=error)


def method_lines() -> list[Any]:
    """Return names, what they use and what they promise."""
    parts: list[Any] = []
    for record in METHODS.values():
        lines = Table.grid(padding=(0, 2))
        for heading, text in (("", record.summary), ("uses", record.uses), ("promise", record.promise)):
            lines.add_row("", heading, text)
        parts += [f"[bold]{record.name}[/bold]", lines]
    symbols = "α is the level asked for, r̂ an estimated density ratio, m the number of trial rows in the arm."
    return [*parts, symbols, ASSUMPTIONS]


def comparison_tables(found: list[Compared], alpha: float) -> list[Table]:
    """Return coverage and width of each method on held-out rows, a table an arm."""
    arms = next((each.arms for each in found if each.arms), [])
    tables = []
    for number, arm in enumerate(arms):
        title = f"Treatment {escape(str(arm.treatment))}: {percent(1 - alpha)} intervals on {arm.n} held-out trial rows"
        table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
        table.add_column("method", no_wrap=True)
        for name in ("coverage", "95 % interval", "mean width", "infinite", "n_eff"):
            table.add_column(name, justify="right", no_wrap=True)
        for each in found:
            if each.refused is not None:
                table.add_row(each.method, "refuses")
                continue
            mine = each.arms[number]
            table.add_row(
                each.method,
                f"{mine.coverage:.2f}",
                f"{mine.low:.2f} to {mine.high:.2f}",
                f"{mine.width:.4g}",
                f"{mine.infinite:.0%}" if mine.infinite else "",
                _rows(each.effective_sizes[mine.treatment]),
            )
        tables.append(table)
    return tables


def percent(share: float) -> str:
    """Return a share in per cent, as it was typed."""
    return f"{100 * share:.10g} %"


def _rows(worth: float) -> str:
    """Return a number of rows, with a decimal where few."""
    return f"{worth:,.{1 if worth < 10 else 0}f}"


def comparison_notes(found: list[Compared]) -> list[str]:
    """Return what the table of a comparison must not be read without."""
    return [
        *(f"{each.method} refuses: {each.refused}" for each in found if each.refused is not None),
        f"On {HELD_OUT:.0%} of the trial's rows, which no method saw.",
        (
            "n_eff: how many rows of equal weight calibrate, in methods of two stages the weaker one. Where it is "
            "small, a few rows decide the widths, and the coverage too unless it is promised whatever the weights."
        ),
        (
            "Whoever chooses by this table needs other rows to tell the winner's coverage: prefer a promise, as "
            "`confide methods` has them."
        ),
    ]


def confounding_lines(tests: list[ConfoundingTest]) -> list[str]:
    """Return the test for hidden confounding in words."""
    lines = ["Hidden confounding: do outcomes differ between the tables at equal covariates? Each treatment by itself:"]
    for test in tests:
        if test.p_value != test.p_value:
            lines.append(f"  {test.treatment}: too few rows to tell.")
            continue
        seen = "a difference is seen" if test.p_value < LEVEL else "no difference is seen"
        lines.append(
            f"  {test.treatment}: {seen} (p = {test.p_value:.2g}); observational outcomes less the trial's, estimated: "
            f"{test.bias:+.4g}."
        )
    return [
        *lines,
        "A difference may also be one of the populations: something that moves the outcome and is no covariate.",
        "None seen is no evidence of none: a bias that changes sign, or a small trial, goes unseen.",
    ]


def covariate_line(columns: Any) -> str:
    """Return which columns are covariates, and what they are taken for."""
    kinds: dict[str, list[str]] = {}
    for column in columns:
        kinds.setdefault(getattr(column, "kind", "categories"), []).append(column.name)
    told = "; ".join(f"{', '.join(names)} ({kind})" for kind, names in kinds.items())
    return f"Covariates: {told}."


def story_parts(story: Story) -> list[Any]:
    """Return the demonstration, paragraph by paragraph."""
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("what answers", no_wrap=True)
    for kind in ("regular", "small"):
        table.add_column(f"{kind} class:\nright for", justify="right", no_wrap=True)
        table.add_column("mean\nwidth", justify="right", no_wrap=True)
    table.add_column("promised")
    for line in story.lines:
        pairs = zip(line.coverage, line.width, strict=True)
        cells = [cell for coverage, width in pairs for cell in (f"{coverage:.0%}", f"{width:.0f}")]
        table.add_row(line.what, *cells, line.promise.replace("1-α", percent(1 - ALPHA)).split(",")[0])
    return [
        "[bold]Do small classes help a pupil of grade 1?[/bold]\n",
        (
            "In Project STAR pupils came to small or regular classes by lot. Here "
            f"{story.observational:,} of them were picked by their scores, good pupils of small classes and poor ones "
            "of regular classes, as people pick themselves in observational data. "
            f"{story.trial:,} others, at random, are the trial; {story.held_out:,} are held out.\n"
        ),
        (
            f"The picked pupils claim that small classes give {story.claimed:.0f} points. Among the held-out pupils "
            f"it is {story.true:.0f}.\n"
        ),
        (
            f"{percent(1 - ALPHA)} intervals for the score of one pupil, checked on the held-out pupils (means over "
            f"{story.draws} draws of them and of the trial):"
        ),
        table,
        f"{closing(story)}\n",
        "[bold]Next[/bold], a page to look at, the same from files, and then with your own:",
    ]


def closing(story: Story) -> str:
    """Return what the numbers of the demonstration say."""
    blind, alone, both = story.lines
    mislead = "mislead" if min(blind.coverage) < 1 - ALPHA else "happened to do well here"
    narrower = [1 - ours / theirs for ours, theirs in zip(both.width, alone.width, strict=True)]
    gain = f"narrower than the trial's alone, by {narrower[0]:.0%} and {narrower[1]:.0%}"
    return (
        f"The observational pupils are many and {mislead}; the trial is honest and small. With both, intervals are "
        f"{gain if min(narrower) > 0 else 'not narrower throughout'}, and the promise holds whatever made the "
        "observational pupils differ. It is an average: one trial's intervals may be right for a few per cent less."
    )


def next_commands(files: str | None, report: str) -> str:
    """Return what to look at and type after the demonstration, whose files may be there already."""
    folder = "star" if files is None else files.rstrip("/")
    lines = [f"  {report}, in a browser: one of the draws, pupil by pupil"]
    lines += ["  confide demo --files star"] * (files is None)
    lines += [
        f"  confide run --observational {folder}/observational.csv --trial {folder}/trial.csv \\",
        f"    --predict {folder}/new.csv --treatment small --outcome score --id pupil --out intervals.csv",
    ]
    return "\n".join(lines)


def reproduction_parts(found: Reproduced) -> list[Any]:
    """Return a table of the paper as it came out: protocols, figures beside the paper's, and why they differ."""
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
    """Return coverage, then width, a target at a time, with the cells of the sweep side by side."""
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
    """Return the cases of Theorem 1: what it claims, and what is so."""
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    for heading in THEOREM.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in found.rows:
        cells = dict(zip(theorem_study.HEADINGS, theorem_study.cells(row), strict=True))
        table.add_row(*(cells[name].split(" (")[0] for name in THEOREM))
    return table
