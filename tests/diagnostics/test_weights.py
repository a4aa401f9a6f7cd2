"""Weights of calibration rows: how many rows they are worth."""

import numpy as np
import pytest

from confide.conformal.quantile import Calibration
from confide.diagnostics import Weights, effective_sample_size


def test_effective_sample_size_by_hand():
    assert effective_sample_size([1, 1, 1, 1]) == 4
    assert effective_sample_size([1, 2, 3]) == pytest.approx(36 / 14)
    assert effective_sample_size([5, 0, 0]) == 1
    assert effective_sample_size([1e-200, 2e-200, 3e-200]) == pytest.approx(36 / 14)
    assert effective_sample_size([1e200, 2e200, 3e200]) == pytest.approx(36 / 14)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1, np.nan], [np.inf, 1], [[1, 2]], 3.0])
def test_effective_sample_size_refuses_what_are_no_weights(weights):
    with pytest.raises(ValueError, match="weights must be"):
        effective_sample_size(weights)


def test_weights_by_hand():
    weights = Weights.of("drug", "calibration", Calibration.of([3.0, 1.0, 2.0], [1.0, 2.0, 5.0]))
    np.testing.assert_allclose(weights.shares, [5 / 8, 2 / 8, 1 / 8])
    assert weights.effective_size == pytest.approx(64 / 30)
    assert weights.largest_share == 5 / 8
    assert not weights.alike
    assert Weights.of(0, "calibration", Calibration.of(np.arange(9.0), np.full(9, 0.1))).alike
    nothing = Weights.of(0, "calibration", Calibration.of([]))
    weightless = Weights.of(0, "calibration", Calibration.of([1.0, 2.0], [0.0, 0.0]))
    for each in (nothing, weightless):
        assert (each.effective_size, each.largest_share) == (0, 0)
    assert not nothing.alike
