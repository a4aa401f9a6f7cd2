"""Where misses fall: the page of `python -m studies misses`."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

from joblib import Parallel, delayed

from studies.misses import BIASES, COMPARED, NOISE, TENTHS, Tenth, repeat_misses

# The tenths of people that the page shows.
SHOWN_TENTHS = (1, 5, 8, TENTHS)
SETTING = (
    "Intervals at 90 % hold at least 90 % of people on average, and not 90 % of each kind of people. Here the noise of "
    "each person is known: the standard deviation of the outcome given the covariates is between {low:g} and {high:g}, "
    "evenly spread on a logarithmic scale. One arm, 2,000 observational and 200 trial rows, three covariates, the "
    "automatic base model, 5,000 fresh people, {seeds} repetitions; made by `make study-misses`. *Tenth 1* are the "
    "people who are easiest to predict, *tenth {tenths}* the hardest. Coverage of each with its standard error, and "
    "the mean width."
)
TITLES = {
    0.0: "Where the large table has no bias",
    1.0: "Where all outcomes of the large table are too high by 1",
}
READING = (
    "One width for all is too narrow for the hardest tenth and far too wide for the easiest. A score that lets "
    "widths differ evens this out and is narrower on average, if it knows the size of errors. "
    '`conformity_score="normalised"` learns it from the rows that the base model learns from. With `transfer` these '
    "are observational rows, and a bias of the large table is no part of the errors that the model makes there: on "
    "the trial the bias then takes up most of the narrow intervals, and the misses fall on the people who are "
    '*easiest* to predict. All keep 90 % on average; none promises more. `base_on="grounded"` takes the bias '
    "out first, on half of the trial's rows, and the other half calibrates. `prognostic` takes it out with every trial "
    "row in both parts; its widths follow the size of errors that the automatic model finds, less extreme than "
    "the true one."
)


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Run all methods, or only those named, with and without a bias."""
    names = only or list(COMPARED)
    tasks = [(name, bias, seed) for name in names for bias in BIASES for seed in range(seeds)]
    found: list[list[Tenth]] = Parallel(jobs, verbose=5)(delayed(repeat_misses)(*task) for task in tasks)
    return [asdict(tenth) for part in found for tenth in part]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the repetitions."""
    seeds = len({row["seed"] for row in rows})
    setting = SETTING.format(low=NOISE[0], high=NOISE[1], seeds=seeds, tenths=TENTHS)
    lines = ["# Where misses fall", "", setting, ""]
    for bias in BIASES:
        headings = ["method", "all", *(f"tenth {number}" for number in SHOWN_TENTHS), "mean width"]
        lines += [f"## {TITLES[bias]}", "", f"| {' | '.join(headings)} |", "| --- " * len(headings) + "|"]
        for name in COMPARED:
            mine = [row for row in rows if (row["compared"], row["bias"]) == (name, bias)]
            parts = [[row for row in mine if row["tenth"] == number] for number in SHOWN_TENTHS]
            cells = [coverage_of(part) for part in (by_seed(mine), *parts)]
            width = f"{fmean(row['width'] for row in mine):.2f}"
            lines.append(f"| `{name}` | {' | '.join(cells)} | {width} |")
        lines.append("")
    return "\n".join([*lines, READING]) + "\n"


def by_seed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean coverage of each repetition, over all tenths."""
    seeds = {row["seed"] for row in rows}
    return [{"coverage": fmean(row["coverage"] for row in rows if row["seed"] == seed)} for seed in seeds]


def coverage_of(rows: list[dict[str, Any]]) -> str:
    """Return the mean coverage and its error."""
    coverages = [row["coverage"] for row in rows]
    return f"{fmean(coverages):.3f} ± {stdev(coverages) / len(coverages) ** 0.5:.3f}"
