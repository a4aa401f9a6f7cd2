"""The test for hidden confounding: the page of `python -m studies confounding`."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import fmean
from typing import Any

from joblib import Parallel, delayed
from scipy.stats import binom, norm

from studies.confounding import Rejection, repeat_test

TEST_LEVEL = 0.05
# Case, observational and trial rows over both arms, covariates.
CASES = [
    *(("no confounding", n, m, d) for n, m, d in [(10_000, 250, 1), (10_000, 1000, 1), (10_000, 100, 1)]),
    *(("no confounding", n, m, d) for n, m, d in [(2000, 1000, 1), (2000, 250, 1), (2000, 100, 1), (2000, 50, 1)]),
    ("no confounding", 2000, 250, 5),
    *(("no confounding, skewed", n, m, 2) for n, m in [(2000, 24), (2000, 40), (2000, 200), (4000, 2400)]),
    *(("no confounding, rare or uneven", n, m, 2) for n, m in [(2000, 24), (2000, 200), (4000, 2400)]),
    ("no confounding, STAR", 1400, 400, 9),
    ("selected by the outcome", 4000, 400, 3),
    ("selected by the outcome", 4000, 100, 3),
    ("selected, sign changes with x", 4000, 400, 3),
    ("selected by the outcome, STAR", 1500, 400, 9),
]
# A size near 5 % takes more repetitions to see than a power near 1, and the fewest rows are where it went wrong.
THIRD = Fraction(1, 3)
REPETITIONS = {
    ("no confounding, skewed", 24): 9,
    ("no confounding, skewed", 40): 3,
    ("no confounding, skewed", 200): 3,
    ("no confounding, rare or uneven", 24): 6,
    ("no confounding, rare or uneven", 200): 3,
}
# The level, over all cases and arms without confounding, at which a size of 5 % is refuted.
SIZE_LEVEL = 0.01
SETTING = (
    "How often `hidden_confounding_test` rejects at level 5 %; made by `make study-confounding`. *No confounding*: the "
    "paper's data with X = U; *skewed*: lognormal outcomes, of which 60 % are 0 in arm 1, times exp(x/2), with trial "
    "covariates shifted by 0.8 standard deviations; *rare or uneven*: in arm 0 an outcome of 0 or 1, which is 1 for "
    "about one row in ten, in arm 1 noise whose standard deviation is exp(x), with trial covariates shifted by 1. "
    "*Selected by the outcome*: a linear outcome (R² = 0.2) whose observational rows were seen with probability "
    "1/(1 + exp(∓1.2 z)), z the standardised outcome, so that the bias is positive in arm 0 and negative in arm 1; "
    "*sign changes*: the same, with the sign of the first covariate, so that it averages to nothing and the test "
    "cannot see it; *STAR*: real pupils, taken at random or by their scores in the same way, about so many. Rows are "
    "those of both arms together; shares of rejections with their standard errors; *normal* is the share for the same "
    "statistics, were all of them held against the normal distribution, as the test itself does only where each source "
    "has 1,000 rows of the arm; bias is the mean estimate of observational minus trial outcomes; seconds are those of "
    "the processor, both arms."
)
SIZES = (
    "Without confounding there are {cells} cases and arms. A one-sided binomial test at {level:g} %, divided by their "
    "number (Bonferroni), refutes a size of 5 % in {drawn} of them; with the normal distribution throughout it would "
    "refute it in {normal}. The largest share is {largest:.3f} ± {error:.3f} ({where}), and with the normal "
    "distribution {normal_largest:.3f} ± {normal_error:.3f} ({normal_where})."
)
READING = (
    "The sources are drawn from estimated probabilities. A dozen trial rows teach little of them, so that they are too "
    "even. Where the noise, too, varies much with a covariate by which the sources differ, the test may then reject a "
    "little too often; arm 1 of *rare or uneven* is such a case."
)


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Run the test in every case, or only in those named; one row per case and arm."""
    rows = []
    for case in CASES:
        if only and case[0] not in only:
            continue
        usual = 1 if case[0].startswith("no confounding") else THIRD
        repetitions = math.ceil(seeds * REPETITIONS.get((case[0], case[2]), usual))
        found = Parallel(jobs, verbose=1)(delayed(repeat_test)(*case, seed) for seed in range(repetitions))
        rows += [count_rejections(records) for records in zip(*found, strict=True)]
    return rows


def count_rejections(records: tuple[Rejection, ...]) -> dict[str, Any]:
    """Return one case and arm in one row."""
    first = records[0]
    return {
        **{name: getattr(first, name) for name in ("case", "n", "m", "d", "treatment")},
        "repetitions": len(records),
        "rejections": sum(record.p_value < TEST_LEVEL for record in records),
        "normal": sum(2 * norm.sf(abs(record.statistic)) < TEST_LEVEL for record in records),
        "bias": round(fmean(record.bias for record in records), 6),
        "seconds": round(fmean(record.seconds for record in records), 3),
    }


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the repetitions."""
    headings = ["case", "observational rows", "trial rows", "covariates", "repetitions"]
    headings += ["arm 0", "normal", "bias", "arm 1", "normal", "bias", "seconds"]
    lines = [
        "# How often the test for hidden confounding rejects",
        "",
        SETTING,
        "",
        f"| {' | '.join(headings)} |",
        "| --- " * len(headings) + "|",
    ]
    for case in CASES:
        mine = [row for row in rows if (row["case"], row["n"], row["m"], row["d"]) == case]
        cells = []
        for row in mine:
            (share, error), (normal, _) = (share_of(row, which) for which in ("rejections", "normal"))
            cells += [f"{share:.3f} ± {error:.3f}", f"{normal:.3f}", f"{row['bias']:.3f}"]
        name, n, m, d = case
        sizes = f"{n:,} | {m:,} | {d} | {mine[0]['repetitions']:,}"
        lines.append(f"| {name} | {sizes} | {' | '.join(cells)} | {mine[0]['seconds']:.1f} |")
    return "\n".join([*lines, "", sizes_of_tests(rows), "", READING]) + "\n"


def share_of(row: dict[str, Any], which: str) -> tuple[float, float]:
    """Return the share of rejections, by the test or by the normal distribution, and its standard error."""
    share = row[which] / row["repetitions"]
    return share, (share * (1 - share) / row["repetitions"]) ** 0.5


def sizes_of_tests(rows: list[dict[str, Any]]) -> str:
    """Return whether the test keeps its level where nothing is confounded, in words."""
    unconfounded = [row for row in rows if row["case"].startswith("no confounding")]
    told: dict[str, Any] = {"cells": len(unconfounded), "level": 100 * SIZE_LEVEL}
    for which, name, prefix in (("rejections", "drawn", ""), ("normal", "normal", "normal_")):
        told[name] = sum(
            binom.sf(row[which] - 1, row["repetitions"], TEST_LEVEL) < SIZE_LEVEL / len(unconfounded)
            for row in unconfounded
        )
        worst = max(unconfounded, key=lambda row: share_of(row, which)[0])
        told[f"{prefix}largest"], told[f"{prefix}error"] = share_of(worst, which)
        told[f"{prefix}where"] = f"{worst['case']}, {worst['n']:,} and {worst['m']:,} rows, arm {worst['treatment']}"
    return SIZES.format(**told)
