"""The test for hidden confounding: by hand, and its size and power by Monte Carlo."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator

from confide.diagnostics import hidden_confounding_test
from confide.diagnostics.confounding_test import DRAWS, _covariance_test, best_out_of_fold, squared_errors
from studies.confounding import repeat_test, tilted, unconfounded


def with_known_regressions(monkeypatch, outcome, source):
    """Replace the cross-fitted predictions of the outcome and of being observational."""

    def predictions(_models, _X, target, _folds, _losses):
        return np.broadcast_to(source if target.dtype == bool else outcome, len(target)).copy()

    monkeypatch.setattr("confide.diagnostics.confounding_test.best_out_of_fold", predictions)


@pytest.mark.parametrize("copies", [1, 100])
def test_the_formula_by_hand(monkeypatch, copies):
    """With residuals y and the source's own, T = √N·mean(R)/sd(R) and the bias is ΣR/Σ(source residual)²."""
    rng = np.random.default_rng(0)
    n = 40 * copies
    y, observational = rng.standard_normal(n), np.repeat([True, False], [30 * copies, 10 * copies])
    with_known_regressions(monkeypatch, 0.1, 0.75)
    statistic, p_value, bias = _covariance_test(np.zeros((n, 1)), y, observational, seed=0)
    residual = observational - 0.75
    products = (y - 0.1) * residual
    assert statistic == pytest.approx(np.sqrt(n) * products.mean() / products.std())
    # Many rows: the normal distribution. Few: sources drawn anew, which for normal outcomes comes to the same.
    normal = 2 * (1 - stats.norm.cdf(abs(statistic)))
    assert p_value == pytest.approx(normal, rel=1e-9 if copies > 1 else 0.2)
    assert p_value > 0.01
    assert bias == pytest.approx(products.sum() / (residual**2).sum())
    # Without covariates that is the difference of means, observational minus trial.
    assert bias == pytest.approx(y[observational].mean() - y[~observational].mean())


@pytest.mark.parametrize("trial_rows", [5, 6])
def test_the_p_value_of_few_rows_is_that_over_all_ways_to_draw_the_sources(monkeypatch, trial_rows):
    """All subsets with the probability that their odds give them, by brute force; either source may be the smaller."""
    y = np.array([0.1, 0.5, 0.2, 3.0, 0.3, 0.9, 8.0, 0.4, 1.1, 0.6, 2.0])
    source = np.array([0.5, 0.6, 0.7, 0.8, 0.5, 0.4, 0.3, 0.6, 0.9, 0.2, 0.5])
    observational = np.arange(11) >= trial_rows
    with_known_regressions(monkeypatch, 1.0, source)
    statistic, p_value, _ = _covariance_test(np.zeros((11, 1)), y, observational, seed=0)

    drawn, chances = [], []
    for subset in combinations(range(11), trial_rows):
        labels = ~np.isin(np.arange(11), subset)
        products = (y - 1) * (labels - source)
        drawn.append(np.sqrt(11) * products.mean() / products.std())
        chances.append(np.prod(np.where(labels, source, 1 - source)))
    drawn, chances = np.array(drawn), np.array(chances) / np.sum(chances)
    sides = chances[drawn >= statistic - 1e-9].sum(), chances[drawn <= statistic + 1e-9].sum()
    exact = min(2 * min(sides), 1)
    assert p_value == pytest.approx(exact, abs=5 * np.sqrt(exact / DRAWS))


@pytest.mark.slow
def test_without_covariates_it_is_a_permutation_test_and_keeps_its_level(monkeypatch):
    """Twelve lognormal trial rows, constants for both regressions: 5 %, where the normal distribution has 11 %."""
    monkeypatch.setattr("confide.diagnostics.confounding_test.DRAWS", 199)
    rng = np.random.default_rng(1)
    n, repetitions = 200, 600
    observational = np.arange(n) >= 12
    p_values, normal = np.empty(repetitions), np.empty(repetitions)
    for repetition in range(repetitions):
        y = rng.lognormal(0, 1, n)
        with_known_regressions(monkeypatch, y.mean(), observational.mean())
        statistic, p_values[repetition], _ = _covariance_test(np.zeros((n, 1)), y, observational, seed=repetition)
        normal[repetition] = 2 * stats.norm.sf(abs(statistic))
    found = int(np.sum(p_values <= 0.05))
    assert 0.005 < stats.binom.cdf(found, repetitions, 0.05) < 0.995
    assert stats.binom.sf(int(np.sum(normal <= 0.05)) - 1, repetitions, 0.05) < 1e-6


def test_no_row_is_predicted_by_a_model_that_saw_it():
    class Memory(BaseEstimator):
        def fit(self, X, _y):
            self.seen = set(X[:, 0])
            return self

        def predict(self, X):
            assert not self.seen & set(X[:, 0])
            return np.zeros(len(X))

    X = np.arange(20.0)[:, None]
    folds = [(np.setdiff1d(np.arange(20), part), part) for part in np.split(np.arange(20), 4)]
    np.testing.assert_array_equal(best_out_of_fold({"one": Memory()}, X, X[:, 0], folds, squared_errors), np.zeros(20))


def test_the_bias_is_that_of_the_outcome():
    rng = np.random.default_rng(3)
    trial = np.arange(4000) >= 3000
    X = rng.standard_normal((4000, 2)) + 0.5 * trial[:, None]
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(4000)
    treatment = rng.integers(0, 2, 4000)
    y[~trial] += np.where(treatment == 1, -0.5, 0.3)[~trial]
    control, treated = hidden_confounding_test(X, y, treatment, trial)
    assert control.bias == pytest.approx(0.3, abs=0.15)
    assert treated.bias == pytest.approx(-0.5, abs=0.15)
    assert control.statistic > 3
    assert treated.statistic < -3
    assert max(control.p_value, treated.p_value) < 0.01


@pytest.mark.slow
def test_frames_any_labels_missing_values_and_the_seed():
    X, y, treatment, trial = tilted(600, 200, 2, seed=0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "sex": np.where(X[:, 0] > 0, "f", "m")})
    frame.loc[::7, "b"] = np.nan
    labels = np.array(["drug", "placebo"])[treatment]
    once, twice = (hidden_confounding_test(frame, y, labels, trial, random_state=4) for _ in range(2))
    assert once == twice
    assert [record.treatment for record in once] == ["drug", "placebo"]
    assert all(np.isfinite([record.statistic, record.p_value, record.bias]).all() for record in once)
    assert hidden_confounding_test(frame, y, labels, trial, random_state=5) != once


def test_too_few_rows_give_nan_and_a_warning():
    X, y, treatment, trial = tilted(300, 100, 1, seed=0)
    first = np.flatnonzero(trial & (treatment == 1))[:9]
    keep = np.r_[np.flatnonzero(~trial | (treatment == 0)), first]
    message = "treatment 1: the test needs 10 rows of each source; there are 9 trial rows. Its numbers are NaN"
    with pytest.warns(UserWarning, match=message) as caught:
        control, treated = hidden_confounding_test(X[keep], y[keep], treatment[keep], trial[keep])
    assert caught[0].filename == __file__
    assert np.isfinite(control.p_value)
    assert np.isnan([treated.statistic, treated.p_value, treated.bias]).all()
    with pytest.warns(UserWarning, match="there are 0 observational rows"):
        hidden_confounding_test(X, y, np.where(trial, treatment, 0), trial)


def test_an_outcome_that_never_varies_is_no_evidence():
    X, y, treatment, trial = tilted(100, 60, 1, seed=0)
    for record in hidden_confounding_test(X, np.ones_like(y), treatment, trial):
        assert (record.statistic, record.p_value, record.bias) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"trial": np.zeros(160, dtype=bool)}, "none of the 160 rows is from the trial"), ({"y": np.zeros(3)}, "differ")],
)
def test_bad_input(changes, error):
    X, y, treatment, trial = tilted(100, 60, 1, seed=0)
    with pytest.raises(ValueError, match=error):
        hidden_confounding_test(**{"X": X, "y": y, "treatment": treatment, "trial": trial} | changes)


def rejections(case, n, m, d, seeds):
    """How many of the tests at 5 % reject, and how many tests there were."""
    p_values = [record.p_value for seed in seeds for record in repeat_test(case, n, m, d, seed)]
    return int(np.sum(np.array(p_values) < 0.05)), len(p_values)


def assert_size(case, n, m, d, seeds):
    """A size of 5 % is rejected at 1 %, one-sided; the two arms of a repetition share no rows."""
    found, tests = rejections(case, n, m, d, seeds)
    assert stats.binom.sf(found - 1, tests, 0.05) > 0.01, f"{found} of {tests} reject"


@pytest.mark.slow
@pytest.mark.parametrize(("m", "repetitions"), [(250, 12), (50, 12)])
def test_size(m, repetitions):
    assert_size("no confounding", 1000, m, 1, range(100, 100 + repetitions))


@pytest.mark.slow
def test_size_for_skewed_outcomes_of_a_dozen_rows():
    assert_size("no confounding, skewed", 300, 24, 2, range(8))


@pytest.mark.slow
def test_the_size_would_fail_without_the_covariates():
    """The rule can fail: with constants for both regressions the same data are rejected far too often."""
    p_values = []
    for seed in range(8):
        X, y, treatment, trial = unconfounded(1000, 250, 1, seed)
        p_values += [record.p_value for record in hidden_confounding_test(np.zeros_like(X), y, treatment, trial)]
    found = int(np.sum(np.array(p_values) < 0.05))
    assert stats.binom.sf(found - 1, len(p_values), 0.05) < 0.01


@pytest.mark.slow
def test_power():
    """A power of 0.9 would show fewer rejections than these with probability above 1 %."""
    found, tests = rejections("selected by the outcome", 4000, 400, 3, range(5))
    assert found == tests == 10


@pytest.mark.long
@pytest.mark.parametrize(("n", "m", "d"), [(10_000, 250, 1), (10_000, 1000, 1), (2000, 100, 1), (2000, 250, 5)])
def test_size_at_length(n, m, d):
    assert_size("no confounding", n, m, d, range(1000, 1250))


@pytest.mark.long
@pytest.mark.parametrize(("m", "repetitions"), [(24, 1000), (40, 300), (80, 300), (200, 300)])
def test_size_for_skewed_outcomes_at_length(m, repetitions):
    assert_size("no confounding, skewed", 2000, m, 2, range(5000, 5000 + repetitions))


@pytest.mark.long
def test_power_at_length_and_its_limit():
    found, tests = rejections("selected by the outcome", 4000, 400, 3, range(100))
    assert stats.binom.cdf(found, tests, 0.9) > 0.01
    # A bias that changes sign with the covariates averages to nothing: no rejection is no evidence.
    found, tests = rejections("selected, sign changes with x", 4000, 400, 3, range(100))
    assert found / tests < 0.3
