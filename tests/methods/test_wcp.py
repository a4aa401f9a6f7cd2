import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from confide import WCP
from confide.conformal import weighted_quantile
from confide.ratio import OracleRatio
from decision import assert_covers
from helpers import arm_rows


def confounded_arm(n=3000, seed=0):
    """An observational table with a treatment that follows x, no trial needed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1))
    treated = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.exp(-X[:, 0] / 2) * rng.standard_normal(n)  # rarely treated rows are the noisy ones
    return X, y, treated


def test_the_interval_is_the_weighted_quantile_around_the_base():
    X, y, treated = confounded_arm()
    no_trial = np.zeros(treated.sum(), dtype=bool)
    arm = WCP(base=LinearRegression(), random_state=0).fit(X[treated], y[treated], trial=no_trial, population=X)
    new = np.linspace(-2, 2, 5)[:, None]
    weight = arm.ratio_.predict(np.column_stack([new, np.zeros(5)]))
    weights = np.diff(arm.calibration_.cumulative)
    q = weighted_quantile(arm.calibration_.scores, weights, 0.1, test_weight=weight)
    centre = arm.base_.predict(new)
    np.testing.assert_allclose(arm.predict_interval(new), np.column_stack([centre - q, centre + q]))
    assert weight[0] > 5 * weight[-1]  # rarely treated at small x, so such rows weigh more


def test_rows_of_the_other_arms_are_those_that_the_population_has_beside_the_arm():
    X, y, treated = confounded_arm(500)
    no_trial = np.zeros(treated.sum(), dtype=bool)
    arm = WCP(base=LinearRegression(), random_state=0)
    sought = arm.fit(X[treated], y[treated], trial=no_trial, population=X).predict_interval(X)
    others = X[~treated], y[~treated]
    told = arm.fit(X[treated], y[treated], trial=no_trial, population=X, others=others).predict_interval(X)
    np.testing.assert_array_equal(told, sought)


def test_weighting_restores_coverage_without_hidden_confounding():
    X, y, treated = confounded_arm(20_000)
    no_trial = np.zeros(treated.sum(), dtype=bool)
    new_X, new_y, _ = confounded_arm(20_000, seed=1)
    coverage = {}
    for name, ratio in {"weighted": None, "blind": OracleRatio(lambda rows: np.ones(len(rows)), on="x")}.items():
        arm = WCP(base=LinearRegression(), ratio=ratio, random_state=0)
        arm.fit(X[treated], y[treated], trial=no_trial, population=X)
        coverage[name] = arm.predict_interval(new_X).contains(new_y).mean()
    assert coverage["weighted"] == pytest.approx(0.9, abs=0.02)
    assert coverage["blind"] < 0.85


@pytest.mark.slow
def test_the_promise_holds_for_a_constant_propensity_and_only_with_scaled_weights():
    """One person in five is rarely treated, and hard to predict: 1 % of the arm, w = 20 there and 0.808 elsewhere."""
    rare, in_arm = 0.2, 0.01
    shares, w = np.array([1 - in_arm, in_arm]), np.array([(1 - rare) / (1 - in_arm), rare / in_arm])
    constant = w.min()  # any constant ê gives the same intervals
    promise = 0.9 - 0.5 * shares @ np.abs(w - 1)  # ŵ/Eŵ = 1
    unscaled = 0.9 - 0.5 * shares @ np.abs(w - constant)
    assert (promise, unscaled) == pytest.approx((0.71, 0.804), abs=5e-4)

    def draw(rng, share, rows):
        hard = rng.uniform(size=rows) < share
        return hard[:, None].astype(float), np.where(hard, 100, 1) * rng.uniform(-1, 1, rows)

    coverages = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, in_arm, 1000)
        new_X, new_y = draw(rng, rare, 500)
        ratio = OracleRatio(lambda rows: np.full(len(rows), constant), on="x")
        arm = WCP(base=DummyRegressor(strategy="constant", constant=0.0), ratio=ratio, random_state=seed)
        arm.fit(X, y, trial=np.zeros(1000, dtype=bool), population=X)
        coverages.append(arm.predict_interval(new_X).contains(new_y).mean())
    assert_covers({"½E|w-ŵ/Eŵ|": (coverages, promise)})
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"½E|ŵ-w|": (coverages, unscaled)})


def test_calibration_rows_do_not_train_the_propensity():
    X, y, treated = confounded_arm(400)
    no_trial = np.zeros(treated.sum(), dtype=bool)
    seen = []

    class Spy(OracleRatio):
        def fit(self, numerator, denominator):
            seen.append((numerator, denominator))
            return super().fit(numerator, denominator)

    arm = WCP(ratio=Spy(lambda rows: np.ones(len(rows)), on="x"), base=LinearRegression(), random_state=0)
    arm.fit(X[treated], y[treated], trial=no_trial, population=X)
    numerator, denominator = (rows[:, 0] for rows in seen[0])
    fit_rows = set(denominator)
    calibration_rows = set(X[treated, 0]) - fit_rows
    assert len(fit_rows) == pytest.approx(treated.sum() / 2, abs=1)
    assert not calibration_rows & set(numerator)
    assert fit_rows <= set(numerator)
    assert len(numerator) == pytest.approx(200, abs=2)


def test_trial_covariates_stand_in_for_the_population():
    X, y, trial = arm_rows(n=400, m=200)
    X[~trial] += 1
    arm = WCP(base=LinearRegression(), random_state=0).fit(X, y, trial=trial)
    weights = arm.ratio_.predict(np.column_stack([[[-1.0, -1], [2, 2]], [0, 0]]))
    assert weights[0] > 5 * weights[1]


def test_a_population_without_the_arm_is_refused():
    X, y, trial = arm_rows()
    with pytest.raises(ValueError, match="200 of the arm's 200 observational rows are not in the population"):
        WCP().fit(X, y, trial=trial, population=X + 1)
