"""What the paper claims of ratings, and whether the tables bear it out: verdicts are made from their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.experiments.reproduction.protocols import NOT_YAHOO
from confide.experiments.reproduction.rating_tables import ADDITIVE, CONSTANT
from confide.experiments.reproduction.settings import ORACLE
from confide.experiments.reproduction.summary import shown, shown_width
from confide.experiments.reproduction.verdicts import kept, less_than, reaches, told, verdict

if TYPE_CHECKING:
    from confide.experiments.reproduction.reproduce import Reproduced
    from confide.experiments.reproduction.summary import Line

CLAIM = "The paper: its methods reach 0.9 and are much narrower than Naive, also without trial outcomes in the ratio."
PAPERS = ("wscp-dr-inexact", "wscp-dr-exact", "wscp-dr*-inexact", "wscp-dr*-exact")


def on_ratings(found: Reproduced) -> list[str]:
    """Return what a table of ratings says; of the paper's claims only where the ratings are the paper's."""
    answered = [line for line in found.lines if line.coverage is not None]
    by_name = {line.method: line for line in answered}
    claimed = [by_name[name] for name in PAPERS if name in by_name]
    lines = [f"**{NOT_YAHOO}** They say nothing of the paper's claims.", ""] if NOT_YAHOO in found.notes else []
    if "naive" not in by_name or not claimed:
        return [*lines, "The table is not complete."]
    if not lines:
        narrower = [less_than(found, line, "naive") for line in claimed]
        lines = [
            f"{CLAIM} Its methods reach 0.9: {kept(claimed)} They are narrower than `naive`: {verdict(narrower)}",
            "",
        ]
    lines += ["Coverage, width, ratings in the set:", ""]
    for line in answered:
        ratings = shown(line.more["ratings"], 2)
        lines.append(f"- `{line.method}`: {told(line)}, width {shown_width(line)}, {ratings} ratings.")
    methods = [line for line in answered if line.method not in (CONSTANT, ADDITIVE, ORACLE)]
    for baseline in (CONSTANT, ADDITIVE):
        if baseline in by_name:
            lines += ["", _beside(found, methods, baseline)]
    valid = [line for line in answered if reaches(line) is not False and line.method != ORACLE]
    if valid:
        best = min(valid, key=lambda line: line.more["ratings"].mean)
        lines += ["", f"Of those that are not below 0.9 `{best.method}` has the smallest sets."]
    return lines


def _beside(found: Reproduced, methods: list[Line], baseline: str) -> str:
    """Return which methods have fewer ratings in their sets than a plain baseline, and cover."""
    fewer = [line for line in methods if less_than(found, line, baseline, "ratings")]
    covering = [f"`{line.method}`" for line in fewer if reaches(line) is not False]
    short = [f"`{line.method}`" for line in fewer if reaches(line) is False]
    sentence = f"Fewer ratings in the set than `{baseline}` beyond noise: {', '.join(covering) or 'none'}"
    return f"{sentence}; fewer, but below 0.9: {', '.join(short)}." if short else f"{sentence}."
