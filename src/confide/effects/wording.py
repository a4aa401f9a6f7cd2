"""Average effects in words: sentences made from records, for the screen and for the report."""

from __future__ import annotations

from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from confide.effects.averages import EVERYBODY

if TYPE_CHECKING:
    from confide.effects.averages import AverageEffect

# From here on numbers are written with an exponent.
SMALLEST, LARGEST = 1e-6, 1e15


def plain(value: float, minus: str = "-", plus: str = "", decimals: int | None = None) -> str:
    """Return a number without an exponent unless it is extreme: three digits, or so many decimals."""
    if not isfinite(value):
        return "–" if value != value else ("∞" if value > 0 else f"{minus}∞")  # noqa: PLR0124
    size = abs(value)
    if size and not SMALLEST <= size < LARGEST:
        text = f"{size:.3g}"
    elif decimals is not None:
        text = f"{size:,.{decimals}f}"
    else:
        text = f"{size:,.{max(0, 2 - floor(log10(size))) if size else 0}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    sign = minus if value < 0 else plus
    return f"{sign}{text}" if any(digit in text for digit in "123456789") else text


def decimals_of(low: float, high: float) -> int | None:
    """Return how many decimals show two digits of an interval's half width; None if it has none."""
    half = (high - low) / 2
    return max(0, 1 - floor(log10(half))) if isfinite(half) and half > SMALLEST else None


def average_in_words(
    record: AverageEffect,
    *,
    treated: str,
    control: str,
    outcome: str,
    unit: str = "",
    scale: float = 1.0,
    minus: str = "-",
    as_wide: bool = False,
) -> str:
    """Return what an average effect is among people like the trial's, in a sentence.

    ``unit`` follows the number, and ``scale`` multiplies it: 100 for differences of risks in percentage points.
    ``as_wide``: as many decimals as the interval's width deserves, in place of three digits.
    """
    who = "among people like the trial's"
    if not isfinite(record.low):
        return f"The trial has too few rows to tell the average effect of {treated} on {outcome}."
    units = f" {unit}" if unit else ""
    level = f"{100 * (1 - record.alpha):.10g} % interval"
    ends = [scale * record.low, scale * record.high]
    decimals = decimals_of(*ends) if as_wide else None
    if record.low <= 0 <= record.high:
        span = " to ".join(plain(end, minus, decimals=decimals) for end in ends)
        by = plain(scale * record.effect, minus, "+", decimals)
        return (
            f"On average, {treated} instead of {control} changes {outcome} by {by}{units} ({level} {span}) {who}: the "
            "trial does not tell in which direction."
        )
    does = "raises" if record.effect > 0 else "lowers"
    span = " to ".join(plain(end, decimals=decimals) for end in sorted(map(abs, ends)))
    size = plain(abs(scale * record.effect), decimals=decimals)
    return f"On average, {treated} instead of {control} {does} {outcome} by {size}{units} ({level} {span}) {who}."


def better_in_words(
    record: AverageEffect, *, treated: str, control: str, outcome: str, lower_is_better: bool | None
) -> str:
    """Return which treatment is better on average, in a sentence; empty if the interval does not tell.

    ``lower_is_better``: None if nobody said which direction is better; no treatment is the better one then.
    """
    if lower_is_better is None or not isfinite(record.low) or record.low <= 0 <= record.high:
        return ""
    better = treated if (record.effect > 0) != lower_is_better else control
    direction = "lower" if lower_is_better else "higher"
    return f"With {direction} {outcome} as the better, {better} is the better of the two on average."


def few_in_words(records: list[AverageEffect], *, binary: bool) -> str:
    """Return that intervals from few rows are approximate, in a sentence; empty if none is from few.

    Those of outcomes of 0 and 1 (``binary``) cover their level with few rows too.
    """
    few = [each for each in records if each.units < each.units_needed and isfinite(each.low)]
    if binary or not few:
        return ""
    least = min(few, key=lambda each: each.units)
    unit = "rows of a treatment" if least.clusters is None else "clusters"
    where = "" if least.group == EVERYBODY else f" for {least.group}"
    they_are, they = ("The interval is", "it") if len(records) == 1 else ("Intervals are", "they")
    return (
        f"{they_are} approximate with fewer than {least.units_needed} {unit} (here {least.units}{where}): if outcomes "
        f"are very skewed, {they} may miss in more than {100 * least.alpha:.10g} % of trials."
    )
