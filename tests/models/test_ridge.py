import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import confide.models.ridge
from confide.models.preprocessing import SeenColumns, linear, logistic_on_splines, ridge_on_splines, settled_ridge
from confide.models.ridge import PENALTIES, BlockRidge


def people(rows, seed=0):
    """Covariates with gaps, few values, a constant, and means far from 0; outcomes; and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 6))
    X[:, 1] = rng.integers(0, 3, rows)
    X[:, 3] = 2000 + rng.integers(0, 5, rows)
    X[:, 4] += 1e6
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 2] = 7
    y = 50 + np.nan_to_num(X[:, 0]) + np.sin(3 * np.nan_to_num(X[:, 5])) + 0.3 * rng.standard_normal(rows)
    return X, y, rng.exponential(size=rows)


def plain(model, penalty=None):
    """The same model of scikit-learn's parts, which holds the features of all rows."""
    ridge = RidgeCV(alphas=PENALTIES) if penalty is None else Ridge(alpha=penalty)
    steps = [SeenColumns()] if model.features is None else logistic_on_splines()[:2]
    return make_pipeline(*steps, StandardScaler(), ridge)


@pytest.mark.parametrize("make", [linear, ridge_on_splines])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [6, 40, 300])
@pytest.mark.parametrize("block", [30, 4096])
def test_it_is_ridge_with_rows_left_out_one_at_a_time(monkeypatch, make, weighted, rows, block):
    monkeypatch.setattr(confide.models.ridge, "BLOCK", block)
    X, y, weight = people(rows)
    model = make()[-1]
    model.fit(X, y, sample_weight=weight if weighted else None)
    expected = plain(model).fit(X, y, **({"ridgecv__sample_weight": weight} if weighted else {}))
    assert model.alpha_ == expected[-1].alpha_
    new = people(100, seed=1)[0]
    np.testing.assert_allclose(model.predict(new), expected.predict(new), atol=1e-8)


def test_with_many_rows_only_features_and_penalty_come_from_a_sample(monkeypatch):
    monkeypatch.setattr(confide.models.ridge, "SAMPLE", 300)
    X, y, weight = people(2000)
    model = linear()[-1].fit(X, y, sample_weight=weight)
    new = people(100, seed=1)[0]
    expected = plain(model, model.alpha_).fit(X, y, ridge__sample_weight=weight)
    np.testing.assert_allclose(model.predict(new), expected.predict(new), atol=1e-8)
    monkeypatch.undo()
    of_all = ridge_on_splines()[-1].fit(X, y)
    monkeypatch.setattr(confide.models.ridge, "SAMPLE", 300)
    of_some = ridge_on_splines()[-1].fit(X, y)
    assert not np.array_equal(of_some.coef_, of_all.coef_)
    assert np.sqrt(np.mean((of_some.predict(new) - of_all.predict(new)) ** 2)) < 0.15
    np.testing.assert_array_equal(of_some.predict(new), ridge_on_splines()[-1].fit(X, y).predict(new))


def test_single_precision_costs_its_own_rounding_only():
    X, y, _ = people(500)
    X[:, 4] -= 1e6
    exact = ridge_on_splines()[-1].fit(X, y).predict(X)
    np.testing.assert_allclose(ridge_on_splines()[-1].fit(X.astype(np.float32), y).predict(X), exact, atol=1e-3)


def test_whole_weights_are_copies_of_rows_given_the_penalty(monkeypatch):
    monkeypatch.setattr(confide.models.ridge, "PENALTIES", np.array([3.0]))
    X, y, _ = people(60)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    X = np.nan_to_num(X[:, [0, 5]])
    weighted = BlockRidge(SeenColumns()).fit(X, y, sample_weight=weight)
    # Columns are scaled without weights: the copies must be scaled as the rows are.
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    copies = Ridge(alpha=3.0).fit(np.repeat(scaled, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), copies.predict(scaled), atol=1e-9)


def test_no_column_varies():
    model = ridge_on_splines()[-1].fit(np.ones((5, 2)), np.arange(5.0))
    np.testing.assert_allclose(model.predict([[3.0, np.nan]]), [2.0])
    assert len(model.predict(np.empty((0, 2)))) == 0


def test_settled_it_has_the_penalty_that_was_found():
    X, y, _ = people(200)
    model = ridge_on_splines()[-1].fit(X, y)
    settled = settled_ridge(model)
    assert settled[-1].get_params() == Ridge(alpha=model.alpha_).get_params()
    np.testing.assert_allclose(settled.fit(X, y).predict(X), model.predict(X), atol=1e-8)
