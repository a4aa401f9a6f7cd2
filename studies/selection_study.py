"""Whom to choose: the page of `python -m studies selection`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from joblib import Parallel, delayed
from scipy import stats

from confide.base.threads import one_thread
from studies.selection import ALONE, COEFFICIENTS, CORRELATION, COVARIATES, RATES, Cell, Found, cells, measure

# Level of the one-sided t-tests, for all cells together.
TEST_LEVEL = 0.01
# A draw with a fitted model takes longer.
FEWER = {"model": 0.3}
# Ways of asking that promise nothing: the study shows what they cost.
UNPROMISED = ("rows as they are", "gamma = 1")

SETTING = f"""\
How many of the people that [`select`](howto-selection.md) chooses are false picks, and how many of those above the \
value it finds. Outcomes are normal, with {COVARIATES} covariates whose best combination has a correlation of \
{CORRELATION:g} with them. What the large table predicts is *good* (that combination), *confounded* (mixed with \
another direction, of 1.5 times its size, that says nothing), *useless* (that direction alone) or *reversed*. *Trial \
alone* is the score of `naive`: half of the arm's rows learn least squares, the other half calibrate. A cell is the \
mean share of false picks among those chosen, the false discovery rate, and in brackets the power, the mean share of \
people above the value who are chosen; {{draws}} draws. **above** means that a one-sided t-test rejects that the rate \
is kept (at {100 * TEST_LEVEL:g} %, divided by the number of cells that promise it). Made by `make study-selection`."""

VERDICT = """\
{cells} cells promise the rate: {above} of them are above it. Of {others} that promise nothing, {others_above} are."""

READING = {
    "plain": (
        "Good, confounded, useless and reversed scores",
        """\
Rows are the arm's trial rows, people those who could be chosen. The rate is kept whatever the score is worth; what \
the score decides is how many are found.""",
    ),
    "ties": (
        "Few values",
        """\
Outcomes of four values, scores of five: half of the people are above the value, and nearly every score is tied.""",
    ),
    "stratified": (
        "Chances that differ",
        """\
The trial treats people with good covariates with a chance of 0.1, others with 0.9. Its rows as they are have too few \
of the people who are predicted high and fall short; thinned, they are like the trial's people. Rows are the whole \
trial's, of which about half are treated.""",
    ),
    "frequent": (
        "People who are more frequent than in the trial",
        """\
Those who fall short are 1.5 times as frequent among the people asked about as in the trial, for no reason that is \
recorded.""",
    ),
    "model": (
        "Fitted models",
        """\
`CounterfactualIntervals` with the named method and `base="ridge"`, on 1,000 observational rows with a hidden \
confounder and a trial of 200 rows, about half of them treated, with one chance for all, or of 0.25 and 0.75 by a \
covariate.""",
    ),
}


def run(draws: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return what the draws of all cases gave, or of those named."""
    wanted = [cell for cell in cells() if not only or cell.case in only]
    found = Parallel(jobs, verbose=1)(delayed(_measure)(cell, draws) for cell in wanted)
    return [asdict(one) for part in found for one in part]


def _measure(cell: Cell, draws: int) -> list[Found]:
    with one_thread():
        return measure(cell, max(round(FEWER.get(cell.case, 1) * draws), 2))


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the cells."""
    promised = [row for row in rows if row["way"] not in UNPROMISED]
    level = TEST_LEVEL / len(promised)
    above = [_p_value(row) < level for row in promised]
    others = [_p_value(row) < level for row in rows if row["way"] in UNPROMISED]
    counts = sorted({row["draws"] for row in rows}, reverse=True)
    said = f"{counts[0]:,}" + (f" ({counts[1]:,} of fitted models)" if len(counts) > 1 else "")
    verdict = VERDICT.format(
        cells=len(above), above=sum(above) or "none", others=len(others), others_above=sum(others) or "none"
    )
    lines = ["# Whom to choose: false picks and power", "", SETTING.format(draws=said), "", verdict, ""]
    lines += [_gain(rows), ""]
    for case, (title, reading) in READING.items():
        lines += [f"## {title}", "", reading, ""]
        mine = [row for row in rows if row["case"] == case]
        for quantile, people in dict.fromkeys((row["quantile"], row["people"]) for row in mine):
            reached = f"{100 * (1 - quantile):.0f} % are above the value"
            lines += [
                f"{people:,} people, of whom {reached}{_among(case)}:",
                "",
                *_table(mine, quantile, people, level),
                "",
            ]
    return "\n".join(lines)


def _among(case: str) -> str:
    return " in the trial's population" if case == "frequent" else ""


def _table(rows: list[dict[str, Any]], quantile: float, people: int, level: float) -> list[str]:
    """Return one table: a row per score, way and number of trial rows, a column per rate."""
    here = [row for row in rows if (row["quantile"], row["people"]) == (quantile, people)]
    by_line: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in here:
        by_line.setdefault((row["score"], row["way"], row["rows"]), []).append(row)
    ways = len({row["way"] for row in here}) > 1
    head = ["score", *(["asked"] if ways else []), "rows", *(f"q = {rate:g}" for rate in RATES)]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for (score, way, count), cells_ in by_line.items():
        shown = [_cell(each, level) for each in sorted(cells_, key=lambda each: float(each["rate"]))]
        lines.append(f"| {' | '.join([score, *([way] if ways else []), f'{count:,}', *shown])} |")
    return lines


def _cell(row: dict[str, Any], level: float) -> str:
    mark = ", **above**" if _p_value(row) < level else ""
    return f"{row['false']:.3f} ({row['power']:.2f}){mark}"


def _p_value(row: dict[str, Any]) -> float:
    """Return the one-sided p-value of a false discovery rate of at most q."""
    error, distance = row["false_sd"] / row["draws"] ** 0.5, row["false"] - row["rate"]
    return float(stats.t.sf(distance / error, row["draws"] - 1)) if error else float(distance <= 0)


def _gain(rows: list[dict[str, Any]]) -> str:
    """Return where the large table's scores find more people than the trial alone, in a sentence."""
    plain = [row for row in rows if row["case"] == "plain"]
    alone = {_place(row): row["power"] for row in plain if row["score"] == ALONE}
    told = []
    for score in COEFFICIENTS:
        mine = [row for row in plain if row["score"] == score]
        told.append(f"{score} in {sum(row['power'] > alone[_place(row)] for row in mine)} of {len(mine)} cells")
    return f"More people are found than with the trial alone: {', '.join(told)}."


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["rows"], row["people"], row["quantile"], row["rate"]
