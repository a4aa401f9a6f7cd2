"""What the coverage study could have found: shortfalls that a cell would show, and cells of a method pooled."""

from __future__ import annotations

from math import isnan
from statistics import fmean, median
from typing import Any

from scipy import stats

# A shortfall counts as one that a test finds if it would find it so often.
POWER = 0.9
# Pooled are cells whose upper bound is at most so far above the promise.
TIGHT = 0.01
# A method's cells with all of these alike are levels and questions of the same draws.
OF_DRAWS = ("case", "told", "process", "rows")


def shortfalls(rows: list[dict[str, Any]], level: float) -> list[float]:
    """Return, for each cell with a promise and some noise, the shortfall that its test finds with probability `POWER`.

    Its test is a one-sided t-test at this level, and so the shortfall is the sum of two quantiles times the error.
    """
    return [
        float((stats.t.isf(level, row["draws"] - 1) + stats.t.ppf(POWER, row["draws"] - 1)) * row["promised_error"])
        for row in rows
        if not isnan(row["promised"]) and row["promised_error"] > 0
    ]


def power_in_words(rows: list[dict[str, Any]], level: float) -> str:
    """Return what a cell could have shown, in a sentence."""
    found = shortfalls(rows, level)
    return (
        f"What a cell could have shown: with so many tests made together, a cell's test finds a true shortfall with "
        f"probability {POWER:g} from {100 * median(found):.1f} points on in the median cell, and from "
        f"{100 * max(found):.1f} points on in the worst (cells far above their promise are drawn least). "
        "Smaller shortfalls may be there in any one cell; those that many cells of a method share are seen by the "
        "pooled test."
    )


def pooled(rows: list[dict[str, Any]]) -> tuple[int, float, float, float] | None:
    """Return the number of a method's tight cells, their mean distance from the promise, its error, and the p-value.

    The p-value is one-sided, of no shortfall on average. Cells of the same draws are not independent: their errors are
    added, as if they went together, which makes the error too large rather than too small.
    """
    mine = [row for row in rows if row["promised_error"] > 0 and row["ceiling"] - row["promised"] <= TIGHT]
    if not mine:
        return None
    together: dict[tuple[Any, ...], float] = {}
    for row in mine:
        key = tuple(row[name] for name in OF_DRAWS)
        together[key] = together.get(key, 0.0) + row["promised_error"]
    error = sum(each**2 for each in together.values()) ** 0.5 / len(mine)
    mean = fmean(row["coverage"] - row["promised"] for row in mine)
    return len(mine), mean, error, float(stats.norm.cdf(mean / error))


def pooled_in_words(rows: list[dict[str, Any]]) -> str:
    """Return the pooled test of a method's cells for its line of the table."""
    found = pooled(rows)
    if found is None:
        return "–"
    cells, mean, error, p_value = found
    what = "cell" if cells == 1 else "cells"
    return f"{100 * mean:+.2f} ± {100 * error:.2f} ({cells} {what}, p = {p_value:.2f})"
