"""A large table by batches: what is decided of its columns is what all rows decide in memory, whatever the sample."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from confide import CounterfactualIntervals, LargeTable, stack
from confide.data import large_table, parts, values
from confide.data.large_table import parse_memory
from confide.data.sampling import chosen_rows
from tables import people

ROWS = 600
TRIAL = people(90, seed=1).drop_columns(["who"])
FAST = {"method": "transfer", "base": "linear", "random_state": 0}
# Rows that the samples below lack.
FIRST, SECOND = sorted(set(range(ROWS)) - {*chosen_rows(ROWS, 200, 0), *chosen_rows(ROWS, 200, 2)})[:2]


def table(seed=0):
    """People with a rare category, many codes, text that is numbers or dates, and a column that is nearly empty."""
    rng = np.random.default_rng(seed)
    found = people(ROWS, seed=0).drop_columns(["who"])
    rare = np.full(ROWS, "usual", dtype=object)
    rare[FIRST] = "rare"
    seen = [None] * ROWS
    seen[SECOND] = dt.date(2021, 5, 6)
    more = {
        "rare": pa.array(rare.tolist()),
        "code": pa.array([f"k{each:03d}" for each in rng.integers(0, 90, ROWS)]).dictionary_encode(),
        "grams": pa.array([f" {each:.1f}" if each > 30 else "NA" for each in rng.uniform(0, 300, ROWS)]),
        "day": pa.array([f"2024-01-{each:02d}" for each in rng.integers(1, 28, ROWS)]),
        "seen": pa.array(seen, pa.date32()),
        "flag": pa.array(rng.integers(0, 2, ROWS)),
    }
    return pa.table({**{name: found[name] for name in found.column_names}, **more})


OBSERVATIONAL = table()


def trial():
    """The trial with the same columns, a flag written as text, and a category that the large table lacks."""
    rng = np.random.default_rng(5)
    rows = len(TRIAL)
    more = {
        "rare": ["usual"] * (rows - 1) + ["new"],
        "code": [f"k{each:03d}" for each in rng.integers(0, 90, rows)],
        "grams": rng.uniform(0, 300, rows),
        "day": [dt.date(2024, 1, int(each)) for each in rng.integers(1, 28, rows)],
        "seen": pa.array([None] * rows, pa.date32()),
        "flag": ["true", "false"] * (rows // 2),
    }
    return pa.table({**{name: TRIAL[name] for name in TRIAL.column_names}, **more})


def in_files(folder, whole, sizes):
    """Write the table in files of some sizes; return the dataset."""
    start = 0
    for place, size in enumerate(sizes):
        pq.write_table(whole.slice(start, size), folder / f"{place:02d}.parquet", row_group_size=50)
        start += size
    assert start == len(whole)
    return ds.dataset(folder)


def columns(model):
    return model.encoder_.columns_, model.encoder_.kinds


def test_a_table_that_fits_is_the_table_in_memory(tmp_path):
    dataset = in_files(tmp_path, OBSERVATIONAL, [100, 1, 499])
    study, whole = stack(dataset, trial()), stack(OBSERVATIONAL, trial())
    assert study.beyond is None
    assert study.X.equals(whole.X)
    for name in ("y", "treatment", "trial"):
        np.testing.assert_array_equal(getattr(study, name), getattr(whole, name))
    first, second = (CounterfactualIntervals(**FAST).fit(each) for each in (study, whole))
    assert columns(first) == columns(second)
    np.testing.assert_array_equal(first.predict_interval(whole.X, "drug"), second.predict_interval(whole.X, "drug"))


@pytest.mark.parametrize("rows", [40, 200])
def test_a_sample_is_encoded_as_all_rows_in_memory(tmp_path, rows):
    """Kinds, categories and missing values are those of the whole table, though the sample lacks some."""
    dataset = in_files(tmp_path, OBSERVATIONAL, [200, 400])
    study = stack(LargeTable(dataset, rows=rows, random_state=2), trial())
    chosen = chosen_rows(ROWS, rows, 2)
    assert (len(study), study.beyond.rows) == (rows + len(TRIAL), ROWS - rows)
    np.testing.assert_array_equal(study.y[~study.trial], OBSERVATIONAL["y"].to_numpy()[chosen])
    assert "rare" not in study.X["rare"].to_pylist()
    sampled, whole = (CounterfactualIntervals(**FAST).fit(each) for each in (study, stack(OBSERVATIONAL, trial())))
    assert columns(sampled) == columns(whole)
    assert "rare = rare" in sampled.encoder_.get_feature_names_out()
    assert dict(sampled.encoder_.kinds)["seen"] == "dates"
    assert dict(sampled.encoder_.kinds)["flag"] == "booleans"


def test_methods_that_calibrate_on_observational_rows_take_the_sample():
    """The encoder learns from all rows but those that calibrate."""
    study = stack(LargeTable(ds.dataset(OBSERVATIONAL), rows=200), trial())
    model = CounterfactualIntervals(**{**FAST, "method": "wcp"}).fit(study)
    assert "rare = rare" in model.encoder_.get_feature_names_out()
    assert np.isfinite(np.asarray(model.predict_interval(study.X, "drug"))).any()


@pytest.mark.parametrize("batch", [13, 64, 1000])
@pytest.mark.parametrize("sizes", [[600], [1, 299, 300], [60] * 10])
def test_files_and_batches_change_nothing(tmp_path, monkeypatch, batch, sizes):
    expected = stack(LargeTable(ds.dataset(OBSERVATIONAL), rows=77), trial())
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    study = stack(LargeTable(in_files(tmp_path, OBSERVATIONAL, sizes), rows=77), trial())
    assert study.X.equals(expected.X)
    assert study.beyond == expected.beyond


def test_the_sample_is_small_where_columns_become_many(monkeypatch):
    """Ninety codes are a hundred columns of numbers: the memory has room for fewer rows."""
    monkeypatch.setattr(large_table, "FIXED_BYTES", 10**9 - 100_000)
    short = {"covariates": ["age", "grams"], "treatment": "t"}
    with pytest.warns(UserWarning, match="has 600 rows; models learn from a uniform sample of .* within 1GB of memory"):
        wide = stack(LargeTable(ds.dataset(OBSERVATIONAL), memory="1GB"), trial(), covariates=["age", "code"])
    assert len(stack(LargeTable(ds.dataset(OBSERVATIONAL), memory="1GB"), trial(), **short)) == ROWS + len(TRIAL)
    chosen = chosen_rows(ROWS, int((~wide.trial).sum()), 0)
    np.testing.assert_array_equal(wide.y[~wide.trial], OBSERVATIONAL["y"].to_numpy()[chosen])


def test_a_study_that_is_cut_keeps_what_is_known_of_other_rows():
    study = stack(LargeTable(ds.dataset(OBSERVATIONAL), rows=100), trial())
    assert study.take(np.arange(50, len(study))).beyond == study.beyond


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": pa.array([None, *[1.0] * (ROWS - 1)])}, r"no outcome 'y' in some rows \(such as row 1\)"),
        ({"t": pa.array([*["drug"] * (ROWS - 1), " NA"])}, r"no treatment 't' in some rows \(such as row 600\)"),
        ({"age": pa.array([np.inf, *[1.0] * (ROWS - 1)])}, "column 'age' holds infinite values in"),
        ({"grams": pa.array([">20", *["3"] * (ROWS - 1)])}, r"numbers but for 1 of 600 cells: '>20' \(1 times\)"),
        ({"grams": pa.array(["1,5"] * ROWS)}, "column 'grams' holds numbers with commas, such as '1,5'"),
        ({"flag": pa.array([2, *[0, 1] * (ROWS // 2 - 1), 1])}, "column 'flag' is not of one kind"),
        ({"age": pa.array([[1]] * ROWS)}, "column 'age' holds values that are not numbers, dates or text but list"),
    ],
)
def test_what_is_wrong_in_any_row_is_told(change, message):
    """Though the rows are not in the sample."""
    broken = OBSERVATIONAL
    for name, column in change.items():
        broken = broken.set_column(broken.column_names.index(name), name, column)
    with pytest.raises(ValueError, match=message):
        stack(LargeTable(ds.dataset(broken), rows=3), trial())


def test_too_many_different_texts_are_refused(monkeypatch):
    monkeypatch.setattr(values, "MOST_VALUES", 50)
    with pytest.raises(ValueError, match=r"column 'code' has more than 50 different values.*--id code"):
        stack(LargeTable(ds.dataset(OBSERVATIONAL), rows=3), trial())


def test_clusters_that_are_in_the_large_table_too():
    site = pa.array([f"s{each % 20}" for each in range(ROWS)])
    mine = trial().append_column("site", pa.array([f"s{each % 9 + 19}" for each in range(len(TRIAL))]))
    with pytest.raises(ValueError, match=r"clusters of the trial are in the observational table too \(s19\)"):
        stack(LargeTable(ds.dataset(OBSERVATIONAL.append_column("site", site)), rows=3), mine, cluster="site")


@pytest.mark.parametrize(
    ("text", "size"), [("8GB", 8e9), ("1.5 gb", 1.5e9), ("2000MB", 2e9), (3 * 10**9, 3e9), ("2G", 2e9), ("1TB", 1e12)]
)
def test_sizes_of_memory(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("bad", ["", "8 apples", "-8GB", True, "500MB", "GB"])
def test_bad_sizes_of_memory(bad):
    with pytest.raises(ValueError, match="memory must be"):
        LargeTable(ds.dataset(OBSERVATIONAL), memory=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "10"])
def test_bad_numbers_of_rows(bad):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        LargeTable(ds.dataset(OBSERVATIONAL), rows=bad)


def test_a_path_is_no_table():
    with pytest.raises(ValueError, match=r"must be a pyarrow.dataset.Dataset, got str. Use LargeTable\(pyarrow"):
        LargeTable("table/*.parquet")


def test_views_of_text_and_half_precision(tmp_path):
    """As polars and machine learning write them."""
    try:
        pa.array(["a"]).cast(pa.string_view())
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow makes no views of text")
    text, numbers = OBSERVATIONAL["town"].cast(pa.string()), OBSERVATIONAL["flag"].cast(pa.float64())
    plain = pa.table({"town": text, "n": numbers, "t": OBSERVATIONAL["t"], "y": OBSERVATIONAL["y"]})
    odd = pa.table(
        {**{name: plain[name] for name in plain.column_names}, "town": text.cast(pa.string_view())}
    ).set_column(1, "n", numbers.cast(pa.float16()))
    other = TRIAL.select(["town", "t", "y"]).append_column("n", pa.array(np.arange(len(TRIAL)) % 2 + 0.0))
    studies = []
    for name, each in (("plain", plain), ("odd", odd)):
        pq.write_table(each, tmp_path / f"{name}.parquet")
        studies.append(stack(ds.dataset(tmp_path / f"{name}.parquet"), other))
    assert studies[0].X.equals(studies[1].X)


def test_a_number_that_is_too_large_in_any_row():
    large = pa.array([*[1.0] * (ROWS - 1), 1e200])
    broken = OBSERVATIONAL.set_column(OBSERVATIONAL.column_names.index("age"), "age", large)
    with pytest.raises(ValueError, match=r"column 'age' of .* holds 1e.200, and numbers must lie between"):
        stack(LargeTable(ds.dataset(broken), rows=3), trial())
