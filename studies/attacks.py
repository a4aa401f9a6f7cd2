"""Ordinary-looking data on which preprocessing once broke the promise, each case with its coverage.

Every case draws its own trial and new rows from one population, so that a method that keeps its promise covers
1 - α of the new rows on average over repetitions, for any observational table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LinearRegression

from confide.data.files import read_batches, read_study
from confide.data.stacking import stack
from confide.methods.registry import method
from confide.model import CounterfactualIntervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from confide.data.study import Study

NEW_ROWS = 100


@dataclass(frozen=True)
class Attacked:
    """One repetition of a case: the coverage of both arms' new rows, and the share of infinite intervals."""

    case: str
    seed: int
    promised: float
    coverage: float
    infinite: float


@dataclass(frozen=True)
class Sites:
    """A text column of many sites, each with its own outcome; the observational table may be shifted."""

    sites: int
    rows_per_site: int
    trial_rows: int
    shift: float = 0.0

    def draw(self, rng: np.random.Generator) -> tuple[pa.Table, pa.Table, pa.Table]:
        """Return observational rows, a trial and new rows."""
        effects = 3 * rng.standard_normal(self.sites)

        def rows(sites: NDArray[np.intp], shift: float) -> pa.Table:
            treatment = np.arange(len(sites)) % 2
            y = effects[sites] + treatment + 0.5 * rng.standard_normal(len(sites)) + shift
            columns = {"site": [f"site {site}" for site in sites], "x": rng.standard_normal(len(sites))}
            return pa.table({**columns, "t": treatment, "y": y})

        everywhere = np.repeat(np.arange(self.sites), 2 * self.rows_per_site)
        return (
            rows(everywhere, self.shift),
            rows(rng.integers(0, self.sites, 2 * self.trial_rows), 0.0),
            rows(rng.integers(0, self.sites, NEW_ROWS), 0.0),
        )


def sites(data: Sites, model: CounterfactualIntervals, seed: int) -> tuple[float, float]:
    """Return coverage and infinite share with a column of many sites."""
    observational, trial, new = data.draw(np.random.default_rng(seed))
    return _asked(model.fit(stack(observational, trial)), new)


def codes(written: Callable[[int], str], seed: int) -> tuple[float, float]:
    """Return coverage and infinite share from files: codes that are text in the observational file because some are x.

    The trial's and the new rows' codes are written by ``written``, the observational ones without ``.0``. The meaning
    of a code is reversed in the observational table.
    """
    rng = np.random.default_rng(seed)
    effects = 3 * rng.standard_normal(20)

    def rows(count: int, write: Callable[[int], str], *, in_trial: bool = True) -> pa.Table:
        code, treatment = rng.integers(0, 20, count), np.arange(count) % 2
        y = effects[code] * (1 if in_trial else -2) + treatment + 0.5 * rng.standard_normal(count)
        odd = rng.uniform(size=count) < (0 if in_trial else 0.15)
        cells = np.where(odd, "x", [write(each) for each in code])
        return pa.table({"code": cells, "x": rng.standard_normal(count), "t": treatment, "y": y})

    tables = {
        "observational": rows(800, lambda code: written(code).removesuffix(".0"), in_trial=False),
        "trial": rows(60, written),
        "new": rows(NEW_ROWS, written),
    }
    with TemporaryDirectory() as folder:
        paths = {name: _write(Path(folder) / f"{name}.csv", table) for name, table in tables.items()}
        study: Study = read_study(paths["observational"], paths["trial"], "t", "y", categories=["code"])
        model = CounterfactualIntervals(random_state=0).fit(study)
        read = pa.concat_tables(batch.read for batch in read_batches(paths["new"]))
    return _asked(model, read)


def one_row_per_call(seed: int) -> tuple[float, float]:
    """Return coverage and infinite share of a 0/1 outcome with normalised scores; each new row is predicted alone.

    Trial and new rows have equal covariates, so that all scores are tied up to rounding.
    """
    rng = np.random.default_rng(seed)
    person = rng.standard_normal(10)

    def rows(X: NDArray[np.float64]) -> pa.Table:
        columns = {f"x{place}": X[:, place] for place in range(X.shape[1])}
        y = (rng.uniform(size=len(X)) < 0.28).astype(float)
        return pa.table({**columns, "t": np.arange(len(X)) % 2, "y": y})

    observational, trial = rows(rng.standard_normal((800, 10))), rows(np.tile(person, (120, 1)))
    new = rows(np.tile(person, (NEW_ROWS, 1)))
    arm = method("transfer", base=LinearRegression(), conformity_score="normalised", outcome_values=[0, 1])
    model = CounterfactualIntervals(arm, random_state=0).fit(stack(observational, trial))
    asked = [_asked(model, new.slice(row, 1)) for row in range(len(new))]
    coverage, infinite = np.mean(asked, axis=0)
    return float(coverage), float(infinite)


def guarded(seed: int) -> tuple[float, float]:
    """Return coverage and infinite share of pooled-dr's guard, with eight trial calibration rows and no bounds."""
    rng = np.random.default_rng(seed)

    def rows(count: int, spread: float) -> pa.Table:
        x = rng.standard_normal(count)
        y = x + spread * rng.standard_normal(count)
        return pa.table({"x": x, "t": np.arange(count) % 2, "y": y})

    observational, trial, new = rows(400, 0.3), rows(32, 1.5), rows(NEW_ROWS, 1.5)
    arm = method("pooled-dr", base=LinearRegression(), solve="transductive", floor=0.0)
    model = CounterfactualIntervals(arm, alpha=0.2, random_state=0).fit(stack(observational, trial))
    return _asked(model, new)


def _asked(model: CounterfactualIntervals, new: pa.Table) -> tuple[float, float]:
    """Return the coverage of new rows by the sets of the treatment that they had, and the share of infinite ones."""
    covariates = new.drop_columns(["t", "y"])
    labels, y = (np.asarray(new[name].to_numpy(zero_copy_only=False), dtype=float) for name in ("t", "y"))
    found = model.predict_set(covariates, treatment=labels.astype(int))
    return float(found.contains(y).mean()), float(found.hull().infinite.mean())


def _write(path: Path, table: pa.Table) -> str:
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _with(base: Any) -> CounterfactualIntervals:
    return CounterfactualIntervals(method("transfer-centred", base=base), random_state=0)


# Each case: its description, the promise, the coverage before the correction, and a function for one repetition.
CASES: dict[str, tuple[str, float, str, Callable[[int], tuple[float, float]]]] = {
    "sites": (
        "the default; 200 sites with 4 observational rows per arm, 20 trial rows per arm",
        0.9,
        ".594",
        lambda seed: sites(Sites(200, 4, 20), CounterfactualIntervals(random_state=0), seed),
    ),
    "sites, shifted": (
        "the same, 4 rows per site and arm, observational outcomes shifted by 2",
        0.9,
        ".360",
        lambda seed: sites(Sites(200, 4, 20, shift=2.0), CounterfactualIntervals(random_state=0), seed),
    ),
    "sites, least squares": (
        "transfer-centred with LinearRegression; 500 sites with 4 rows per arm, 40 trial rows per arm",
        0.9,
        ".501",
        lambda seed: sites(Sites(500, 4, 40), _with(LinearRegression()), seed),
    ),
    "sites, naive": (
        "naive; 100 sites, 200 trial rows per arm",
        0.9,
        ".869",
        lambda seed: sites(Sites(100, 1, 200), CounterfactualIntervals("naive", random_state=0), seed),
    ),
    "codes 2.0": (
        "files; codes are text in the observational file (some are x) and 2.0 in the others; declared a category",
        0.9,
        ".187",
        lambda seed: codes(lambda code: f"{code}.0", seed),
    ),
    "codes 01": (
        "files; codes 01 in all of them, some x in the observational one",
        0.9,
        ".157",
        lambda seed: codes(lambda code: f"{code:02d}", seed),
    ),
    "one row per call": (
        "transfer with the normalised score on outcomes 0 and 1, each new row asked by itself",
        0.9,
        ".724",
        one_row_per_call,
    ),
    "guard": (
        "pooled-dr, transductive, floor 0, no outcome_range, 8 trial rows that calibrate, α = 0.2",
        0.8,
        ".721",
        guarded,
    ),
}


def attack(case: str, seed: int) -> Attacked:
    """Return one repetition of a case."""
    _, promised, _, repeat = CASES[case]
    return Attacked(case, seed, promised, *repeat(seed))
