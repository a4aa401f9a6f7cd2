"""Tables summed up over seeds, beside the paper's: what the screen and the page show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from confide.experiments.reproduction.protocols import reason
from confide.experiments.reproduction.published import published_figure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confide.experiments.reproduction.runs import Row

# Means that are further apart than this many standard errors differ.
APART = 2.0
# The paper does not say how often it repeated; its code has five seeds.
PAPER_SEEDS = 5


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; the latter is NaN for one seed."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Return the spread of those that are numbers; None where there is none."""
        known = [value for value in values if value == value]  # noqa: PLR0124  (not NaN)
        if not known:
            return None
        finite = all(map(math.isfinite, known))
        return cls(fmean(known), stdev(known) if len(known) > 1 and finite else math.nan)


@dataclass(frozen=True)
class Line:
    """One method, one target, one cell of a table, over all seeds.

    Attributes
    ----------
    group : str
        The cell: d, m, the ratio, the form of nested effects, the split of ratings; empty where there is one only.
    seeds : int
        Repetitions in which the method answered.
    refused : int
        Repetitions in which it had too few rows to answer.
    coverage, width : Spread or None
        Ours; the width is that of finite intervals. None: not measured, or refused.
    infinite, whole : float
        Share of infinite intervals, and of sets that are all that was searched.
    paper_coverage, paper_width : Spread or None
        The paper's.
    more : dict
        Ratings: the width clipped to the scale, and the number of ratings in a set.
    """

    group: str
    method: str
    target: str
    seeds: int
    refused: int
    coverage: Spread | None
    width: Spread | None
    infinite: float
    whole: float
    paper_coverage: Spread | None
    paper_width: Spread | None
    more: dict[str, Spread] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether our mean and the paper's are further apart than two standard errors."""
        pairs = ((self.coverage, self.paper_coverage), (self.width, self.paper_width))
        return any(_apart(ours, paper, self.seeds) for ours, paper in pairs)


def _apart(ours: Spread | None, paper: Spread | None, seeds: int) -> bool:
    if ours is None or paper is None:
        return False
    mine = 0.0 if math.isnan(ours.sd) else ours.sd**2 / seeds
    return not abs(ours.mean - paper.mean) <= APART * math.sqrt(mine + paper.sd**2 / PAPER_SEEDS)


def group_of(table: str, row: Row) -> str:
    """Return the cell that a row of the CSV belongs to; the oracle's are of every cell with its d."""
    return {
        "nested": lambda: str(row["form"]),
        "ratio": lambda: str(row["ratio"]) or "no ratio",
        "dimension": lambda: f"d = {row['d']}",
        "trial-size": lambda: f"m = {row['m']:,}" if row["m"] != "" else "",
        "coat-splits": lambda: f"{row['fit']} fit, {row['calibration']} calibrate",
    }.get(table, str)()


def lines(table: str, rows: list[Row]) -> list[Line]:
    """Return a table's rows summed up over seeds, in their order."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((group_of(table, row), row["method"], row["target"]), []).append(row)
    found = [_line(table, *key, mine) for key, mine in groups.items()]
    order = list(dict.fromkeys(line.group for line in found))
    return sorted(found, key=lambda line: order.index(line.group))


def _line(table: str, group: str, method: str, target: str, rows: list[Row]) -> Line:
    refused = sum(row["coverage"] != row["coverage"] for row in rows)  # noqa: PLR0124  (NaN)
    answered = [row for row in rows if row["coverage"] == row["coverage"]]  # noqa: PLR0124
    measured = [row for row in answered if row["coverage"] != ""]
    finite = [row["width"] for row in answered if row["width"] < math.inf]
    width = Spread.of(finite) or (Spread(math.inf, math.nan) if answered else None)
    paper = {metric: published_figure(table, group, method, target, metric) for metric in ("coverage", "width")}
    return Line(
        group,
        method,
        target,
        len(answered),
        refused,
        Spread.of(row["coverage"] for row in measured),
        width,
        fmean([row["infinite"] for row in measured] or [0.0]),
        fmean([row.get("whole") or 0.0 for row in measured] or [0.0]),
        *(None if figure is None else Spread(*figure) for figure in paper.values()),
        {key: Spread(*_pair(measured, key)) for key in ("clipped", "ratings") if measured and key in measured[0]},
    )


def _pair(rows: list[Row], key: str) -> tuple[float, float]:
    spread = Spread.of(row[key] for row in rows)
    return (math.nan, math.nan) if spread is None else (spread.mean, spread.sd)


def seeds_of(rows: list[Row]) -> int:
    """Return how many seeds a table has."""
    return len({row["seed"] for row in rows if row.get("seed", "") != ""})


def why(table: str, found: list[Line]) -> list[tuple[str, str]]:
    """Return the methods whose figures differ from the paper's, and for what reason."""
    methods = dict.fromkeys(line.method for line in found if line.differs)
    return [(method, text) for method in methods if (text := reason(table, method))]


def shown(spread: Spread | None, digits: int = 3) -> str:
    """Return mean ± standard deviation; only the mean of a single seed, nothing for nothing."""
    if spread is None:
        return ""
    if math.isinf(spread.mean):
        return "∞"
    deviation = "" if math.isnan(spread.sd) else f"±{spread.sd:.{digits}f}"
    return f"{spread.mean:.{digits}f}{deviation}"


def shown_coverage(line: Line) -> str:
    """Return our coverage, or that the method refuses."""
    if line.coverage is None and line.refused:
        return "refuses"
    return shown(line.coverage) + (f" ({line.refused} refused)" if line.refused else "")


def shown_width(line: Line) -> str:
    """Return our width; where intervals are infinite their share, and the width of the others."""
    if not line.infinite or line.width is None:
        return shown(line.width)
    others = "" if math.isinf(line.width.mean) else f"; else {shown(line.width)}"
    return f"∞ ({line.infinite:.0%}{others})"


def as_record(line: Line) -> dict[str, Any]:
    """Return a line for machines, with whether it differs from the paper's."""
    return {**vars(line), "differs": line.differs}
