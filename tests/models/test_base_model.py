"""How much of the outcomes predictions explain."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from confide.data.splits import Rows
from confide.models.base_model import learn, share_explained


def test_predictions_beyond_all_numbers_explain_nothing_and_warn_of_nothing():
    y = np.array([0.0, 1.0, 2.0])
    assert share_explained(y, np.full(3, 1e200)) == -np.inf
    assert share_explained(y, y) == 1
    assert share_explained(y, np.full(3, 1.0)) == 0
    assert share_explained(np.ones(3), y) is None


def test_a_base_model_that_picks_columns_by_name_is_told_where_they_belong():
    by_name = make_pipeline(ColumnTransformer([("age", "passthrough", ["age"])]), LinearRegression())
    with pytest.raises(ValueError, match="Give the step that picks them as encoder="):
        learn(by_name, Rows(np.ones((9, 1)), np.arange(9.0)), 0)
