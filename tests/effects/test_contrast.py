"""Differences of means: exact arithmetic on small cases, and coverage by simulation."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from confide.effects.contrast import mean_differences


def rows(seed=0, n=30, share=3):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    treated = np.arange(n) % share == 0
    return 2 + score + rng.normal(size=n) * np.where(treated, 2, 1), score, treated


def welch(y, treated, alpha=0.05):
    result = stats.ttest_ind(y[treated], y[~treated], equal_var=False)
    return tuple(result.confidence_interval(1 - alpha))


def ends(estimate):
    return estimate.low, estimate.high


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("share", [2, 3, 7])
def test_without_a_score_it_is_welchs_interval(alpha, share):
    y, score, treated = rows(share=share)
    ((_, plain),) = mean_differences(y, score, treated, alpha=alpha)
    assert plain.effect == pytest.approx(y[treated].mean() - y[~treated].mean())
    assert ends(plain) == pytest.approx(welch(y, treated, alpha))


def test_of_a_constant_score_nothing_is_taken_off():
    y, _, treated = rows()
    ((adjusted, plain),) = mean_differences(y, np.full(30, 1e6 / 3), treated)
    assert adjusted == plain


def test_the_slope_makes_the_difference_vary_least():
    """In arms of one size and spread it is that of a regression on the treatment and the score."""
    y, score, treated = rows(n=40, share=2)
    ((adjusted, _),) = mean_differences(y, score, treated)
    design = np.column_stack([np.ones(40), treated, score])
    coefficients, squares, *_ = np.linalg.lstsq(design, y, rcond=None)
    assert adjusted.effect == pytest.approx(coefficients[1])
    error = np.sqrt(squares[0] / 37 * np.linalg.inv(design.T @ design)[1, 1])
    assert adjusted.high - adjusted.low == pytest.approx(2 * stats.t.ppf(0.975, 37) * error, rel=0.05)


def test_constants_and_units_do_not_matter():
    y, score, treated = rows()
    ((one, plain),) = mean_differences(y, score, treated)
    ((other, moved),) = mean_differences(3 * y + 700, 40 - 5 * score, treated)
    for before, after in ((one, other), (plain, moved)):
        assert (3 * before.effect, 3 * before.low, 3 * before.high) == pytest.approx(
            (after.effect, after.low, after.high)
        )


def test_arms_may_change_places():
    y, score, treated = rows()
    ((one, _),) = mean_differences(y, score, treated)
    ((other, _),) = mean_differences(y, score, ~treated)
    assert (one.effect, one.low, one.high) == pytest.approx((-other.effect, -other.high, -other.low))


def test_equal_weights_cost_little():
    y, score, treated = rows(n=200)
    ((plain, alone),) = mean_differences(y, score, treated)
    ((weighted, weighted_alone),) = mean_differences(y, score, treated, weight=np.full(200, 4.0))
    for before, after in ((plain, weighted), (alone, weighted_alone)):
        assert after.effect == pytest.approx(before.effect)
        assert 1 < (after.high - after.low) / (before.high - before.low) < 1.02


def test_weights_are_those_of_people():
    """A row of weight 2 moves the mean as two rows do."""
    y, score, treated = rows()
    weight = np.where(np.arange(30) < 15, 2.0, 1.0)
    ((_, plain),) = mean_differences(y, score, treated, weight=weight)
    means = [np.average(y[mine], weights=weight[mine]) for mine in (treated, ~treated)]
    assert plain.effect == pytest.approx(means[0] - means[1])


def test_whole_clusters_are_compared_by_their_means():
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(14), rng.integers(1, 9, size=14))
    y, score = rng.normal(size=14)[cluster] + rng.normal(size=len(cluster)), rng.normal(size=len(cluster))
    treated = cluster % 2 == 0
    means, scores = (np.array([each[cluster == number].mean() for number in range(14)]) for each in (y, score))
    (found,) = mean_differences(y, score, treated, cluster=cluster)
    (wanted,) = mean_differences(means, scores, np.arange(14) % 2 == 0)
    for one, other in zip(found, wanted, strict=True):
        assert (one.effect, *ends(one)) == pytest.approx((other.effect, *ends(other)))
    assert ends(found[1]) == pytest.approx(welch(means, np.arange(14) % 2 == 0))


def test_clusters_that_hold_both_arms_alike_are_compared_with_themselves():
    """With as many rows of each arm in a cluster it is the t-test of the clusters' differences."""
    rng = np.random.default_rng(2)
    cluster, treated = np.repeat(np.arange(9), 4), np.tile([True, False], 18)
    y = 5 * rng.normal(size=9)[cluster] + rng.normal(size=36)
    ((_, plain),) = mean_differences(y, rng.normal(size=36), treated, cluster=cluster)
    apart = [y[(cluster == k) & treated].mean() - y[(cluster == k) & ~treated].mean() for k in range(9)]
    assert ends(plain) == pytest.approx(tuple(stats.ttest_1samp(apart, 0).confidence_interval()))


def test_clusters_of_one_row_are_rows():
    y, score, treated = rows()
    assert mean_differences(y, score, treated, cluster=np.arange(30)[::-1]) == [
        tuple(
            type(each)(*(pytest.approx(value) for value in vars(each).values()))
            for each in mean_differences(y, score, treated)[0]
        )
    ]


def test_each_group_has_its_own_means_and_the_slope_is_common():
    y, score, treated = rows(n=60)
    group = np.arange(60) % 2
    moved = y + 100 * group * treated  # another effect in one group, which no slope may take for prognosis
    found, other = (mean_differences(each, score, treated, group=group) for each in (y, moved))
    assert other[0][0] == type(found[0][0])(*(pytest.approx(value) for value in vars(found[0][0]).values()))
    assert other[1][0].effect == pytest.approx(found[1][0].effect + 100)
    assert ends(found[0][1]) == pytest.approx(welch(y[group == 0], treated[group == 0]))


def test_too_few_rows_tell_nothing():
    y, score, treated = rows()
    treated = np.arange(30) < 1
    ((adjusted, plain),) = mean_differences(y, score, treated)
    for found in (adjusted, plain):
        assert ends(found) == (-np.inf, np.inf)
        assert np.isfinite(found.effect)
    ((adjusted, _),) = mean_differences(y, score, np.zeros(30, dtype=bool))
    assert np.isnan(adjusted.effect)
    assert ends(adjusted) == (-np.inf, np.inf)
    cluster = np.where(treated, 0, np.arange(30) % 5)
    ((adjusted, _),) = mean_differences(y, score, np.arange(30) % 5 == 0, cluster=cluster)
    assert ends(adjusted) == (-np.inf, np.inf)


def test_a_tiny_trial_learns_no_slope():
    y, score, treated = rows(n=8, share=2)
    ((adjusted, plain),) = mean_differences(y, score, treated)
    assert adjusted == plain
    ((adjusted, plain),) = mean_differences(*rows(n=10, share=2))
    assert adjusted != plain


def test_outcomes_that_do_not_vary_tell_nothing_unless_they_are_0_or_1():
    _, score, treated = rows()
    ((adjusted, _),) = mean_differences(np.full(30, 7.1), score, treated)
    assert (adjusted.effect, *ends(adjusted)) == (pytest.approx(0), -np.inf, np.inf)
    ((_, plain),) = mean_differences(np.zeros(30), score, treated, binary=True)
    assert plain.effect == 0
    # One 0 and one 1 more in each arm: 10 and 20 rows become 12 and 22.
    padded = np.concatenate([np.zeros(30), [0, 1, 0, 1]])
    assert ends(plain) == pytest.approx(welch(padded, np.concatenate([treated, [True, True, False, False]])))


def test_differences_of_risks_stay_between_minus_1_and_1():
    treated = np.arange(12) < 6
    ((adjusted, plain),) = mean_differences(treated.astype(float), np.arange(12.0) % 5, treated, binary=True)
    for found in (adjusted, plain):
        assert found.low > 0
        assert found.low < found.effect <= found.high == 1


def below(covers):
    return binom.cdf(sum(covers), len(covers), 0.95) < 0.01 / 8


def doubled_amounts(n, repetitions):
    """Return by how much estimates are off, with the score and without, and the share of intervals with the effect.

    The treatment doubles lognormal amounts.
    """
    rng, off, covers, truth = np.random.default_rng(0), [], [], np.exp(0.625)
    for _ in range(repetitions):
        x, treated = rng.normal(size=n), rng.permutation(n) < n // 2
        amount = np.exp(x + rng.normal(0, 0.5, n))
        ((adjusted, alone),) = mean_differences(np.where(treated, 2, 1) * amount, np.exp(x), treated)
        off.append((adjusted.effect - truth, alone.effect - truth))
        covers.append([each.low <= truth <= each.high for each in (adjusted, alone)])
    return np.array(off), np.mean(covers, axis=0)


@pytest.mark.slow
def test_the_slope_brings_a_bias_of_order_1_over_n():
    (small, _), (large, _) = doubled_amounts(20, 2000), doubled_amounts(320, 500)
    error = small.std(axis=0) / np.sqrt(len(small))
    assert small.mean(axis=0)[0] < -5 * error[0]  # so that nobody says again that there is none
    assert abs(small.mean(axis=0)[1]) < 4 * error[1]
    assert abs(large.mean(axis=0)[0]) < abs(small.mean(axis=0)[0]) / 4


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "covered"), [(60, (0.88, 0.92)), (300, (0.93, 0.94))])
def test_skewed_amounts_are_covered_less_as_the_page_of_averages_says(rows, covered):
    off, share = doubled_amounts(rows, 3000)
    np.testing.assert_allclose(share, covered, atol=0.015)
    if rows == 60:
        assert -0.3 < off[:, 0].mean() / off[:, 0].std() < -0.15  # a fifth of its standard error


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "weights", "whole", "divided"])
@pytest.mark.parametrize("useful", [True, False])
def test_intervals_cover(kind, useful):
    """Small trials with effects that differ between people, and a score that is good or wrong."""
    covers = []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(12), rng.integers(1, 9, size=12))
        x, z, noise = rng.normal(size=(3, len(cluster)))
        chance = np.clip(1 / (1 + np.exp(-x)), 0.2, 0.8) if kind == "weights" else np.full(len(x), 0.5)
        treated = rng.random(len(x)) < chance
        told = {}
        if kind == "weights":
            told["weight"] = 1 / np.where(treated, chance, 1 - chance)
        if kind == "whole":
            treated = (rng.permutation(12) < 6)[cluster]
        if kind in ("whole", "divided"):
            told["cluster"], noise = cluster, noise + rng.normal(size=12)[cluster]
        y = 5 + x + noise + treated * (1 + 0.5 * x)
        ((found, _),) = mean_differences(y, x if useful else z - x, treated, **told)
        covers.append(found.low <= 1 <= found.high)
    assert not below(covers)
