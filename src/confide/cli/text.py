"""The text of the command line: tables and paragraphs made from records; nothing is computed here.

Constants of heavy modules are imported inside the functions: `confide methods` needs none of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from confide.methods.promise import ASSUMPTIONS
from confide.methods.registry import METHODS

if TYPE_CHECKING:
    from confide.compare import Compared
    from confide.demo import Story
    from confide.diagnostics.confounding_test import ConfoundingTest


@cache
def console(*, error: bool = False) -> Console:
    """Return the console of standard output or error."""
    return Console(stderr=error)


def method_lines() -> list[Any]:
    """Return the methods' names, what they use and what they promise."""
    parts: list[Any] = []
    for record in METHODS.values():
        lines = Table.grid(padding=(0, 2))
        for heading, text in (("", record.summary), ("uses", record.uses), ("promise", str(record.promise))):
            lines.add_row("", heading, text)
        parts += [f"[bold]{record.name}[/bold]", lines]
    symbols = "α is the requested level, r̂ an estimated density ratio, m the number of trial rows in the arm."
    return [*parts, symbols, ASSUMPTIONS]


def comparison_tables(found: list[Compared], alpha: float) -> list[Table]:
    """Return coverage and width of each method on held-out rows, one table per arm."""
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
    """Return a share in per cent, with the digits that were typed."""
    return f"{100 * share:.10g} %"


def _rows(worth: float) -> str:
    """Return a number of rows, with a decimal if it is small."""
    return f"{worth:,.{1 if worth < 10 else 0}f}"


def comparison_notes(found: list[Compared]) -> list[str]:
    """Return the notes that belong to the table of a comparison."""
    from confide.compare import HELD_OUT

    return [
        *(f"{each.method} refuses: {each.refused}" for each in found if each.refused is not None),
        f"On {HELD_OUT:.0%} of the trial's rows, which no method saw.",
        (
            "n_eff: the effective sample size of calibration, in two-stage methods the smaller one. If it is small, a "
            "few rows decide the widths, and the coverage too unless it is promised whatever the weights."
        ),
        (
            "If you choose by this table, measure the winner's coverage on other rows: prefer a promise, as listed by "
            "`confide methods`."
        ),
    ]


def confounding_lines(tests: list[ConfoundingTest]) -> list[str]:
    """Return the test for hidden confounding in words."""
    from confide.diagnostics.confounding_test import FEW_ROWS, LEAST_P_VALUE, REJECTION_LEVEL

    lines = ["Hidden confounding: do outcomes differ between the tables at equal covariates? Each treatment by itself:"]
    for test in tests:
        if test.p_value != test.p_value:
            lines.append(f"  {test.treatment}: too few rows to tell.")
            continue
        seen = "a difference is seen" if test.p_value < REJECTION_LEVEL else "no difference is seen"
        lines.append(
            f"  {test.treatment}: {seen} (p = {test.p_value:.2g}); observational outcomes less the trial's, estimated: "
            f"{test.bias:+.4g}."
        )
    if any(test.p_value == test.p_value for test in tests):
        lines.append(
            "p: how likely so large a difference, in either direction, would be if there were none. With fewer than "
            f"{FEW_ROWS:,} rows of a table it is found by drawing anew which rows are the trial's, and is never below "
            f"{LEAST_P_VALUE:g}."
        )
    return [
        *lines,
        "A difference may also be one of the populations: something that moves the outcome and is no covariate.",
        "None seen is no evidence of none: a bias that changes sign, or a small trial, goes unseen.",
    ]


def covariate_line(columns: Any) -> str:
    """Return which columns are covariates, and their kinds."""
    kinds: dict[str, list[str]] = {}
    for column in columns:
        kinds.setdefault(getattr(column, "kind", "categories"), []).append(column.name)
    listed = "; ".join(f"{', '.join(names)} ({kind})" for kind, names in kinds.items())
    return f"Covariates: {listed}."


def story_parts(story: Story) -> list[Any]:
    """Return the demonstration, paragraph by paragraph."""
    from confide.demo import ALPHA

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("what answers", no_wrap=True)
    for kind in ("regular", "small"):
        table.add_column(f"{kind} class:\nright for", justify="right", no_wrap=True)
        table.add_column("mean\nwidth", justify="right", no_wrap=True)
    table.add_column("promised")
    for line in story.lines:
        pairs = zip(line.coverage, line.width, strict=True)
        cells = [cell for coverage, width in pairs for cell in (f"{coverage:.0%}", f"{width:.0f}")]
        table.add_row(line.what, *cells, line.promise.shown_at(ALPHA) if line.promise.exists else "nothing")
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
    """Return the conclusion from the numbers of the demonstration."""
    from confide.demo import ALPHA

    blind, alone, both = story.lines
    mislead = "mislead" if min(blind.coverage) < 1 - ALPHA else "happened to do well here"
    narrower = [1 - ours / theirs for ours, theirs in zip(both.width, alone.width, strict=True)]
    gain = f"narrower than the trial's alone, by {narrower[0]:.0%} and {narrower[1]:.0%}"
    return (
        f"The observational pupils are many and {mislead}; the trial is honest and small. With both, intervals are "
        f"{gain if min(narrower) > 0 else 'not narrower throughout'}, and the promise holds whatever made the "
        "observational pupils differ. It is an average: one trial's intervals may be right for a few per cent fewer."
    )


def after_story(report: str) -> str:
    """Return what to open and type after the demonstration."""
    return "\n".join(
        [
            f"  {report}, in a browser: one of the draws, pupil by pupil",
            "  confide demo --files star",
            _run_on_files("star"),
        ]
    )


def file_lines(written: dict[str, int]) -> str:
    """Return the files of the demonstration, by path, and what to type next."""
    kinds = ("picked by their scores", "who came to their classes by lot", "to answer for")
    lines = [f"{path}: {count:,} pupils {kind}" for (path, count), kind in zip(written.items(), kinds, strict=True)]
    return "\n".join([*lines, "", "Next:", _run_on_files(str(Path(next(iter(written))).parent))])


def _run_on_files(folder: str) -> str:
    """Return the command that predicts for the pupils of the demonstration."""
    return (
        f"  confide run --observational {folder}/observational.csv --trial {folder}/trial.csv \\\n"
        f"    --predict {folder}/new.csv --treatment small --outcome score --id pupil --out intervals.csv"
    )
