import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from checks import with_checks
from confide.data.splits import Rows
from confide.models.auto import AutoClassifier, AutoRegressor
from confide.models.base_model import learn
from confide.models.fitting import seeded
from confide.models.preprocessing import SeenColumns, prepared


def expected_failures(estimator):
    """Return what a choice by cross-validation cannot pass: copies of a row may fall into different folds."""
    reason = "folds of weighted rows are not the folds of their copies"
    fails = isinstance(estimator, AutoRegressor)
    return {"check_sample_weight_equivalence_on_dense_data": reason} if fails else {}


@pytest.mark.slow
@with_checks(
    [AutoRegressor(random_state=0), AutoRegressor(quantile=0.7, random_state=0), AutoClassifier(random_state=0)],
    expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_it_shrinks_to_a_constant_where_the_covariates_say_nothing():
    rng = np.random.default_rng(0)
    names = [
        AutoRegressor(random_state=seed).fit(rng.standard_normal((62, 1)), rng.standard_normal(62)).name_
        for seed in range(10)
    ]
    assert names.count("constant") >= 7


def test_it_takes_splines_for_a_smooth_curve_and_boosting_for_steps():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 2))
    noise = 0.1 * rng.standard_normal(600)
    assert AutoRegressor(random_state=0).fit(X, np.sin(X[:, 0]) + noise).name_ == "ridge"
    steps = np.sign(X[:, 0]) * np.sign(X[:, 1])
    assert AutoRegressor(random_state=0).fit(X, steps + noise).name_ == "boosting"


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_few_rows_give_the_constant(rows):
    model = AutoRegressor().fit(np.arange(rows)[:, None], np.arange(rows))
    assert model.name_ == "constant"
    assert model.errors_ == {}
    assert model.predict([[99.0]]) == [np.mean(np.arange(rows))]


def test_missing_values_binary_and_empty_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100), np.full(100, np.nan), np.ones(100)])
    X[::7, 0] = np.nan
    model = AutoRegressor(random_state=0).fit(X, X[:, 1] + 0.1 * rng.standard_normal(100))
    assert model.name_ != "constant"
    assert np.isfinite(model.predict(np.full((2, 4), np.nan))).all()


def test_the_seed_decides_everything():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.standard_normal(80)
    one, two = (AutoRegressor(random_state=3).fit(X, y) for _ in range(2))
    assert one.errors_ == two.errors_


def test_seeded_fills_only_what_is_unset():
    assert seeded(RandomForestRegressor(), 5).random_state == 5
    assert seeded(RandomForestRegressor(random_state=1), 5).random_state == 1
    nested = seeded(make_pipeline(LinearRegression(), RandomForestRegressor()), 5)
    assert nested[-1].random_state == 5
    assert seeded(LinearRegression(), 5).get_params() == LinearRegression().get_params()


def test_columns_that_do_not_vary_are_held_constant_in_their_places():
    X = np.array([[1.0, 5, np.nan, 0], [2.0, 5, np.nan, np.nan], [4.0, 5, np.nan, 0]])
    step = SeenColumns().fit(X)
    np.testing.assert_array_equal(step.transform(X), [[1, 5, 0, 0, 0], [2, 5, 0, 0, 1], [4, 5, 0, 0, 0]])
    np.testing.assert_array_equal(step.transform([[np.nan, 7, 7, 7]]), [[2, 5, 0, 7, 0]])
    np.testing.assert_array_equal(SeenColumns(impute=False).fit(X).transform(X)[:, 3], X[:, 3])
    np.testing.assert_array_equal(SeenColumns().fit(X[:1]).transform(X), [[1, 5, 0, 0]] * 3)


def test_rows_are_copied_only_where_something_changes():
    X = np.array([[1.0, 5, 0], [2.0, 5, np.nan]])
    step = SeenColumns(impute=False, copy=False)
    assert step.fit_transform(X) is X
    np.testing.assert_array_equal(step.transform([[3.0, 9, 1]]), [[3, 5, 1]])
    assert SeenColumns(impute=False, copy=False).fit(X[:, [0, 2]]).transform(X[:, [0, 2]]).base is not None
    assert SeenColumns(impute=False).fit_transform(X) is not X
    missing = np.array([[1.0, np.nan], [2.0, np.nan]])
    np.testing.assert_array_equal(SeenColumns(impute=False, copy=False).fit_transform(missing), [[1, 0], [2, 0]])
    assert np.isnan(missing[:, 1]).all()


@pytest.mark.parametrize("impute", [True, False])
def test_single_precision_stays_single(impute):
    X = np.array([[1.0, 5], [np.nan, 5], [3.0, 5]], dtype=np.float32)
    step = SeenColumns(impute=impute).fit(X)
    found = step.transform(X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[[0, 2], :2], X[[0, 2]])
    assert step.transform([[1, 2]]).dtype == np.float64


def test_columns_are_looked_at_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(50), np.ones(50), np.ones(50), np.full(50, np.nan)])
    X[49, 2], X[48, 0] = 2.0, np.nan
    whole = SeenColumns().fit(X)
    monkeypatch.setattr("confide.models.preprocessing.BLOCK", 7)
    monkeypatch.setattr("confide.models.preprocessing.MEDIAN_ROWS", 20)
    parts = SeenColumns().fit(X)
    np.testing.assert_array_equal(parts.constant_, whole.constant_)
    np.testing.assert_array_equal(parts.marked_, whole.marked_)
    assert abs(parts.medians_[0] - whole.medians_[0]) < 1
    assert parts.medians_[0] != whole.medians_[0]


def test_a_learner_that_takes_missing_values_gets_them():
    X = np.array([[1.0], [np.nan], [3.0], [4.0]])
    assert np.isnan(prepared(HistGradientBoostingRegressor())[0].fit(X).transform(X)).any()
    assert np.isfinite(prepared(LinearRegression()).fit(X, np.arange(4.0)).predict(X)).all()


@pytest.mark.slow
def test_the_automatic_classifier_takes_what_fits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    model = AutoClassifier(random_state=0).fit(X, X[:, 0] + rng.standard_normal(400) > 0)
    assert set(model.errors_) == {"splines", "perceptron", "boosting"}
    assert model.errors_[model.name_] == min(model.errors_.values()) < 0.6
    checkers = AutoClassifier(random_state=0).fit(X, (X[:, 0] > 0) ^ (X[:, 1] > 0))
    assert checkers.name_ != "splines"


def test_whole_weights_are_copies_of_rows():
    rng = np.random.default_rng(0)
    X, y, weight = rng.uniform(-3, 3, (300, 1)), rng.standard_normal(300), rng.integers(0, 3, 300)
    for quantile in (None, 0.8):
        model = AutoRegressor(quantile=quantile, random_state=0)
        weighted = model.fit(X, y, sample_weight=weight).predict([[0.0]])
        assert model.name_ == "constant"
        copies = np.repeat(y, weight)
        expected = copies.mean() if quantile is None else np.quantile(copies, quantile, method="inverted_cdf")
        assert weighted == pytest.approx(expected, abs=0.02)


def test_candidates_are_compared_by_weight():
    # Where the weight is, the outcome is a line; the other rows would make a constant the best.
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    heavy = np.arange(400) < 100
    y = np.where(heavy, X[:, 0], 10 * rng.standard_normal(400))
    weight = np.where(heavy, 1.0, 1e-6)
    assert AutoRegressor(random_state=0).fit(X, y, sample_weight=weight).name_ != "constant"
    model = learn(make_pipeline(LinearRegression()), Rows(X, y, weight), seed=0)
    np.testing.assert_allclose(model.predict([[2.0]]), 2, atol=0.01)
