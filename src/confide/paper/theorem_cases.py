"""Theorem 1 case by case: the cases that are checked, and the table and sentences that report them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from confide.paper import theorem
from confide.paper.theorem import Case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confide.paper.theorem import Verdict

# The setting, and how many observational rows stand in for n in the simulation.
CASES = [
    (Case(10_000, 250, 1, difference=0.5, total=5), 10_000),
    (Case(10_000, 100, 10, difference=0.2, total=5), 10_000),
    (Case(20_000, 100, 45, difference=0.3, total=5), 20_000),
    (Case(50_000, 130, 60, difference=0.5, total=5, alpha=0.3), 50_000),
    (Case(10_000_000, 900, 100, difference=0.67, total=5, alpha=0.1), 200_000),
    (Case(10_000_000, 900, 100, difference=0.67, total=5, alpha=0.3), 200_000),
]
SETTING = (
    "Theorem 1 says that with probability at least 1 - Σδ the offset of `wtcp-dr` is at most that of `naive` plus "
    "2σ√(log n / n). Here: features N(0, I) in both sources, least squares, the true density ratio; ‖θᴵ - θᴼ‖ is the "
    "hidden confounding in units of the noise σ, and ‖θᴵ + θᴼ‖ = 5σ, which makes δ₁ negligible. δ₁ to δ₄ are the "
    "paper's to the letter. *Limit* is the exact probability of the event for an unbounded observational table; "
    "*simulated* is how often it happened in {repetitions} draws of both algorithms. Where n is too large to draw, "
    "fewer rows stand in for it, with the larger 2σ√(log n / n) that belongs to them. A claim is refuted where a "
    "one-sided binomial test rejects it at 1 %."
)
READING = (
    "The paper's own synthetic study has d = 1, so δ₃ = 1 and the theorem says nothing about it. Where there is a "
    "claim it is true as long as `naive` loses more by fitting d coefficients on few rows than `wtcp-dr` by the "
    "confounding; in the last two cases it is false. The formulas do not follow from the proof:"
)
HEADINGS = ["n", "m", "d", "‖θᴵ - θᴼ‖/σ", "α", "δ₁", "δ₂", "δ₃", "δ₄", "claimed", "limit", "simulated (n)", "verdict"]


def as_row(one: Verdict) -> dict[str, Any]:
    """Return a verdict as a row of the CSV."""
    return {
        **asdict(one.case),
        **asdict(one.deltas),
        "claim": "none" if one.deltas.claim is None else one.deltas.claim,
        "limit": one.limit,
        "simulated_n": one.simulated_n,
        "repetitions": one.repetitions,
        "held": one.held,
        "verdict": one.verdict,
    }


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the CSV as people read it, in the order of the headings."""
    claim = row["claim"] if row["claim"] == "none" else f"≥ {row['claim']:.3f}"
    return [
        *(f"{row[name]:,}" for name in ("n", "m", "d")),
        f"{row['difference']:g}",
        f"{row['alpha']:g}",
        *(f"{row[name]:.2g}" for name in ("delta1", "delta2", "delta3", "delta4")),
        claim,
        f"{row['limit']:.3f}",
        f"{row['held'] / row['repetitions']:.3f} ({row['simulated_n']:,})",
        row["verdict"],
    ]


def markdown(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the table's lines."""
    lines = [f"| {' | '.join(HEADINGS)} |", "| --- " * len(HEADINGS) + "|"]
    return lines + [f"| {' | '.join(cells(row))} |" for row in rows]


def reasons() -> str:
    """Return why the formulas do not follow from the proof, from the docstring of `confide.paper.theorem`."""
    return (theorem.__doc__ or "").split("proof, for these reasons among others:")[1].strip()
