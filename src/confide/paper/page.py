"""The page of the reproduction: every table from its CSV, beside the paper's, and which of its claims hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.base.csv_rows import read_rows
from confide.paper import theorem_cases
from confide.paper.averages import shown, shown_coverage, shown_width
from confide.paper.claims import claims
from confide.paper.protocols import PROTOCOLS
from confide.paper.published import published
from confide.paper.reproduce import reproduced
from confide.paper.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from confide.paper.averages import Line
    from confide.paper.reproduce import Reproduced

SEEDS = 5
INTRODUCTION = """\
Every table and figure of the paper, run by `confide reproduce all`; this page is made from its CSV files by \
`make reproduction-page`, sentences on results included, and not edited. Figures are mean ± standard deviation over \
seeds; α = 0.1. They *differ* where means are more than two standard errors apart, the paper's taken over five \
repetitions as in its code. Coverage is called **below 0.9** where a one-sided t test over seeds rejects 0.9 at 5 %, \
and other figures differ *beyond noise* where a two-sided one says so; each by itself, so that of twenty lines that \
keep 0.9 one would be called below by chance, and with five seeds a shortfall of less than about one standard \
deviation between seeds is not detected. The standard deviation is taken as at least the noise of the test rows. \
Repetitions on Coat split the same ratings again; their standard errors are enlarged for what they share, so that \
only a shortfall of about two and a half standard deviations is detected there. All methods use the same rows.

**Holds**: every part of the claim is borne out beyond noise. **Not rejected**: the claim is that 0.9 is reached, and \
no test says otherwise. **Holds in part**: of some parts and not of others. **Does not hold**: some parts are \
contradicted beyond noise and none is borne out. **Within noise**: neither."""
REFERENCE = """\
The paper's public code was run with its own library versions and five seeds, on both synthetic tables. Its Naive and \
wSCP-DR rows come out equal to the published ones to three decimals: the published figures are that code's, and depend \
on the following. We neither copy this nor chase its figures.

- Its weighted quantile picks the same rank whatever the calibration weights are; levels are capped at 0.999, nothing \
stands at +∞, and the unweighted quantile is interpolated.
- WCP trains on three quarters of its calibration rows.
- `exact` computes the offset of its second stage and does not apply it, and runs at α/2 like wTCP-DR; the others \
run at α: methods are compared at different levels.
- Rows of wSCP-DR called MLP use a kernel ratio, which in 31 of 40 fits is nearly blind to y; columns are not scaled.
- 10-tree quantile forests and conformalised quantiles for most methods, not gradient boosting and |μ̂ - y|; medians \
over two folds; test rows are 2 % of the observational sample, and nested effects are fitted on rows that include them.
- Nested effects put one arm's intervals on *observational* rows of the other and calibrate them without weights, \
which is not valid: 0.859 at that step.
- wTCP-DR looks for outcomes only between the trial's smallest and largest, compares strictly, fails on an empty set, \
and takes 9 to 10 hours of one core per seed."""


def make_page(folder: Path) -> str:
    """Return the page of the CSV files that are in the folder."""
    found = {
        name: reproduced(name, read_rows(folder / f"{name}.csv"))
        for name in TABLES
        if (folder / f"{name}.csv").is_file()
    }
    lines = ["# The paper, run again", "", INTRODUCTION, "", *_state(folder, found), ""]
    lines += ["## What holds of its claims", "", *claims(found)]
    lines += ["## The reference code", "", REFERENCE, "", *_mended(), ""]
    for each in found.values():
        lines += _section(folder, each)
    return "\n".join(lines).rstrip() + "\n"


def _state(folder: Path, found: dict[str, Reproduced]) -> list[str]:
    """Return which tables there are, over how many seeds, and how long they took."""
    few = [f"{name} ({_seeds(each)})" for name, each in found.items() if name != "theorem" and each.seeds < SEEDS]
    missing = [name for name in TABLES if name not in found]
    lines = []
    if few:
        lines.append(f"**Preliminary: fewer than {SEEDS} seeds in {', '.join(few)}.**")
    if missing:
        lines.append(f"Not run: {', '.join(missing)}.")
    times = read_rows(folder / "times.csv") if (folder / "times.csv").is_file() else []
    if set(found) <= {row["table"] for row in times}:
        seconds = sum(row["seconds"] for row in times)
        lines.append(
            f"Its repetitions took {seconds / 60:,.0f} minutes of one core, added up (`reproduction/times.csv`); "
            "`--jobs` shares them among cores."
        )
    return [" ".join(lines)]


def _seeds(found: Reproduced) -> str:
    return f"{found.seeds} seed{'s' * (found.seeds != 1)}"


def _mended() -> list[str]:
    """Return the results of that code with one defect removed."""
    lines = ["| method | mended | Y(0): coverage / width | Y(1): coverage / width |", "| --- " * 4 + "|"]
    for name, row in published()["mended"].items():
        cells = [f"{row[f'coverage_{arm}']:.3f} / {row[f'width_{arm}']:.3f}" for arm in ("y0", "y1")]
        lines.append(f"| `{name}` | {row['what']} | {' | '.join(cells)} |")
    return lines


def _section(folder: Path, found: Reproduced) -> list[str]:
    """Return one table: protocols, figures, reasons."""
    lines = [f"## {TABLES[found.name].title}", "", *(f"**{note}**\n" for note in found.notes)]
    lines += [f"- Paper: {found.paper}.", f"- Here: {found.ours}.{f' {_seeds(found)}.' if found.seeds else ''}", ""]
    if found.name == "theorem":
        setting = theorem_cases.SETTING.format(repetitions=found.rows[0]["repetitions"])
        return [*lines, setting, "", *theorem_cases.markdown(found.rows), "", "[Why](theorem.md).", ""]
    if PROTOCOLS[found.name].published:
        lines += _beside(found)
    else:
        lines += _sweep(found)
    if (folder / f"{found.name}.png").is_file():
        lines += [f"![{TABLES[found.name].title}]({folder.name}/{found.name}.png)", ""]
    lines += [f"- Why {methods}: {reason}." for methods, reason in found.reasons]
    return [*lines, ""]


def _beside(found: Reproduced) -> list[str]:
    """Return all lines with the paper's beside them."""
    more = [key for key in ("clipped", "ratings") if any(key in line.more for line in found.lines)]
    names = {"clipped": "width within 1–5", "ratings": "ratings in the set"}
    mended = found.name == "table2"
    heads = ["method", "of", "coverage", "paper's", "width", "paper's", *(names[key] for key in more), "differs"]
    heads += ["reference code, mended: coverage / width"] * mended
    lines: list[str] = []
    for group in dict.fromkeys(line.group for line in found.lines):
        lines += [f"### {group}", ""] if group else []
        lines += [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
        mine = [line for line in found.lines if line.group == group]
        lines += [f"| {' | '.join(_cells(line, more) + [_mended_cell(line)] * mended)} |" for line in mine]
        lines.append("")
    return lines


def _cells(line: Line, more: list[str]) -> list[str]:
    return [
        f"`{line.method}`",
        line.target,
        shown_coverage(line),
        shown(line.paper_coverage),
        shown_width(line),
        shown(line.paper_width),
        *(shown(line.more.get(key), 2) for key in more),
        "yes" if line.differs else "",
    ]


def _mended_cell(line: Line) -> str:
    """Return coverage / width of the reference code with a defect removed, for an arm; it has no effects."""
    row = published()["mended"].get(line.method)
    arm = {"Y(0)": "y0", "Y(1)": "y1"}.get(line.target)
    return "" if row is None or arm is None else f"{row[f'coverage_{arm}']:.3f} / {row[f'width_{arm}']:.3f}"


def _sweep(found: Reproduced) -> list[str]:
    """Return coverage / width along a sweep; the paper has curves without figures."""
    groups = list(dict.fromkeys(line.group for line in found.lines))
    lines: list[str] = []
    for target in dict.fromkeys(line.target for line in found.lines):
        mine = {(line.group, line.method): line for line in found.lines if line.target == target}
        lines += [f"### {target}: coverage / width", "", f"| method | {' | '.join(groups)} |"]
        lines.append("| --- " * (len(groups) + 1) + "|")
        for method in dict.fromkeys(method for _, method in mine):
            cells = [
                f"{shown_coverage(mine[group, method])} / {shown_width(mine[group, method])}".strip(" /")
                if (group, method) in mine
                else ""
                for group in groups
            ]
            lines.append(f"| `{method}` | {' | '.join(cells)} |")
        lines.append("")
    return lines
