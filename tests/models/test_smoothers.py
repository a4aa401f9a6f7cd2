"""Linear smoothers: which models are, and that their residuals are the lines that refits give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from confide.models.preprocessing import SeenColumns, ridge_on_splines
from confide.models.smoothers import LinearSmoother, RefittedSmoother

columns = ColumnTransformer([("splines", SplineTransformer(3), [0])], remainder="passthrough")
SMOOTHERS = {
    "least squares": LinearRegression(),
    "least squares, no intercept": LinearRegression(fit_intercept=False),
    "least squares, collinear": make_pipeline(SplineTransformer(3), LinearRegression()),
    "ridge": Ridge(0.7),
    "ridge, no intercept": Ridge(2.0, fit_intercept=False, solver="svd"),
    "scaled ridge": make_pipeline(StandardScaler(), Ridge(3.0)),
    "ridge on splines": make_pipeline(SeenColumns(), columns, StandardScaler(), Ridge()),
    "ridge on quantile splines": make_pipeline(SplineTransformer(3, knots="quantile"), Ridge(0.1)),
    "ridge on polynomials": make_pipeline(make_pipeline(StandardScaler(), PolynomialFeatures()), Ridge()),
    "ridge on a union": make_pipeline(FeatureUnion([("one", StandardScaler()), ("two", PCA(1))]), Ridge()),
    "kernel ridge": KernelRidge(kernel="rbf", alpha=0.3, gamma=0.5),
    "kernel ridge of a function": KernelRidge(kernel=lambda a, b: 1 + a @ b, alpha=0.1),
    "scaled kernel ridge": make_pipeline(StandardScaler(), KernelRidge(kernel="laplacian")),
    "nearest neighbours": KNeighborsRegressor(4),
    "nearest neighbours by city blocks": KNeighborsRegressor(3, metric="manhattan"),
    "scaled nearest neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(5, p=3)),
    "mean": DummyRegressor(),
}
OTHERS = {
    "boosting": GradientBoostingRegressor(),
    "penalty chosen by y": RidgeCV(),
    "positive least squares": LinearRegression(positive=True),
    "positive ridge": Ridge(positive=True),
    "iterative ridge": Ridge(solver="lsqr"),
    "penalties": Ridge(alpha=np.array([1.0])),
    "neighbours weighted by distance": KNeighborsRegressor(weights="distance"),
    "neighbours by another metric": KNeighborsRegressor(metric="cosine"),
    "median": DummyRegressor(strategy="median"),
    "features chosen by y": make_pipeline(SelectKBest(k=1), Ridge()),
    "features encoded by y": make_pipeline(TargetEncoder(), Ridge()),
    "a part that looks at y": make_pipeline(ColumnTransformer([("y", TargetEncoder(), [0])]), Ridge()),
    "a remainder that looks at y": make_pipeline(ColumnTransformer([], remainder=TargetEncoder()), Ridge()),
    "transformed outcome": TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    "grid search": GridSearchCV(Ridge(), {"alpha": [1, 2]}),
    "automatic ridge": ridge_on_splines(),
    "subclass": type("MyRidge", (Ridge,), {})(),
    "precomputed": KernelRidge(kernel="precomputed"),
}


def lines(model, X, y, place, x):
    """Intercepts and slopes of all residuals, in the order of rows with the new one at its place."""
    stay, own = RefittedSmoother(LinearSmoother.of(model), X, y, place).residuals(x)
    return np.insert(stay, place, own, axis=0).T


@pytest.mark.parametrize("name", SMOOTHERS)
@given(seed=st.integers(0, 10_000), rows=st.integers(12, 40), outcome=st.floats(-20, 20), far=st.booleans())
@settings(max_examples=15, deadline=None)
def test_lines_equal_a_refit(name, seed, rows, outcome, far):
    """With new rows within and beyond the others: what a transformer learns stays as it was, or does not."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((rows, 2)), 5 + rng.standard_normal(rows)
    place, model = int(rng.integers(rows + 1)), SMOOTHERS[name]
    smoother = RefittedSmoother(LinearSmoother.of(model), X, y, place)
    for x in rng.standard_normal((3, 2)) * (5 if far else 0.3):
        stay, own = smoother.residuals(x)
        intercepts, slopes = np.insert(stay, place, own, axis=0).T
        X_all, y_all = np.insert(X, place, x, axis=0), np.insert(y, place, outcome)
        expected = y_all - clone(model).fit(X_all, y_all).predict(X_all)
        np.testing.assert_allclose(intercepts + slopes * outcome, expected, atol=1e-9)


def test_what_a_new_row_leaves_as_it_was_is_kept(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((2, 50, 1))
    smoother = RefittedSmoother(LinearSmoother.of(make_pipeline(SplineTransformer(), Ridge())), X, y[:, 0], 3)
    made = []
    monkeypatch.setattr("confide.models.smoothers._bordered", lambda *_: made.append(1))
    smoother.residuals(np.array([0.1]))
    assert not made
    smoother.residuals(np.array([9.0]))  # beyond the knots, which it moves
    assert made


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_none(name):
    assert LinearSmoother.of(OTHERS[name]) is None
    assert LinearSmoother.of(make_pipeline(StandardScaler(), OTHERS[name])) is None


def test_sparse_features():
    X = np.arange(30).reshape(-1, 1) % 4
    y = np.random.default_rng(0).standard_normal(30)
    sparse, dense = (
        lines(make_pipeline(OneHotEncoder(sparse_output=kind), Ridge()), X, y, 7, np.array([2.0]))
        for kind in (True, False)
    )
    np.testing.assert_allclose(sparse, dense)


def first_of_the_tied(X, y, k, power):
    """Neighbours by a stable sort of exact distances: of tied rows the first in order."""
    distances = (np.abs(X[:, None] - X[None]) ** power).sum(axis=2)
    return y - y[np.argsort(distances, axis=1, kind="stable")[:, :k]].mean(axis=1)


@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(5, 60),
    columns=st.integers(1, 12),
    values=st.integers(1, 4),
    k=st.integers(1, 5),
    power=st.sampled_from([1, 2]),
)
@settings(max_examples=100, deadline=None)
def test_tied_neighbours(seed, rows, columns, values, k, power):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(values, size=(rows, columns)).astype(float), rng.standard_normal(rows)
    place = int(rng.integers(rows))
    others = np.arange(rows) != place
    intercepts, slopes = lines(KNeighborsRegressor(k, p=power), X[others], y[others], place, X[place])
    found = intercepts + slopes * y[place]
    np.testing.assert_allclose(found, first_of_the_tied(X, y, k, power), atol=1e-12)


def test_tied_neighbours_in_blocks(monkeypatch):
    monkeypatch.setattr("confide.models.smoothers.BLOCK", 100)
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(50, 6)).astype(float), rng.standard_normal(50)
    intercepts, slopes = lines(KNeighborsRegressor(7), X[1:], y[1:], 0, X[0])
    np.testing.assert_allclose(intercepts + slopes * y[0], first_of_the_tied(X, y, 7, 2), atol=1e-12)


def test_too_many_neighbours():
    with pytest.raises(ValueError, match="n_neighbors must lie between 1 and the 3 rows, got 4"):
        lines(KNeighborsRegressor(4), np.ones((2, 1)), np.ones(2), 0, np.ones(1))


def test_a_function_may_look_at_all_rows_at_once_and_has_no_closed_form():
    centring = FunctionTransformer(lambda X: X - X.mean(axis=0))
    assert LinearSmoother.of(make_pipeline(centring, Ridge())) is None
    assert LinearSmoother.of(make_pipeline(StandardScaler(), Ridge())) is not None
