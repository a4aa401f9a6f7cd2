"""The first screen of the page: the question, and the answer in words made from records."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from confide.effects.wording import average_in_words, decimals_of, few_in_words, plain
from confide.report.words import MINUS

if TYPE_CHECKING:
    from confide.effects.averages import AverageEffect
    from confide.predict.batches import Answered
    from confide.report.findings import Findings
    from confide.report.words import Words
    from confide.typing import Label


@dataclass(frozen=True)
class Side:
    """How many effects are on which side of 0, for one pair of treatments, in the page's words.

    Attributes
    ----------
    treated, control : str
        What the two are called.
    better, worse, open : int
        How many intervals say that people are better under the treated, better under the control, and neither. If
        nobody said which direction is better: above 0, below 0, and neither.
    """

    treated: str
    control: str
    better: int
    worse: int
    open: int

    @property
    def certain(self) -> int:
        """How many people's own effect is known to be on one side of 0."""
        return self.better + self.worse


@dataclass(frozen=True)
class Answer:
    """The average effect of one pair, in words.

    Attributes
    ----------
    verdict : str
        In a few words.
    tone : {"better", "worse", "known", "open", "doubted"}
        For whom it speaks; known if nobody said which direction is better, doubted if the trial's lot is refuted.
    text : str
        In a sentence.
    more : list of str
        Further sentences.
    """

    verdict: str
    tone: str
    text: str
    more: list[str]


def question(findings: Findings, words: Words) -> str:
    """Return the question that the page answers."""
    control = words.treatment(findings.pairs[0][1])
    treated = [words.treatment(pair[0]) for pair in findings.pairs]
    what = f"the risk of {words.outcome}" if findings.binary else words.measured
    if len(treated) == 1:
        return f"Does {treated[0]} instead of {control} change {what} for people like these?"
    listed = f"{', '.join(treated[:-1])} and {treated[-1]}"
    return f"What do {listed} change in {what}, each instead of {control}, for people like these?"


def sides(counted: Answered, findings: Findings, words: Words) -> list[Side]:
    """Return the counts of each pair."""
    found = []
    for treated, control in findings.pairs:
        signs = counted.signs[str(treated), str(control)]
        better, worse = signs["above"], signs["below"]
        if words.lower_is_better:
            better, worse = worse, better
        found.append(Side(words.treatment(treated), words.treatment(control), better, worse, signs["neither"]))
    return found


def answers(counted: Answered, findings: Findings, words: Words, *, refuted: bool) -> list[Answer]:
    """Return the answer on each pair's average effect; empty if there is none.

    ``refuted``: the test of randomisation refutes the trial's lot, on which the answers rest.
    """
    certain = {pair: side.certain for pair, side in zip(findings.pairs, sides(counted, findings, words), strict=True)}
    return [
        _answer(pair, records, findings, words, refuted=refuted, certain=certain[pair])
        for pair, records in findings.averages.items()
    ]


def _answer(
    pair: tuple[Label, Label],
    records: list[AverageEffect],
    findings: Findings,
    words: Words,
    *,
    refuted: bool,
    certain: int,
) -> Answer:
    treated, control = (words.treatment(label) for label in pair)
    first = records[0]
    outcome = f"the risk of {words.outcome}" if findings.binary else words.outcome
    unit, scale = ("percentage points", 100.0) if findings.binary else (words.unit, 1.0)
    text = average_in_words(
        first, treated=treated, control=control, outcome=outcome, unit=unit, scale=scale, minus=MINUS, as_wide=True
    )
    size = _size(first, f" {unit}" if unit else "", scale)
    verdict, tone = _verdict(first, words, treated if len(findings.pairs) > 1 else "", size, refuted=refuted)
    few = few_in_words(records, binary=findings.binary)
    apart = [] if certain or refuted else _groups_not_people(records, treated, control, words)
    more = [*apart, *_needed(first, words), *_sharper(first, f" {unit}" if unit else "", scale), *filter(None, [few])]
    more += _by_group(records)
    if tone != "open" and words.lower_is_better is None:
        more.insert(0, f"This page was not told whether higher or lower is better for {outcome}.")
    return Answer(verdict, tone, text, more)


def _size(record: AverageEffect, units: str, scale: float) -> str:
    """Return how large an average effect is, without its sign."""
    return plain(abs(scale * record.effect), decimals=decimals_of(scale * record.low, scale * record.high)) + units


def _verdict(record: AverageEffect, words: Words, treated: str, size: str, *, refuted: bool) -> tuple[str, str]:
    """Return the answer in a few words, and for whom it speaks; a name if several treatments are asked about."""
    which = f"{treated}: " if treated else ""
    if not _is_clear(record):
        return f"{which}not clear on average", "open"
    if words.lower_is_better is None:
        doubt, tone = ("in doubt: ", "doubted") if refuted else ("", "known")
        return f"{which}{doubt}on average {_side(record)} by {size}", tone
    direction, tone = _side(record), "better" if _is_good(record, words) else "worse"
    if refuted:
        return f"{which}in doubt: on average {direction}, which would be {tone}", "doubted"
    return f"{which}yes, on average {direction}, which is {tone}", tone


def _is_clear(record: AverageEffect) -> bool:
    """Return whether the interval of an average effect is finite and excludes 0."""
    return isfinite(record.low) and isfinite(record.high) and not record.low <= 0 <= record.high


def _side(record: AverageEffect) -> str:
    """Return whether outcomes are higher or lower."""
    return "higher" if record.effect > 0 else "lower"


def _is_good(record: AverageEffect, words: Words) -> bool:
    """Return whether an effect is for the better, as far as the page was told."""
    return (record.effect > 0) != words.lower_is_better


def _needed(record: AverageEffect, words: Words) -> list[str]:
    """Return the number needed to treat, where there is one."""
    if record.number_needed_to_treat is None:
        return []
    needed, low, high = (plain(each) for each in record.number_needed_to_treat)
    more = "more" if record.effect > 0 else "fewer"
    return [f"One {more} {words.outcome} for every {needed} people treated ({low} to {high})."]


def _sharper(record: AverageEffect, units: str, scale: float) -> list[str]:
    """Return what the adjustment by the large table adds to the plain difference of means."""
    share = record.share_of_width
    if not isfinite(share):
        return []
    alone = spans(record, scale)["alone"].partition("(")[2].rstrip(")")
    narrower = round(100 * (1 - share))
    adds = f"makes the interval {narrower} % narrower" if narrower > 0 else "does not make the interval narrower"
    bias = "biases it at most by a part of order 1/n, n the trial's rows"
    told = (
        f"Adjusting by the large table {adds} than that of the trial's plain difference of means, {alone}{units}, and "
        f"{bias}. Adjusting for covariates within the trial alone often does so nearly as much."
    )
    return [told]


def _by_group(records: list[AverageEffect]) -> list[str]:
    return ["Intervals of groups hold one by one: of many, some miss by chance."] if len(records) > 1 else []


def _groups_not_people(records: list[AverageEffect], treated: str, control: str, words: Words) -> list[str]:
    """Return that one can choose by group, and not by person, if the average of a group is clear; else nothing."""

    def told(record: AverageEffect) -> str:
        if words.lower_is_better is None:
            return f"{_side(record)} under {treated}"
        return f"better under {treated if _is_good(record, words) else control}"

    clear = [f"{each.group} ({told(each)})" for each in records[1:] if _is_clear(each)]
    if not clear:
        return []
    of = "a group" if len(clear) == 1 else "some groups"
    found = f"No single person’s effect is clear, but the average effect of {of} is: {'; '.join(clear)}."
    return [f"{found} These data support a choice by group, and not by person."]


def spans(record: AverageEffect, scale: float = 1.0) -> dict[str, str]:
    """Return the estimate with its interval as text: adjusted by the large table ("text"), or not ("alone")."""
    found = {}
    for name, middle, low, high in (
        ("text", record.effect, record.low, record.high),
        ("alone", record.unadjusted, record.unadjusted_low, record.unadjusted_high),
    ):
        decimals = decimals_of(scale * low, scale * high)
        told = [plain(scale * each, MINUS, decimals=decimals) for each in (middle, low, high)]
        found[name] = f"{told[0]} ({told[1]} to {told[2]})" if isfinite(low) else "too few rows"
    return found
