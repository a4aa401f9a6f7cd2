"""The page of the study that chose the default, from its table."""

from __future__ import annotations

from statistics import fmean, geometric_mean, median
from typing import Any

import numpy as np
from scipy import stats

from confide import CounterfactualIntervals
from confide.conformal.stacked import rank_of
from confide.datasets import synthetic
from confide.paper.oracle_width import oracle_width
from studies.coverage_power import POWER, shortfalls
from studies.default_cells import CELLS, CLINIC, FRESH, OBSERVATIONAL, PAPER_OBSERVATIONAL
from studies.default_study import ALPHA, ARMS, BOTH, ORACLE, RIVALS, TENTHS, configurations

TEST_LEVEL = 0.01
# The normal quantile of a 95 % interval.
TWO_SIDED = 1.96
COMPARED = ("naive", "transfer-centred", "prognostic")
# Rows of the averaged repetitions, by cell, configuration and arm.
Table = dict[tuple[str, str, str], dict[str, Any]]

SETTING = f"""\
*Paper*: the paper's synthetic data, {PAPER_OBSERVATIONAL:,} observational and m trial rows over both arms. *Clinic* \
and *shop*: generators whose truth is known (`synthetic_clinic`, `synthetic_shop`), with covariates that explain about \
half of the outcome, unequal and skewed noise, and a hidden cause; {OBSERVATIONAL:,} observational rows over both \
arms. *Useless table*: the clinic, with the observational outcomes shuffled. All these have {FRESH:,} fresh rows. \
*STAR*: 400 trial pupils, observational pupils selected by their scores, 1,000 held-out pupils. *NSW*: 300 trial rows, \
survey respondents as observational controls, no observational treated rows, 145 held-out rows. *Within-study*: people \
who got by lot the training that they would have chosen are the observational rows; 500 held-out people. α = {ALPHA}, \
{{seeds}} repetitions of every cell{{more}}. The constants by which `prognostic` chooses (how many scores are \
averaged, what is preferred and by how much) were set by looking at some of these kinds of data, drawn with other \
seeds than here. Made by `make study-default`."""
RIVALRY = """\
The fair rivals use the trial alone and lose no row of it: *constant* and *ridge* (on the covariates, penalty p) by \
full conformal prediction, so that every trial row both fits and calibrates. **Ratio** is the mean width of \
`prognostic` (mean of both arms) divided by that of the better of the two, each at the level at which it \
covers just 90 % of the fresh rows on average over repetitions; with the 95 % interval of a paired ratio, which for \
STAR, NSW and within-study is one over draws from the same people. Repetitions with an infinite interval of one of the \
two are left out of the ratio; their number stands beside it. Below 1 the large table pays. Widths are those at 90 \
%, mean of both arms."""
CANDIDATES = """\
What `prognostic` chooses among, each alone, and other ways: widths at equal coverage relative to the better rival, \
geometric mean over the cells, and the largest. A cell and arm is *under-covered* if a one-sided t-test over \
repetitions rejects coverage ≥ 0.9 at 1 %, divided by the number of cells and arms (Bonferroni)."""
DIFFICULTY = """\
Coverage of people by tenths of the true σ(x), from those who are easiest to predict to the hardest, mean of both arms \
and of all repetitions; exact, given the intervals. The *oracle of the same form* knows the mean and the scale of the \
observational rows without error and has endless trial rows: what is left is what the hidden cause does to both."""


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the averaged repetitions."""
    table = {(row["cell"], row["configuration"], row["arm"]): row for row in rows}
    names = [name for name in configurations() if any((cell, name, ARMS[0]) in table for cell in CELLS)]
    cells = [cell for cell in CELLS if any((cell, name, BOTH) in table for name in names)]
    lines = [
        "# The default method, and the study that chose it",
        "",
        setting(cells, table),
        "",
        *claims(cells, table),
        "",
        "## Never worse than the trial alone, and where the large table pays",
        "",
        RIVALRY,
        "",
        f"| cell | {' | '.join((*RIVALS, *COMPARED))} | coverage of prognostic | ratio | left out |",
        "| --- " * (len(RIVALS) + len(COMPARED) + 4) + "|",
        *(against_rivals(cell, table) for cell in cells),
        "",
        "## The candidates, and other ways",
        "",
        CANDIDATES,
        "",
        "| method | under-covered | least coverage | relative width | largest | most infinite |",
        "| --- " * 6 + "|",
        *(overall(name, cells, table) for name in names),
        "",
        "## Who is missed",
        "",
        DIFFICULTY,
        "",
    ]
    for cell in CLINIC:
        if cell in cells:
            lines += tenths(cell, table)
    return "\n".join(lines).rstrip() + "\n"


def setting(cells: list[str], table: Table) -> str:
    """Return what was measured, and how often."""
    repeated = {cell: table[cell, RIVALS[0], BOTH]["repetitions"] for cell in cells}
    usual = min(repeated.values())
    more = [f"{count} of {cell}" for cell, count in repeated.items() if count > usual]
    told = f" ({', '.join(more)}, where widths vary most)" if more else ""
    return SETTING.format(seeds=usual, more=told)


def claims(cells: list[str], table: Table) -> list[str]:
    """Return in words what the tables show."""
    worst = max((table[cell, "prognostic", BOTH] for cell in cells), key=lambda row: (np.isnan(upper(row)), upper(row)))
    arms = [table[cell, "prognostic", arm] for cell in cells for arm in ARMS]
    lines = [f"The default of `CounterfactualIntervals()` is `{CounterfactualIntervals().method}`. The tables show of"]
    lines[0] += " `prognostic`:"
    lines += ["", f"- Under-covered in {sum(map(under_covered, arms))} of {len(arms)} cells and arms. {power(arms)}"]
    limit = f"by the upper 95 % limit in the worst cell ({worst['cell']})"
    lines.append(f"- At equal coverage its mean width is at most {upper(worst):.3f} times the better rival's, {limit}.")
    lines += [
        f"- {cell}: {1 - table[cell, 'prognostic', BOTH]['ratio']:.0%} narrower than the better rival."
        for cell in ("within-study, 30 per arm", "clinic, 30 per arm")
        if cell in cells
    ]
    if "STAR" in cells:
        mine, old = (table["STAR", name, BOTH]["width"] for name in ("prognostic", "transfer-centred"))
        lines.append(f"- STAR: width {mine:.4g}, of `transfer-centred` {old:.4g}.")
    known = "paper, d = 1, m = 250"
    for arm in ARMS if known in cells else ():
        width, least = table[known, "prognostic", arm]["width"], oracle_width(arm)
        limit = (
            f"an interval around the true mean, calibrated on as many trial rows, has {around_mean(arm) / least:.2f}"
        )
        lines.append(f"- {known}, {arm}: width {width:.3f}, {width / least:.2f} times that of an oracle; {limit}.")
    return lines


def power(arms: list[dict[str, Any]]) -> str:
    """Return what shortfall the tests of coverage could have found, in a sentence."""
    told = [{**row, "promised": 1 - ALPHA, "promised_error": row["error"], "draws": row["repetitions"]} for row in arms]
    found = shortfalls(told, _level())
    return (
        f"One of them finds a true shortfall with probability {POWER:g} from {100 * median(found):.1f} points on in "
        f"the median, and from {100 * max(found):.1f} points on in the worst: smaller ones may be there."
    )


def around_mean(arm: str, rows: int = 125) -> float:
    """Return the mean width, on the paper's data, of split conformal intervals around the true mean of all outcomes.

    Covariates say next to nothing there, so nothing of this form is narrower. Its half is the k-th smallest of so many
    distances, whose share of all distances has the law Beta(k, m+1-k).
    """
    people = synthetic(200_000, randomized=True, random_state=0)
    y = (people.y0, people.y1)[ARMS.index(arm)]
    rank = rank_of(ALPHA, rows)
    shares = stats.beta(rank, rows + 1 - rank).ppf((np.arange(2000) + 0.5) / 2000)
    return float(2 * np.quantile(np.abs(y - y.mean()), shares).mean())


def upper(row: dict[str, Any]) -> float:
    """Return the upper 95 % limit of a ratio."""
    return float(row["ratio"] + TWO_SIDED * row["ratio_error"])


def under_covered(row: dict[str, Any]) -> bool:
    """Return whether coverage ≥ 1-α is rejected."""
    if not row["error"] > 0:
        return bool(row["coverage"] < 1 - ALPHA)
    statistic = (row["coverage"] - (1 - ALPHA)) / row["error"]
    return bool(stats.t.cdf(statistic, row["repetitions"] - 1) < _level())


def _level() -> float:
    """Return the level of one test of coverage, of all that are made together."""
    return TEST_LEVEL / (len(CELLS) * len(ARMS))


def against_rivals(cell: str, table: Table) -> str:
    """Return a cell's line: widths, the coverage of the prognostic method, and its ratio to the better rival."""
    widths = [width(table.get((cell, name, BOTH))) for name in (*RIVALS, *COMPARED)]
    mine = table[cell, "prognostic", BOTH]
    low, high = mine["ratio"] - TWO_SIDED * mine["ratio_error"], upper(mine)
    coverage = f"{mine['coverage']:.3f} ± {mine['error']:.3f}"
    left_out = mine["repetitions"] - mine["common"]
    ratio = f"{mine['ratio']:.3f} ({low:.3f} to {high:.3f})"
    return f"| {cell} | {' | '.join(widths)} | {coverage} | {ratio} | {left_out} of {mine['repetitions']} |"


def width(row: dict[str, Any] | None) -> str:
    """Return the mean width of both arms; of the repetitions without infinite ones, if there are some with."""
    if row is None:
        return "refuses"
    shown = f"{row['width']:.3g}" if row["width"] < 1000 else f"{row['width']:,.0f}"
    if not row["infinite"]:
        return shown
    return f"∞ ({row['infinite']:.1%}; else {shown})" if row["width"] < float("inf") else "∞"


def overall(name: str, cells: list[str], table: Table) -> str:
    """Return a configuration's line over all cells."""
    mine = [table[cell, name, arm] for cell in cells for arm in ARMS if (cell, name, arm) in table]
    ratios = [table[cell, name, BOTH]["ratio"] for cell in cells if (cell, name, BOTH) in table]
    known = [ratio for ratio in ratios if ratio > 0]
    widths = f"{geometric_mean(known):.3f} | {max(known):.3f}" if known else " | "
    under = f"{sum(map(under_covered, mine))} of {len(mine)}"
    least, infinite = min(row["coverage"] for row in mine), max(row["infinite"] for row in mine)
    return f"| {name} | {under} | {least:.3f} | {widths} | {infinite:.1%} |"


def tenths(cell: str, table: Table) -> list[str]:
    """Return the table of coverage by tenths of difficulty."""
    lines = [f"### {cell[0].upper()}{cell[1:]}", "", f"| | {' | '.join(map(str, range(1, TENTHS + 1)))} | width |"]
    lines.append("| --- " * (TENTHS + 2) + "|")
    for name in ("transfer-centred", "prognostic", ORACLE):
        rows = [table[cell, name, arm] for arm in ARMS]
        shares = [f"{fmean(row[f'tenth_{place}'] for row in rows):.3f}" for place in range(1, TENTHS + 1)]
        lines.append(f"| {name} | {' | '.join(shares)} | {fmean(row['width'] for row in rows):.3g} |")
    return [*lines, ""]
