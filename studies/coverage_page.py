"""The page of the coverage study: what was promised, and what was covered."""

from __future__ import annotations

from math import isnan
from typing import Any

from confide import METHODS
from studies.coverage_cells import SETUPS
from studies.coverage_power import TIGHT, pooled_in_words, power_in_words
from studies.coverage_study import CERTAIN, ERROR, TEST_LEVEL, distances, verdicts

SETTING = f"""\
Every method, effect and weighting on generated data whose truth is known, from one calibration row to 1,000, against \
what its own promise says. *Known ratio*: two covariates, noise that grows with one of them, and a table whose \
outcomes are too high; the density ratio is known. *Known propensity*: the same without a bias, where people chose \
their treatment. *Paper*: the paper's synthetic data with two covariates. *Discrete*: outcomes 0 to 3 and binary \
covariates, so that everything is tied. *Clinic*: nine covariates, unequal and skewed noise. Base models are linear \
unless it is said otherwise.

Each cell was drawn until its standard error was {ERROR:g}, or its mean was more than {CERTAIN:g} standard errors away \
from its bounds. A draw is a new trial with new people; the unit of the tests is a batch of draws, which share an \
observational table if its rows do not calibrate. *Promised* is what the promise object says at the level, less what \
it says is lost: nothing for a ratio that is known, else the error of the estimated ratio in each draw. *At most* is \
the upper bound where theory has one: without ties n rows of equal weight cover ⌈(1-α)(n+1)⌉/(n+1), and others may \
cover more than 1-α by the largest share of the weight that one row has. **Below** and **above** mean that a \
one-sided t-test rejects (at {100 * TEST_LEVEL:g} %, divided by the number of tests). *Nearest to a bound* is the \
smallest distance on the right side of one; where the coverage is the bound itself, chance puts half of the cells on \
the wrong side. *Pooled* is the mean distance from the promise, in points of coverage, over the method's cells whose \
upper bound is at most {100 * TIGHT:g} point above the promise: elsewhere intervals cover more than they promise, \
which \
would hide a shortfall. It stands with its standard error and the p-value of a one-sided test of no shortfall, not \
corrected for the number of methods. Levels and questions of the same draws are not independent, so that their errors \
are added as if they went together; between draws they are added in squares. Γ: of the people that a bound \
allows, those are asked about first who are not covered. Infinite intervals contain everything, so that their share \
stands beside. Made by `make coverage`; the grid of all sizes and levels is in `make test-long`."""

VERDICT = """\
{cells} cells, {tests} tests of {promised} promises and {bounds} upper bounds: {below} below the promise, {above} \
above the bound. {infinite} cells have infinite intervals only, which contain everything and show nothing. {shown} \
cells have no promise that can be tested: \
nothing is promised, or what is lost is not known."""

HEADINGS = "| method | process | rows | α | covered | promised | at most | infinite | |"


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the cells."""
    found = verdicts(rows)
    known = [sum(not isnan(row[name]) for row in rows) for name in ("promised", "ceiling")]
    verdict = VERDICT.format(
        cells=len(rows),
        tests=sum(known),
        promised=known[0],
        bounds=known[1],
        below=found.count("below") or "none is",
        above=found.count("above") or "none is",
        infinite=sum(row["infinite"] == 1 for row in rows),
        shown=found.count(""),
    )
    left = sum(len(setup.alphas) * len(setup.asks) for setup in SETUPS) - len(rows)
    verdict += f" {left:,} more cells are listed and not drawn yet." if left > 0 else ""
    power = power_in_words(rows, TEST_LEVEL / max(sum(known), 1))
    lines = ["# Coverage of everything that promises it", "", verdict, "", power, "", *by_method(rows, found)]
    lines += ["", SETTING, ""]
    for section in dict.fromkeys(row["case"] for row in rows):
        lines += [f"## {section}", "", HEADINGS, "| --- " * 9 + "|"]
        lines += [line(row, said) for row, said in zip(rows, found, strict=True) if row["case"] == section]
        lines.append("")
    return "\n".join(lines)


def by_method(rows: list[dict[str, Any]], found: list[str]) -> list[str]:
    """Return the table of methods: what each promises, and whether its cells keep it."""
    lines = ["| method | promise | cells | tests | below | above | nearest to a bound | pooled |"]
    lines.append("| --- " * 8 + "|")
    for name, record in METHODS.items():
        mine = [(row, said) for row, said in zip(rows, found, strict=True) if row["method"] == name]
        tests = [distance for row, _ in mine for distance in distances(row)]
        apart = [distance / error for distance, error in tests if error]
        nearest = f"{min(apart):+.1f} standard errors" if apart else "–"
        said = [said for _, said in mine]
        promise = str(record.promise).replace("|", "\\|")
        counts = f"{len(mine)} | {len(tests)} | {said.count('below')} | {said.count('above')}"
        lines.append(f"| `{name}` | {promise} | {counts} | {nearest} | {pooled_in_words([row for row, _ in mine])} |")
    return lines


def line(row: dict[str, Any], said: str) -> str:
    """Return a cell as a line of its table."""
    asked = {"effect": ", effect", "participants": ", effect"}.get(row["asks"], "")
    whose = ["participants"] if row["asks"] == "participants" and "participants" not in row["told"] else []
    told = "".join(f", {each}" for each in [row["told"], *whose] if each)
    bounds = ["–" if isnan(row[name]) else f"{row[name]:.3f}" for name in ("promised", "ceiling")]
    numbers = f"{row['coverage']:.3f} ± {row['error']:.3f} | {bounds[0]} | {bounds[1]} | {100 * row['infinite']:.1f} %"
    shown = {"holds": "holds", "": ""}.get(said, f"**{said}**")
    where = f"`{row['method']}`{told}{asked} | {row['process']} | {row['rows']:,} | {row['alpha']:g}"
    return f"| {where} | {numbers} | {shown} |"
