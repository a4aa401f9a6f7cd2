"""How often new rows are called unlike the trial's: run by `python -m studies population`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from joblib import Parallel, delayed
from scipy import stats

from confide.diagnostics.covariate_shift import ABSURD_LEVEL, ALARM_LEVEL
from studies.population import ABSURD, POPULATIONS, Alarms, absurd_rows, false_alarms

# Trial rows, new rows, columns.
LIKE = [(10, 1, 1), (10, 10_000, 3), (20, 100, 3), (60, 1, 10), (60, 100, 1), (250, 1, 5), (250, 10_000, 2)]
LIKE += [(2000, 1, 5), (2000, 10_000, 2)]
UNLIKE = [(20, 1, 1), (60, 1, 1), (100, 1, 1), (250, 1, 1), (60, 1, 10), (100, 1, 10), (250, 1, 10), (250, 1000, 1)]
# Calls per seed.
CALLS = 100
# Level of the binomial tests, for all cells together.
TEST_LEVEL = 0.01

SETTING = f"""\
A model compares new rows with its trial's rows, and gives a `PopulationWarning` if they look unlike. This page \
shows how often it does: {{like:,}} calls for each cell of the first table, {{unlike:,}} for each of the \
second; columns are independent. Made by `make study-population`.

Three checks are distribution-free, and together raise a false alarm in at most {100 * ALARM_LEVEL:g} % of calls: a \
Kolmogorov–Smirnov test of each column's distribution, the number of values beyond the trial's range, and that of \
missing ones where the trial has none. The fourth, \
for single absurd rows, does so in at most {100 * ABSURD_LEVEL:g} % of calls if each tail falls like a power law or \
faster and does not become heavier farther out: beyond its beginning x·f(x)/(1 - F(x)) does not decrease, with \
density f, distribution function F, and x measured from the trial's median. All columns below satisfy this, except \
the mixtures, and except integers and rounded values, for which there is no proof.

How the fourth check works: the k outermost of the trial's m values on a side, k = m^0.4 and at least 3, and more \
where values are tied, lie beyond a threshold u. With E = log((x - median)/(u - median)) for them and for a new value, \
the chance that one of N new rows is the largest and as far out as it is, is at most \
N·(k+1)/(m+1)·(1 + E_new/ΣE)^(-k). The check is skipped if u is not beyond the median, or if fewer than four \
distinct values are. The level is shared by the columns and the two sides.

The same warning also tells of numbers far beyond every row that the model was fitted on, and of categories that it \
does not know, however few rows of a file have one, and in Python from a twentieth of the rows on; columns with more \
than 50 known categories, such as names, are left out, because new ones are ordinary there. These are facts about \
rows, not tests. A number is far if it lies outside by more than half of the range and, seen from the median on a log \
scale, three times as far beyond the point where the outermost √n of the n fitted values begin as the largest value \
is: in at most 2 % of calls with 300 fitted rows and 300 new ones, from uniform columns to Student's t with 3 degrees \
of freedom and 1/x² (a test holds that), and in fewer with more rows.
"""

LIKE_TABLE = """\
Share of calls with a warning, in percent; at most {promised:.1f} is promised. The largest of the {cells} cells has \
{largest:.2f}, with a standard error of {error:.2f}. By binomial tests at {level:g} %, shared by all cells, {above} of \
them are above the promise."""

LIKE_READING = """\
What the assumption excludes is a small group of people, far from all others, that the trial missed \
by chance. One new row is of a group with share q, and none of m trial rows is, with probability q·(1 - q)^m, at most \
1/(e·m): 0.6 % at 60 rows, 0.15 % at 250. Many new rows find such a group more often, and are then rightly called \
unlike the trial's rows."""

UNLIKE_READING = """\
A trial with few rows says little about its tails. Then only values very far out are called absurd, and the more \
columns and new rows there are in one call, the farther out they must be."""


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return the counts of every cell, or of the cases named."""
    tasks: list[tuple[Any, ...]] = [(false_alarms, case, *cell, CALLS * seeds) for case in POPULATIONS for cell in LIKE]
    tasks += [(absurd_rows, case, *cell, CALLS * seeds // 5) for case in ABSURD for cell in UNLIKE]
    chosen = [task for task in tasks if not only or task[1] in only]
    found: list[Alarms] = Parallel(jobs, verbose=1)(delayed(task[0])(*task[1:]) for task in chosen)
    return [asdict(one) for one in found]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page made from the counts."""
    counts = {(row["case"], row["m"], row["new"], row["columns"]): (row["alarms"], row["calls"]) for row in rows}
    like, unlike = (counts[next(iter(cases)), *cells[0]][1] for cases, cells in ((POPULATIONS, LIKE), (ABSURD, UNLIKE)))
    shares = {key: alarms / calls for key, (alarms, calls) in counts.items()}
    cells = [counts[case, *cell] for case in POPULATIONS for cell in LIKE]
    promised = ALARM_LEVEL + ABSURD_LEVEL
    above = sum(stats.binom.sf(alarms - 1, calls, promised) < TEST_LEVEL / len(cells) for alarms, calls in cells)
    largest = max(shares[case, *cell] for case in POPULATIONS for cell in LIKE)
    return "\n".join(
        [
            "# How often new rows are called unlike the trial's",
            "",
            SETTING.format(like=like, unlike=unlike),
            "## Rows of the trial's population",
            "",
            LIKE_TABLE.format(
                promised=100 * promised,
                cells=len(cells),
                largest=100 * largest,
                error=100 * (largest * (1 - largest) / like) ** 0.5,
                level=100 * TEST_LEVEL,
                above=above,
            ),
            "",
            *_table(POPULATIONS, LIKE, shares, 1),
            "",
            LIKE_READING,
            "",
            "## One absurd row",
            "",
            "Share of calls with a warning, in percent, where one new row has such a value in one of its columns.",
            "",
            *_table(ABSURD, UNLIKE, shares, 0),
            "",
            UNLIKE_READING,
            "",
        ]
    )


def _table(cases: Any, cells: list[tuple[int, int, int]], shares: dict[Any, float], decimals: int) -> list[str]:
    heads = [f"{m:,} / {new:,} / {columns}" for m, new, columns in cells]
    head = [f"| trial rows / new rows / columns | {' | '.join(heads)} |", "| --- " * (len(cells) + 1) + "|"]
    return head + [
        f"| {case} | {' | '.join(f'{100 * shares[case, *cell]:.{decimals}f}' for cell in cells)} |" for case in cases
    ]
