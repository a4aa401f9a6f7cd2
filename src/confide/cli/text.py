"""The text of the command line: tables and paragraphs made from records; nothing is computed here.

Constants of heavy modules are imported inside the functions: `confide methods` needs none of them.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from confide.methods.promise import ASSUMPTIONS, computed_at
from confide.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.compare import Compared
    from confide.datasets.examples import Example
    from confide.demo import Story
    from confide.diagnostics import Coverage
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


def comparison_tables(found: list[Compared], alpha: float, gamma: float = 1.0) -> list[Table]:
    """Return coverage and width of each method on held-out rows, one table per arm; intervals are of alpha/gamma."""
    arms = next((each.arms for each in found if each.arms), [])
    tables = []
    for number, arm in enumerate(arms):
        title = f"Treatment {escape(str(arm.treatment))}: {_asked(arm, alpha, gamma)} on {arm.n} held-out trial rows"
        table = _table(title, ["method"], [*_measured(arm), "n_eff"])
        for each in found:
            if each.refused is not None:
                table.add_row(each.method, "refuses")
                continue
            mine = each.arms[number]
            table.add_row(each.method, *_measured(mine).values(), _rows(each.effective_sizes[mine.treatment]))
        tables.append(table)
    return tables


def group_parts(found: Compared, alpha: float, columns: Sequence[str], gamma: float = 1.0) -> list[Any]:
    """Return a method's coverage by group on held-out rows, as a table, or why there is none."""
    by = " and ".join(columns)
    if found.refused is not None:
        return [f"Coverage by {escape(by)} is not shown: {escape(found.refused)}"]
    first = found.by_group[0]
    title = f"Coverage by {escape(by)}: {_asked(first, alpha, gamma)} of {found.method} on held-out trial rows"
    table = _table(title, ["group", "treatment"], ["rows", *_measured(first)])
    for each in found.by_group:
        names = escape(each.group), escape(str(each.treatment))
        table.add_row(*names, f"{each.n:,}", *_measured(each).values())
    return [table]


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return an empty table with columns of names, which may be long, and of numbers."""
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _asked(record: Coverage, alpha: float, gamma: float) -> str:
    """Return what was asked for, in words, and the level in force."""
    told = computed_at(alpha, gamma)
    return f"{percent(1 - alpha)} {'intervals' if record.bound is None else 'bounds'}{told}{',' if told else ''}"


def _measured(record: Coverage) -> dict[str, str]:
    """Return what was measured, as text, by the heading of its column."""
    size = {"mean width": record.width} if record.bound is None else {"mean bound": record.bound}
    return {
        "coverage": f"{record.coverage:.2f}",
        "95 % interval": f"{record.low:.2f} to {record.high:.2f}",
        **{name: f"{value:.4g}" for name, value in size.items()},
        "infinite": f"{record.infinite:.0%}" if record.infinite else "",
    }


def percent(share: float) -> str:
    """Return a share in per cent, with the digits that were typed."""
    return f"{100 * share:.10g} %"


def _rows(worth: float) -> str:
    """Return a number of rows, with a decimal if it is small."""
    return f"{worth:,.{1 if worth < 10 else 0}f}"


def comparison_notes(found: list[Compared], held_out: str) -> list[str]:
    """Return the notes that belong to the table of a comparison; ``held_out`` says on which rows."""
    return [
        *_refusals(found),
        f"{held_out}, which no method saw.",
        (
            "n_eff: the effective sample size of calibration, in two-stage methods the smaller one. If it is small, a "
            "few rows decide the widths, and the coverage too unless it is promised whatever the weights."
        ),
        (
            "If you choose by this table, measure the winner's coverage on other rows: prefer a promise, as listed by "
            "`confide methods`."
        ),
    ]


def _refusals(found: list[Compared]) -> list[str]:
    """Return why methods refuse; a reason that several give, each with its own name, once."""
    reasons: dict[str, dict[str, str]] = {}
    for each in found:
        if each.refused is not None:
            reasons.setdefault(each.refused.removeprefix(f"{each.method} "), {})[each.method] = each.refused
    return [
        f"{', '.join(said)} {'refuses' if len(said) == 1 else 'refuse'}: {next(iter(said.values()))}"
        for said in reasons.values()
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


def asked_line(alpha: float, side: str, gamma: float) -> str:
    """Return which share of outcomes intervals are asked to hold, and the level in force."""
    what = "intervals" if side == "both" else "bounds"
    return f"Asked for: {what} that hold {percent(1 - alpha)} of outcomes{computed_at(alpha, gamma)}."


def story_parts(example: Example, story: Story) -> list[Any]:
    """Return the demonstration, paragraph by paragraph."""
    from confide.demo import ALPHA

    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("what answers", no_wrap=True)
    for kind in example.arms:
        table.add_column(f"{kind}:\nright for", justify="right", no_wrap=True)
        table.add_column("mean\nwidth", justify="right", no_wrap=True)
    table.add_column("promised")
    for line in story.lines:
        pairs = zip(line.coverage, line.width, strict=True)
        cells = [cell for coverage, width in pairs for cell in (f"{coverage:.0%}", f"{width:.3g}")]
        table.add_row(line.what, *cells, line.promise.shown_at(ALPHA) if line.promise.exists else "nothing")
    numbers = asdict(story)
    return [
        f"[bold]{example.question}[/bold]\n",
        f"{answer(example, story)}\n",
        f"{example.setting.format(**numbers)}\n",
        f"{example.claim.format(**numbers)}\n",
        (
            f"{percent(1 - ALPHA)} intervals for the score of one {example.person}, checked on the held-out "
            f"{example.people} (means over {story.draws} draws of them and of the trial):"
        ),
        table,
        f"{closing(story)}\n",
        "[bold]Next[/bold], a page to look at, the same from files, and then with your own:",
    ]


def answer(example: Example, story: Story) -> str:
    """Return what the demonstration shows, in the first sentences of it."""
    from confide.demo import ALPHA

    _, *alone, both = story.lines
    needed = min(alone, key=lambda line: sum(line.width))
    narrower = 1 - sum(both.width) / sum(needed.width)
    gain = f"{narrower:.0%} narrower" if narrower > 0 else "not narrower"
    control, treated = example.arms
    average = story.average
    return (
        f"With both tables an interval of {fmean(both.width):.3g} {example.unit} holds the score of "
        f"{fmean(both.coverage):.1%} of {example.people} ({1 - ALPHA:.0%} are promised); the trial alone needs "
        f"{fmean(needed.width):.3g}, by the better of two methods. So intervals are {gain} than from the trial alone. "
        f"On average {treated} instead of {control} changes the score by {average.effect:+.2g} {example.unit} "
        f"({1 - average.alpha:.0%} interval {average.low:.2g} to {average.high:.2g}; of the trial's means, "
        f"unadjusted, {average.unadjusted_low:.2g} to {average.unadjusted_high:.2g})."
    )


def closing(story: Story) -> str:
    """Return the conclusion from the numbers of the demonstration."""
    from confide.demo import ALPHA

    shares = dict.fromkeys(f"{share:.0%}" for share in sorted(story.lines[0].coverage))
    # Two standard deviations of the coverage given the trial, with half of it in each arm.
    fewer = 2 * (ALPHA * (1 - ALPHA) / (story.trial / 2 + 2)) ** 0.5
    return (
        f"The observational table alone is right for {' to '.join(shares)} and "
        "promises nothing; the trial is honest and small. With both, the promise holds whatever made the observational "
        f"table differ. It is an average: with one trial of this size intervals may be right for {fewer:.0%} fewer "
        "(two standard deviations). "
        f"Intervals of the average effect are {1 - story.share_of_width:.0%} narrower than those of the trial's plain "
        "difference of means; adjusting for covariates within the trial alone gives most of that."
    )


def after_story(report: str, name: str, example: Example) -> str:
    """Return what to open and type after the demonstration."""
    from confide.datasets.examples import EXAMPLES

    default = next(iter(EXAMPLES))
    others = [f"  confide demo --data {other}" for other in EXAMPLES if other != name]
    return "\n".join(
        [
            f"  {report}, in a browser: one of the draws, {example.person} by {example.person}",
            f"  confide demo --files {name}" + (f" --data {name}" if name != default else ""),
            _run_on_files(name, example),
            *others,
        ]
    )


def file_lines(written: dict[str, int], example: Example) -> str:
    """Return the files of the demonstration, by path, and what to type next."""
    who = zip(written.items(), example.files, strict=True)
    lines = [f"{path}: {count:,} {example.people} {kind}" for (path, count), kind in who]
    return "\n".join([*lines, "", "Next:", _run_on_files(str(Path(next(iter(written))).parent), example)])


def _run_on_files(folder: str, example: Example) -> str:
    """Return the command that predicts for the people of the demonstration."""
    return (
        f"  confide run --observational {folder}/observational.csv --trial {folder}/trial.csv \\\n"
        f"    --predict {folder}/new.csv --treatment {example.treatment} --outcome {example.outcome} "
        f"--id {example.person} --out intervals.csv"
    )
