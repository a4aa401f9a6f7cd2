"""Size and power of the test of randomisation: run by `python -m studies randomisation`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from joblib import Parallel, delayed
from scipy import stats

from confide.diagnostics.advice import UNBALANCED
from studies.randomisation import CHANCES, CONSTANT, COVARIATES, TEST_LEVEL, Cell, Counts, count

ROWS = (30, 100, 400, 2000)
COLUMNS = (2, 10, 30)
TRUE = "stated, and true"
SIZE_CELLS = [
    Cell(case, covariates, rows, columns, treatments)
    for case, treatments in ((CONSTANT, 2), (CONSTANT, 3), (TRUE, 2))
    for covariates in COVARIATES
    for rows in ROWS
    for columns in COLUMNS
]
POWER_CELLS = [
    Cell(case, "normal", rows, columns, 2) for case in CHANCES if case != TRUE for columns in (2, 10) for rows in ROWS
]
# Repetitions of a size by the number of rows, as multiples of the seeds; of a power a fifth of the seeds, at most.
REPETITIONS = {30: 1.0, 100: 1.0, 400: 0.25, 2000: 0.06}
POWER_SHARE = 0.2
# Level of the binomial tests, for all cells and both levels together.
DECISION = 0.01

SETTING = f"""\
`summary` tests whether treatment in the trial depends on covariates beyond the probabilities that were stated, and \
speaks of it if the p-value is at most {UNBALANCED:g}. The test compares covariates, and their squares, between \
treatments with trials that are drawn again: by permutation if everybody had the same probability, and by the stated \
probabilities otherwise. This page shows how often it rejects at {100 * TEST_LEVEL:g} % and at \
{100 * UNBALANCED:g} %; made by `make study-randomisation`. Covariates are independent: normal, heavy-tailed (Student \
with 2 degrees of freedom) or binary (1 for 30 %)."""

SIZE_SETTING = """\
Trials that assigned as stated: with the same probability for everybody, or with 0.1 + 0.8·Φ(x), x the first \
covariate. Shares of rejections in percent, at {test:g} % / at {told:g} %. The largest shares of the {cells} cells \
are {largest:.1f} % and {largest_told:.1f} %. By one-sided binomial tests at {level:g} %, shared by all cells and both \
levels, {above} of them are above the level. The more rows, the fewer repetitions, and the larger an excess must be to \
show."""

POWER_SETTING = """\
Trials that did not: normal covariates, two treatments, {repetitions} repetitions or fewer. Nothing is stated but in \
the last rows; x is the first covariate, of standard deviation 1; *above 60* is the age of people whose mean is 55 \
and standard deviation 12. Shares of rejections in percent, at {test:g} % / at {told:g} %."""

POWER_READING = """\
Where probabilities differ enough to cost coverage, as in *.9 above 60*, a trial of 100 rows shows it; a weak \
dependence takes many rows, and more of them if there are many covariates that have nothing to do with it. What is in \
no single covariate, nor in its square, is not seen, and neither is a stated share that is wrong for everybody alike: \
it does no harm. No rejection is not evidence that the trial assigned as stated."""


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return the counts of every cell, or of the cases named."""
    tasks = [(cell, max(1, round(seeds * REPETITIONS[cell.rows]))) for cell in SIZE_CELLS]
    tasks += [(cell, max(1, round(seeds * min(POWER_SHARE, REPETITIONS[cell.rows])))) for cell in POWER_CELLS]
    chosen = [task for task in tasks if not only or task[0].case in only]
    found: list[Counts] = Parallel(jobs, verbose=1)(delayed(count)(*task) for task in chosen)
    return [asdict(one) for one in found]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the counts."""
    counts = {Cell(*(row[name] for name in Cell._fields)): row for row in rows}
    sizes = [counts[cell] for cell in SIZE_CELLS]
    levels = {"rejected": TEST_LEVEL, "told": UNBALANCED}
    tests = [
        stats.binom.sf(row[which] - 1, row["repetitions"], level) for row in sizes for which, level in levels.items()
    ]
    largest, largest_told = (100 * max(row[which] / row["repetitions"] for row in sizes) for which in levels)
    shown = {"test": 100 * TEST_LEVEL, "told": 100 * UNBALANCED}
    repetitions = "; ".join(f"{count:,} of {name:,} rows" for name, count in _repetitions(sizes).items())
    return "\n".join(
        [
            "# Size and power of the test of randomisation",
            "",
            SETTING,
            "",
            "## Size",
            "",
            SIZE_SETTING.format(
                cells=len(sizes),
                largest=largest,
                largest_told=largest_told,
                level=100 * DECISION,
                above=sum(test < DECISION / len(tests) for test in tests),
                **shown,
            )
            + f" Repetitions: {repetitions}.",
            "",
            *_head("assignment | covariates | columns"),
            *(
                f"| {_assignment(case, treatments)} | {covariates} | {columns} | "
                + " | ".join(_shares(counts[Cell(case, covariates, rows, columns, treatments)]) for rows in ROWS)
                + " |"
                for case, treatments in ((CONSTANT, 2), (CONSTANT, 3), (TRUE, 2))
                for covariates in COVARIATES
                for columns in COLUMNS
            ),
            "",
            "## Power",
            "",
            POWER_SETTING.format(repetitions=max(counts[cell]["repetitions"] for cell in POWER_CELLS), **shown),
            "",
            *_head("true assignment | columns"),
            *(
                f"| {case} | {columns} | "
                + " | ".join(_shares(counts[Cell(case, "normal", rows, columns, 2)]) for rows in ROWS)
                + " |"
                for case in dict.fromkeys(cell.case for cell in POWER_CELLS)
                for columns in (2, 10)
            ),
            "",
            POWER_READING,
            "",
        ]
    )


def _repetitions(rows: list[dict[str, Any]]) -> dict[int, int]:
    return {row["rows"]: row["repetitions"] for row in rows}


def _assignment(case: str, treatments: int) -> str:
    return f"constant, {treatments} treatments" if case == CONSTANT else case


def _head(first: str) -> list[str]:
    width = first.count("|") + 1 + len(ROWS)
    return [f"| {first} | {' | '.join(f'{rows:,} rows' for rows in ROWS)} |", "| --- " * width + "|"]


def _shares(row: dict[str, Any]) -> str:
    return " / ".join(f"{100 * row[which] / row['repetitions']:.1f}" for which in ("rejected", "told"))
