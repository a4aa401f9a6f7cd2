"""For whom answers hold: the page of `python -m studies whom`."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

from joblib import Parallel, delayed

from confide.base.threads import one_thread
from studies.decision import p_value_below
from studies.whom import CASES, draw
from studies.whom_setup import ALPHA, NEW_ROWS, OBSERVATIONAL, Answered

# Level of the one-sided t-tests, for all cells together.
TEST_LEVEL = 0.01

# Cases whose answer is clear with half as many draws.
CLEAR = ("selected", "groups", "sides", "participants")
CELL = ("case", "setting", "method", "way")
ESTIMATED = "weights estimated"
# Ways of asking that promise 1 - α, and do so exactly: the weights are known.
EXACT = (
    "with those of the trial",
    "with those of new rows too",
    "weights known",
    "clusters",
    "schools as clusters",
    "by group",
    "lower bound",
    "upper bound",
    "participants",
    "new people, two steps",
    *(f"gamma = {bound}, at the bound" for bound in ("1", "1.5", "2")),
)

SETTING = f"""\
Studies in which the plain promise is for the wrong people, or for rows that are not independent, and the same studies \
asked in the way of [for whom answers hold](howto-for-whom.md). α = {ALPHA:g}, {{repetitions}} draws of each case. In \
generated cases the base model is ridge, and there are {OBSERVATIONAL:,} observational rows whose errors are of one \
size, and {NEW_ROWS:,} new people per draw. Coverage ± its standard error over draws; **below** means that a one-sided \
t-test rejects {1 - ALPHA:g} (at {100 * TEST_LEVEL:g} %, divided by the number of cells). An infinite interval covers \
and helps nobody, so that their share stands beside. Made by `make study-whom`."""

VERDICT = """\
{exact} cells below are asked in a way that promises {level:g} exactly: {exact_below} of them are below it. Of {loose} \
with estimated weights, which may lose as much as the weights are wrong, {loose_below} are. Of the {plain} others, \
which ask as if none of this mattered or ask for more than was promised, {plain_below} are."""

# Title, and what was drawn.
READING = {
    "stratified": (
        "Stratified trials",
        """\
400 trial rows; the probability of treatment is 0.1 to 0.9, by the covariate that makes outcomes vary more. Coverage \
of the control arm, whose rows are the people who vary less.""",
    ),
    "target": (
        "A target population",
        """\
New people whose two covariates are larger than the trial's by so much, and who vary more. 600 trial rows; weights \
are known, or estimated from 3,000 people of the target. At two standard deviations hardly anybody in the trial is \
like them, and most intervals are infinite, rightly.""",
    ),
    "clusters": (
        "Clusters",
        """\
Clusters of 1 to 60 people (median 9), and new people of new clusters; whole clusters are assigned, unless it is \
said that people are. ICC is the share of the errors' variance that people of a cluster have in common. To ignore \
clusters costs little where they are large or many; it fails where small clusters differ more from each other than \
large ones. Where people are assigned one by one, one person of each cluster counts.""",
    ),
    "selected": (
        "Unrecorded reasons to be asked about: Γ",
        """\
People who are asked about because they are badly predicted: the worst 1/Γ of the trial's population, the hardest \
selection that a bound of Γ allows, and one that is 1.5 times as hard. 400 trial rows.""",
    ),
    "groups": (
        "Groups",
        """\
One person in seven is of a group whose outcomes vary 2.5 times as much. 400 trial rows.""",
    ),
    "sides": (
        "One side",
        """\
Skewed outcomes, 300 trial rows. The last column is how far the end is from the mean outcome, or effect.""",
    ),
    "participants": (
        "Trial participants, whose outcome is known",
        """\
Effects of the 400 people of a trial, of whom one outcome is known, beside those of new people by the difference of \
both arms' intervals. The same question about people of the observational table, who chose their treatment for a \
hidden reason, has no promise.""",
    ),
    "schools": (
        "Pupils in schools: Project STAR",
        """\
Real pupils: 40 schools in the trial, 20 in the observational table, whose pupils were selected by their scores, and \
pupils of 15 other schools, each of which counts alike (`load_star(by_school=True)`). Class types were assigned \
within schools, so that one pupil of each school counts.""",
    ),
    "choosers": (
        "People who would choose mathematics: the within-study comparison",
        """\
Real people, who said what they would choose and then got a training by lot. The target are those who would choose \
mathematics; coverage is of such people in the test part, by the training that they got \
(`load_within_study(hidden=False, choice=True)`). They are easier to predict than others, so that unweighted \
intervals are wider than they need.""",
    ),
}


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return the cells of all cases, or of those named."""
    tasks = [
        (case, setting, seed)
        for case, (_, settings) in CASES.items()
        if not only or case in only
        for setting in settings
        for seed in range(seeds // 2 if case in CLEAR else seeds)
    ]
    found = Parallel(jobs, verbose=1, batch_size=1)(delayed(_draw)(*task) for task in tasks)
    return cells_of([asdict(one) for part in found for one in part])


def cells_of(draws: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per case, setting, method and way: means over draws, and the median of widths."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in draws:
        cells.setdefault(tuple(str(row[name]) for name in CELL), []).append(row)
    found = []
    for key, mine in cells.items():
        covered, widths = [row["coverage"] for row in mine], sorted(float(row["width"]) for row in mine)
        numbers = {
            "coverage": fmean(covered),
            "error": stdev(covered) / len(covered) ** 0.5 if len(covered) > 1 else 0.0,
            "infinite": fmean(row["infinite"] for row in mine),
            "width": widths[len(widths) // 2],
        }
        rounded = {name: round(value, 6) for name, value in numbers.items()}
        found.append({**dict(zip(CELL, key, strict=True)), "draws": len(mine), **rounded})
    return found


def _draw(case: str, setting: str, seed: int) -> list[Answered]:
    with one_thread():
        return draw(case, setting, seed)


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the cells."""
    draws = sorted({int(row["draws"]) for row in rows})
    said = f"{draws[0]}" if len(draws) == 1 else f"{draws[0]} to {draws[-1]}"
    below = [p_value_below(row, 1 - ALPHA) < TEST_LEVEL / len(rows) for row in rows]
    kinds: dict[str, list[bool]] = {"exact": [], "loose": [], "plain": []}
    for row, found in zip(rows, below, strict=True):
        kinds["exact" if row["way"] in EXACT else "loose" if row["way"] == ESTIMATED else "plain"].append(found)
    verdict = VERDICT.format(
        level=1 - ALPHA,
        **{name: len(values) for name, values in kinds.items()},
        **{f"{name}_below": sum(values) or "none" for name, values in kinds.items()},
    )
    lines = ["# For whom answers hold: coverage", "", SETTING.format(repetitions=said), "", verdict, ""]
    for case, (title, reading) in READING.items():
        lines += [f"## {title}", "", reading, ""]
        lines += ["| | method | asked | coverage | infinite | median width |", "| --- " * 6 + "|"]
        lines += [
            f"| {row['setting']} | `{row['method']}` | {row['way']} | {row['coverage']:.3f} ± {row['error']:.3f}"
            f"{', **below**' * found} | {100 * row['infinite']:.1f} % | {row['width']:.2f} |".replace("inf |", "∞ |")
            for row, found in zip(rows, below, strict=True)
            if row["case"] == case
        ]
        lines.append("")
    return "\n".join(lines)
