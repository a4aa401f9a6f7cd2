"""Which joint interval for an effect: the page of `python -m studies joint`."""

from __future__ import annotations

from statistics import fmean, geometric_mean, stdev
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from confide.base.threads import one_thread
from studies.decision import p_value_below
from studies.default_cells import CELLS
from studies.joint import ALPHA, BACKWARD, BONFERRONI, FORWARD, SHARES, STEPS, Effects, draw

# Level of the one-sided t-tests of coverage, for all cells together.
TEST_LEVEL = 0.01
# What the others are compared with.
PLAIN = (BONFERRONI, "half")

SETTING = f"""\
An interval for the effect of one person takes two steps, and misses at most as often as both together. So there are \
many that promise {float(1 - ALPHA):g}, and this study compares them with the default method on the data of [its own \
study](default.md). *Bonferroni* is the difference of the arms' intervals. *Nested-exact* takes the interval of one \
arm at the other arm's rows, regresses the ends of their effects on the covariates, and calibrates them on the trial; \
it may start from the control's interval or from the treated one's. The first step (the control's interval, or the \
one that nesting starts from) gets a quarter, half or three quarters of α = {float(ALPHA):g}. {{draws}} draws of each \
cell. Effects of real people are not known, so that STAR, NSW and within-study have widths only. Made by `make \
study-joint`."""

READING = """\
*Width* is the mean width over that of Bonferroni with half of α for each arm, in the same draws, ± its standard \
error over draws; draws in which one of the two has an infinite interval are left out, and **∞** means that more than \
half of the draws are. *Infinite* is the share of people with an infinite interval. Coverage is of true effects, ± its \
standard error; **below** means that a one-sided t-test rejects {level:g} (at {test:g} %, divided by the number of \
cells)."""

FOLLOWS = """\
*Cells narrower*: those in which the width is below Bonferroni's by more than two standard errors. Of the ways that \
are finite in every cell, the narrowest on average is {steps} with {first} of α for the first step, which is {which}. \
Nested intervals with half of α have {forward:.3f} (from the control) and {backward:.3f} (from the treated) of \
Bonferroni's width. A smaller share than half needs more trial rows for a finite interval, and buys nothing."""


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return one row per cell and way, of all cells or of those named."""
    tasks = [(case, seed) for seed in range(seeds) for case in CELLS if not only or case in only]
    found = Parallel(jobs, verbose=5, batch_size=1)(delayed(_drawn)(*task) for task in tasks)
    by_case: dict[str, list[Effects]] = {case: [] for case in CELLS}
    for part in found:
        by_case[part[0].case] += part
    return [row for every in by_case.values() if every for row in summarised(every)]


def _drawn(case: str, seed: int) -> list[Effects]:
    """Return one draw of a cell, on one core."""
    with one_thread():
        return list(draw(case, seed))


def summarised(every: list[Effects]) -> list[dict[str, Any]]:
    """Return one row per way of one cell."""
    by_way: dict[tuple[str, str], dict[int, Effects]] = {}
    for each in every:
        by_way.setdefault((each.steps, each.first), {})[each.seed] = each
    plain = by_way[PLAIN]
    rows = []
    for (steps, first), draws in by_way.items():
        ratios = [
            one.width / plain[seed].width for seed, one in draws.items() if not one.infinite + plain[seed].infinite
        ]
        coverages = [one.coverage for one in draws.values()]
        rows.append(
            {
                "case": every[0].case,
                "steps": steps,
                "first": first,
                "draws": len(draws),
                "coverage": fmean(coverages),
                "error": _error(coverages),
                "ratio": fmean(ratios) if ratios else np.nan,
                "ratio_error": _error(ratios),
                "finite": len(ratios),
                "width": fmean(one.width for one in draws.values()),
                "infinite": fmean(one.infinite for one in draws.values()),
            }
        )
    return rows


def _error(values: list[float]) -> float:
    """Return the standard error of a mean; NaN of fewer than two values."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 and np.isfinite(values).all() else np.nan


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the cells."""
    known = [row for row in rows if row["coverage"] == row["coverage"]]
    below = {_key(row) for row in known if p_value_below(row, float(1 - ALPHA)) < TEST_LEVEL / len(known)}
    draws = sorted({int(row["draws"]) for row in rows})
    lines = ["# Which interval for an effect", "", SETTING.format(draws=" to ".join(str(n) for n in draws)), ""]
    lines += [*overall(rows, below), "", "## Every cell", ""]
    lines += [READING.format(level=float(1 - ALPHA), test=100 * TEST_LEVEL), ""]
    lines += [f"| cell | steps | {' | '.join(SHARES)} |", "| --- " * (len(SHARES) + 2) + "|"]
    table = {_key(row): row for row in rows}
    for case in dict.fromkeys(row["case"] for row in rows):
        for steps in STEPS:
            cells = [_cell(table[case, steps, first], (case, steps, first) in below) for first in SHARES]
            lines.append(f"| {case} | {steps} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def overall(rows: list[dict[str, Any]], below: set[tuple[str, str, str]]) -> list[str]:
    """Return the table over all cells, and what follows from it."""
    cells = len({row["case"] for row in rows})
    known = sum(row["coverage"] == row["coverage"] for row in rows)
    verdict = f"{len(below) or 'none'} {'is' if len(below) == 1 else 'are'}"
    lines = [
        f"Of {known} cells and ways with known effects, {verdict} below the promise.",
        "",
        "| steps | first step | geometric mean of widths | smallest | largest | cells narrower | finite cells |",
        "| --- " * 7 + "|",
    ]
    means, everywhere = {}, []
    for steps in STEPS:
        for first in SHARES:
            mine = [row for row in rows if (row["steps"], row["first"]) == (steps, first) and _mostly_finite(row)]
            ratios = [row["ratio"] for row in mine]
            narrower = sum(row["ratio"] + 2 * row["ratio_error"] < 1 for row in mine)
            means[steps, first] = geometric_mean(ratios) if ratios else np.nan
            everywhere += [(steps, first)] if len(mine) == cells else []
            told = [f"{value(ratios):.3f}" if ratios else "–" for value in (geometric_mean, min, max)]
            lines.append(f"| {steps} | {first} | {' | '.join(told)} | {narrower} | {len(mine)} of {cells} |")
    forward, backward = means[FORWARD, "half"], means[BACKWARD, "half"]
    if not everywhere:
        return lines
    best = min(everywhere, key=means.__getitem__)
    which = "the default" if best == PLAIN else "not the default"
    follows = FOLLOWS.format(steps=best[0], first=best[1], which=which, forward=forward, backward=backward)
    return [*lines, "", follows]


def _cell(row: dict[str, Any], is_below: bool) -> str:
    """Return a cell of the table: width, coverage and share infinite."""
    width = f"{row['ratio']:.3f} ± {row['ratio_error']:.3f}" if _mostly_finite(row) else "**∞**"
    told = [width]
    if row["coverage"] == row["coverage"]:
        told.append(f"covers {row['coverage']:.3f} ± {row['error']:.3f}{', **below**' * is_below}")
    if row["infinite"]:
        told.append(f"{100 * row['infinite']:.1f} % infinite")
    return "; ".join(told)


def _mostly_finite(row: dict[str, Any]) -> bool:
    """Return whether at most half of the draws have an infinite interval."""
    return bool(2 * row["finite"] >= row["draws"] > 1)


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["case"], row["steps"], row["first"]
