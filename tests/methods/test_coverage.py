"""Validity by Monte Carlo, with the decision rule of `decision.py`."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from confide import WTCPDR, Naive, Transfer
from confide.ratio import OracleRatio
from decision import assert_covers

FRESH = 50


def draw(rng, rows, bias):
    """Covariate x, outcome y = x + bias + noise: the bias stands for hidden confounding."""
    X = rng.standard_normal((rows, 1))
    return X, X[:, 0] + bias + rng.standard_normal(rows)


def coverages(make, alpha, n, m, repetitions, bias=1.0, bound=None):
    """One coverage a repetition, for an arm of n biased observational and m trial rows."""
    result = []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, n, m, int(1000 * alpha)])
        X_obs, y_obs = draw(rng, n, bias)
        X_trial, y_trial = draw(rng, m, 0.0)
        X_new, y_new = draw(rng, FRESH, 0.0)
        arm = make(alpha=alpha, random_state=seed, outcome_range=bound)
        trial = np.repeat([False, True], [n, m])
        arm.fit(np.concatenate([X_obs, X_trial]), np.concatenate([y_obs, y_trial]), trial=trial)
        result.append(arm.predict_set(X_new).contains(y_new).mean())
    return result


LEVELS = (0.05, 0.1, 0.3)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        pytest.param(lambda **p: Naive(base=LinearRegression(), **p), {40: 20, 101: 50, 400: 200}, id="naive"),
        pytest.param(lambda **p: Transfer(base=LinearRegression(), **p), {19: 19, 50: 50, 200: 200}, id="transfer"),
        pytest.param(lambda **p: Transfer(base=DummyRegressor(), **p), {23: 23, 100: 100}, id="transfer-constant"),
    ],
)
def test_unweighted_methods_cover_and_not_too_much(make, sizes):
    cells, ceilings = {}, {}
    for alpha in LEVELS:
        for m, calibration in sizes.items():
            name = f"alpha={alpha}, {calibration} calibration rows"
            cells[name] = (coverages(make, alpha, n=60, m=m, repetitions=300), 1 - alpha)
            ceilings[name] = 1 - alpha + 1 / (calibration + 1)
    assert_covers(cells, ceilings)


BIAS = 0.7


def true_ratio(rows):
    """p^I(y|x)/p^O(y|x) = N(y; x, 1)/N(y; x + BIAS, 1)."""
    residual = rows[:, -1] - rows[:, 0]
    return np.exp(-BIAS * residual + BIAS**2 / 2)


def test_wtcp_dr_covers_with_the_true_ratio_and_fails_with_a_blind_one():
    def make(function):
        return lambda **params: WTCPDR(base=LinearRegression(), ratio=OracleRatio(function), tolerance=1e-4, **params)

    bound = (-12.0, 12.0)
    cells = {
        f"alpha={alpha}, n={n}": (coverages(make(true_ratio), alpha, n, 5, 200, BIAS, bound), 1 - alpha)
        for alpha in LEVELS
        for n in (40, 200)
    }
    assert_covers(cells)
    blind = coverages(make(lambda rows: np.ones(len(rows))), 0.1, 200, 5, 100, BIAS, bound)
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"blind": (blind, 0.9)})
