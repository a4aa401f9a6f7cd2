"""Brute force: the new residual takes part in the mean, and every candidate is tried."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor

from confide import Transfer
from confide.conformal.centred import CentredCalibration


def in_by_definition(residuals, new, alpha):
    """Membership of full conformal prediction, in rational arithmetic."""
    centre = Fraction(sum(residuals) + new) / (len(residuals) + 1)
    nearer = sum(abs(each - centre) < abs(new - centre) for each in residuals)
    return nearer < (1 - Fraction(alpha)) * (len(residuals) + 1)


whole = st.integers(-6, 6)


@given(st.lists(whole, min_size=1, max_size=12), st.lists(whole, min_size=1, max_size=5), st.sampled_from("12359"))
def test_the_set_equals_the_definition_with_all_ties(residuals, candidates, digit):
    alpha = f"0.{digit}"
    # Multiplied by their number, residuals have a whole mean, and no two sizes are nearer than the slack unless tied.
    rows = len(residuals)
    residuals, candidates = ([rows * each for each in values] for values in (residuals, candidates))
    mean = sum(residuals) // rows
    below, above = CentredCalibration.of(np.array(residuals) - mean, slack=1e-9).quantiles(float(alpha))
    found = [-below <= each - mean <= above for each in candidates]
    assert found == [in_by_definition(residuals, each, alpha) for each in candidates]


# Exchangeable populations full of ties: each value in turn is the new one, so that the average is the coverage.
TIED = {
    0.1: [1, 1, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 6, 7, 7],
    0.2: [2, 2, 5, 7, 7, 9, 9, 11, 14, 14],
    0.5: [5, 5, 7, 7],
}


@pytest.mark.parametrize("alpha", TIED)
@pytest.mark.parametrize("offset", [0.0, 101.7, 1e4 + 1 / 3, 1e6 + 1 / 7])
@pytest.mark.parametrize("discrete", [False, True])
def test_ties_are_ties_whichever_row_is_new(alpha, offset, discrete):
    population = np.array(TIED[alpha], dtype=float)
    observational = np.array([3.0] * 7 + [4.0] * 3) + offset * (not discrete)
    values = np.unique(np.concatenate([population, observational])) if discrete else None
    covered = 0
    for new in range(len(population)):
        trial = np.delete(population, new)
        arm = Transfer(base=DummyRegressor(), base_on="centred", alpha=alpha, outcome_values=values)
        y = np.concatenate([observational, trial])
        arm.fit(np.ones((len(y), 1)), y, trial=np.arange(len(y)) >= len(observational))
        covered += arm.predict_set(np.ones((1, 1))).contains(population[new])[0]
    assert covered / len(population) >= 1 - alpha


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 30, pytest.param(125, marks=pytest.mark.slow)])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_the_set_is_the_interval_that_candidates_find(rows, alpha):
    rng = np.random.default_rng(rows)
    residuals = rng.gamma(1.0, size=rows) + 3.0
    mean = residuals.mean()
    below, above = CentredCalibration.of(residuals - mean).quantiles(alpha)
    candidates = np.linspace(-20, 30, 2001)
    inside = [in_by_definition([Fraction(each) for each in residuals], Fraction(new), str(alpha)) for new in candidates]
    np.testing.assert_array_equal(inside, (candidates >= mean - below) & (candidates <= mean + above))


def test_too_few_residuals_reach_everywhere():
    for rows in (0, 1, 8):
        below, above = CentredCalibration.of(np.arange(rows) - (rows - 1) / 2).quantiles(0.1)
        assert below == above == np.inf
    below, above = CentredCalibration.of(np.arange(9) - 4.0).quantiles(0.1)
    assert below == above == 5.0
