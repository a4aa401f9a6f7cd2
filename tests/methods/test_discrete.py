"""Discrete outcomes: sets are subsets of the values, equal to brute force over them in every method."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import METHODS, CounterfactualIntervals, Transfer, method
from confide.ratio import ClassifierRatio

VALUES = [1, 2, 3, 4, 5]


def ratings(n=600, m=200, seed=0):
    """Ratings 1 to 5; observational rows were rated more often when they were liked."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * n + m, 2))
    y = np.clip(np.round(3 + X[:, 0] + rng.standard_normal(len(X))), 1, 5)
    trial = np.arange(len(X)) >= 4 * n
    kept = trial | (rng.uniform(size=len(X)) < y / 8)
    return X[kept], y[kept], trial[kept]


X, Y, TRIAL = ratings()
NEW = ratings(seed=1)[0][:60]


def brute_force(arm, x, value):
    """Whether a value is in one row's set, from the definitions and nothing else."""
    weights = np.diff(arm.calibration_.cumulative)
    if hasattr(arm, "ends_"):
        low, high = (end[0] for end in arm.ends_.predict(x[None]))
        if not arm.exact:
            return low <= value <= high
        score, own = max(low - value, value - high), 1.0
    else:
        score = abs(value - arm.base_.predict(x[None])[0])
        own = arm.ratio_.predict([[*x, value]])[0] if hasattr(arm, "ratio_") else 1.0
    below = weights[arm.calibration_.scores < score].sum()
    return below < 0.9 * (weights.sum() + own) * (1 - 1e-12)


# These two have rules of their own, and brute force of their own beside their other tests.
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("pooled-dr", "prognostic")])
def test_sets_equal_brute_force_over_the_values(name):
    params = {"ratio": ClassifierRatio()} if "-dr" in name else {}
    linear = {"second_stage": LinearRegression()} if name.startswith("wscp") else {}
    arm = method(name, base=LinearRegression(), outcome_values=VALUES, random_state=0, **params, **linear)
    sets = arm.fit(X, Y, trial=TRIAL).predict_set(NEW)
    for row, x in enumerate(NEW):
        assert sets[row][:, 0].tolist() == [value for value in VALUES if brute_force(arm, x, value)]
    assert sets.discrete
    np.testing.assert_array_equal(sets.measure, sets.components)
    np.testing.assert_array_equal(sets.hull(), arm.predict_interval(NEW))
    assert {1, 2, 3} & set(sets.components)  # some sets leave values out
    assert ((arm.predict(NEW) >= 1) & (arm.predict(NEW) <= 5)).all()


def test_sets_cover_and_contain():
    arm = Transfer(base=LinearRegression(), outcome_values=VALUES, random_state=0).fit(X, Y, trial=TRIAL)
    new_X, new_y, new_trial = ratings(n=0, m=5000, seed=2)
    assert new_trial.all()
    sets = arm.predict_set(new_X)
    assert sets.contains(new_y).mean() > 0.88
    assert not sets.contains(2.5).any()
    assert sets.take(np.array([3, 1]))[0].tolist() == sets[3].tolist()


def test_values_in_the_whole_study():
    treatment = (X[:, 1] > 0).astype(int)
    model = CounterfactualIntervals(Transfer(base=LinearRegression(), outcome_values=VALUES), random_state=0)
    model.fit(X, Y, treatment, TRIAL)
    sets = model.predict_set(NEW, treatment=1)
    assert sets.discrete
    assert set(sets.lower) <= set(VALUES)
    assert (np.abs(model.predict_effect_interval(NEW)) <= 4).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"outcome_values": [1, 2, 3]}, r"outcomes are none of outcome_values=\[1.0, 2.0, 3.0\], such as"),
        ({"outcome_values": [1, np.inf]}, "a list of finite numbers"),
        ({"outcome_values": []}, "a list of finite numbers"),
        ({"outcome_values": VALUES, "outcome_range": (1, 5)}, "not both"),
    ],
)
def test_bad_values(params, message):
    with pytest.raises(ValueError, match=message):
        Transfer(**params).fit(X, Y, trial=TRIAL)
