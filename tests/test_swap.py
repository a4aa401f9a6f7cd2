"""Exchange a calibration row with the new one: nothing may tell them apart.

The rows that calibrate and the new one, outcomes included, are one bag. Each row of it is made the new one in turn, and
everything is learnt again, from the table on. For the promise to hold

- each row of the bag must have the same score, and weight, whichever row is new (as a new row is read and encoded);
- the scores that calibrate must be those of the other rows (as a row of the trial is read and encoded);
- at least ⌈(1-α)(m+1)⌉ of the m+1 rows must be members of their own sets.

This knows nothing of how rows are read, typed, encoded, imputed or selected, and fails if any of it looks at
calibration rows.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from confide import CounterfactualIntervals, Intervals, Study, method, stack
from confide.data.files import read_batches, read_study
from confide.data.splits import spawn_seeds, split_places
from confide.effects.base import difference
from confide.ratio import ClassifierRatio
from confide.weights.people import People

# With few rows of weight an interval may be infinite, which is right and not what is looked at here.
pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")

SEED = 3
ALPHA = 0.2
COLUMNS = ("x", "site", "code", "joined", "smoker", "gap")
# Stored scores are rounded up by what a prediction may be off by.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@dataclass(frozen=True)
class Row:
    """One person, each covariate as it is written in a file."""

    x: str
    site: str
    code: str
    joined: str
    smoker: str
    gap: str
    treatment: int
    y: float

    def typed(self):
        return {
            "x": float(self.x),
            "site": self.site or None,
            "code": self.code or None,
            "joined": pd.Timestamp(self.joined) if self.joined != "NA" else None,
            "smoker": self.smoker == "true",
            "gap": float(self.gap) if self.gap else None,
        }


def people(count, seed, values):
    """Return rows with a column of many sites, some of which no other row has, codes, dates and holes."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        site = rng.integers(90) if rng.uniform() < 0.7 else 1000 * seed + number
        effect = np.random.default_rng(site).standard_normal() * 2
        x, treated = rng.standard_normal(), number % 2
        y = x + effect + treated + 0.3 * rng.standard_normal()
        day = np.datetime64("2021-01-01") + rng.integers(700)
        rows.append(
            Row(
                x=repr(float(x)),
                site=f"s{site}",
                code=rng.choice(["01", "1", "1.0", "A", "b ", "x", "2.50", "-"]),
                joined=str(day) if rng.uniform() < 0.9 else "NA",
                smoker=rng.choice(["true", "false"]),
                gap=str(rng.integers(9)) + rng.choice(["", ".0"]) if rng.uniform() < 0.8 else "",
                treatment=treated,
                y=float(y if values is None else values[int(y > 0.5)]),
            )
        )
    return rows


class Arrays:
    """Arrays of objects: floats and text."""

    def __init__(self, folder):
        pass

    @staticmethod
    def _array(rows):
        cells = [row.typed() for row in rows]
        names = ("x", "site", "code", "smoker", "gap")
        return np.array([[cell[name] for name in names] for cell in cells], dtype=object)

    def study(self, observational, trial):
        rows = [*observational, *trial]
        in_trial = np.repeat([False, True], [len(observational), len(trial)])
        return Study(self._array(rows), [row.y for row in rows], [row.treatment for row in rows], in_trial)

    def new(self, model, row):
        return model.encode(self._array([row]))


class Frames:
    """A typed pandas table of observational rows, a trial as text in polars, and new rows in Arrow."""

    def __init__(self, folder):
        pass

    def study(self, observational, trial):
        return stack(
            pd.DataFrame([{**row.typed(), "t": row.treatment, "y": row.y} for row in observational]),
            pl.DataFrame(
                [{**{name: getattr(row, name) for name in COLUMNS}, "t": row.treatment, "y": row.y} for row in trial]
            ),
        )

    def new(self, model, row):
        return model.encode(pa.table({name: [value] for name, value in row.typed().items()}))


class Files:
    """CSV and Parquet files: the trial as text, whatever the other files are."""

    def __init__(self, folder):
        self.folder = folder

    def _write(self, name, rows, *, outcome=True):
        roles = ("t", "y") if outcome else ()
        lines = [",".join([*COLUMNS, *roles])]
        for row in rows:
            cells = [getattr(row, column) for column in COLUMNS]
            lines.append(",".join([*cells, *([str(row.treatment), repr(row.y)] if outcome else [])]))
        path = self.folder / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def study(self, observational, trial):
        table = pa.Table.from_pylist([{**row.typed(), "t": row.treatment, "y": row.y} for row in observational])
        pq.write_table(table, self.folder / "observational.parquet")
        return read_study(str(self.folder / "observational.parquet"), self._write("trial", trial), "t", "y")

    def new(self, model, row):
        (batch,) = read_batches(self._write("new", [row], outcome=False))
        return model.encode(batch.read)


ENTRIES = {"arrays": Arrays, "frames": Frames, "files": Files}
# Files go through everything that the others do: they are what a newcomer waits for.
EVERY_ENTRY = ["files", *(pytest.param(entry, marks=pytest.mark.slow) for entry in ("arrays", "frames"))]


def ratio(**parameters):
    return ClassifierRatio(LogisticRegression(max_iter=500), **parameters)


def tree():
    """A base model that remembers every row that it has seen."""
    return DecisionTreeRegressor(random_state=0)


# Which trial rows of the arm calibrate: all of them, or those that the seed picks.
ON_TRIAL = {
    "naive": ({}, "half"),
    "transfer": ({}, "all"),
    "transfer-centred": ({}, "all"),
    "transfer, grounded": ({"base_on": "grounded"}, "half"),
    "transfer, normalised": ({"conformity_score": "normalised"}, "all"),
    "transfer, quantiles": (
        {"conformity_score": "cqr", "base": GradientBoostingRegressor(n_estimators=5, random_state=0)},
        "all",
    ),
    "wscp-dr-exact": ({"ratio": ratio(), "second_stage": tree()}, "half"),
    "wscp-dr-calibrated": ({"ratio": ratio(), "second_stage": tree()}, "half"),
    "wscp-dr*-exact": ({"ratio": ratio(on="x"), "second_stage": tree()}, "half"),
    "wscp-dr*-calibrated": ({"ratio": ratio(on="x"), "second_stage": tree()}, "half"),
    "wscp-dr-exact, the quantile alone": ({"ratio": ratio()}, "half"),
    "wscp-dr-calibrated, the quantile alone": ({"ratio": ratio()}, "half"),
    "wscp-dr*-exact, nothing regressed": ({"ratio": ratio(on="x")}, "half"),
    "wscp-dr*-calibrated, nothing regressed": ({"ratio": ratio(on="x")}, "half"),
}
ON_OBSERVATIONAL = {
    "wcp": {},
    "wcp-nb": {},
    "wtcp-dr": {"ratio": ratio()},
    "wtcp-dr, refit": {"ratio": ratio(), "refit": True, "base": Ridge()},
    "pooled-dr": {"ratio": ratio()},
    "pooled-dr, transductive": {"ratio": ratio(), "solve": "transductive"},
}
# Ways of a method of which another is looked at in every run.
AT_LENGTH = ("wcp-nb", "wtcp-dr, refit", "pooled-dr, transductive")


def arm_of(name, parameters, values=None):
    parameters = {"base": tree(), "outcome_values": values, **parameters}
    return method(name.partition(",")[0], **parameters)


class Swap:
    """A study of two arms, and the bag of rows of arm 1 that calibrate or are new."""

    def __init__(self, entry, folder, arm, source, share="all", values=None, trial=24, **parameters):
        self.entry, self.source = ENTRIES[entry](folder), source
        self.model = CounterfactualIntervals(arm, random_state=SEED, **{"alpha": ALPHA, **parameters})
        self.rows = {"observational": people(130, 1, values), "trial": people(trial, 2, values)}
        mine = [place for place, row in enumerate(self.rows[source]) if row.treatment == 1]
        if share == "half":
            chosen = split_places(len(mine), 0.5, spawn_seeds(SEED, 3)[0])[1]
            mine = [mine[place] for place in chosen]
        self.places = mine
        # The new row is from the trial's population, treated like its others.
        extra = next(row for row in reversed(people(60, 3, values)) if row.treatment == 1)
        self.bag = [*(self.rows[source][place] for place in mine), extra]

    def fitted(self, new):
        """Return the model that is learnt where that row of the bag is the new one."""
        others = [row for number, row in enumerate(self.bag) if number != new]
        rows = {source: list(found) for source, found in self.rows.items()}
        for place, row in zip(self.places, others, strict=True):
            rows[self.source][place] = row
        study = self.entry.study(rows["observational"], rows["trial"])
        return clone(self.model).fit(*study)

    def encoded(self, model):
        return [self.entry.new(model, row) for row in self.bag]


def raw_score(arm, x, y):
    """Return the score of an outcome before any centring, which the new row takes part in."""
    base = arm.base_.model if getattr(arm, "centred_", None) is not None else arm.base_
    return float(arm.score_.score(np.asarray(base.predict(x)), np.array([y]))[0])


def interval_score(arm, x, y):
    """Return the score of Algorithm 4, of the first stage's interval."""
    weight = arm._weigh(x, np.array([y]))
    quantile = arm.first_stage_.quantile(arm.levels_[0], weight)
    first = arm._clip(arm.score_.interval(arm._predict_base(x), quantile))
    return float(arm.ends_.miss(x, first)[0])


def outcome_score(arm, x, y):
    return float(arm.ends_.miss(x, Intervals([y], [y]))[0])


def needed(bag):
    return math.ceil((1 - ALPHA) * len(bag) - 1e-9)


def without(values, place):
    return np.sort(np.delete(values, place))


@pytest.mark.parametrize("entry", EVERY_ENTRY)
@pytest.mark.parametrize("name", ON_TRIAL)
@pytest.mark.parametrize(
    "values", [pytest.param(None, id="continuous"), pytest.param((0.0, 1.0), id="discrete", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_methods_that_calibrate_on_the_trial(tmp_path, entry, name, values):
    parameters, share = ON_TRIAL[name]
    swap = Swap(entry, tmp_path, arm_of(name, parameters, values), "trial", share, values=values)
    by_interval = "exact" in name
    table, members = [], 0
    for new in range(len(swap.bag)):
        model = swap.fitted(new)
        arm, encoded = model.arms_[1], swap.encoded(model)
        rows = list(zip(encoded, swap.bag, strict=True))
        score = raw_score if not name.startswith("wscp") else interval_score if by_interval else outcome_score
        scores = np.array([score(arm, x, row.y) for x, row in rows])
        table.append(scores)
        if getattr(arm, "centred_", None) is None:
            np.testing.assert_allclose(np.sort(arm.calibration_.scores), without(scores, new), **CLOSE)
        else:
            residuals = np.array([row.y - float(arm.base_.model.predict(x)[0]) for x, row in rows])
            assert arm.base_.by == pytest.approx(np.delete(residuals, new).mean(), abs=1e-9)
        x, own = rows[new]
        if by_interval:
            members += scores[new] <= arm._offset() + 1e-9
        else:
            members += bool(arm.predict_set(x).contains(own.y)[0])
    np.testing.assert_allclose(np.array(table), np.broadcast_to(table[0], np.shape(table)), **CLOSE)
    assert members >= needed(swap.bag)


@pytest.mark.slow
@pytest.mark.parametrize("entry", EVERY_ENTRY)
@pytest.mark.parametrize(
    "values", [pytest.param(None, id="continuous"), pytest.param((0.0, 1.0), id="discrete", marks=pytest.mark.slow)]
)
def test_the_prognosis_does_not_know_which_row_is_new(tmp_path, entry, values):
    """What the candidates see of a row is a function of the row; the choice among them counts all rows alike."""
    swap = Swap(entry, tmp_path, arm_of("prognostic", {}, values), "trial", values=values)
    table, members = [], 0
    for new in range(len(swap.bag)):
        model = swap.fitted(new)
        arm, encoded = model.arms_[1], swap.encoded(model)
        views = [arm._views(x, arm.base_.predict(x)) for x in encoded]
        seen = [[*view.features[0], view.offset[0], view.scale[0]] for row in views for view in row]
        table.append(np.concatenate(seen))
        members += bool(arm.predict_set(encoded[new]).contains(swap.bag[new].y)[0])
    np.testing.assert_allclose(np.array(table), np.broadcast_to(table[0], np.shape(table)), **CLOSE)
    assert members >= needed(swap.bag)


@pytest.mark.slow
@pytest.mark.parametrize("entry", EVERY_ENTRY)
@pytest.mark.parametrize("name", ["naive", "transfer-centred", "prognostic"])
def test_nested_effects_over_the_arm_that_calibrates(tmp_path, entry, name):
    """The other arm's sets are fixed; half of the level belongs to this step."""
    swap = Swap(entry, tmp_path, arm_of(name, {}), "trial", trial=14, effect="nested-exact", alpha=2 * ALPHA)
    table, members = [], 0
    for new in range(len(swap.bag)):
        model = swap.fitted(new)
        pair, control = model.effect_.pairs_[1, 0], model.effect_.controls_[0]
        truth = [
            difference(Intervals([row.y], [row.y]), control.predict_interval(x))
            for x, row in zip(swap.encoded(model), swap.bag, strict=True)
        ]
        scores = np.array([pair.ends.miss(x, c)[0] for x, c in zip(swap.encoded(model), truth, strict=True)])
        table.append(scores)
        np.testing.assert_allclose(np.sort(pair.scores["both"]), without(scores, new), **CLOSE)
        rows = model._new_rows(People(swap.encoded(model)[new], None, {}), model.arms_)
        found = model.effect_.predict_interval(rows, 1, 0)
        members += bool((found.lower <= truth[new].lower)[0] and (truth[new].upper <= found.upper)[0])
    np.testing.assert_allclose(np.array(table), np.broadcast_to(table[0], np.shape(table)), **CLOSE)
    assert members >= needed(swap.bag)


@pytest.mark.parametrize("entry", EVERY_ENTRY)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in AT_LENGTH)) for name in ON_OBSERVATIONAL],
)
def test_methods_that_calibrate_on_observational_rows(tmp_path, entry, name):
    """Scores and ratios are functions of the row: neither knows which row is new."""
    swap = Swap(entry, tmp_path, arm_of(name, ON_OBSERVATIONAL[name]), "observational", "half")
    table = []
    for new in range(0, len(swap.bag), 6):
        model = swap.fitted(new)
        arm, rows = model.arms_[1], list(zip(swap.encoded(model), swap.bag, strict=True))
        ratios = np.array([float(np.ravel(arm._weigh(x, np.array([row.y])))[0]) for x, row in rows])
        if "refit" in name:
            scores = refitted_scores(arm, *rows[new])
        else:
            scores = np.array([raw_score(arm, x, row.y) for x, row in rows])
            distances = np.abs(np.subtract.outer(np.delete(scores, new), arm.calibration_.scores))
            assert distances.min(axis=1).max() < 1e-9
            if not name.startswith("pooled"):  # whose rows of both sources share one weight
                weights = np.diff(arm.calibration_.cumulative)[distances.argmin(axis=1)]
                np.testing.assert_allclose(weights, np.delete(ratios, new), **CLOSE)
        table.append(np.concatenate([scores, ratios]))
    np.testing.assert_allclose(np.array(table), np.broadcast_to(table[0], np.shape(table)), **CLOSE)


def refitted_scores(arm, x, row):
    """Return the scores of the whole bag by a base model that has seen it, in increasing order."""
    lines = arm.refits_.lines(arm.refits_.refitted_smoother(), x[0])
    return np.sort(np.abs(lines.intercepts + lines.slopes * row.y))
