"""`naive` against the split conformal prediction of two other libraries, on the same split and model."""

import crepes
import numpy as np
import pytest
from mapie.regression import SplitConformalRegressor
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from confide import Naive
from confide.data.splits import Rows, spawn_seeds, split
from helpers import arm_rows

BASES = [LinearRegression(), GradientBoostingRegressor(n_estimators=20, random_state=0)]


def same_split(X, y, trial, random_state):
    """The rows that Naive fits and calibrates on."""
    return split(Rows(X[trial], y[trial]), 0.5, spawn_seeds(random_state, 3)[0])


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.25])
def test_naive_equals_the_peers(base, alpha):
    X, y, trial = arm_rows(n=10, m=203)
    new = np.random.default_rng(9).standard_normal((50, 2))
    ours = np.asarray(Naive(base=base, alpha=alpha, random_state=4).fit(X, y, trial=trial).predict_interval(new))

    fit, calibration = same_split(X, y, trial, 4)
    model = clone(base).fit(fit.X, fit.y)
    mapie = SplitConformalRegressor(model, confidence_level=1 - alpha, prefit=True)
    mapie.conformalize(calibration.X, calibration.y)
    np.testing.assert_allclose(ours, mapie.predict_interval(new)[1][:, :, 0], rtol=0, atol=1e-12)

    peer = crepes.WrapRegressor(model)
    peer.calibrate(calibration.X, calibration.y)
    np.testing.assert_allclose(ours, peer.predict_int(new, confidence=1 - alpha), rtol=0, atol=1e-12)
