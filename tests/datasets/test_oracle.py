"""What every generator with an oracle must show; tests of one generator are in its own file."""

import numpy as np
import pytest
from scipy import stats

from confide import Intervals
from confide.datasets import synthetic_clinic, synthetic_shop
from decision import assert_covers

CLINICS = [
    {},
    {"skewness": 0},
    {"skewness": 3, "noise_spread": 0.2, "bias": -0.2},
    {"r2": 0, "bias_slope": -0.5},
    {"noise_spread": 0, "bias": 0.2, "bias_slope": 0.7},
]
SHOPS = [{}, {"confounding": -0.8, "r2": 0.2, "spread": 0.8}]
CASES = [(synthetic_clinic, case) for case in CLINICS] + [(synthetic_shop, case) for case in SHOPS]
everywhere = pytest.mark.parametrize(("generator", "case"), CASES)
ROWS = 50_000
# Every test below looks at both treatments; a handful of groups each.
LEVEL = 0.001


def groups(X, oracle, treatment, count=5):
    """Number of each row's group, by its scale."""
    rank = stats.rankdata(oracle.scale(X, treatment), method="ordinal") - 1
    return (rank * count // len(X)).astype(int)


@everywhere
def test_a_trial_differs_from_observational_rows_by_the_treatment_only(generator, case):
    rows, trial, again = (generator(500, randomized=r, random_state=1, **case) for r in (False, True, True))
    for name in ("X", "y0", "y1", "hidden"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(trial, name))
    np.testing.assert_array_equal(trial.treatment, again.treatment)
    assert (rows.treatment != trial.treatment).any()
    for data in (rows, trial):
        np.testing.assert_array_equal(data.y, np.where(data.treatment == 1, data.y1, data.y0))
        assert data.table().column_names == [*data.columns, "treatment", "outcome"]
        np.testing.assert_array_equal(data.table()["outcome"], data.y)
    np.testing.assert_array_equal(rows.treatment == 1, rows.hidden > rows.oracle.threshold(rows.X))


@everywhere
def test_a_trial_is_a_fair_coin_and_the_hidden_cause_is_in_the_choice_of_observational_rows_only(generator, case):
    trial, rows = generator(ROWS, True, random_state=2, **case), generator(ROWS, random_state=2, **case)
    assert stats.binomtest(int(trial.treatment.sum()), ROWS).pvalue > LEVEL
    assert stats.ks_2samp(trial.hidden[trial.treatment == 0], trial.hidden[trial.treatment == 1]).pvalue > LEVEL
    assert stats.ks_2samp(rows.hidden[rows.treatment == 0], rows.hidden[rows.treatment == 1]).pvalue < 1e-9
    # And it is in the outcomes, with the correlation that the oracle knows.
    oracle = rows.oracle
    score = stats.norm.ppf(oracle.cdf(rows.X, 1, rows.y1))
    if generator is synthetic_clinic:  # in the shop the score of those who spend nothing is not seen
        excess = score * rows.hidden - oracle.correlation(rows.X, 1)
        assert abs(excess.mean()) < stats.norm.isf(LEVEL / 2) * excess.std() / np.sqrt(ROWS)


@everywhere
@pytest.mark.parametrize("treatment", [0, 1])
def test_mean_and_scale_are_those_of_the_outcomes(generator, case, treatment):
    data = generator(ROWS, random_state=3, **case)
    outcome, oracle = (data.y0, data.y1)[treatment], data.oracle
    standard = (outcome - oracle.mean(data.X, treatment)) / oracle.scale(data.X, treatment)
    group = groups(data.X, oracle, treatment)
    p_values = []
    for each in range(5):
        mine = standard[group == each]
        p_values += [stats.ttest_1samp(mine, 0).pvalue, stats.ttest_1samp(mine**2, 1).pvalue]
    assert min(p_values) > LEVEL / len(p_values)


@pytest.mark.slow
@everywhere
@pytest.mark.parametrize("treatment", [0, 1])
def test_the_bias_and_the_scale_of_observational_rows_are_the_declared_ones(generator, case, treatment):
    data = generator(2 * ROWS, random_state=4, **case)
    mine = data.treatment == treatment
    X, oracle = data.X[mine], data.oracle
    middle = oracle.mean(X, treatment) + oracle.bias(X, treatment)
    standard = (data.y[mine] - middle) / oracle.observational_scale(X, treatment)
    group = groups(X, oracle, treatment)
    p_values = []
    for each in range(5):
        p_values.append(stats.ttest_1samp(standard[group == each], 0).pvalue)
        p_values.append(stats.ttest_1samp(standard[group == each] ** 2, 1).pvalue)
    assert min(p_values) > LEVEL / len(p_values)
    # Without the declared bias the same test rejects.
    assert stats.ttest_1samp(data.y[mine] - oracle.mean(X, treatment), 0).pvalue < 1e-6


@pytest.mark.parametrize(("generator", "case"), [(synthetic_clinic, {"bias": 0}), (synthetic_shop, {"confounding": 0})])
def test_without_bias_nothing_is_hidden(generator, case):
    data = generator(ROWS, random_state=5, **case)
    for treatment in (0, 1):
        np.testing.assert_allclose(data.oracle.bias(data.X[:1000], treatment), 0, atol=1e-8)
        np.testing.assert_allclose(data.oracle.correlation(data.X, treatment), 0, atol=1e-12)
        scale = data.oracle.scale(data.X[:1000], treatment)
        np.testing.assert_allclose(data.oracle.observational_scale(data.X[:1000], treatment), scale, rtol=1e-7)
        mine = data.treatment == treatment
        standard = (data.y[mine] - data.oracle.mean(data.X[mine], treatment)) / data.oracle.scale(
            data.X[mine], treatment
        )
        assert stats.ttest_1samp(standard, 0).pvalue > LEVEL


@everywhere
def test_quantiles_and_the_distribution_function_are_inverse(generator, case):
    data = generator(200, random_state=6, **case)
    levels = np.random.default_rng(0).uniform(size=200)
    for treatment in (0, 1, data.treatment):
        quantiles = data.oracle.quantile(data.X, treatment, levels)
        below = data.oracle.cdf(data.X, treatment, quantiles, below=True)
        at = data.oracle.cdf(data.X, treatment, quantiles)
        assert (below <= levels + 1e-9).all()
        assert (levels <= at + 1e-9).all()
    np.testing.assert_array_equal(data.oracle.cdf(data.X, 0, np.inf), 1)
    np.testing.assert_array_equal(data.oracle.cdf(data.X, 0, -np.inf), 0)


def test_one_treatment_per_row_is_the_same_as_one_by_one():
    for data in (synthetic_clinic(50, random_state=0), synthetic_shop(50, random_state=0)):
        for name in ("mean", "scale", "bias", "observational_scale", "correlation"):
            function = getattr(data.oracle, name)
            expected = np.where(data.treatment == 1, function(data.X, 1), function(data.X, 0))
            np.testing.assert_allclose(function(data.X, data.treatment), expected, rtol=1e-12)


@everywhere
def test_the_oracle_interval_covers_at_every_difficulty(generator, case):
    cells, ceilings = {}, {}
    for treatment in (0, 1):
        data = generator(ROWS, True, random_state=7 + treatment, **case)
        outcome, oracle = (data.y0, data.y1)[treatment], data.oracle
        group = groups(data.X, oracle, treatment, 10)
        for alpha in (0.1, 0.3):
            inside = oracle.interval(data.X, treatment, alpha).contains(outcome)
            exact = oracle.coverage(data.X, treatment, oracle.interval(data.X, treatment, alpha))
            for decile in range(10):
                name = (treatment, alpha, decile)
                cells[name] = (inside[group == decile].astype(float), 1 - alpha)
                ceilings[name] = exact[group == decile].mean()
            if generator is synthetic_clinic:
                np.testing.assert_allclose(exact, 1 - alpha, rtol=1e-9)
            else:
                assert (exact >= 1 - alpha - 1e-9).all()
                nothing = oracle.cdf(data.X, treatment, 0)
                assert (exact <= np.maximum(1 - alpha / 2, nothing) + 1e-9).all()
    assert_covers(cells, ceilings)


@everywhere
def test_the_conditional_coverage_of_any_interval_is_that_of_the_outcomes(generator, case):
    data = generator(ROWS, True, random_state=9, **case)
    oracle = data.oracle
    for lower, upper in ((0.0, 1.0), (-np.inf, 0.0), (0.5, np.inf), (-2.0, 0.3)):
        intervals = Intervals(np.full(ROWS, lower), np.full(ROWS, upper))
        excess = intervals.contains(data.y1) - oracle.coverage(data.X, 1, intervals)
        assert abs(excess.mean()) < stats.norm.isf(LEVEL / 8) * excess.std() / np.sqrt(ROWS)
    empty = Intervals(np.full(3, np.nan), np.full(3, np.nan))
    np.testing.assert_array_equal(oracle.coverage(data.X[:3], 1, empty), 0)


@pytest.mark.slow
@everywhere
@pytest.mark.parametrize("form", [{}, {"slope": False}, {"scaled": False}, {"tails": True}])
def test_intervals_of_the_same_form_cover_on_average(generator, case, form):
    rows = 20_000
    data = generator(rows, True, random_state=10, **case)
    for treatment in (0, 1):
        intervals = data.oracle.same_form(data.X, treatment, 0.1, **form)
        # The form's constants come from as many other rows.
        covered = data.oracle.coverage(data.X, treatment, intervals)
        error = covered.std() * np.sqrt(2 / rows)
        assert covered.mean() == pytest.approx(0.9, abs=stats.norm.isf(1e-4) * error + 1e-6)
        if form.get("scaled", True):
            share = intervals.width / data.oracle.observational_scale(data.X, treatment)
            np.testing.assert_allclose(share, share[0], rtol=1e-7)
        else:
            np.testing.assert_allclose(intervals.width, intervals.width[0], rtol=1e-9)


def test_the_same_form_is_the_oracle_interval_where_nothing_distorts_it():
    data = synthetic_clinic(1000, skewness=0, bias=0, random_state=0)
    for treatment in (0, 1):
        found, truth = data.oracle.same_form(data.X, treatment), data.oracle.interval(data.X, treatment)
        np.testing.assert_allclose(found.lower, truth.lower, atol=1e-6)
        np.testing.assert_allclose(found.upper, truth.upper, atol=1e-6)


def test_the_same_form_takes_out_a_bias_that_does_not_depend_on_x_and_not_one_that_does():
    flat, sloping = (synthetic_clinic(1000, skewness=0, bias_slope=slope, random_state=0) for slope in (0, 1))
    for data, exact in ((flat, True), (sloping, False)):
        intervals = data.oracle.same_form(data.X, 1)
        miss = np.abs((intervals.lower + intervals.upper) / 2 - data.oracle.mean(data.X, 1))
        assert (miss.max() < 1e-6) == exact


@pytest.mark.parametrize("treatment", [2, -1, "a", [0, 1, 0.5]])
def test_an_unknown_treatment_is_named(treatment):
    data = synthetic_clinic(3, random_state=0)
    with pytest.raises(ValueError, match="treatment must be 0 or 1"):
        data.oracle.mean(data.X, treatment)
