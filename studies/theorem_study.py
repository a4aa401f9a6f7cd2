"""Theorem 1's claim, checked: the page of `python -m studies theorem`."""

from __future__ import annotations

from typing import Any

from joblib import Parallel, delayed

from confide.paper import theorem_cases
from confide.paper.theorem import check_claim


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:  # noqa: ARG001  (its cases have no names)
    """Check the claim, ten draws per seed."""
    found = Parallel(jobs, verbose=5)(
        delayed(check_claim)(case, 10 * seeds, simulated_n=rows) for case, rows in theorem_cases.CASES
    )
    return [theorem_cases.as_row(one) for one in found]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the draws."""
    setting = theorem_cases.SETTING.format(repetitions=rows[0]["repetitions"])
    lines = ["# Theorem 1, and what is so", "", f"{setting} Made by `make study-theorem`.", ""]
    lines += [*theorem_cases.markdown(rows), "", theorem_cases.READING, "", theorem_cases.reasons()]
    return "\n".join(lines) + "\n"
