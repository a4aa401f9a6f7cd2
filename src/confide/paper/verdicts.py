"""Whether figures over a few seeds support a claim: yes, no, or within noise; t tests over seeds, each at 5 %."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from scipy import stats

from confide.paper.averages import group_of, shown, standard_error
from confide.paper.settings import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from confide.base.csv_rows import Row
    from confide.paper.averages import Line
    from confide.paper.reproduce import Reproduced

PROMISED = 1 - ALPHA
# Level of every test, each by itself.
TEST_LEVEL = 0.05
HOLDS, NOT, PART = "**Holds.**", "**Does not hold.**", "**Holds in part.**"
OPEN, KEPT, UNKNOWN = "**Within noise.**", "**Not rejected.**", "**Not measured.**"


def verdict(answers: Iterable[bool | None]) -> str:
    """Return whether a claim holds of all its parts, beyond noise; of none of them; or of some."""
    known = list(answers)
    if True in known:
        return HOLDS if all(known) else PART
    return UNKNOWN if not known else NOT if False in known else OPEN


def kept(lines: Iterable[Line]) -> str:
    """Return whether 0.9 is reached, as far as a test can show, by all lines with more than one seed."""
    answers = [reaches(line) is not False for line in lines if line.coverage is not None and line.seeds > 1]
    return UNKNOWN if not answers else KEPT if all(answers) else PART if any(answers) else NOT


def reaches(line: Line) -> bool | None:
    """Return whether coverage is at least 0.9; None where it is below and 0.9 is not rejected, or not measured."""
    if line.coverage is None or line.coverage.mean >= PROMISED:
        return None if line.coverage is None else True
    return None if line.coverage.mean + _noise(line) >= PROMISED else False


def fails(line: Line) -> bool | None:
    """Return whether coverage is below 0.9, or above it, beyond noise; None where it is neither, or not measured."""
    if line.coverage is None or abs(line.coverage.mean - PROMISED) <= _noise(line):
        return None
    return line.coverage.mean < PROMISED


def _noise(line: Line) -> float:
    """Return how far below 0.9 coverage must be for a one-sided test to reject; infinite for a single seed."""
    if line.coverage is None or line.seeds < 2:
        return math.inf
    # Seeds that happen to agree do not make the test rows' own noise smaller.
    sd = max(line.coverage.sd, math.sqrt(PROMISED * ALPHA / line.tested))
    return _critical(line.seeds, TEST_LEVEL) * standard_error(sd, line.seeds, line.resplit)


def coverage_verdict(line: Line) -> str:
    """Return a line's coverage as text, with whether it is below 0.9."""
    if line.coverage is None:
        return "refused"
    words = {True: "", None: ", below 0.9 within noise", False: ", **below 0.9**"}[reaches(line)]
    return f"{shown(line.coverage)}{words}"


def below(differences: Sequence[float], resplit: float = 0.0) -> bool | None:
    """Return whether differences, one per seed, are below 0 on average: True or False beyond noise, else None.

    The test is two-sided, as either answer is given.
    """
    seeds = len(differences)
    if seeds < 2:
        return None
    mean, error = fmean(differences), standard_error(stdev(differences), seeds, resplit)
    if abs(mean) <= _critical(seeds, TEST_LEVEL / 2) * error or mean == 0:
        return None
    return mean < 0


def _critical(seeds: int, tail: float) -> float:
    return float(stats.t.ppf(1 - tail, seeds - 1))


def by_seed(found: Reproduced, line: Line, metric: str, *, method: str | None = None) -> dict[int, float]:
    """Return a figure in the line's cell by seed, of its method or of another; widths where all are finite."""
    name = line.method if method is None else method

    def matches(row: Row) -> bool:
        here = group_of(found.name, row) in ("", line.group)
        return here and row["method"] == name and row["target"] == line.target and row["seed"] != ""

    mine = [row for row in found.rows if matches(row) and row["coverage"] == row["coverage"]]
    return {row["seed"]: row[metric] for row in mine if metric != "width" or row["infinite"] == 0}


def against(found: Reproduced, line: Line, method: str, metric: str = "width") -> list[tuple[float, float]]:
    """Return the line's figure and that of another method, in each repetition that has both."""
    mine, others = by_seed(found, line, metric), by_seed(found, line, metric, method=method)
    return [(mine[seed], others[seed]) for seed in mine if seed in others]


def grows(found: Reproduced, first: Line, last: Line, metric: str) -> bool | None:
    """Return whether a figure is larger in one cell than in another, in the same repetitions."""
    before, after = (by_seed(found, line, metric) for line in (first, last))
    return below([before[seed] - after[seed] for seed in before if seed in after], last.resplit)


def less_than(found: Reproduced, line: Line, method: str, metric: str = "width") -> bool | None:
    """Return whether a line's figure is below that of another method on the same rows."""
    return below([mine - other for mine, other in against(found, line, method, metric)], line.resplit)
