"""Equal work is done once while a block lasts, and only then."""

import numpy as np
from sklearn.linear_model import LinearRegression

from confide.base.cache import predict_once, sharing_fits, sharing_predictions
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


def test_a_model_is_asked_once_about_an_array_while_predictions_are_shared():
    asked = []

    class Model:
        def predict(self, X):
            asked.append(X)
            return X.sum(axis=1)

    one, other = Model(), Model()
    X = np.arange(6.0).reshape(3, 2)
    with sharing_predictions():
        first = predict_once(one, X)
        assert predict_once(one, X) is first
        assert len(asked) == 1
        predict_once(other, X)
        np.testing.assert_array_equal(predict_once(one, X + 1), first + 2)
        assert len(asked) == 3
    np.testing.assert_array_equal(predict_once(one, X), first)
    assert len(asked) == 4
