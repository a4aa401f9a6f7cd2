"""The reproduced tables averaged over seeds, beside the paper's figures, as the screen and the page show them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from confide.paper.protocols import reason
from confide.paper.published import published_figure
from confide.paper.settings import COAT, SIMULATED, YAHOO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confide.base.csv_rows import Row

# Two means differ if they are more than this many standard errors apart.
APART = 2.0
# The paper does not report its number of repetitions; its code has five seeds.
PAPER_SEEDS = 5
NO_RATIO = "no ratio"


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; the standard deviation is NaN for a single seed."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Return the mean and standard deviation of the values that are not NaN; None if there are none."""
        known = [value for value in values if value == value]  # noqa: PLR0124  (not NaN)
        if not known:
            return None
        finite = all(map(math.isfinite, known))
        return cls(fmean(known), stdev(known) if len(known) > 1 and finite else math.nan)


@dataclass(frozen=True)
class Line:
    """The result of one method for one target in one cell of a table, over all seeds.

    Attributes
    ----------
    group : str
        The cell: a value of d, m, the ratio, the form of nested effects or the split of ratings; empty if only one.
    seeds : int
        Number of repetitions in which the method gave intervals.
    refused : int
        Number of repetitions in which it had too few rows to give intervals.
    coverage, width : Spread or None
        Our figures; the width is the mean over finite intervals. None: not measured, or refused.
    infinite, edge : float
        Share of infinite intervals, and of intervals that end at the edge of the outcome grid searched.
    paper_coverage, paper_width : Spread or None
        The paper's figures.
    more : dict
        For ratings: the width clipped to the rating scale, and the number of ratings in a set.
    comparable : bool
        Whether our figures and the paper's are from the same data.
    tested : float
        Mean number of test rows per repetition.
    resplit : float
        Test rows per trial row if repetitions are splits of the same rows; 0 if each repetition draws its own rows.
    """

    group: str
    method: str
    target: str
    seeds: int
    refused: int
    coverage: Spread | None
    width: Spread | None
    infinite: float
    edge: float
    paper_coverage: Spread | None
    paper_width: Spread | None
    more: dict[str, Spread] = field(default_factory=dict)
    comparable: bool = True
    tested: float = math.inf
    resplit: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether our mean and the paper's, on the same data, are more than two standard errors apart."""
        if not self.comparable:
            return False
        pairs = ((self.coverage, self.paper_coverage), (self.width, self.paper_width))
        return any(_apart(ours, paper, self.seeds, self.resplit) for ours, paper in pairs)


def _apart(ours: Spread | None, paper: Spread | None, seeds: int, resplit: float) -> bool:
    if ours is None or paper is None or math.isnan(ours.sd):  # one seed has no standard error
        return False
    error = math.hypot(standard_error(ours.sd, seeds, resplit), standard_error(paper.sd, PAPER_SEEDS, resplit))
    return not abs(ours.mean - paper.mean) <= APART * error


def standard_error(sd: float, seeds: int, resplit: float) -> float:
    """Return the standard error of a mean over repetitions.

    Splits of the same rows are not independent. The correction of Nadeau and Bengio (2003, Inference for the
    generalization error) adds the number of test rows per trial row to 1/seeds.
    """
    return sd * math.sqrt(1 / seeds + resplit)


def group_of(table: str, row: Row) -> str:
    """Return the cell that a row of the CSV belongs to; empty for a row of all cells, such as the oracle's."""
    if table == "nested":
        return str(row["form"])
    if table == "ratio":
        return str(row["ratio"]) or NO_RATIO
    if table == "dimension":
        return f"d = {row['d']}"
    if table == "trial-size":
        return f"m = {row['m']:,}" if row["m"] != "" else ""
    if table == "coat-splits":
        return f"m_tr {row['fit']}, m_cal {row['calibration']}"
    return ""


def lines(table: str, rows: list[Row]) -> list[Line]:
    """Return a table's rows averaged over seeds, sorted by cell, then by method, the forms of a method together."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((group_of(table, row), row["method"], row["target"]), []).append(row)
    cells = sorted(dict.fromkeys(group for group, _, _ in groups if group), key=lambda group: group == NO_RATIO) or [""]
    targets = {target for group, _, target in groups if group in cells}
    found = [
        _line(table, cell, method, target, mine)
        for (group, method, target), mine in groups.items()
        for cell in ([group] if group in cells else cells)
        if target in targets
    ]
    methods = list(dict.fromkeys(_family(line) for line in found))
    return sorted(found, key=lambda line: (cells.index(line.group), methods.index(_family(line))))


def _family(line: Line) -> str:
    return line.method.split(",")[0]


def _line(table: str, group: str, method: str, target: str, rows: list[Row]) -> Line:
    refused = sum(row["coverage"] != row["coverage"] for row in rows)
    answered = [row for row in rows if row["coverage"] == row["coverage"]]
    measured = [row for row in answered if row["coverage"] != ""]
    finite = [row["width"] for row in answered if row["width"] < math.inf]
    width = Spread.of(finite) or (Spread(math.inf, math.nan) if answered else None)
    coverage, paper_width = (published_figure(table, group, method, target, each) for each in ("coverage", "width"))
    return Line(
        group=group,
        method=method,
        target=target,
        seeds=len(answered),
        refused=refused,
        coverage=Spread.of(row["coverage"] for row in measured),
        width=width,
        infinite=fmean([row["infinite"] for row in measured] or [0.0]),
        edge=fmean([row.get("edge") or 0.0 for row in measured] or [0.0]),
        paper_coverage=None if coverage is None else Spread(*coverage),
        paper_width=None if paper_width is None else Spread(*paper_width),
        more={key: Spread(*_pair(measured, key)) for key in ("clipped", "ratings") if measured and key in measured[0]},
        comparable=all(row.get("data") != SIMULATED for row in rows),
        tested=fmean([row["tested"] for row in measured] or [math.inf]),
        resplit=fmean([_resplit(row) for row in measured] or [0.0]),
    )


def _resplit(row: Row) -> float:
    """Return the number of test ratings per trial rating if every repetition splits the same files again, else 0."""
    return float(row["tested"] / (row["fit"] + row["calibration"])) if row.get("data") in (COAT, YAHOO) else 0.0


def _pair(rows: list[Row], key: str) -> tuple[float, float]:
    spread = Spread.of(row[key] for row in rows)
    return (math.nan, math.nan) if spread is None else (spread.mean, spread.sd)


def seeds_of(rows: list[Row]) -> int:
    """Return the number of seeds of a table."""
    return len({row["seed"] for row in rows if row.get("seed", "") != ""})


def why(table: str, found: list[Line]) -> list[tuple[str, str]]:
    """Return pairs (methods, reason): the methods whose figures differ from the paper's, grouped by the reason why."""
    together: dict[str, dict[str, None]] = {}
    for line in found:
        if line.differs:
            together.setdefault(reason(table, line.method, line.group), {})[line.method] = None
    return [(", ".join(methods), text) for text, methods in together.items() if text]


def unbounded(found: list[Line]) -> list[str]:
    """Return one sentence per method that has intervals ending at the edge of its outcome grid: how many do."""
    shares: dict[str, list[float]] = {}
    for line in found:
        if line.target != "ITE":
            shares.setdefault(line.method, []).append(line.edge)
    return [
        f"{method}: {_span(mine)} of the intervals for an outcome end where the search for outcomes ended, which "
        "bounds their width."
        for method, mine in shares.items()
        if any(mine)
    ]


def _span(shares: list[float]) -> str:
    """Return the smallest and the largest share, as text."""
    low, high = (f"{share:.0%}" for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def shown(spread: Spread | None, digits: int = 3) -> str:
    """Return mean ± standard deviation as text; the mean alone for a single seed, empty for None."""
    if spread is None:
        return ""
    if math.isinf(spread.mean):
        return "∞"
    deviation = "" if math.isnan(spread.sd) else f"±{spread.sd:.{digits}f}"
    return f"{spread.mean:.{digits}f}{deviation}"


def shown_coverage(line: Line) -> str:
    """Return our coverage as text, or that the method refuses."""
    if line.coverage is None and line.refused:
        return "refuses"
    return shown(line.coverage) + (f" ({line.refused} refused)" if line.refused else "")


def shown_width(line: Line) -> str:
    """Return our width as text; if some intervals are infinite, their share and the width of the others."""
    if not line.infinite or line.width is None:
        return shown(line.width)
    others = "" if math.isinf(line.width.mean) else f"; else {shown(line.width)}"
    return f"∞ ({line.infinite:.0%}{others})"
