"""What the command line shows: tables and paragraphs from records, and nothing computed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from confide.methods.registry import METHODS

if TYPE_CHECKING:
    from confide.confounding import ConfoundingTest
    from confide.experiments.held_out import Compared
    from confide.experiments.story import Story


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
    return [*parts, "α is the level asked for, r̂ an estimated density ratio, m the number of trial rows in the arm."]


def comparison_table(found: list[Compared], alpha: float) -> Table:
    """Return coverage and width of each method on held-out rows, arm by arm."""
    arms = next((each.arms for each in found if each.arms), [])
    table = Table(title=f"{1 - alpha:.0%} intervals on held-out trial rows", box=SIMPLE, pad_edge=False, show_lines=False)
    table.add_column("method", no_wrap=True)
    for arm in arms:
        table.add_column(f"{arm.treatment} (n = {arm.n})\ncoverage", justify="right")
        table.add_column("mean\nwidth", justify="right")
    table.add_column("promise")
    for each in found:
        cells = []
        for arm in each.arms:
            cells += [f"{arm.coverage:.2f} [{arm.low:.2f}, {arm.high:.2f}]".replace("[", r"\["), f"{arm.width:.4g}"]
        if each.refused is not None:
            cells = ["refuses", *[""] * (2 * len(arms) - 1)]
        table.add_row(each.method, *cells, each.promise)
    return table


def confounding_lines(tests: list[ConfoundingTest]) -> list[str]:
    """Return the test for hidden confounding in words."""
    lines = ["Hidden confounding: do outcomes differ between the tables at equal covariates?"]
    for test in tests:
        if test.p_value != test.p_value:  # noqa: PLR0124  (NaN: too few rows)
            lines.append(f"  treatment {test.treatment}: too few rows to tell.")
            continue
        verdict = "they do" if test.p_value < 0.05 else "not seen"
        lines.append(
            f"  treatment {test.treatment}: {verdict} (p = {test.p_value:.2g}); observational outcomes are "
            f"{abs(test.bias):.4g} {'higher' if test.bias > 0 else 'lower'} on average."
        )
    return [
        *lines,
        "A difference may also be one of the populations: something that moves the outcome and is no covariate.",
        "None seen is no evidence of none: a bias that changes sign, or a small trial, goes unseen.",
    ]


def story_parts(story: Story) -> list[Any]:
    """Return the demonstration, paragraph by paragraph."""
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("who answers")
    for label in story.labels:
        table.add_column(f"{label}:\nright for", justify="right")
        table.add_column("mean\nwidth", justify="right")
    table.add_column("promised")
    for line in story.lines:
        cells = [cell for arm in line.arms for cell in (f"{arm.coverage:.0%}", f"{arm.width:.0f}")]
        table.add_row(line.who, *cells, line.promise)
    return [*story.before, table, *story.after]
