"""Refits through joblib's Dask backend, on the same cluster."""

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from confide import WTCPDR
from helpers import arm_rows


@pytest.mark.usefixtures("client")
def test_refits_on_the_cluster_equal_refits_in_turn():
    X, y, trial = arm_rows(n=160, m=40)
    new = arm_rows(n=1, m=30, seed=1)[0][:4]
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=5)
    arm = WTCPDR(base=tree, ratio="kernel", refit=True, random_state=0).fit(X, y, trial=trial)
    in_turn = arm.predict_interval(new)
    with joblib.parallel_config(backend="dask"):
        np.testing.assert_array_equal(arm.predict_interval(new), in_turn)
