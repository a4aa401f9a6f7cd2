"""Brute force: the new residual takes part in the mean, and every candidate is tried."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.conformal.centred import CentredCalibration


def in_by_definition(residuals, new, alpha):
    """Membership of full conformal prediction, in rational arithmetic."""
    centre = Fraction(sum(residuals) + new) / (len(residuals) + 1)
    nearer = sum(abs(each - centre) < abs(new - centre) for each in residuals)
    return nearer < (1 - Fraction(alpha)) * (len(residuals) + 1)


whole = st.integers(-6, 6)


@given(st.lists(whole, min_size=1, max_size=12), st.lists(whole, min_size=1, max_size=5), st.sampled_from("12359"))
def test_membership_equals_the_definition_with_all_ties(residuals, candidates, digit):
    alpha = f"0.{digit}"
    # Multiplied by their number, residuals have a whole mean: nothing is rounded.
    rows = len(residuals)
    residuals, candidates = ([rows * each for each in values] for values in (residuals, candidates))
    centred = np.array(residuals) - sum(residuals) // rows
    calibration = CentredCalibration.of(centred)
    new = np.array(candidates) - sum(residuals) // rows
    expected = [in_by_definition(residuals, each, alpha) for each in candidates]
    # A stretched score may be a tie that rounding breaks: then either answer is within the tolerance.
    stretched = np.abs(centred[:, None]) * (rows + 1) / max(rows - 1, 1)
    unsure = (np.isclose(stretched, np.abs(new)) & (stretched != 0)).any(axis=0)
    found = calibration.contains(new.astype(float), float(alpha))
    np.testing.assert_array_equal(found[~unsure], np.array(expected)[~unsure])


@pytest.mark.parametrize("rows", [1, 2, 3, 9, 30, 125])
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
