import numpy as np
import pytest
from scipy import stats

from confide.datasets import synthetic


def test_the_record_is_consistent_and_seeded():
    data, again = (synthetic(500, d=3, random_state=1) for _ in range(2))
    assert data.X.shape == (500, 3)
    np.testing.assert_array_equal(data.y, np.where(data.treatment == 1, data.y1, data.y0))
    np.testing.assert_array_equal(data.X, again.X)


def test_a_trial_is_a_fair_coin_independent_of_the_outcomes():
    data = synthetic(20_000, randomized=True, random_state=0)
    assert stats.binomtest(int(data.treatment.sum()), 20_000).pvalue > 1e-3
    assert stats.ks_2samp(data.y0[data.treatment == 0], data.y0[data.treatment == 1]).pvalue > 1e-3


def test_observational_rows_have_no_overlap_where_the_probability_is_cut():
    data = synthetic(50_000, hidden=False, random_state=0)
    hidden = data.X[:, 0]
    assert data.treatment[hidden > 1.125].all()
    assert not data.treatment[hidden < -0.125].any()
    assert stats.ks_2samp(data.y0[data.treatment == 0], data.y0[data.treatment == 1]).pvalue < 1e-9


def test_moments_follow_the_formulas():
    data = synthetic(200_000, random_state=0)
    assert data.X.std() == pytest.approx(np.sqrt(25**2 + 16**2 + 1), rel=0.02)  # sd of Z(25 - 16U) + U
    u = synthetic(200_000, hidden=False, noise=0.0, random_state=0)
    np.testing.assert_allclose(u.y0, 1 / (1 + np.exp(-3 * (u.X[:, 0] - 2))))
    np.testing.assert_allclose(u.y1, 1 / (1 + np.exp(-3 * (u.X[:, 0] + 2))))
