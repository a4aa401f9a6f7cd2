"""Coverage of everything that promises it: the adaptive run of `python -m studies coverage`."""

from __future__ import annotations

from dataclasses import asdict, astuple
from hashlib import sha256
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from confide.base.csv_rows import read_rows, write_rows
from confide.base.threads import one_thread
from studies import coverage_draws, coverage_processes, coverage_setup
from studies.coverage_cells import SETUPS
from studies.coverage_draws import Found, batch
from studies.decision import p_value_below
from studies.kept import BUILD, fingerprint

if TYPE_CHECKING:
    from studies.coverage_setup import Setup

# One-sided level of all tests together.
TEST_LEVEL = 0.01
# A cell is done with this standard error, or sooner if the mean is so many standard errors on one side of its bounds.
ERROR, CERTAIN = 0.004, 6.0
# A cell that nothing is promised for needs no more than this.
SHOWN_ERROR = 0.01
# Batches of a setup, at least and at most, and how many are drawn before it is decided again.
LEAST, MOST, STEP = 12, 1000, 4
KEPT = BUILD / "coverage-study"


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return the cells of all setups, or of those in the sections named; draws of the same code are read.

    How many draws there are is decided by what they say. With 0 seeds nothing is drawn: cells that are done are told.
    """
    chosen = [setup for setup in SETUPS if not only or setup.section in only]
    if seeds:
        return settle(chosen, jobs)
    return [row for setup in chosen for row in done(setup, _folder())]


def settle(setups: list[Setup], jobs: int) -> list[dict[str, Any]]:
    """Return the cells of setups."""
    folder = _folder()
    found = Parallel(jobs, verbose=5, batch_size=1)(delayed(settled)(setup, folder) for setup in setups)
    return [row for part in found for row in part]


def _folder() -> Path:
    """Return where batches by this code are kept."""
    modules = (coverage_draws, coverage_processes, coverage_setup)
    folder = KEPT / fingerprint([Path(str(module.__file__)) for module in modules])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def settled(setup: Setup, folder: Path, most: int = MOST) -> list[dict[str, Any]]:
    """Return the cells of a setup, drawn until each is certain; batches are kept as they are made."""
    path, rows = kept(setup, folder)
    drawn = 1 + max((row["batch"] for row in rows), default=-1)
    while drawn < LEAST or (drawn < most and not all(map(is_certain, cells_of(setup, rows)))):
        with one_thread():
            for number in range(drawn, drawn + STEP):
                rows += [{"batch": number, **asdict(each)} for each in batch(setup, number)]
        drawn += STEP
        write_rows(path, rows, list(rows[0]))
    return cells_of(setup, rows)


def kept(setup: Setup, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Return where the batches of a setup are, and those that have been made."""
    path = folder / f"{sha256(repr(setup).encode()).hexdigest()[:16]}.csv"
    return path, read_rows(path) if path.exists() else []


def done(setup: Setup, folder: Path) -> list[dict[str, Any]]:
    """Return the cells of a setup if they are certain, without a draw; none if they are not."""
    cells = cells_of(setup, kept(setup, folder)[1])
    enough = all(cell["draws"] >= LEAST and (is_certain(cell) or cell["draws"] >= MOST) for cell in cells)
    return cells if enough else []


def cells_of(setup: Setup, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per question and level: means over batches."""
    batches: dict[tuple[str, float], list[Found]] = {}
    for row in rows:
        each = Found(**{name: value for name, value in row.items() if name != "batch"})
        batches.setdefault((each.asks, each.alpha), []).append(each)
    return [
        {
            "case": setup.section,
            "method": setup.method,
            "told": setup.told,
            "process": setup.process,
            "asks": asks,
            "rows": setup.rows,
            "alpha": alpha,
            "draws": len(mine),
            "people": len(mine) * setup.draws * setup.new,
            **{name: round(value, 6) for name, value in means_of(mine).items()},
        }
        for (asks, alpha), mine in batches.items()
    ]


def means_of(mine: list[Found]) -> dict[str, float]:
    """Return means of one cell, its standard error, and that of its distance from the promise."""
    _, _, coverage, infinite, promised, ceiling = zip(*map(astuple, mine), strict=True)
    return {
        "coverage": fmean(coverage),
        "error": standard_error(coverage),
        "infinite": fmean(infinite),
        "promised": fmean(promised),
        "promised_error": standard_error([a - b for a, b in zip(coverage, promised, strict=True)]),
        "ceiling": fmean(ceiling),
        "ceiling_error": standard_error([a - b for a, b in zip(coverage, ceiling, strict=True)]),
    }


def standard_error(values: Any) -> float:
    """Return the standard error of a mean; infinite for one value, NaN where values are."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else float("inf")


def is_known(value: float) -> bool:
    """Return whether a bound is a number."""
    return not isnan(value)


def distances(row: dict[str, Any]) -> list[tuple[float, float]]:
    """Return how far coverage is on the right side of each of its bounds, and the standard error of that."""
    below = [(row["coverage"] - row["promised"], row["promised_error"])] if is_known(row["promised"]) else []
    above = [(row["ceiling"] - row["coverage"], row["ceiling_error"])] if is_known(row["ceiling"]) else []
    return below + above


def is_certain(row: dict[str, Any]) -> bool:
    """Return whether more draws would not change a cell's verdict."""
    found = distances(row)
    if row["error"] <= (ERROR if found else SHOWN_ERROR):
        return True
    apart = [distance / error if error else float("inf") for distance, error in found]
    return bool(found) and (min(apart) > CERTAIN or min(apart) < -2 * CERTAIN)


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """Return "holds", "below", "above", or "" for cells without a promise and a bound, tested together."""
    tests = sum(len(distances(row)) for row in rows)
    return [_verdict(row, TEST_LEVEL / max(tests, 1)) for row in rows]


def _verdict(row: dict[str, Any], level: float) -> str:
    if not distances(row):
        return ""
    # The t-test takes the error of the distance, in which a promise may vary too.
    below = {"coverage": row["coverage"], "error": row["promised_error"], "draws": row["draws"]}
    if is_known(row["promised"]) and p_value_below(below, row["promised"]) < level:
        return "below"
    above = {"coverage": -row["coverage"], "error": row["ceiling_error"], "draws": row["draws"]}
    if is_known(row["ceiling"]) and p_value_below(above, -row["ceiling"]) < level:
        return "above"
    return "holds"
