"""Equal work is done once while a block lasts, and only then."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from confide.base.cache import sharing_fits
from confide.data.splits import Rows
from confide.models.base_model import learn


def test_equal_models_on_equal_rows_are_fitted_once_while_fits_are_shared():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    heavier = Rows(rows.X, rows.y, np.arange(50.0))
    with sharing_fits():
        one, same = learn(LinearRegression(), rows, 0), learn(LinearRegression(), Rows(rows.X.copy(), rows.y), 0)
        others = learn(LinearRegression(positive=True), rows, 0), learn(LinearRegression(), heavier, 0)
    assert one is same
    assert all(one is not other for other in others)
    assert learn(LinearRegression(), rows, 0) is not one


def test_a_block_inside_another_uses_its_fits_and_a_cache_outlives_its_blocks():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    fits = {}
    with sharing_fits():
        one = learn(LinearRegression(), rows, 0)
        with sharing_fits(fits):
            assert learn(LinearRegression(), rows, 0) is one
    assert not fits
    with sharing_fits(fits):
        other = learn(LinearRegression(), rows, 0)
    with sharing_fits(fits):
        assert learn(LinearRegression(), rows, 0) is other
    assert other is not one


def test_what_cannot_be_hashed_is_fitted_each_time():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    base = make_pipeline(FunctionTransformer(lambda X: X**2), LinearRegression())
    with sharing_fits():
        one, other = (learn(base, rows, 0) for _ in range(2))
    assert one is not other
    np.testing.assert_array_equal(one.predict(rows.X), other.predict(rows.X))
