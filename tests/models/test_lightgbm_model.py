"""Boosting by LightGBM: its trees as arrays predict as it does, in files too, and rows by batches give the same."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.utils.estimator_checks import check_estimator

from confide import CounterfactualIntervals, LargeTable, Transfer, load, stack
from confide.base.threads import threads_for, threads_now
from confide.data import parts
from confide.data import rest as shares
from confide.data.rest import Rest
from confide.exceptions import RefusalError
from confide.models import by_batches
from confide.models.lightgbm_model import LightGBMRegressor, Trees
from forging import STUDY, fitted
from tables import people

lightgbm = pytest.importorskip("lightgbm")
FEW = {"n_estimators": 5, "random_state": 0}


def rows(n=2000, seed=0, holes=0.1):
    """Covariates with gaps in some columns and none in others, and outcomes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 4] = rng.integers(0, 3, n)
    full = X.copy()
    X[:, :3][rng.uniform(size=(n, 3)) < holes] = np.nan
    return X, 2 * full[:, 0] + full[:, 1] ** 2 + full[:, 4] + rng.standard_normal(n)


@pytest.mark.parametrize("loss", [{}, {"loss": "quantile", "quantile": 0.9}])
def test_trees_predict_bit_for_bit_as_lightgbm(loss):
    """Also at missing values in columns that had none."""
    X, y = rows()
    model = LightGBMRegressor(random_state=0, **loss).fit(X, y)
    with threads_for(1):
        parameters = model._parameters(len(y))
    peer = lightgbm.train(parameters, lightgbm.Dataset(X, y, params=parameters), 100)
    new = rows(seed=1, holes=0.3)[0]
    new[::7, 3:] = np.nan
    for asked in (X, new):
        np.testing.assert_array_equal(model.predict(asked), peer.predict(asked))


def test_a_constant_outcome_is_one_leaf():
    X, _ = rows(50)
    assert set(LightGBMRegressor().fit(X, np.full(50, 3.0)).predict(X)) == {3.0}


def test_weights_count():
    X, y = rows()
    doubled = LightGBMRegressor(**FEW).fit(X, y, sample_weight=np.where(X[:, 4] == 1, 50.0, 1.0))
    assert np.abs(doubled.predict(X) - LightGBMRegressor(**FEW).fit(X, y).predict(X)).max() > 0.01


def test_the_mean_of_models_is_the_mean_of_their_predictions():
    X, y = rows()
    models = [LightGBMRegressor(**FEW).fit(X[part::2], y[part::2]) for part in (0, 1)]
    both = Trees.averaged([Trees(each.nodes_, each.ends_) for each in models], [3, 1])
    first, second = (each.predict(X) for each in models)
    np.testing.assert_allclose(both.predict(X), 0.75 * first + 0.25 * second, rtol=1e-12)


def test_threads_are_those_of_the_block(monkeypatch):
    """LightGBM is told their number: it would take all cores."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    with threads_for(10**9):
        assert (threads_now(), LightGBMRegressor()._parameters(10)["num_threads"]) == (1, 1)
    assert threads_now() == 1


@pytest.mark.slow
def test_it_is_a_scikit_learn_estimator():
    reason = "bins, and the least rows of a leaf, are those of rows and not of weights"
    failing = {"check_sample_weight_equivalence_on_dense_data": reason}
    check_estimator(LightGBMRegressor(n_estimators=40), expected_failed_checks=failing, on_skip=None)


def test_it_is_a_base_model_by_name_and_its_file_needs_no_lightgbm(tmp_path, monkeypatch):
    model = fitted(CounterfactualIntervals("transfer", base="lightgbm", random_state=0))
    model.save(tmp_path / "m.confide")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    again = load(tmp_path / "m.confide")
    X = STUDY[0][-30:]
    np.testing.assert_array_equal(again.predict_interval(X, 1), model.predict_interval(X, 1))


def test_conformalised_quantiles():
    wide = fitted(CounterfactualIntervals(Transfer(base="lightgbm", conformity_score="cqr"), random_state=0))
    X = np.zeros((3, wide.n_features_in_))
    assert np.isfinite(np.asarray(wide.predict_interval(X, 1))).all()


def test_without_lightgbm_one_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ValueError, match=r"pip install 'confide\[lightgbm\]'"):
        CounterfactualIntervals(base="lightgbm").fit(*STUDY)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left", 10**6, "leads outside"),
        ("right", 0, "leads outside"),
        ("feature_idx", 99, "leads outside"),
        ("feature_idx", -1, "leads outside"),
        ("is_categorical", 1, "leads outside"),
        ("ends", -1, "overlap"),
        ("ends", 10**6, "overlap"),
        ("dtype", None, "not arrays of nodes"),
    ],
)
def test_a_forged_file_leads_nowhere(tmp_path, field, value, message):
    model = fitted(CounterfactualIntervals("transfer", base=LightGBMRegressor(**FEW), random_state=0))
    trees = model.arms_[0].base_[-1]
    if field == "ends":
        trees.ends_ = trees.ends_.copy()
        trees.ends_[1] = value
    elif field == "dtype":
        trees.nodes_ = np.zeros(len(trees.nodes_))
    else:
        trees.nodes_ = trees.nodes_.copy()
        trees.nodes_[field][0] = value
    model.save(tmp_path / "m.confide")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m.confide")


# All rows of a large table.
TABLE = people(4000, seed=0).drop_columns(["who"])
TRIAL = people(90, seed=1).drop_columns(["who"])
ALL = {"method": "transfer", "base": LightGBMRegressor(n_estimators=5), "random_state": 0}


def study_of(dataset, **parameters):
    return stack(LargeTable(dataset, rows="all", **parameters), TRIAL)


def test_by_batches_the_model_is_that_of_all_other_rows_in_memory(tmp_path, monkeypatch):
    """Files, groups of rows and batches change nothing, as long as there is one share."""
    pq.write_table(TABLE.slice(0, 1500), tmp_path / "0.parquet", row_group_size=400)
    pq.write_table(TABLE.slice(1500), tmp_path / "1.parquet", row_group_size=1000)
    monkeypatch.setattr(by_batches, "BATCH_ROWS", 333)
    monkeypatch.setattr(parts, "PIECE_ROWS", 900)
    study = study_of(ds.dataset(tmp_path))
    assert (int((~study.trial).sum()), study.beyond.rows) == (1000, 3000)
    model = CounterfactualIntervals(**ALL).fit(study)
    whole = stack(TABLE, TRIAL)
    sampled = study.y[~study.trial]
    for label in model.arms_:
        left = ~whole.trial & (whole.treatment == label) & ~np.isin(whole.y, sampled)
        X = model.encode(whole.X.filter(pa.array(left)))
        base = LightGBMRegressor(n_estimators=5, random_state=model.arms_[label].base_[-1].random_state)
        np.testing.assert_array_equal(model.arms_[label].base_.predict(X), base.fit(X, whole.y[left]).predict(X))


def test_shares_fit_into_the_memory_and_are_averaged(tmp_path, monkeypatch):
    pq.write_table(TABLE, tmp_path / "0.parquet", row_group_size=250)
    monkeypatch.setattr(shares, "SHARE_ROWS", 1000)
    monkeypatch.setattr(parts, "PIECE_ROWS", 500)
    model = CounterfactualIntervals(**ALL).fit(study_of(ds.dataset(tmp_path)))
    assert {len(arm.base_[-1].ends_) for arm in model.arms_.values()} == {3 * 5}
    monkeypatch.undo()
    few = Rest([None] * 40, 10**6, None, 25 * 10**6)
    assert [len(share) for share in few.shares(26)] == [10, 10, 10, 10]  # a million rows of 100 bytes


@pytest.mark.parametrize("name", [pytest.param("prognostic", marks=pytest.mark.slow), "transfer", "transfer-centred"])
def test_intervals_of_all_rows_are_those_of_rows_in_memory_up_to_noise(tmp_path, name):
    pq.write_table(TABLE, tmp_path / "0.parquet", row_group_size=500)
    model = CounterfactualIntervals(name, base="lightgbm", random_state=0).fit(study_of(ds.dataset(tmp_path)))
    whole = CounterfactualIntervals(name, base="lightgbm", random_state=0).fit(stack(TABLE, TRIAL))
    new = people(300, seed=2).drop_columns(["who", "t", "y"])
    widths = [each.predict_interval(new, "drug").width.mean() for each in (model, whole)]
    assert 0.8 < widths[0] / widths[1] < 1.25


@pytest.mark.parametrize("name", ["wcp", "wcp-nb", "wtcp-dr", "pooled-dr", "wscp-dr-exact", "naive"])
def test_methods_that_split_rows_refuse_by_name(name):
    with pytest.raises(RefusalError, match=f"{name}.* cannot learn from all of them by batches. Use prognostic"):
        CounterfactualIntervals(name, base="lightgbm").fit(study_of(ds.dataset(TABLE)))


def test_other_base_models_refuse():
    with pytest.raises(ValueError, match="only base='lightgbm' learns from all rows by batches, got base=None"):
        CounterfactualIntervals().fit(study_of(ds.dataset(TABLE)))


def test_a_table_that_is_small_is_in_memory():
    study = study_of(ds.dataset(TABLE.slice(0, 900)))
    assert study.beyond is None
    CounterfactualIntervals(**ALL).fit(study)
