"""The decision rule of the studies: whether a coverage is below what was promised."""

from __future__ import annotations

from typing import Any

from scipy import stats


def p_value_below(row: dict[str, Any], promised: float) -> float:
    """Return the one-sided p-value of a mean coverage, with its standard error over draws, against a promise."""
    distance = row["coverage"] - promised
    return float(stats.t.cdf(distance / row["error"], row["draws"] - 1)) if row["error"] else float(distance >= 0)
