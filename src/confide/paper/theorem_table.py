"""Repetitions of Theorem 1's case study: some draws of a case with one seed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from confide.paper.runs import Task
from confide.paper.theorem import Case, Verdict, check_claim, limit_probability, paper_deltas
from confide.paper.theorem_cases import CASES, as_row

if TYPE_CHECKING:
    from confide.base.csv_rows import Row
    from confide.paper.runs import Part
    from confide.paper.settings import Settings


def theorem_tasks(settings: Settings, seeds: int) -> list[Task]:
    """Return the draws of every case."""
    return [
        Task(
            theorem_draws,
            f"case{number}-seed{seed}",
            {"case": asdict(case), "simulated_n": rows, "draws": settings.draws, "seed": seed},
        )
        for number, (case, rows) in enumerate(CASES[: settings.cases], start=1)
        for seed in range(seeds)
    ]


def theorem_draws(case: Row, simulated_n: int, draws: int, seed: int) -> list[Row]:
    """Return in how many draws the theorem's event happened."""
    return [{"held": check_claim(Case(**case), draws, seed, simulated_n).held, "draws": draws}]


def join_draws(parts: list[Part]) -> list[Row]:
    """Return one row per case, in the order of the parts."""
    cases: dict[Case, list[Part]] = {}
    for part in parts:
        cases.setdefault(Case(**part.task.arguments["case"]), []).append(part)
    rows = []
    for case, mine in cases.items():
        draws, held = (sum(row[name] for part in mine for row in part.rows) for name in ("draws", "held"))
        simulated = mine[0].task.arguments["simulated_n"]
        rows.append(as_row(Verdict(case, paper_deltas(case), limit_probability(case), simulated, draws, held)))
    return rows
