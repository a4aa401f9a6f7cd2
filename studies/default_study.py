"""The study that chose the default of CounterfactualIntervals: run by `python -m studies default`."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyRegressor

from confide import Prognostic, method
from confide.base.cache import sharing_fits
from confide.base.csv_rows import read_rows, write_rows
from confide.base.threads import one_thread
from confide.base.validation import suggest
from confide.exceptions import InfiniteIntervalWarning, RefusalError, TrialAloneWarning
from confide.methods.new_rows import NewRows
from confide.paper.synthetic_arms import BASELINES, Setting
from studies.default_cells import CELLS, CLINIC
from studies.kept import BUILD, fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from confide.conformal.intervals import Intervals
    from confide.methods.base import ArmEstimator

ALPHA = 0.1
ARMS = ("Y(0)", "Y(1)")
BOTH = "both"
# Full conformal prediction on the trial alone: the fair rivals, since every trial row calibrates there too.
RIVALS = ("constant, trial alone", "ridge, trial alone")
ORACLE = "oracle of the same form"
# Levels among which the width at equal coverage is searched, from the narrowest intervals to the widest.
LEVELS = (0.4, 0.25, 0.2, 0.15, 0.125, 0.1, 0.08, 0.06, 0.04)
# Cells with so many times as many repetitions, because widths vary most.
MORE = {"shop, 30 per arm": 4}
# A level is used if more than this share of repetitions is finite there.
MOSTLY = 0.9
TENTHS = 10
# Where repetitions are kept, so that the study goes on where it was stopped.
KEPT = BUILD / "default-study"


def configurations() -> dict[str, ArmEstimator]:
    """Return the unfitted arms to compare."""
    candidates = {
        "offset, σ̂": Prognostic(features="offset", scale="observational"),
        "slope": Prognostic(features="slope", scale="none"),
        "slope, σ̂": Prognostic(features="slope", scale="observational"),
        "slope, √σ̂": Prognostic(features="slope", scale="root"),
        "slope, σ̂, tails": Prognostic(features="slope", scale="observational", tails="learnt"),
    }
    return {
        # Centred, a constant of whatever rows is the mean of the trial's.
        RIVALS[0]: method("transfer-centred", base=DummyRegressor()),
        RIVALS[1]: Prognostic(features="ridge", scale="none"),
        "boosting, half the trial": method("naive", base=clone(BASELINES["GradientBoostingRegressor"])),
        **{name: method(name) for name in ("naive", "transfer", "transfer-centred", "prognostic")},
        **{f"prognostic, {name}": arm for name, arm in candidates.items()},
    }


@dataclass(frozen=True)
class Outcome:
    """One configuration on one arm of one repetition; all NaN if the method refuses the arm.

    Attributes
    ----------
    curve : list of pairs of float
        Coverage and mean width at each of the `LEVELS`.
    tenths : list of float
        If the truth is known, the coverage of the people who are easiest to predict (least σ(x)) to the hardest.
    """

    cell: str
    configuration: str
    arm: str
    seed: int
    coverage: float
    width: float
    infinite: float
    curve: list[tuple[float, float]]
    tenths: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        row = asdict(self)
        for level, (coverage, width) in zip(LEVELS, row.pop("curve"), strict=True):
            row |= {f"coverage at {level}": coverage, f"width at {level}": width}
        tenths = row.pop("tenths") or [np.nan] * TENTHS
        return row | {f"tenth_{place}": share for place, share in enumerate(tenths, 1)}


def compare_cell(cell: str, seed: int) -> list[dict[str, Any]]:
    """Return the result of every configuration in one repetition of a cell; equal fits once."""
    rows = []
    for setting in CELLS[cell](seed):
        with sharing_fits(), warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
            warnings.simplefilter("ignore", TrialAloneWarning)
            for name, unfitted in configurations().items():
                rows.append(Outcome(cell, name, setting.arm, seed, *ask(unfitted, setting, seed)).row())
    return rows


def ask(
    unfitted: ArmEstimator, setting: Setting, seed: int
) -> tuple[float, float, float, list[tuple[float, float]], list[float]]:
    """Return coverage, mean width, share infinite, coverage and mean width at other levels, and coverage by tenths."""
    arm = unfitted.set_params(random_state=seed, alpha=ALPHA)
    others = None if setting.others is None else (setting.others.X, setting.others.y)
    try:
        arm.fit(setting.X, setting.y, trial=setting.trial, population=setting.population, others=others)
    except RefusalError:
        return np.nan, np.nan, np.nan, [(np.nan, np.nan)] * len(LEVELS), []
    sets = arm.predict_set(setting.test.X)
    hulls = sets.hull()
    tenths = [] if setting.truth is None else by_tenths(setting.truth, setting.test.X, setting.arm, hulls)
    width = float(sets.measure.mean())
    return float(sets.contains(setting.test.y).mean()), width, float(hulls.infinite.mean()), curve(arm, setting), tenths


def curve(arm: ArmEstimator, setting: Setting) -> list[tuple[float, float]]:
    """Return coverage and mean width at each level."""
    rows = NewRows(setting.test.X, arm.base_)  # predicted once for all levels
    tried = [arm.with_alpha(level).predict_set(rows) for level in LEVELS]
    return [(float(each.contains(setting.test.y).mean()), float(each.measure.mean())) for each in tried]


def by_tenths(truth: Any, X: Any, arm: str, intervals: Intervals) -> list[float]:
    """Return the exact coverage of tenths of people, from those with the least noise to those with the most."""
    treatment = ARMS.index(arm)
    covered = truth.coverage(X, treatment, intervals)
    order = np.argsort(truth.scale(X, treatment), kind="stable")
    return [float(covered[part].mean()) for part in np.array_split(order, TENTHS)]


def run(seeds: int, jobs: int, only: list[str]) -> list[dict[str, Any]]:
    """Return all configurations in these cells, or in all cells, averaged over repetitions.

    A repetition that was made by the same code before is read, not made again.
    """
    unknown = [name for name in only if name not in CELLS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no cell; {suggest(unknown[0], CELLS)}")
    cells = only or list(CELLS)
    folder = KEPT / fingerprint(sorted(Path(__file__).parent.glob("*.py")))
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [(cell, seed, folder) for cell in cells for seed in range(seeds * MORE.get(cell, 1))]
    tasks.sort(key=lambda task: task[1])
    found = Parallel(jobs, verbose=5, batch_size=1)(delayed(repeat)(*task) for task in tasks)
    return summarised([row for part in found for row in part])


def repeat(cell: str, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Return one repetition of a cell, on one core, and keep it."""
    path = folder / f"{list(CELLS).index(cell)}-{seed}.csv"
    if path.exists():
        return read_rows(path)
    with one_thread():
        rows = compare_cell(cell, seed)
    write_rows(path, rows, list(rows[0]))
    return rows


def summarised(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per cell, configuration and arm, and one for both arms together."""
    found = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        table = Cell([row for row in rows if row["cell"] == cell])
        found += [table.summary(name, arm) for name in table.names for arm in (*ARMS, BOTH)]
        if cell in CLINIC:
            found += [of_oracle(cell, arm) for arm in ARMS]
    return [row for row in found if row]


class Cell:
    """The repetitions of one cell."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.cell = rows[0]["cell"]
        self.names = list(dict.fromkeys(row["configuration"] for row in rows))
        self.rows = {(row["configuration"], row["arm"], row["seed"]): row for row in rows}
        self.seeds = sorted({row["seed"] for row in rows})
        one, other = self.equal_widths(RIVALS)
        if not len(one):
            raise ValueError(f"{self.cell}: a rival has no width at equal coverage; give LEVELS more room.")
        self.rival = RIVALS[int(other.mean() < one.mean())]

    def equal_widths(self, names: Sequence[str]) -> list[NDArray[np.float64]]:
        """Return for each configuration a value per repetition, whose mean is its mean width at equal coverage.

        Coverage is promised on average over repetitions. So one level is sought for all of them, at which the mean
        coverage (of both arms) is just 1-α, between two neighbours of `LEVELS`. A repetition that covers less than that
        by chance, or more, is narrower or wider by chance: to each width is added what the missing coverage costs by
        the slope of mean width in mean coverage, which keeps the mean, and makes its error that of a width at
        equal coverage. Only repetitions count in which no configuration is infinite at its two levels. Empty if a
        configuration refuses an arm, or covers too little at every level at which it is finite as a rule.
        """
        curves, kept = [], np.ones(len(self.seeds), dtype=bool)
        for name in names:
            coverage, width = self.curves(name)
            usable = np.flatnonzero(np.isfinite(width).mean(axis=0) > MOSTLY)
            above = int(np.searchsorted(coverage[:, usable].mean(axis=0), 1 - ALPHA))
            if not 0 < above < len(usable):
                return [np.empty(0)] * len(names)
            two = usable[above - 1 : above + 1]
            curves.append((coverage[:, two], width[:, two]))
            kept &= np.isfinite(width[:, two]).all(axis=1)
        return [_at_equal_coverage(coverage[kept], width[kept]) for coverage, width in curves]

    def curves(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coverage and width of each repetition at each level, means of both arms."""
        rows = [[self.rows[name, arm, seed] for arm in ARMS] for seed in self.seeds]
        coverage, width = (
            np.array([[fmean(row[f"{what} at {level}"] for row in pair) for level in LEVELS] for pair in rows])
            for what in ("coverage", "width")
        )
        return coverage, width

    def summary(self, name: str, arm: str) -> dict[str, Any]:
        """Return the averages of a configuration; empty if it refuses the arm."""
        groups = [[self.rows[name, each, seed] for each in (ARMS if arm == BOTH else (arm,))] for seed in self.seeds]
        groups = [group for group in groups if all(row["coverage"] == row["coverage"] for row in group)]
        if not groups:
            return {}
        coverages = [fmean(row["coverage"] for row in group) for group in groups]
        finite = [fmean(row["width"] for row in group) for group in groups if not any(row["infinite"] for row in group)]
        ratio, ratio_error, common = self.ratio(name) if arm == BOTH else (np.nan, np.nan, 0)
        tenths = [fmean(row[f"tenth_{place}"] for group in groups for row in group) for place in range(1, TENTHS + 1)]
        shown = {
            "coverage": fmean(coverages),
            "error": stdev(coverages) / len(coverages) ** 0.5 if len(coverages) > 1 else np.nan,
            "width": fmean(finite) if finite else np.inf,
            "infinite": fmean(row["infinite"] for group in groups for row in group),
            "ratio": ratio,
            "ratio_error": ratio_error,
            **{f"tenth_{place}": share for place, share in enumerate(tenths, 1)},
        }
        return {
            "cell": self.cell,
            "configuration": name,
            "arm": arm,
            "repetitions": len(groups),
            "rival": self.rival,
            "common": common,
            **{key: round(float(value), 6) for key, value in shown.items()},
        }

    def ratio(self, name: str) -> tuple[float, float, int]:
        """Return the ratio of mean widths at equal coverage to the rival's, its error, and the number of repetitions.

        The error is that of a ratio of paired means.
        """
        mine, theirs = self.equal_widths([name, self.rival])
        if len(mine) < 2:
            return np.nan, np.nan, len(mine)
        ratio = mine.mean() / theirs.mean()
        error = (mine - ratio * theirs).std(ddof=1) / len(mine) ** 0.5 / theirs.mean()
        return float(ratio), float(error), len(mine)


def _at_equal_coverage(coverage: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return widths of repetitions between two levels, less what they cover too much, or more what too little."""
    (least, most), (narrow, wide) = coverage.mean(axis=0), width.mean(axis=0)
    share = (1 - ALPHA - least) / (most - least)
    slope = (wide - narrow) / (most - least)
    between: NDArray[np.float64] = width @ [1 - share, share] + slope * (1 - ALPHA - coverage @ [1 - share, share])
    return between


@cache
def truth_of(cell: str) -> Any:
    """Return the oracle of a cell, and covariates that stand for its population."""
    setting = CELLS[cell](0)[0]
    return setting.truth, setting.truth.covariates(20_000, np.random.RandomState(0))


def of_oracle(cell: str, arm: str) -> dict[str, Any]:
    """Return what intervals of the method's form reach with endless data."""
    truth, X = truth_of(cell)
    intervals = truth.same_form(X, ARMS.index(arm), ALPHA)
    tenths = by_tenths(truth, X, arm, intervals)
    shown = {"coverage": fmean(tenths), "width": float(intervals.width.mean())}
    shown |= {f"tenth_{place}": share for place, share in enumerate(tenths, 1)}
    return {
        "cell": cell,
        "configuration": ORACLE,
        "arm": arm,
        "repetitions": 0,
        "rival": "",
        "common": 0,
        "error": np.nan,
        "infinite": 0.0,
        "ratio": np.nan,
        "ratio_error": np.nan,
        **{key: round(value, 6) for key, value in shown.items()},
    }
