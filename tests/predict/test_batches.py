"""Rows by the batch: the answers are those that the model gives to all rows at once."""

import datetime as dt
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, PopulationWarning, Transfer, stack
from confide.data import csv_files, files
from confide.data.writing import writing
from confide.exceptions import InfiniteIntervalWarning
from confide.models.preprocessing import ridge_on_splines
from confide.predict import batches as scale
from confide.predict.answer import answer_columns
from confide.predict.batches import Answered, answer_file
from confide.report import Individuals
from tables import covariates, fitted_model, people, typed

MODEL = fitted_model()
NEW = covariates(people(200, seed=2))


def write(path, table):
    with writing(str(path), table.schema) as sink:
        sink.write_table(table)
    return str(path)


def expected(model, X):
    """Every column, from the public methods on all rows at once."""
    found = {}
    labels = model.treatments_.tolist()
    for label in labels:
        found[f"y_{label}"] = model.predict(X, treatment=label)
        found[f"y_{label}_lower"], found[f"y_{label}_upper"] = model.predict_interval(X, treatment=label)
    for label in labels[1:]:
        name = f"effect_{label}_vs_{labels[0]}"
        found[name] = model.predict_effect(X, label, labels[0])
        found[f"{name}_lower"], found[f"{name}_upper"] = model.predict_effect_interval(X, label, labels[0])
    return found


@pytest.mark.parametrize("source", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("out", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("rows", [7, 1000])
def test_answers_stand_beside_the_rows_they_are_for(tmp_path, monkeypatch, source, out, rows):
    monkeypatch.setattr(files, "BATCH_ROWS", rows)
    for module in (csv_files, files):
        monkeypatch.setattr(module, "READ_BYTES", 512 if rows == 7 else 1 << 20)
    told = []
    paths = write(tmp_path / f"new.{source}", NEW), str(tmp_path / f"out.{out}")
    counted = answer_file(MODEL, *paths, report_progress=told.append)
    table = typed(paths[1])
    assert table.column_names == [*NEW.column_names, *answer_columns(MODEL)]
    assert [f"{int(who):05d}" for who in table["who"].to_pylist()] == NEW["who"].to_pylist()
    for name, values in expected(MODEL, NEW).items():
        np.testing.assert_allclose(table[name].to_numpy(), values, rtol=1e-12, err_msg=name)
    assert sum(told) == counted.rows == len(NEW)
    assert len(told) >= (len(NEW) // 7 if rows == 7 else 1)


@pytest.mark.parametrize("out", ["csv", "parquet", "arrow"])
def test_the_same_file_gives_the_same_bytes(tmp_path, monkeypatch, out):
    monkeypatch.setattr(files, "BATCH_ROWS", 9)
    source = write(tmp_path / "new.csv", NEW)
    for name in ("first", "second"):
        answer_file(MODEL, source, str(tmp_path / f"{name}.{out}"))
    assert (tmp_path / f"first.{out}").read_bytes() == (tmp_path / f"second.{out}").read_bytes()


def test_several_treatments_each_against_the_first(tmp_path):
    model = fitted_model(labels=("a", "b", "c"))
    path = str(tmp_path / "out.parquet")
    counted = answer_file(model, write(tmp_path / "new.parquet", NEW), path)
    table = typed(path)
    for name, values in expected(model, NEW).items():
        np.testing.assert_array_equal(table[name].to_numpy(), values, err_msg=name)
    assert set(counted.signs) == {("b", "a"), ("c", "a")}
    assert "effect_c_vs_b" not in table.column_names


def test_what_was_counted(tmp_path):
    path = str(tmp_path / "out.parquet")
    counted = answer_file(MODEL, write(tmp_path / "new.parquet", NEW), path)
    table = typed(path)
    lower, upper = (table[f"effect_placebo_vs_drug_{end}"].to_numpy() for end in ("lower", "upper"))
    above, below = np.sum(lower > 0), np.sum(upper < 0)
    sides = {"above": above, "below": below, "neither": 200 - above - below}
    assert counted == Answered(200, 0, 0, {("placebo", "drug"): sides})


def test_another_control(tmp_path):
    path = str(tmp_path / "out.parquet")
    answer_file(MODEL, write(tmp_path / "new.parquet", NEW), path, control="placebo")
    table = typed(path)
    assert table.column_names[-3:] == [f"effect_drug_vs_placebo{end}" for end in ("", "_lower", "_upper")]
    expected = MODEL.predict_effect_interval(NEW, treated="drug", control="placebo")
    np.testing.assert_array_equal(table["effect_drug_vs_placebo_lower"].to_numpy(), expected.lower)
    with pytest.raises(ValueError, match="the control 'placbo' is not a treatment; did you mean placebo"):
        answer_file(MODEL, write(tmp_path / "new.parquet", NEW), path, control="placbo")


class Forgetful(RegressorMixin, BaseEstimator):
    """A base model that is not made for threads: it keeps what it is asked on itself while it thinks."""

    def fit(self, X, y):  # noqa: ARG002
        self.fitted_ = True
        return self

    def predict(self, X):
        self.asked = X
        time.sleep(0.002)
        return self.asked[:, 0]


def test_a_model_that_is_not_made_for_threads_is_asked_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 20)
    monkeypatch.setattr(scale, "cores", lambda: 4)
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.standard_normal(200), "t": np.tile([0, 1], 100), "y": rng.standard_normal(200)})
    model = CounterfactualIntervals(Transfer(base=Forgetful()), random_state=0).fit(*stack(table, table))
    path = str(tmp_path / "out.parquet")
    answer_file(model, write(tmp_path / "new.parquet", table.select(["x"])), path)
    np.testing.assert_array_equal(typed(path)["y_0"].to_numpy(), table["x"].to_numpy())


@pytest.mark.parametrize(
    ("when_fitted", "now", "told"),
    [
        (
            "2020-01-31 10:00:00",
            "2020-01-31 10:00:00-10:00",
            "'x' holds dates, and '2020-01-31 10:00:00-10:00' is not one of them. Write it like 2024-01-31",
        ),
        ("2020-01-31", "10:00", "'x' holds dates, and '10:00' is not one of them. Write it like 2024-01-31"),
        ("2020-01-31", "2024-02-30", "'x' holds dates, and '2024-02-30' is not one of them"),
        ("10:30", "half past ten", "'x' holds times of day, and 'half past ten' is not one of them. Write .* 10:30"),
        ("2020-01-31T10:00Z", "2020-01-31", "'x' holds instants .*, and '2020-01-31' is not .* 2024-01-31T10:30:00Z"),
        ("true", "2", "'x' holds booleans, and '2' is not one of them"),
        ("1.5", "true", "'x' holds numbers, and 'true' is not one of them"),
        ("1.5", "01", "'x' holds numbers, and '01' is not one of them"),
        ("1.5", '"1,5"', "'x' holds numbers, and '1,5' is not one of them"),
    ],
)
def test_a_column_of_another_kind_is_refused(tmp_path, when_fitted, now, told):
    """A file that means something else than the one that was fitted on must not pass in silence."""
    rng = np.random.default_rng(0)
    lines = [f"{when_fitted},{z},{number % 2},{y}" for number, (z, y) in enumerate(rng.standard_normal((100, 2)))]
    for name in ("o", "t"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,z,t,y", *lines]) + "\n")
    study = files.read_study(str(tmp_path / "o.csv"), str(tmp_path / "t.csv"), "t", "y")
    model = CounterfactualIntervals(Transfer(base=LinearRegression()), random_state=0).fit(*study)
    (tmp_path / "new.csv").write_text(f"x,z\n{now},1\n")
    with pytest.raises(ValueError, match=told):
        answer_file(model, str(tmp_path / "new.csv"), str(tmp_path / "out.csv"))


def test_infinite_intervals_are_written_and_counted(tmp_path):
    with pytest.warns(InfiniteIntervalWarning):
        model = MODEL.with_alpha(0.001)
    counted = answer_file(model, write(tmp_path / "new.csv", NEW), str(tmp_path / "out.csv"))
    assert counted.infinite == counted.infinite_effects == counted.rows == 200
    table = typed(str(tmp_path / "out.csv"))
    assert np.isneginf(table["y_drug_lower"].to_numpy()).all()
    assert np.isposinf(table["y_drug_upper"].to_numpy()).all()


def test_effects_may_be_infinite_where_outcomes_are_not(tmp_path):
    """Each step of an effect is taken at half the level, which needs twice the rows."""
    with pytest.warns(InfiniteIntervalWarning, match="effect intervals"):
        model = MODEL.with_alpha(1.5 / (1 + min(arm.calibration for arm in MODEL.diagnostics_.values())))
    counted = answer_file(model, write(tmp_path / "new.csv", NEW), str(tmp_path / "out.csv"))
    assert (counted.infinite, counted.infinite_effects) == (0, 200)


def test_an_empty_set_has_no_ends(tmp_path):
    """The hull of an empty set is nowhere: its ends are missing in the file, not NaN and not 0."""
    x = np.repeat([0.0, 1.0], 100)
    table = pa.table({"x": x, "t": np.tile([0, 1], 100), "y": x})
    arm = Transfer(base=LinearRegression(), outcome_values=[0, 1])
    model = CounterfactualIntervals(arm, random_state=0).fit(*stack(table, table))
    source = write(tmp_path / "new.parquet", pa.table({"x": [0.0, 0.5, 1.0]}))
    answer_file(model, source, str(tmp_path / "out.parquet"))
    found = typed(str(tmp_path / "out.parquet"))
    assert found["y_0_lower"].to_pylist() == found["y_0_upper"].to_pylist() == [0.0, None, 1.0]
    assert found["effect_1_vs_0_lower"].to_pylist()[1] is None


@pytest.mark.parametrize("out", ["csv", "parquet"])
def test_the_columns_of_a_csv_file_stay_text_but_for_numbers_in_typed_files(tmp_path, out):
    table = NEW.append_column("note", pa.array(["007"] * len(NEW)))
    answer_file(MODEL, write(tmp_path / "new.csv", table), str(tmp_path / f"out.{out}"))
    if out == "csv":
        lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
        originals = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()
        assert all(line.startswith(original + ",") for line, original in zip(lines, originals, strict=True))
        return
    found = typed(str(tmp_path / "out.parquet"))
    assert found["note"].to_pylist() == ["007"] * len(NEW)
    assert found["who"].to_pylist() == NEW["who"].to_pylist()
    assert found["age"].to_pylist() == NEW["age"].to_pylist()
    assert found.schema.field("age").type == pa.float64()


WRITTEN = {
    "numbers": ([1.5, None, -2.0, 1e30], ["1.5", "", "-2", "1e30"]),
    "whole numbers": ([1, None, -2, 3], ["1", "NA", " -2", "3 "]),
    "booleans": ([True, None, False, True], ["true", "", "False", "TRUE"]),
    "dates": (
        [dt.date(2020, 1, 31), None, dt.date(2021, 2, 1), dt.date(1969, 1, 1)],
        ["2020-01-31", "", "2021-02-01", "1969-01-01"],
    ),
    "instants": (
        [dt.datetime(2020, 1, 31, 10, 30), None] * 2,  # noqa: DTZ001  (without a zone is the point)
        ["2020-01-31 10:30:00", "", "2020-01-31T10:30:00", "NA"],
    ),
    "instants of a zone": (
        [dt.datetime(2020, 1, 31, 10, 30, tzinfo=dt.UTC), None] * 2,
        ["2020-01-31T10:30:00Z", "", "2020-01-31 12:30:00+0200", ""],
    ),
    "times": ([dt.time(10, 30), None, dt.time(0, 0), dt.time(23, 59, 59)], ["10:30:00", "", "00:00:00", "23:59:59"]),
    "categories": (["a", None, "b", "a"], ["a", "NA", "b", "a"]),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_csv_file_of_new_rows_means_what_the_table_means(tmp_path, kind):
    """A column that was typed when the model was fitted is read from text, in batches, all the same."""
    values, written = WRITTEN[kind]
    rng = np.random.default_rng(0)
    column = pa.array((values * 80)[:160])
    table = pa.table(
        {"x": column, "z": rng.standard_normal(160), "t": np.tile([0, 1], 80), "y": rng.standard_normal(160)}
    )
    model = CounterfactualIntervals(Transfer(base=ridge_on_splines()), random_state=0).fit(*stack(table, table))
    lines = "\n".join(f"{text},0.5" for text in written)
    (tmp_path / "new.csv").write_text(f"x,z\n{lines}\n")
    answer_file(model, str(tmp_path / "new.csv"), str(tmp_path / "out.parquet"))
    points = model.predict(pa.table({"x": pa.array(values, column.type), "z": [0.5] * len(values)}), treatment=1)
    np.testing.assert_array_equal(typed(str(tmp_path / "out.parquet"))["y_1"].to_numpy(), points)


def test_text_where_numbers_were_is_told(tmp_path):
    (tmp_path / "new.csv").write_text("age,town,joined,smoker\nforty,Öst,2020-01-01,true\n40,Öst,2020-01-01,true\n")
    with pytest.raises(ValueError, match="column 'age' holds numbers, and 'forty' is not one of them"):
        answer_file(MODEL, str(tmp_path / "new.csv"), str(tmp_path / "out.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_column_that_the_answers_need_is_refused(tmp_path):
    source = write(tmp_path / "new.csv", NEW.append_column("y_drug_lower", pa.array([0.0] * len(NEW))))
    with pytest.raises(ValueError, match="columns that the answers need: y_drug_lower"):
        answer_file(MODEL, source, str(tmp_path / "out.csv"))


def test_a_model_of_arrays_cannot_answer_files(tmp_path):
    rng = np.random.default_rng(0)
    X, trial = rng.standard_normal((200, 2)), np.repeat([False, True], 100)
    arm = Transfer(base=ridge_on_splines())
    model = CounterfactualIntervals(arm, random_state=0).fit(X, X[:, 0], np.tile([0, 1], 100), trial)
    with pytest.raises(ValueError, match="without column names"):
        answer_file(model, write(tmp_path / "new.csv", NEW), str(tmp_path / "out.csv"))


def test_rows_unlike_the_trials_are_told_once_whatever_the_batches(tmp_path, monkeypatch):
    strange = NEW.set_column(1, "age", pa.array(np.full(len(NEW), 500.0)))
    source = write(tmp_path / "new.parquet", strange)
    messages = set()
    for rows in (10, 1000):
        monkeypatch.setattr(files, "BATCH_ROWS", rows)
        with pytest.warns(PopulationWarning) as caught:
            answer_file(MODEL, source, str(tmp_path / "out.parquet"))
        assert len(caught) == 1
        messages.add(str(caught[0].message))
    with pytest.warns(PopulationWarning) as caught:
        MODEL.predict(strange, treatment="drug")
    assert messages == {str(caught[0].message)}


@pytest.mark.slow
def test_many_batches_of_the_trials_own_rows_raise_no_alarm(tmp_path, monkeypatch):
    """A test for each batch would: 500 of them at one alarm of two hundred."""
    monkeypatch.setattr(files, "BATCH_ROWS", 4)
    source = write(tmp_path / "new.parquet", covariates(people(2000, seed=5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer_file(MODEL, source, str(tmp_path / "out.parquet"))


def test_no_rows_give_a_file_of_no_rows(tmp_path):
    for kind in ("csv", "parquet", "arrow"):
        counted = answer_file(MODEL, write(tmp_path / f"new.{kind}", NEW.slice(0, 0)), str(tmp_path / f"out.{kind}"))
        assert counted.rows == 0
    assert (tmp_path / "out.csv").read_text().count("\n") == 1


def test_threads_are_gone_when_the_file_is_answered(tmp_path):
    before = threading.active_count()
    answer_file(MODEL, write(tmp_path / "new.csv", NEW), str(tmp_path / "out.csv"))
    assert threading.active_count() == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Four times the rows, the same peak to 10 %; `benchmarks/stream.py` does it with ten million."""
    MODEL.save(tmp_path / "model.confide")
    one = covariates(people(20_000, seed=3))
    peaks = []
    for copies in (4, 16):
        path = tmp_path / f"{copies}.csv"
        pa_csv.write_csv(pa.concat_tables([one] * copies), path)
        code = f"""
import re
from pathlib import Path
from confide import load
from confide.data import csv_files, files
from confide.predict.batches import answer_file
files.BATCH_ROWS, csv_files.READ_BYTES = 2000, 1 << 16
answer_file(load({str(tmp_path / "model.confide")!r}), {str(path)!r}, {str(tmp_path / "out.csv")!r})
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.1 * peaks[0], peaks


def test_unseen_groups_are_told_once_whatever_the_batches(tmp_path, monkeypatch):
    """One sentence on all rows of the file, for the file and for a report on it."""
    observational, trial = (people(n, seed).drop_columns(["who"]) for n, seed in ((300, 0), (90, 1)))
    arm = Transfer(base=ridge_on_splines(), alpha=0.3)
    model = CounterfactualIntervals(arm, groups="smoker", random_state=0)
    model.fit(stack(observational, trial.filter(trial["smoker"].is_valid())))
    source = write(tmp_path / "new.parquet", NEW)
    first = NEW["smoker"].is_null().to_pylist().index(True) + 1
    said = rf"smoker is missing in {NEW['smoker'].null_count} of 200 rows \(the first is row {first}\), so that their"
    for rows in (10, 1000):
        monkeypatch.setattr(files, "BATCH_ROWS", rows)
        with pytest.warns(InfiniteIntervalWarning, match=said) as caught:
            counted = answer_file(model, source, str(tmp_path / "out.parquet"))
        assert len(caught) == 1
        assert counted.infinite == NEW["smoker"].null_count
        with pytest.warns(InfiniteIntervalWarning, match=said) as caught:
            gathered = Individuals.of_batches(model, files.read_batches(source))
        assert len(caught) == 1
        assert gathered.unlike == (str(caught[0].message),)


def test_strange_values_are_told_once_whatever_the_batches(tmp_path, monkeypatch):
    rows = np.arange(len(NEW))
    towns = ["Nowhere" if row % 4 == 1 else town for row, town in zip(rows, NEW["town"].to_pylist(), strict=True)]
    strange = NEW.set_column(NEW.column_names.index("town"), "town", [towns])
    ages = np.where(rows == 150, 900.0, np.asarray(NEW["age"].to_numpy(), dtype=float))
    strange = strange.set_column(NEW.column_names.index("age"), "age", [pa.array(ages, from_pandas=True)])
    source = write(tmp_path / "new.csv", strange)
    messages = set()
    for each in (10, 1000):
        monkeypatch.setattr(files, "BATCH_ROWS", each)
        with pytest.warns(PopulationWarning) as caught:
            answer_file(MODEL, source, str(tmp_path / "out.parquet"))
        assert len(caught) == 1
        messages.add(str(caught[0].message))
        with pytest.warns(PopulationWarning) as caught:
            gathered = Individuals.of_batches(MODEL, files.read_batches(source))
        assert len(caught) == 1
        messages.update(gathered.unlike)
    (said,) = messages
    assert "town = 'Nowhere' (50 of 200 rows; known: " in said
    assert "age = 900 in row 151 (1 of 200 rows; fitted on " in said


def test_categories_in_another_case_are_told(tmp_path):
    towns = [town.upper() if town else town for town in NEW["town"].to_pylist()]
    path = write(tmp_path / "new.csv", NEW.set_column(NEW.column_names.index("town"), "town", [towns]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        with pytest.warns(UserWarning, match="'town' of the new rows has categories that differ by case"):
            answer_file(MODEL, path, str(tmp_path / "out.csv"))


def test_one_category_in_another_case_hides_no_unknown_one(tmp_path):
    known = [town for town in NEW["town"].to_pylist() if town]
    towns = [known[0].upper(), *["Nowhere"] * (len(NEW) - 1)]
    path = write(tmp_path / "new.csv", NEW.set_column(NEW.column_names.index("town"), "town", [towns]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer_file(MODEL, path, str(tmp_path / "out.csv"))
    said = " ".join(str(each.message) for each in caught)
    assert "differ by case" in said
    assert "'Nowhere' (200 of 200 rows; known: " in said
