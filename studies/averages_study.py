"""Average effects: the page of `python -m studies averages`."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom

from confide.base.threads import one_thread
from studies.averages import (
    ALPHA,
    CASES,
    CORRELATION,
    FITTED,
    HIGHER,
    RARE,
    RARE_CHANCE,
    REAL,
    SCHOOLS,
    SPREAD,
    TRIAL,
    Draw,
    of_real,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Draws per seed: of generated data, and of real data (two seeds are five draws).
GENERATED, REAL_DRAWS = 50, 2.5
# Level of the one-sided binomial tests, for all cells together.
TEST_LEVEL = 0.01

SETTING = f"""\
Coverage of {100 * (1 - ALPHA):g} % intervals for average effects ([how to](howto-averages.md)), {{draws}} draws a \
cell. The *oracle* score is what predicts the outcome (correlation \
{CORRELATION:g}); the *confounded* one adds a function of a covariate that matters only among people who chose \
their treatment, more than the oracle's own size; the *reversed* one has the wrong sign; the *useless* one is noise. \
Effects differ between people. **Below** means that an exact one-sided binomial test rejects {1 - ALPHA:g} (at \
{100 * TEST_LEVEL:g} %, divided by the number of cells). *Width* is the mean width over that of the trial's plain \
difference of means, here *unadjusted*. Made \
by `make study-averages`."""

VERDICT = """\
Of {cells} cells, {below} below {level:g}; of the same cells unadjusted, {plain_below}. The smallest \
coverage is {smallest:.3f} ({where}). With one probability and a useless score the width is {useless:.3f} of the \
unadjusted one or less, and with the oracle's {oracle:.3f} or less. To learn a slope costs a little, \
most where there are few rows or clusters: the largest width with a useless score is {largest:.3f} ({costly})."""

READING = {
    "one probability": (
        "One probability for everybody",
        f"A trial of {TRIAL} with groups of 12, 20 and 50 people, and everybody; half of all people are treated.",
    ),
    "probabilities of 0.1 to 0.9": (
        "Known probabilities that differ",
        """\
The same, where the probability of treatment is 0.1 to 0.9 and grows with what predicts the outcome. Without weights \
the difference of means would be biased by half a standard deviation.""",
    ),
    "few rows for many people": (
        "A few rows that stand for many people",
        f"""\
{100 * RARE:g} % of the people are treated with probability {RARE_CHANCE:g}, the others with 0.5; their outcomes are \
higher by {HIGHER:g} standard deviations of the others, and spread {SPREAD:g} times as much. With fewer than 10 such \
rows in an arm `average_effect` warns.""",
    ),
    "whole clusters": (
        "Whole clusters assigned",
        "Clusters of 1 to 20 people, half of the clusters treated. ICC is the share of errors that a cluster shares.",
    ),
    "divided clusters": (
        "Clusters that hold both arms",
        "The same clusters, and people assigned one by one. Effects differ between clusters.",
    ),
    "outcomes of 0 and 1": (
        "Outcomes of 0 and 1",
        """\
So many people an arm, and the risks of control and treated. Where outcomes are rare, intervals are wider than they \
need.""",
    ),
    "outcomes of 0 and 1, whole clusters": (
        "Outcomes of 0 and 1, whole clusters assigned",
        """\
Clusters of 20 people, and the risks of control and treated. An outcome and its opposite are added as two clusters \
more in each arm, so that rare outcomes in few clusters do not make intervals collapse; they are wide.""",
    ),
    "outcomes of 0 and 1, probabilities of 0.1 and 0.9": (
        "Outcomes of 0 and 1, known probabilities that differ",
        f"""\
{TRIAL} people, treated with probability 0.9 where a covariate x is above 0 and 0.1 below; a risk of so much in the \
control arm, and 0.05 more with the treatment.""",
    ),
    "fitted on confounded rows": (
        "A model fitted on confounded rows",
        f"""\
{FITTED[0]:,} observational rows, whose people chose their treatment by something hidden that also moves their \
outcomes, in half of them; a trial of {FITTED[1]}, and `average_effect` with `transfer` and ridge regression.""",
    ),
    "fitted on the paper's data": (
        "A model fitted on the paper's data",
        "The same sizes; one covariate that tells little of the outcome once the hidden confounder is balanced.",
    ),
}
REAL_READING = """\
`transfer` with ridge regression, {draws} draws of each: widths over those of the plain difference of means. \
*Analysis of covariance* is the fair rival without a large table: least squares on treatment and covariates of the \
trial's rows, with errors that allow for unequal spreads (HC2). *One covariate* is the one that an analyst would name \
beforehand, the mathematics pre-test or free lunch; *all* takes every covariate that the table has. With schools as \
clusters, each counts once and class types were assigned within them."""
READ = """\
Most of the gain over the plain difference of means is in the trial's own covariates: {most}. What the large table \
adds \
is the rest, and that nobody has to name the covariate: with all of them in a small trial the rival gains less."""
RIVAL = """\
Analysis of covariance on the trial alone, on all covariates, beside it where the models are fitted and the truth is \
known:"""


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return one row per cell, of all cases or of those named."""
    tasks: list[tuple[Callable[..., Iterator[Draw]], str, Any, int]] = []
    for case, (draw, scores) in CASES.items():
        tasks += [(draw, score, case, GENERATED * seeds) for score in scores if not only or case in only]
    tasks += [(of_real, *each, round(REAL_DRAWS * seeds)) for each in (*REAL, SCHOOLS) if not only or each[0] in only]
    found = Parallel(jobs, verbose=5, batch_size=1)(delayed(_cells)(*task) for task in tasks)
    return [row for part in found for row in part]


def _cells(draw: Callable[..., Iterator[Draw]], first: Any, second: Any, count: int) -> list[dict[str, Any]]:
    """Return the cells of one case and score."""
    with one_thread():
        every = [one for seed in range(count) for one in draw(first, second, seed)]
    cells: dict[tuple[str, str, str], list[Draw]] = {}
    for one in every:
        cells.setdefault((one.case, one.score, one.size), []).append(one)
    return [_row(*key, draws) for key, draws in cells.items()]


def _row(case: str, score: str, size: str, draws: list[Draw]) -> dict[str, Any]:
    """Return one cell; widths are of draws in which both are finite."""
    finite = [one for one in draws if np.isfinite(one.width) and np.isfinite(one.unadjusted_width)]
    width, plain, named, every = (fmean(getattr(one, name) for one in finite) for name in WIDTHS)
    rival = np.isfinite(named)
    return {
        "case": case,
        "score": score,
        "size": size,
        "draws": len(draws),
        "covers": sum(one.covers for one in draws) if case in CASES else "",
        "unadjusted_covers": sum(one.unadjusted_covers for one in draws) if case in CASES else "",
        "infinite": len(draws) - len(finite),
        "width": round(width, 5),
        "share_of_width": round(width / plain, 5),
        "ancova_covers": sum(one.ancova_covers for one in draws) if rival and case in CASES else "",
        "ancova_share": round(named / plain, 5) if rival else "",
        "ancova_all_share": round(every / plain, 5) if rival else "",
    }


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the cells."""
    made = [row for row in rows if row["case"] in CASES]
    below, plain_below = ([row for row in made if _is_below(row, which, len(made))] for which in WHICH)
    worst = min(made, key=lambda row: row["covers"] / row["draws"])
    shares = {
        score: max(row["share_of_width"] for row in made if (row["case"], row["score"]) == ("one probability", score))
        for score in ("useless", "oracle")
    }
    costly = max((row for row in made if row["score"] == "useless"), key=lambda row: row["share_of_width"])
    lines = [
        "# Average effects: coverage and width",
        "",
        SETTING.format(draws=f"{made[0]['draws']:,}"),
        "",
        VERDICT.format(
            cells=len(made),
            below="none are" if not below else f"{len(below)} {'is' if len(below) == 1 else 'are'}",
            plain_below=len(plain_below) or "none",
            level=1 - ALPHA,
            smallest=worst["covers"] / worst["draws"],
            where=f"{worst['case']}, {worst['score']} score, {worst['size']}",
            largest=costly["share_of_width"],
            costly=f"{costly['case']}, {costly['size']}",
            **shares,
        ),
        "",
    ]
    for case, (title, reading) in READING.items():
        lines += [f"## {title}", "", reading, "", "| | score | coverage | unadjusted | infinite | width |"]
        lines.append("| --- " * 6 + "|")
        mine = [row for row in made if row["case"] == case]
        for row in sorted(mine, key=lambda row: [each["size"] for each in mine].index(row["size"])):
            covers, plain = (_coverage(row, which, len(made)) for which in WHICH)
            lines.append(
                f"| {row['size']} | {row['score']} | {covers} | {plain} | "
                f"{100 * row['infinite'] / row['draws']:.1f} % | {row['share_of_width']:.3f} |"
            )
        lines.append("")
    return "\n".join([*lines, *against_covariance(rows)]) + "\n"


def against_covariance(rows: list[dict[str, Any]]) -> list[str]:
    """Return what analysis of covariance on the trial alone gives, on real data and where the truth is known."""
    real = [row for row in rows if row["case"] not in CASES]
    rivals = [row for row in real if row["ancova_share"] != ""]
    most = ", ".join(
        f"{100 * (1 - row['ancova_share']):.0f} of {100 * (1 - row['share_of_width']):.0f} % ({row['case']}, "
        f"{row['size']})"
        for row in rivals
    )
    lines = ["## Real data", "", REAL_READING.format(draws=real[0]["draws"]), "", READ.format(most=most), ""]
    lines.append("| data | trial rows | mean width | share of unadjusted | one covariate | all |")
    lines.append("| --- " * 6 + "|")
    for row in real:
        shares = [row[name] for name in ("share_of_width", "ancova_share", "ancova_all_share")]
        told = " | ".join("–" if share == "" else f"{share:.3f}" for share in shares)
        lines.append(f"| {row['case']} | {row['size']} | {row['width']:.2f} | {told} |")
    lines += ["", RIVAL, "", "| | coverage | of covariance | width | of covariance |", "| --- " * 5 + "|"]
    for row in (row for row in rows if row["case"] in CASES and row["ancova_share"] != ""):
        covers = [f"{row[name] / row['draws']:.3f}" for name in ("covers", "ancova_covers")]
        widths = [f"{row[name]:.3f}" for name in ("share_of_width", "ancova_share")]
        lines.append(f"| {row['case']} | {' | '.join([*covers, *widths])} |")
    return lines


WHICH = ("covers", "unadjusted_covers")
WIDTHS = ("width", "unadjusted_width", "ancova_width", "ancova_all_width")


def _is_below(row: dict[str, Any], which: str, cells: int) -> bool:
    return bool(binom.cdf(row[which], row["draws"], 1 - ALPHA) < TEST_LEVEL / cells)


def _coverage(row: dict[str, Any], which: str, cells: int) -> str:
    return f"{row[which] / row['draws']:.3f}{', **below**' * _is_below(row, which, cells)}"
