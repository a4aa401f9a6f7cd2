"""The text of `confide effects`: a table and sentences made from records; nothing is computed here."""

from __future__ import annotations

from math import isfinite, isnan
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from confide.cli.text import percent
from confide.effects.wording import average_in_words, better_in_words, few_in_words

if TYPE_CHECKING:
    from confide.effects.averages import AverageEffect

REFUTED = (
    "It would rest on the trial's lot, and the data refute that lot: treatment in the trial depends on covariates more "
    "than chance allows. So the answer may be confounded, and its interval too narrow or in the wrong place."
)


def effect_table(records: list[AverageEffect], treatment: str) -> Group:
    """Return the average effect of each group, adjusted by the large table and not, below a title of its own width."""
    first = records[0]
    title = (
        f"Average effect of {escape(f'{treatment} = {first.treated}')} against {escape(str(first.control))}, "
        f"with {percent(1 - first.alpha)} intervals"
    )
    table = Table(box=SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("group")
    for name in ("rows", "effect", "interval", "unadjusted", "width"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in records:
        table.add_row(
            escape(record.group),
            f"{record.n:,}",
            "" if isnan(record.effect) else f"{record.effect:.3g}",
            _span(record.low, record.high),
            _span(record.unadjusted_low, record.unadjusted_high),
            _width(record),
        )
    return Group(f"[italic]{title}[/]", table)


def effect_lines(
    records: list[AverageEffect],
    treatment: str,
    outcome: str,
    *,
    lower_is_better: bool | None = None,
    binary: bool = False,
    refuted: bool = False,
) -> list[str]:
    """Return what the table means, in words.

    ``binary``: outcomes are 0 and 1; ``refuted``: the test of randomisation refutes the trial's lot.
    """
    first = records[0]
    given, other = (f"{treatment} = {label}" for label in (first.treated, first.control))
    lines = [average_in_words(first, treated=given, control=str(first.control), outcome=outcome)]
    better = better_in_words(first, treated=given, control=other, outcome=outcome, lower_is_better=lower_is_better)
    if better:
        lines.append(better)
    if first.number_needed_to_treat is not None:
        needed, low, high = first.number_needed_to_treat
        more = "more" if first.effect > 0 else "fewer"
        lines.append(
            f"It is a difference of risks: one {more} {outcome} = 1 for every {needed:.3g} people treated ({low:.3g} "
            f"to {high:.3g})."
        )
    if first.clusters is not None:
        lines.append(f"Each of the {first.clusters} clusters counts once, however many rows it has.")
    if any(not isfinite(record.low) for record in records):
        unit = "rows" if first.clusters is None else "clusters"
        lines.append(f"An interval without ends: too few {unit} of a treatment to tell.")
    lines.append(REFUTED if refuted else _rests_on(first))
    if few := few_in_words(records, binary=binary):
        lines.append(few)
    if len(records) > 1:
        lines.append("Intervals of groups hold one by one: of many, some miss by chance.")
    return lines


def _rests_on(record: AverageEffect) -> str:
    """Return what the answer rests on, what it is compared with, and what the large table did to it."""
    rests = (
        "It rests on the trial's lot alone. Unadjusted is the trial's plain difference of means; adjusting it by what "
        "the large table predicts makes it sharper if it predicts well. Adjusting for covariates within the trial "
        "alone often does so nearly as much."
    )
    narrower = _narrower(record)
    cost = ""
    if narrower is not None and narrower <= 0:
        cost = f"Here it cost width: {-narrower} % wider. " if narrower else "Here it is as wide as without. "
    return f"{rests} {cost}The adjustment biases it at most by a part of order 1/n, n the trial's rows."


def contradictions(records: list[AverageEffect]) -> list[str]:
    """Return, for each group whose two intervals have no value in common, what that says of the trial."""
    return [
        f"The two intervals for {record.group} ({record.treated} against {record.control}), adjusted by the large "
        "table and not, have no value in common, which hardly happens where treatment was assigned at random. "
        "Check whether the tables are exchanged."
        for record in records
        if record.low > record.unadjusted_high or record.high < record.unadjusted_low
    ]


def _narrower(record: AverageEffect) -> int | None:
    """Return by how many percent the interval is narrower than the unadjusted one; None if one has no ends."""
    share = record.share_of_width
    return round(100 * (1 - share)) if isfinite(share) else None


def _width(record: AverageEffect) -> str:
    """Return by how much the interval's width is less or more than from the trial alone; nothing if one has no ends."""
    narrower = _narrower(record)
    if narrower is None:
        return ""
    return f"{abs(narrower)} % {'less' if narrower > 0 else 'more'}" if narrower else "equal"


def _span(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}".replace("inf", "∞")
