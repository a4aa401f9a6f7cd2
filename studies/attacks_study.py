"""Coverage on data that once broke the promise: run by `python -m studies attacks`."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

from joblib import Parallel, delayed
from scipy import stats

from studies.attacks import CASES, NEW_ROWS, Attacked, attack

# One-sided level, for all cases together.
TEST_LEVEL = 0.01

SETTING = """\
Conformal prediction needs calibration rows and new rows to be treated alike. These data look ordinary, and some step \
before the method once treated them differently: an encoder that had counted calibration rows, a cell that was read \
differently in two files, a prediction that differs in its last bit. Each case is drawn {repetitions}, with \
{new} new rows each, from the trial's own population; *before* is the coverage of the code before it was corrected, \
measured on data of this kind. A case fails if a one-sided t-test rejects the promise (1 %, Bonferroni). Made \
by `make study-attacks`."""


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return all repetitions of all cases, or of those named."""
    tasks = [(case, seed) for case in CASES if not only or case in only for seed in range(seeds)]
    found: list[Attacked] = Parallel(jobs, verbose=1)(delayed(_quiet)(*task) for task in tasks)
    return [asdict(one) for one in found]


def _quiet(case: str, seed: int) -> Attacked:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about small samples, which the table counts
        return attack(case, seed)


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the repetitions."""
    by_case = {case: [row for row in rows if row["case"] == case] for case in CASES}
    counts = sorted({len(mine) for mine in by_case.values()})
    repetitions = f"{counts[0]} times" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} times"
    lines = [
        "# Data that once broke the promise",
        "",
        SETTING.format(repetitions=repetitions, new=NEW_ROWS),
        "",
        "| case | promised | before | covered | infinite | holds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case, mine in by_case.items():
        what, promised, before, _ = CASES[case]
        coverages = [row["coverage"] for row in mine]
        error = stdev(coverages) / len(coverages) ** 0.5
        distance = fmean(coverages) - promised
        p_value = stats.t.cdf(distance / error, len(coverages) - 1) if error else float(distance >= 0)
        holds = "yes" if p_value >= TEST_LEVEL / len(CASES) else "**no**"
        infinite = fmean(row["infinite"] for row in mine)
        covered = f"{fmean(coverages):.3f} ± {error:.3f}"
        lines.append(f"| {what} | {promised:.2f} | {before} | {covered} | {infinite:.0%} | {holds} |")
    return "\n".join(lines) + "\n"
