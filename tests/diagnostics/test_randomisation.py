import numpy as np
import pytest

from confide.diagnostics.randomisation import randomisation_test


def trial(rows=200, seed=0, slope=0.0, columns=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    chance = 1 / (1 + np.exp(-slope * X[:, 1]))
    treated = rng.random(rows) < chance
    return X, treated.astype(int), np.where(treated, chance, 1 - chance)


def test_a_trial_that_was_not_randomised():
    X, treatment, chance = trial(slope=1.5)
    found = randomisation_test(X, treatment, names=["a", "b", "c"])
    assert found.p_value == 0.001
    assert found.covariate == "b"
    treated = treatment == 1
    apart = X[treated, 1].mean() - X[~treated, 1].mean()
    assert found.treatment == 1
    assert found.difference == pytest.approx(apart / X[:, 1].std())
    assert found.difference > 0.3
    assert found.rows == 200
    assert randomisation_test(X, treatment, chance).p_value > 0.05


def test_squares_are_seen():
    X, _, _ = trial(rows=400)
    assert randomisation_test(X, (np.abs(X[:, 0]) > 0.7).astype(int)).p_value == 0.001


def test_wrong_probabilities():
    X, treatment, _ = trial(rows=400)
    stated = trial(rows=400, slope=1.5)[2]
    assert randomisation_test(X, treatment, stated).p_value == 0.001


@pytest.mark.parametrize("stated", [False, True])
def test_p_values_of_fair_trials_are_even(stated):
    p_values = []
    for seed in range(60):
        X, treatment, chance = trial(rows=30, seed=seed, slope=1.0 if stated else 0.0)
        p_values.append(randomisation_test(X, treatment, chance if stated else None, random_state=seed).p_value)
    assert np.mean(p_values) == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 60))
    assert np.mean(np.array(p_values) <= 0.1) < 0.25


def test_the_draws_permute_treatments():
    """One covariate in four rows: of the 6 ways to treat two of them, 2 are as unbalanced as the one seen."""
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    assert randomisation_test(X, np.array([0, 0, 1, 1])).p_value == pytest.approx(1 / 3, abs=0.06)
    assert randomisation_test(X, np.array([5, 9, 5, 9])).p_value == 1.0


def test_three_treatments():
    X, _, _ = trial(rows=300)
    treatment = np.digitize(X[:, 2] + np.random.default_rng(1).normal(size=300), [-0.5, 0.5])
    found = randomisation_test(X, treatment)
    assert found.covariate == "column 2"
    mine = treatment == found.treatment
    apart = X[mine, 2].mean() - X[~mine, 2].mean()
    assert found.difference == pytest.approx(apart / X[:, 2].std())
    assert randomisation_test(X, treatment, np.full(300, 1 / 3)) is None


def test_nothing_to_test():
    X, treatment, _ = trial(rows=20)
    assert randomisation_test(X, np.zeros(20, dtype=int)) is None
    assert randomisation_test(np.ones((20, 2)), treatment) is None
