"""The text of covariate balance and of the flow of rows, made from records."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from confide.cli.text import console

if TYPE_CHECKING:
    from confide.diagnostics.covariate_balance import Balance
    from confide.diagnostics.flow import RowFlow

# The largest differences of each comparison that are shown.
SHOWN = 10


def print_balance_and_flow(balance: list[Balance], flow: list[RowFlow], *, clustered: bool = False) -> None:
    """Print covariate balance, then the flow of rows."""
    from confide.diagnostics.flow import SAMPLED

    sampled = any(each.stage == SAMPLED for each in flow)
    for part in [*balance_parts(balance, clustered=clustered, sampled=sampled), "", *flow_parts(flow)]:
        console().print(part, highlight=False)


def balance_parts(found: list[Balance], *, clustered: bool = False, sampled: bool = False) -> list[Any]:
    """Return, comparison by comparison, how many covariates are beyond the customary line, and the largest of them.

    ``clustered``: the trial's people are in clusters; ``sampled``: of the observational table there is a sample.
    """
    from confide.diagnostics.covariate_balance import CUSTOMARY

    which = ", with the sample" if sampled else ""
    parts: list[Any] = [f"Covariate balance{which}: standardised mean differences (SMD)"]
    for comparison in dict.fromkeys(each.comparison for each in found):
        mine = [each for each in found if each.comparison == comparison]
        beyond = sorted((each for each in mine if _size(each) > CUSTOMARY), key=lambda each: -_size(each))
        parts.append(Padding(_sentence(mine, clustered=clustered), (0, 0, 0, 2), expand=False))
        if beyond:
            parts.append(Padding(_largest(beyond[:SHOWN]), (0, 0, 0, 4), expand=False))
        if len(beyond) > SHOWN:
            parts.append(f"    and {len(beyond) - SHOWN} more: --json has all, confide.plot.love_plot draws them")
    return parts


def _size(record: Balance) -> float:
    """Return the size of a difference, before or after weighting, whichever is larger; 0 if it is not known."""
    known = [each for each in (record.smd, record.smd_weighted) if each is not None and not isnan(each)]
    return max(map(abs, known), default=0.0)


def _sentence(mine: list[Balance], *, clustered: bool) -> str:
    """Return how many covariates of a comparison are beyond the customary line, and how far chance alone goes."""
    from confide.diagnostics.covariate_balance import CUSTOMARY

    first, second = mine[0].rows
    columns = len({each.column for each in mine})
    plain = len({each.column for each in mine if abs(each.smd) > CUSTOMARY})
    weighted = {each.column for each in mine if each.smd_weighted is not None and abs(each.smd_weighted) > CUSTOMARY}
    after = "" if mine[0].smd_weighted is None else f", {len(weighted)} after weighting"
    chance = f"chance alone gives about {mine[0].by_chance:.2f}" + (", and more between clusters" if clustered else "")
    return (
        f"{escape(mine[0].comparison)} ({first:,} and {second:,} rows): {plain} of {columns} covariates differ by more "
        f"than {CUSTOMARY:g}{after}; {chance}."
    )


def _largest(records: list[Balance]) -> Table:
    """Return a table of records, with a column of weighted differences where there are some."""
    weighted = records[0].smd_weighted is not None
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    table.add_column("covariate", overflow="fold")
    for name in ["SMD", *(["weighted"] if weighted else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    for each in records:
        numbers = [each.smd, *([each.smd_weighted] if weighted else [])]
        table.add_row(escape(each.covariate), *(f"{number:+.2f}" for number in numbers))
    return table


def flow_parts(found: list[RowFlow]) -> list[Any]:
    """Return the flow of rows as a table, one line per arm and table."""
    from confide.diagnostics.flow import CALIBRATING, FITTING, READ, SAMPLED, UNUSED

    sampled = any(each.stage == SAMPLED for each in found)
    stages = (READ, *([SAMPLED] if sampled else []), FITTING, CALIBRATING, UNUSED)
    table = Table(box=SIMPLE, pad_edge=False)
    for name in ("treatment", "table"):
        table.add_column(name)
    for stage in stages:
        table.add_column(stage, justify="right", no_wrap=True)
    lines: dict[tuple[Any, str], dict[str, int]] = {}
    for each in found:
        if each.stage in stages:
            lines.setdefault((each.treatment, each.source), {})[each.stage] = each.rows
    for (treatment, source), rows in lines.items():
        numbers = (f"{rows[stage]:,}" if stage in rows else "" for stage in stages)
        table.add_row(escape(str(treatment)), source, *numbers)
    which = "all rows" if sampled else "rows"
    return [f"Flow of {which}: none was dropped, since a row that cannot be used is an error", table]
