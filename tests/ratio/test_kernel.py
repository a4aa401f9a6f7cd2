import numpy as np
import pytest
from densratio import densratio
from sklearn.exceptions import NotFittedError

from confide.ratio import KLIEP, ClassifierRatio, KernelMeanMatching, KernelRatio, NaiveBayesRatio, check_ratio
from confide.ratio.kernel import BANDWIDTHS, leave_one_out_errors
from helpers import delta, gaussians


@pytest.mark.parametrize(("method", "beta"), [("uLSIF", 0.0), ("RuLSIF", 0.1), ("RuLSIF", 0.5)])
def test_raw_agrees_with_densratio(method, beta):
    trial, observational, _ = gaussians(300, 120)
    peer = densratio(trial, observational, method=method, sigma=0.8, lambda_=0.1, alpha=beta, verbose=False)
    ours = KernelRatio(beta, sigma=0.8, penalty=0.1, centers=np.asarray(peer.kernel_info.centers), raw=True)
    ours.fit(trial, observational)
    expected = np.asarray(peer.compute_density_ratio(observational)).ravel()
    np.testing.assert_allclose(ours.predict(observational), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.6])
@pytest.mark.parametrize(("n", "m"), [(9, 12), (15, 7), (2, 2)])
def test_the_leave_one_out_error_is_brute_force(beta, n, m):
    rng = np.random.default_rng(1)
    top, bottom = np.exp(-rng.random((n, 4))), np.exp(-3 * rng.random((m, 4)))
    penalties = np.array([0.01, 0.1, 1.0])
    expected = []
    for penalty in penalties:
        errors = []
        for i in range(min(n, m)):
            phi, psi = np.delete(top, i, axis=0), np.delete(bottom, i, axis=0)
            H = beta * phi.T @ phi / len(phi) + (1 - beta) * psi.T @ psi / len(psi) + penalty * np.eye(4)
            coefficients = np.maximum(np.linalg.solve(H, phi.mean(axis=0)), 0)
            at_phi, at_psi = top[i] @ coefficients, bottom[i] @ coefficients
            errors.append(beta / 2 * at_phi**2 + (1 - beta) / 2 * at_psi**2 - at_phi)
        expected.append(np.mean(errors))
    np.testing.assert_allclose(leave_one_out_errors(top, bottom, beta, penalties), expected, rtol=1e-9)


def test_bandwidth_and_penalty_minimise_the_error():
    ratio = KernelRatio(random_state=0).fit(*gaussians(400, 200)[:2])
    assert ratio.errors_.shape == (8, 9)
    best = np.unravel_index(ratio.errors_.argmin(), ratio.errors_.shape)
    assert ratio.penalty_ == pytest.approx(10.0 ** np.linspace(-3, 1, 9)[best[1]])
    assert ratio.sigma_ == pytest.approx(ratio.median_ * BANDWIDTHS[best[0]])


@pytest.mark.slow
@pytest.mark.parametrize("family", [KernelRatio, KLIEP, KernelMeanMatching])
def test_the_order_of_rows_does_not_matter(family):
    trial, observational, truth = gaussians(3000, 150)
    fresh = gaussians(3000, 1, seed=9)[1]
    errors = [
        delta(family(random_state=0).fit(trial, rows), fresh, truth)
        for rows in (observational, observational[np.argsort(observational[:, -1])])
    ]
    assert errors[1] < errors[0] + 0.06


def test_limits_do_not_survive_a_new_fit():
    trial, observational, _ = gaussians(100, 50)
    ratio = KernelRatio(0.1, random_state=0).fit(trial, observational)
    assert ratio.limits_[1] < np.inf
    assert ratio.set_params(beta=0.0).fit(trial, observational).limits_ == (0.0, np.inf)
    with pytest.raises(NotFittedError):
        KernelRatio().predict(trial)


RATIOS = {
    "kernel": lambda: KernelRatio(random_state=0),
    "relative": lambda: KernelRatio(beta=0.1, random_state=0),
    "kliep": lambda: KLIEP(random_state=0),
    "mean matching": lambda: KernelMeanMatching(random_state=0),
    "naive bayes": lambda: NaiveBayesRatio(cells=20),
    "auto": lambda: check_ratio("auto").set_params(random_state=0),
}
BLIND = 0.38  # Δ of r̂ ≡ 1 for this pair


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.slow
def test_every_ratio_recovers_a_known_one_out_of_sample(name):
    trial, observational, truth = gaussians(2000, 600)
    error = delta(RATIOS[name]().fit(trial, observational), gaussians(3000, 1, seed=9)[1], truth)
    assert error < 0.5 * BLIND


def test_blind_is_as_bad_as_the_tests_above_say():
    _, observational, truth = gaussians(20_000, 1)
    assert 0.5 * np.mean(np.abs(truth(observational) - 1)) == pytest.approx(BLIND, abs=0.01)


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.slow
def test_missing_values_constant_columns_and_the_seed(name):
    trial, observational, _ = gaussians(300, 80)
    observational[::7, 0] = np.nan
    trial, observational = (np.column_stack([np.ones(len(rows)), rows]) for rows in (trial, observational))
    one, two = (RATIOS[name]().fit(trial, observational).predict(observational) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.isfinite(one).all()
    assert (one >= 0).all()


@pytest.mark.parametrize("on", ["x", "y", "xy"])
@pytest.mark.parametrize("ratio", [KernelRatio(0.1), KLIEP(), KernelMeanMatching(), ClassifierRatio()])
def test_on_selects_columns_in_every_family(ratio, on):
    trial, observational, _ = gaussians(200, 60)
    fitted = ratio.set_params(on=on, random_state=0).fit(trial, observational)
    rows = observational[:3]
    moved_x, moved_y = rows + [1.0, 0.0], rows + [0.0, 1.0]  # noqa: RUF005
    same = fitted.predict(rows)
    assert np.array_equal(fitted.predict(moved_x), same) == ("x" not in on)
    assert np.array_equal(fitted.predict(moved_y), same) == ("y" not in on)


def test_a_relative_ratio_is_converted_and_bounded():
    rng = np.random.default_rng(0)
    trial, observational = rng.normal(0, 1, (400, 1)), rng.normal(2.5, 1, (2000, 1))
    raw = KernelRatio(0.2, sigma=1.0, penalty=0.01, raw=True, random_state=0).fit(trial, observational)
    scaled = KernelRatio(0.2, random_state=0).fit(trial, observational)
    assert raw.predict(trial).max() <= 1.2 / 0.2
    assert scaled.predict(trial).max() > 3 * raw.predict(trial).max()
    assert scaled.predict(trial).max() <= scaled.limits_[1]
    assert scaled.clipped_ == np.count_nonzero(scaled.predict(np.r_[trial, observational]) >= scaled.limits_[1])


def test_naive_bayes_counts_values_and_cells():
    trial, observational = np.array([[9.0, 1], [9, 1], [9, 2]]), np.array([[0.0, 1], [0, 2], [0, 2], [0, 3]])
    ratio = NaiveBayesRatio(smoothing=1).fit(trial, observational)
    np.testing.assert_allclose(
        ratio.predict([[5, 1], [5, 2], [5, 3]]), [3 / 6 / (2 / 7), 2 / 6 / (3 / 7), 1 / 6 / (2 / 7)]
    )
    cells = NaiveBayesRatio(cells=4).fit(*gaussians(500, 200)[:2])
    assert len(np.unique(cells.ratios_)) == 4


@pytest.mark.parametrize(
    ("ratio", "message"),
    [
        (KernelRatio(beta=1.0), "beta must be at least 0 and below 1, got 1.0"),
        (KernelRatio(beta="a"), "beta must be at least 0 and below 1, got 'a'"),
        (KernelRatio(centers=0), "centers must be positive, got 0"),
        (KernelRatio(sigma=-1.0), "sigma must be positive, got -1.0"),
        (KernelRatio(sigma=[]), "sigma must be positive"),
        (KernelRatio(penalty=0.0), "penalty must be positive, got 0.0"),
        (KernelMeanMatching(rows=0), "rows must be positive, got 0"),
        (NaiveBayesRatio(smoothing=0), "smoothing must be positive, got 0"),
        (NaiveBayesRatio(cells=1), "cells must be an integer of at least 2, got 1"),
    ],
)
def test_bad_parameters(ratio, message):
    with pytest.raises(ValueError, match=message):
        ratio.fit(*gaussians(20, 10)[:2])


def test_one_row_cannot_be_left_out():
    with pytest.raises(ValueError, match="leave-one-out needs at least 2 rows"):
        KernelRatio().fit(np.ones((1, 1)), np.zeros((5, 1)))
    assert KernelRatio(sigma=1, penalty=1).fit(np.ones((1, 1)), np.zeros((5, 1))).predict([[1.0]]) > 0


@pytest.mark.parametrize("n", [5_000, 200_000])
def test_a_tiny_trial_among_many_rows_is_not_overlooked(n):
    trial, observational, truth = gaussians(n, 125)
    fresh = gaussians(5_000, 1, seed=3)[1]
    assert delta(ClassifierRatio(random_state=0).fit(trial, observational), fresh, truth) < 0.4 * BLIND
