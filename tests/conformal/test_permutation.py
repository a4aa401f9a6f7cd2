import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from confide.conformal import permutation_weights
from confide.conformal.permutation import conditional_poisson, draw_conditional_poisson


def symmetric(ratios, size):
    """The elementary symmetric polynomial, exactly."""
    return sum((math.prod(subset) for subset in combinations([Fraction(r) for r in ratios], size)), Fraction(0))


def by_subsets(ratios, m):
    """The weights by their definition over subsets, in rational arithmetic."""
    total = symmetric(ratios, m + 1)
    rest = [ratios[:i] + ratios[i + 1 :] for i in range(len(ratios))]
    return [
        float(Fraction(r) * symmetric(others, m) / ((m + 1) * total)) for r, others in zip(ratios, rest, strict=True)
    ]


positive = st.floats(1e-3, 1e3)


@given(st.lists(positive, min_size=1, max_size=10), st.data())
def test_equals_brute_force_over_subsets(ratios, data):
    m = data.draw(st.integers(0, len(ratios) - 1))
    np.testing.assert_allclose(permutation_weights(ratios, m), by_subsets(ratios, m), rtol=0, atol=1e-12)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=9), st.data())
def test_right_over_sixty_orders_of_magnitude(exponents, data):
    ratios = [10.0**exponent for exponent in exponents]
    m = data.draw(st.integers(0, len(ratios) - 1))
    np.testing.assert_allclose(permutation_weights(ratios, m), by_subsets(ratios, m), rtol=1e-9, atol=1e-15)


def test_equals_the_paper_sum_over_permutations():
    """Eq. 5, word for word: n = 2 observational rows, m = 2 trial rows and the new one."""
    ratios = [0.5, 2.0, 1.5, 0.7, 3.0]
    places = range(2, 5)
    weight = {order: math.prod(ratios[order[place]] for place in places) for order in permutations(range(len(ratios)))}
    total = sum(weight.values())
    expected = [sum(w for order, w in weight.items() if order[-1] == i) / total for i in range(len(ratios))]
    np.testing.assert_allclose(permutation_weights(ratios, 2), expected, atol=1e-12)


def test_no_trial_row_is_the_plain_weighting():
    ratios = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(permutation_weights(ratios, 0), ratios / 8)


def test_zero_and_infinite_ratios():
    np.testing.assert_allclose(permutation_weights([0.0, 1.0, 3.0], 0), [0, 0.25, 0.75])
    np.testing.assert_allclose(permutation_weights([1.0, 3.0, np.inf], 1), [0.125, 0.375, 0.5])
    np.testing.assert_allclose(permutation_weights([2.0, 0.0, 7.0], 1), [0.5, 0, 0.5])
    for bad, m in [([0.0, 1.0], 1), ([np.inf, np.inf, 1.0], 0)]:
        with pytest.raises(ValueError, match="positive and at most"):
            permutation_weights(bad, m)
    with pytest.raises(ValueError, match="at least 0"):
        permutation_weights([-1.0, 1.0], 0)


@pytest.mark.parametrize(("count", "m"), [(2_600, 62), (40_000, 5), (40_000, 1_000), (3_000, 2_999)])
def test_many_points_add_up_and_scaling_changes_nothing(count, m):
    ratios = np.random.default_rng(0).gamma(0.3, size=count) + 1e-9
    weights = permutation_weights(ratios, m)
    assert abs(weights.sum() - 1) < 1e-12
    assert (weights * (m + 1) <= 1 + 1e-12).all()
    np.testing.assert_allclose(permutation_weights(1e20 * ratios, m), weights, rtol=1e-8)
    effective = 1 / np.sum(weights**2)
    assert effective >= m + 1 - 1e-6  # they cannot blow up


def test_equal_ratios_weigh_the_same():
    np.testing.assert_allclose(permutation_weights(np.full(500, 3.0), 99), 1 / 500, rtol=1e-10)


@given(st.lists(positive, min_size=3, max_size=9), st.data())
def test_the_step_to_a_larger_sample(ratios, data):
    size = data.draw(st.integers(0, len(ratios) - 1))
    kappa = math.exp(conditional_poisson(ratios, size).log_next)
    assert kappa == pytest.approx(float(symmetric(ratios, size + 1) / symmetric(ratios, size)), rel=1e-9)


@given(st.lists(positive, min_size=3, max_size=8), positive, st.data())
def test_dependence_on_the_new_point_is_a_mixture(ratios, new, data):
    """F(s; r) = (κ·F₀ + r·F_∞)/(κ + r), and inclusion grows with the sample."""
    m = data.draw(st.integers(1, len(ratios) - 2))
    sample, larger = conditional_poisson(ratios, m), conditional_poisson(ratios, m + 1)
    kappa = math.exp(sample.log_next)
    mixture = (kappa * larger.inclusion + new * sample.inclusion) / (kappa + new) / (m + 1)
    np.testing.assert_allclose(mixture, permutation_weights([*ratios, new], m)[:-1], atol=1e-10)
    assert (larger.inclusion >= sample.inclusion - 1e-12).all()


def test_hajek_stands_in_only_where_it_is_close(monkeypatch):
    ratios = np.random.default_rng(0).gamma(2.0, size=8_000)
    exact = permutation_weights(ratios, 1_500)
    few = permutation_weights(ratios, 5)
    monkeypatch.setattr("confide.conformal.permutation.EXACT_STEPS", 0)
    close = permutation_weights(ratios, 1_500)
    assert 0 < np.abs(close / exact - 1).max() < 1e-3
    np.testing.assert_array_equal(permutation_weights(ratios, 5), few)


@pytest.mark.parametrize("odds", [[1.0] * 6, [0.2, 5.0, 1.0, 1e-3, 30.0, 0.7], [1e-9, 1e9, 1.0, 1e6, 1e-6, 1e3]])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_drawn_samples_have_the_probabilities_of_their_subsets(odds, size):
    """A sample's probability is the product of its odds over e_size; a chi-square test at 0.1 %."""
    draws = 20_000
    samples = draw_conditional_poisson(np.array(odds), size, draws, np.random.default_rng(0))
    assert samples.shape == (draws, size)
    counts = Counter(map(tuple, samples.tolist()))
    subsets = list(combinations(range(len(odds)), size))
    assert set(counts) <= set(subsets)
    chances = np.array([math.prod(odds[i] for i in subset) for subset in subsets])
    expected = draws * chances / chances.sum()
    common = expected >= 5
    seen = np.array([counts[subset] for subset in subsets])
    assert seen[~common].sum() <= stats.poisson.ppf(0.999, expected[~common].sum())
    assert stats.chi2.sf(((seen - expected)[common] ** 2 / expected[common]).sum(), common.sum()) > 1e-3


def test_drawn_samples_of_many_points_include_each_as_often_as_they_should():
    rng = np.random.default_rng(1)
    odds, draws = np.exp(2 * rng.standard_normal(3000)), 2000
    included = np.bincount(draw_conditional_poisson(odds, 40, draws, rng).ravel(), minlength=3000) / draws
    exact = conditional_poisson(odds, 40).inclusion
    distances = (included - exact) / np.sqrt(exact * (1 - exact) / draws)
    assert np.mean(distances**2) == pytest.approx(1, abs=0.1)


def test_all_points_or_none_are_drawn_too():
    rng = np.random.default_rng(0)
    assert draw_conditional_poisson(np.array([0.1, 2.0, 9.0]), 0, 4, rng).shape == (4, 0)
    assert draw_conditional_poisson(np.array([0.1, 2.0, 9.0]), 3, 2, rng).tolist() == [[0, 1, 2]] * 2
