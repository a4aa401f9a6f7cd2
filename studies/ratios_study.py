"""Density ratios against a known one: the page of `python -m studies ratios`."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import Any

from joblib import Parallel, delayed

from confide.ratio import RATIOS
from studies.ratios import RatioError, gaussian_error

# Observational and trial rows.
SIZES = [(500, 50), (5000, 50), (500, 250), (5000, 250), (5000, 1000)]

SETTING = (
    "Two covariates that say nothing and an outcome, N(0, 1) in the trial and N(1, 1) in the observational rows, so "
    "that r(x, y) = exp(½ - y). Error Δ = ½·E|r - r̂/E r̂| over fresh observational rows, mean of {seeds} seeds, and "
    "seconds; a blind ratio has Δ = 0.383. Made by `make study-ratios`."
)


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Run each ratio, or only those named, against a known Gaussian one."""
    names = only or list(RATIOS)
    tasks = [(name, RATIOS[name](), n, m, seed) for name in names for n, m in SIZES for seed in range(seeds)]
    found: list[RatioError] = Parallel(jobs, verbose=5)(delayed(gaussian_error)(*task) for task in tasks)
    return [asdict(result) for result in found]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the repetitions."""
    seeds = len({row["seed"] for row in rows})
    lines = [
        "# How well density ratios are recovered",
        "",
        SETTING.format(seeds=seeds),
        "",
        "| ratio | " + " | ".join(f"n = {n:,}, m = {m:,}" for n, m in SIZES) + " |",
        "| --- " * (len(SIZES) + 1) + "|",
    ]
    for name in RATIOS:
        cells = []
        for n, m in SIZES:
            mine = [row for row in rows if (row["ratio"], row["n"], row["m"]) == (name, n, m)]
            cells.append(f"{fmean(r['error'] for r in mine):.3f} ({fmean(r['seconds'] for r in mine):.1f} s)")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
