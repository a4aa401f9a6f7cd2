import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from confide.conformal import Calibration, weighted_quantile
from confide.conformal.quantile import rows_needed

ALPHAS = [*(f"0.{digits:02d}" for digits in range(1, 100)), "0.001", "0.005", "0.123", "0.3333", "0.9999"]

# Few distinct values, so that ties are common; many weights of 0.
scores_and_weights = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=25)
alphas = st.integers(1, 999).map(lambda thousandths: thousandths / 1000)


def exact_quantile(scores, weights, alpha, test_weight):
    """The definition, word for word, in rational arithmetic."""
    level = (1 - Fraction(alpha)) * (sum(map(Fraction, weights)) + Fraction(test_weight))
    for candidate in sorted(set(scores)):
        if sum(Fraction(w) for s, w in zip(scores, weights, strict=True) if s <= candidate) >= level > 0:
            return candidate
    return math.inf


@pytest.mark.parametrize("alpha", ALPHAS)
def test_equal_weights_give_the_exact_rank(alpha):
    rng = np.random.default_rng(0)
    for k in range(1, 26):
        rank = math.ceil((1 - Fraction(alpha)) * (k + 1))
        scores = rng.permutation(k) + 1.0
        expected = math.inf if rank > k else float(rank)
        assert weighted_quantile(scores, np.ones(k), float(alpha)) == expected
        assert Calibration.of(scores).quantile(float(alpha)) == expected
        assert (k >= rows_needed(float(alpha))) == math.isfinite(expected)


def test_alpha_is_the_decimal_that_was_typed():
    assert weighted_quantile(np.arange(1, 10), np.ones(9), 0.3) == 7


@given(scores_and_weights, alphas, st.integers(0, 5))
def test_equals_the_definition_in_rational_arithmetic(pairs, alpha, test_weight):
    scores, weights = zip(*pairs, strict=True)
    expected = exact_quantile(scores, weights, str(alpha), test_weight)
    assert weighted_quantile(scores, weights, alpha, test_weight=test_weight) == expected


@given(scores_and_weights, alphas, st.integers(0, 5), st.floats(1e-6, 1e6))
def test_scaling_changes_nothing(pairs, alpha, test_weight, factor):
    scores, weights = map(np.array, zip(*pairs, strict=True))
    assert weighted_quantile(scores, weights * factor, alpha, test_weight * factor) == weighted_quantile(
        scores, weights, alpha, test_weight
    )


@given(scores_and_weights, alphas, st.integers(1, 5))
def test_an_integer_weight_is_that_many_copies(pairs, alpha, test_weight):
    scores, weights = map(np.array, zip(*pairs, strict=True))
    copies = np.repeat(scores, weights)
    assert weighted_quantile(scores, weights, alpha, test_weight) == weighted_quantile(
        copies, np.ones(len(copies)), alpha, test_weight
    )


def test_replication_catches_the_known_wrong_implementation():
    """np.quantile of the cumulative weights picks the same rank whatever the weights are."""

    def wrong(scores, weights, alpha):
        order = np.argsort(scores)
        cumulative = np.cumsum(weights[order]) / np.sum(weights)
        return scores[order][np.searchsorted(cumulative, np.quantile(cumulative, 1 - alpha))]

    scores, weights = np.arange(10.0), np.r_[np.ones(9, dtype=int), 91]
    copies = np.repeat(scores, weights)
    assert wrong(scores, weights, 0.5) != wrong(copies, np.ones(100), 0.5)
    assert weighted_quantile(scores, weights, 0.5) == weighted_quantile(copies, np.ones(100), 0.5) == 9


@given(scores_and_weights, alphas, st.integers(0, 5))
def test_a_zero_weight_is_removal(pairs, alpha, test_weight):
    scores, weights = map(np.array, zip(*pairs, strict=True))
    kept = weights > 0
    assert weighted_quantile(scores, weights, alpha, test_weight) == weighted_quantile(
        scores[kept], weights[kept], alpha, test_weight
    )


@given(scores_and_weights, alphas, alphas, st.integers(0, 5))
def test_monotone_in_alpha(pairs, one, other, test_weight):
    scores, weights = zip(*pairs, strict=True)
    low, high = sorted([one, other])
    assert weighted_quantile(scores, weights, low, test_weight) >= weighted_quantile(scores, weights, high, test_weight)


@given(scores_and_weights, alphas, st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_quantile_and_membership_agree_with_ties(pairs, alpha, test_weights):
    scores, weights = map(np.array, zip(*pairs, strict=True))
    calibration = Calibration.of(scores, weights)
    candidates = np.arange(-1, 8, 0.5)
    quantiles = calibration.quantile(alpha, test_weights)
    inside = calibration.contains(candidates[:, None], alpha, test_weights)
    np.testing.assert_array_equal(inside, candidates[:, None] <= quantiles)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1e9)), min_size=1, max_size=30),
    alphas,
    st.floats(0, 1e9),
)
def test_quantile_and_membership_agree_for_any_floats(pairs, alpha, test_weight):
    scores, weights = map(np.array, zip(*pairs, strict=True))
    calibration = Calibration.of(scores, weights)
    np.testing.assert_array_equal(
        calibration.contains(scores, alpha, test_weight), scores <= calibration.quantile(alpha, test_weight)
    )


def test_no_weight_at_all_lets_everything_in():
    calibration = Calibration.of([1.0, 2.0], [0.0, 0.0])
    assert calibration.quantile(0.1, 0.0) == np.inf
    assert calibration.contains([0.0, 5.0, np.inf], 0.1, 0.0).all()


def test_no_scores_give_an_infinite_quantile():
    assert weighted_quantile([], [], 0.1) == np.inf


def test_one_value_a_test_weight():
    scores, weights = np.arange(5.0), np.ones(5)
    test_weights = np.array([0.0, 1.0, 3.0, 1e9])
    expected = [weighted_quantile(scores, weights, 0.4, w) for w in test_weights]
    np.testing.assert_array_equal(weighted_quantile(scores, weights, 0.4, test_weights), expected)
    assert isinstance(weighted_quantile(scores, weights, 0.4), float)


def test_infinite_scores_are_allowed():
    assert weighted_quantile([1.0, np.inf], [1.0, 1.0], 0.5) == np.inf
    assert weighted_quantile([1.0, 2.0, np.inf], [1.0, 1.0, 1.0], 0.5) == 2


def test_many_equal_weights_keep_their_rank():
    k = 1_000_000
    assert weighted_quantile(np.arange(1, k + 1), np.full(k, 0.1), 0.1, test_weight=0.1) == math.ceil(0.9 * (k + 1))


@given(st.integers(1, 400), alphas)
def test_the_number_of_rows_needed_is_the_least(k, alpha):
    assume(k >= rows_needed(alpha) - 2)
    assert math.isfinite(weighted_quantile(np.arange(k), np.ones(k), alpha)) == (k >= rows_needed(alpha))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "0.1", None, True])
def test_alpha_outside_its_bounds(alpha):
    with pytest.raises(ValueError, match="strictly between 0 and 1, got"):
        weighted_quantile([1.0], [1.0], alpha)


@pytest.mark.parametrize(
    ("scores", "weights", "test_weight", "message"),
    [
        ([1.0, np.nan], [1, 1], 1, "NaN"),
        ([1.0, 2.0], [1, -1], 1, "weights must be finite and at least 0, got -1"),
        ([1.0, 2.0], [1, np.inf], 1, "got inf"),
        ([1.0, 2.0], [1], 1, "2 scores need as many weights"),
        ([1.0, 2.0], [1, 1], -1, "test_weight"),
        ([[1.0, 2.0]], [[1, 1]], 1, "one-dimensional"),
    ],
)
def test_bad_scores_and_weights(scores, weights, test_weight, message):
    with pytest.raises(ValueError, match=message):
        weighted_quantile(scores, weights, 0.1, test_weight)
