"""Models fitted on a cluster are those of one machine, to the last bit."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import confide.dask
from cluster_tables import NEW, OBSERVATIONAL, TRIAL, same_answers
from confide import CounterfactualIntervals, LargeTable, load, stack
from confide.data import parts, rest
from confide.diagnostics import balance
from confide.exceptions import RefusalError
from confide.models.lightgbm_model import LightGBMRegressor

FAST = {"method": "transfer", "base": "linear", "random_state": 3}
BOOSTED = {"method": "transfer-centred", "base": LightGBMRegressor(n_estimators=5), "random_state": 3}


def here(table, rows, **parameters):
    """The model that this process fits."""
    seed = parameters["random_state"]
    study = stack(LargeTable(ds.dataset(table), rows=rows, memory="4GB", random_state=seed), TRIAL)
    return CounterfactualIntervals(**parameters).fit(study)


def there(observational, train, **parameters):
    """The model that is fitted on the cluster."""
    return confide.dask.fit(CounterfactualIntervals(**parameters), observational, TRIAL, train=train)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    "rows", [pytest.param(50, marks=pytest.mark.slow), 500, pytest.param(10**6, marks=pytest.mark.slow)]
)
def test_a_sample_is_that_of_one_machine(table, rows):
    expected = here(table, rows, **FAST)
    for observational in (str(table), f"{table}/*.parquet", dd.read_parquet(table)):
        model = there(observational, rows, **FAST)
        same_answers(model, expected)
        assert model.encoder_.columns_ == expected.encoder_.columns_
        assert model.encoder_.kinds == expected.encoder_.kinds


@pytest.mark.usefixtures("client")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["prognostic", "wcp", "wtcp-dr", "pooled-dr"])
def test_any_method_takes_a_sample(table, name):
    """Those that calibrate on observational rows calibrate on the sample's."""
    parameters = {**FAST, "method": name}
    same_answers(there(str(table), 400, **parameters), here(table, 400, **parameters))


@pytest.mark.usefixtures("client")
def test_paths_are_those_of_this_folder(table, monkeypatch):
    """Workers have another current folder."""
    monkeypatch.chdir(table.parent)
    assert there("table/*.parquet", 50, **FAST).alpha_ == 0.1


@pytest.mark.usefixtures("client")
def test_the_study_is_the_one_of_rows_in_memory(table):
    """Kinds, categories and missing values are decided by all rows, and diagnostics look at the sample."""
    study = confide.dask.stack(str(table), TRIAL, train=200, random_state=1)  # noqa: PD013  (not a frame's)
    local = stack(LargeTable(ds.dataset(table), rows=200, random_state=1), TRIAL)
    assert study.X.equals(local.X)
    assert study.beyond == local.beyond
    np.testing.assert_array_equal(study.y, local.y)
    np.testing.assert_array_equal(study.treatment, local.treatment)
    assert balance(study) == balance(local)


@pytest.mark.usefixtures("client")
def test_frames_as_people_have_them(tmp_path):
    """Text that is numbers, categories, dates, integers with gaps, another index; and labels that are numbers."""
    rng = np.random.default_rng(0)
    rows = 600
    whole = pd.DataFrame(
        {
            "grams": [f" {each:.1f}" if each > 30 else "NA" for each in rng.uniform(0, 300, rows)],
            "code": pd.Categorical([f"k{each:03d}" for each in rng.integers(0, 90, rows)]),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), "D"),
            "count": pd.array([None if each > 8 else each for each in rng.integers(0, 10, rows).tolist()], "Int64"),
            "t": rng.integers(0, 2, rows),
            "y": rng.standard_normal(rows),
        },
        index=rng.permutation(rows),
    )
    trial = whole.iloc[:80].reset_index(drop=True)
    large = whole.iloc[80:]
    ddf = dd.from_pandas(large, npartitions=4, sort=False)
    model = CounterfactualIntervals(**FAST)
    found = confide.dask.fit(model, ddf, trial, train=10**6)
    expected = CounterfactualIntervals(**FAST).fit(stack(large, trial))
    np.testing.assert_array_equal(found.predict_interval(trial, 1), expected.predict_interval(trial, 1))
    assert found.encoder_.columns_ == expected.encoder_.columns_
    found.save(tmp_path / "m.confide")
    again = load(tmp_path / "m.confide")
    np.testing.assert_array_equal(again.predict_interval(trial, 1), expected.predict_interval(trial, 1))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("share", [10**6, 900])
def test_all_rows_give_the_model_of_one_machine(table, monkeypatch, share):
    """With one share and with several: their number depends on the number of rows alone."""
    monkeypatch.setattr(rest, "SHARE_ROWS", share)
    monkeypatch.setattr(parts, "PIECE_ROWS", 500)
    expected = here(table, "all", **BOOSTED)
    assert expected.arms_["drug"].base_.model[-1].ends_.shape == (5 * max(1, 3000 // share),)
    same_answers(there(str(table), "all", **BOOSTED), expected)


@pytest.mark.usefixtures("client")
def test_all_rows_of_a_frame(table):
    """Partitions are its parts: with one share the model is that of files."""
    same_answers(there(dd.read_parquet(table), "all", **BOOSTED), here(table, "all", **BOOSTED))


@pytest.mark.usefixtures("client")
def test_widths_with_all_rows_are_those_of_rows_in_memory_up_to_noise(table):
    parameters = {"method": "transfer", "base": "lightgbm", "random_state": 0}
    widths = [
        model.predict_interval(NEW, "drug").width.mean()
        for model in (there(str(table), "all", **parameters), here(table, None, **parameters))
    ]
    assert 0.9 < widths[0] / widths[1] < 1.1


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", ["wcp", "wtcp-dr", "pooled-dr"])
def test_methods_that_calibrate_on_observational_rows_refuse_all_of_them_by_name(table, name):
    with pytest.raises(RefusalError, match=f"{name} splits .* Use prognostic, transfer or transfer-centred, or give"):
        there(str(table), "all", method=name, base="lightgbm")


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("observational", "train", "message"),
    [
        (OBSERVATIONAL, 10, "must be a Dask data frame or a path of Parquet files, got Table"),
        ("nowhere/*.parquet", 10, "no file matches .*nowhere"),
        (None, 0, "must be a whole number of at least 1 or 'all', got 0"),
        (None, "some", "must be a whole number of at least 1 or 'all', got 'some'"),
    ],
)
def test_bad_input(table, observational, train, message):
    with pytest.raises(ValueError, match=message):
        there(str(table) if observational is None else observational, train, **FAST)


def test_without_a_client_the_error_says_how_to_start_one(table, monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.default_client", none)
    with pytest.raises(ValueError, match=r"there is no Dask client: start one, such as client = distributed.Client"):
        there(str(table), 10, **FAST)


@pytest.mark.usefixtures("client")
def test_infinite_and_missing_cells_are_told_with_their_file(table):
    broken = OBSERVATIONAL.slice(0, 50).set_column(0, "age", pa.array([np.inf] * 50))
    pq.write_table(broken, table / "4.parquet")
    with pytest.raises(ValueError, match=r"column 'age' holds infinite values in .*4\.parquet"):
        there(str(table), 10, **FAST)
