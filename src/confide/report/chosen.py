"""What the page says about a value that outcomes are to be above or below: whom to choose, and whose bound is there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from confide.effects.wording import plain
from confide.report.words import MINUS

if TYPE_CHECKING:
    from confide.model import CounterfactualIntervals
    from confide.report.choosing import Listed
    from confide.report.findings import Findings
    from confide.report.individuals import Individuals
    from confide.report.words import Words


@dataclass(frozen=True)
class Bounded:
    """How many people's own bound is on its good side of a value, by treatment.

    Attributes
    ----------
    title : str
        Whose bound is asked about.
    counts : list of (treatment, number)
        In the page's words.
    """

    title: str
    counts: list[tuple[str, int]]


def chosen_in_words(findings: Findings, words: Words) -> list[dict[str, object]]:
    """Return what choosing people at each rate promises and finds, in words."""
    return [
        {
            "rate": each.fdr,
            "count": each.count,
            "asked": each.fdr == findings.rate,
            "title": f"Whose {words.outcome} will be {each.side} {_valued(each, words)} under {named.treatment}?",
            "brief": (
                f"This is not about who benefits from {named.treatment}: {words.outcome} under other treatments has no "
                f"part in it. On average at most {100 * each.fdr:g} % of such a list are false picks."
            ),
            "little": named.tells_little,
            "promise": named.promise,
            "found": named.found_at_all,
        }
        for each in findings.selections
        for named in [replace(each, treatment=words.treatment(each.treatment))]
    ]


def bounded(
    model: CounterfactualIntervals, individuals: Individuals, findings: Findings, words: Words, rows: int
) -> Bounded | None:
    """Return how many of the page's rows have a bound beyond the value; None if intervals have two ends, or no value.

    An upper bound is counted if it is below the value, a lower one if it is above.
    """
    if model.side_ == "both" or not findings.selections:
        return None
    asked = findings.selections[0]
    side = "below" if model.side_ == "upper" else "above"
    counts = []
    for label in model.arms_:
        ends = individuals.answers[f"y_{label}_{model.side_}"].to_numpy()[:rows]
        reached = ends < asked.value if side == "below" else ends > asked.value
        counts.append((words.treatment(label), int(reached.sum())))
    return Bounded(f"Whose {model.side_} bound of {words.outcome} is {side} {_valued(asked, words)}?", counts)


def _valued(asked: Listed, words: Words) -> str:
    """Return the value with its unit, unless the outcome's name already has it."""
    unit = "" if words.measured == words.outcome else f" {words.unit}"
    return f"{plain(asked.value, MINUS)}{unit}"
