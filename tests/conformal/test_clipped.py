"""The clipped quantile, against every order that trial and observational scores can have."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.conformal.clipped import ClippedQuantile
from confide.conformal.quantile import Calibration
from confide.conformal.stacked import rank_of

SMALL = [(m, others) for m in range(5) for others in range(1, 7)]


def rank_probability(m, others, r, k):
    """P(k) as it stands in the paper."""
    return Fraction(comb(k + r - 2, r - 1) * comb(others + m - k - r + 2, m - r + 1), comb(others + m + 1, m + 1))


@pytest.mark.parametrize(("m", "others"), SMALL)
def test_the_rank_probability_counts_all_orders(m, others):
    """The rank is 1 plus the number of smaller observational scores."""
    orders = list(combinations(range(m + 1 + others), m + 1))
    for r in range(1, m + 2):
        ranks = Counter(places[r - 1] - (r - 1) + 1 for places in orders)
        for k in range(1, others + 2):
            assert Fraction(ranks[k], len(orders)) == rank_probability(m, others, r, k)


@pytest.mark.parametrize(("m", "others"), [*SMALL, (9, 40), (20, 15)])
@pytest.mark.parametrize(("alpha", "beta"), [("0.1", "0.2"), ("0.3", "0.4"), ("0.5", "0.1"), ("0.05", "0.5")])
def test_the_ends_are_those_of_the_definition(m, others, alpha, beta):
    clipped = ClippedQuantile.of(m, others, Fraction(alpha), Fraction(beta))
    half, rank = Fraction(beta) / 2, rank_of(Fraction(alpha), others)
    a = b = 0
    for r in range(1, m + 2):
        cumulative = np.cumsum([rank_probability(m, others, r, k) for k in range(1, others + 2)])
        lower, upper = (1 + next(i for i, p in enumerate(cumulative) if p >= q) for q in (half, 1 - half))
        a, b = a + (upper <= rank), b + (lower <= rank)
    assert (clipped.least, clipped.most) == (min(a, m), max(b, 1))
    assert clipped.least <= clipped.most
    assert (clipped.floor, clipped.ceiling) == (Fraction(clipped.least, m + 1), Fraction(clipped.most, m + 1))


def covered(clipped, trial, others):
    """Each trial row in turn is the new one: the share of those in."""
    inside = [trial[new] <= clipped.offset(np.delete(trial, new), others) for new in range(len(trial))]
    return Fraction(sum(map(bool, inside)), len(trial))


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(-50, 50), max_size=12),
    st.sampled_from(["0.05", "0.1", "0.3", "0.5"]),
    st.sampled_from(["0.1", "0.4", "0.9"]),
)
@settings(max_examples=200, deadline=None)
def test_the_floor_holds_whatever_the_observational_scores_are(trial, others, alpha, beta):
    clipped = ClippedQuantile.of(len(trial) - 1, len(others), Fraction(alpha), Fraction(beta))
    trial = np.array(trial, dtype=float)
    assert covered(clipped, trial, others) >= clipped.floor
    without_ties = trial + np.arange(len(trial)) / 100
    assert clipped.floor <= covered(clipped, without_ties, others) <= clipped.ceiling


@pytest.mark.parametrize(("alpha", "beta"), [("0.2", "0.2"), ("0.3", "0.1"), ("0.1", "0.4")])
def test_with_exchangeable_observational_rows_at_most_beta_is_lost(alpha, beta):
    """Over all orders of 4 trial and 8 observational scores, coverage is at least 1-α-β."""
    clipped = ClippedQuantile.of(3, 8, Fraction(alpha), Fraction(beta))
    every = np.arange(12.0)
    shares = [covered(clipped, every[list(places)], np.delete(every, places)) for places in combinations(range(12), 4)]
    assert sum(shares) / len(shares) >= 1 - Fraction(alpha) - Fraction(beta)


def test_a_small_trial_gets_a_finite_offset():
    rng = np.random.default_rng(0)
    trial, others = rng.exponential(size=5), rng.exponential(size=2000)
    assert np.isinf(Calibration.of(trial).quantile(0.1))
    clipped = ClippedQuantile.of(5, 2000, 0.1, 0.4)
    assert clipped.offset(trial, others) == pytest.approx(np.log(10), rel=0.1)
    assert 0 < clipped.floor < 0.9
    # Observational scores that are too small or too large are clipped.
    assert clipped.offset(trial, 1e-6 * others) == np.sort(trial)[clipped.least - 1]
    assert clipped.offset(trial, 1e6 * others) >= trial.max()


def test_many_observational_rows_are_no_burden():
    clipped = ClippedQuantile.of(30, 1_000_000, 0.1, 0.2)
    assert clipped.least < rank_of(0.1, 30) <= clipped.most


def test_neither_trial_nor_observational_rows():
    assert ClippedQuantile.of(0, 100, 0.1, 0.2).floor == 0
    assert ClippedQuantile.of(0, 100, 0.1, 0.2).offset([], np.arange(100.0)) == 90
    assert ClippedQuantile.of(5, 0, 0.1, 0.2).offset(np.arange(5.0), []) == np.inf


def test_wrong_numbers():
    with pytest.raises(ValueError, match=r"beta must lie strictly between 0 and 1, got 1\.5"):
        ClippedQuantile.of(5, 10, 0.1, 1.5)
    with pytest.raises(ValueError, match="at least 0, got -1 and 10"):
        ClippedQuantile.of(-1, 10, 0.1, 0.5)
    with pytest.raises(ValueError, match="scores must be 5 numbers, none of them NaN"):
        ClippedQuantile.of(5, 10, 0.1, 0.5).offset(np.arange(4.0), np.arange(10.0))
