import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from confide import WCP, WTCPDR
from confide.conformal.quantile import Calibration
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arm_rows

X, Y, TRIAL = arm_rows(n=1000, m=100)


@pytest.mark.parametrize("ratio", [None, OracleRatio(lambda rows: np.exp(-3 * rows[:, -1]))])
def test_the_set_is_the_membership_rule(ratio):
    arm = WTCPDR(ratio=ratio, random_state=0).fit(X, Y, trial=TRIAL)
    new = X[:10]
    sets = arm.predict_set(new)
    candidates = np.linspace(arm.grid_[0], arm.grid_[-1], 100_000)
    spacing = np.diff(arm.grid_).max()
    for row in range(len(new)):
        weights = arm.ratio_.predict(np.column_stack([np.repeat(new[[row]], len(candidates), axis=0), candidates]))
        scores = np.abs(candidates - arm.base_.predict(new[[row]]))
        truth = arm.calibration_.contains(scores, 0.1, weights)
        found = ((sets[row][:, :1] <= candidates) & (candidates <= sets[row][:, 1:])).any(axis=0)
        wrong = np.flatnonzero(np.diff(np.r_[0, (truth != found).astype(int), 0])).reshape(-1, 2)
        assert all(candidates[stop - 1] - candidates[start] < spacing for start, stop in wrong)
        assert (truth != found).mean() < 1e-3


def test_the_calibration_is_weighted_by_the_ratio_on_other_rows_than_it_learnt_from():
    seen = []

    class Spy(OracleRatio):
        def fit(self, numerator, denominator):
            seen.extend([numerator, denominator])
            return super().fit(numerator, denominator)

    ratio = Spy(lambda rows: np.exp(rows[:, -1]))
    arm = WTCPDR(base=LinearRegression(), ratio=ratio, random_state=0).fit(X, Y, trial=TRIAL)
    trial_rows, fit_rows = seen
    assert sorted(trial_rows[:, -1]) == sorted(Y[TRIAL])
    held_out = np.array(sorted(set(Y[~TRIAL]) - set(fit_rows[:, -1])))
    assert len(held_out) == 500
    rows = np.isin(Y, held_out)
    scores = np.abs(Y[rows] - arm.base_.predict(X[rows]))
    expected = Calibration.of(scores, np.exp(Y[rows]))
    np.testing.assert_allclose(arm.calibration_.scores, expected.scores)
    np.testing.assert_allclose(arm.calibration_.cumulative, expected.cumulative)


def test_a_ratio_on_covariates_needs_no_candidates():
    def by_covariate(rows):
        return np.exp(rows[:, 0])

    exact = WTCPDR(ratio=OracleRatio(by_covariate, on="x"), base=LinearRegression(), random_state=0)
    searched = WTCPDR(ratio=OracleRatio(by_covariate), base=LinearRegression(), random_state=0)
    intervals = exact.fit(X, Y, trial=TRIAL).predict_interval(X)
    found = searched.fit(X, Y, trial=TRIAL).predict_interval(X)
    low, high = searched.grid_[0], searched.grid_[-1]
    np.testing.assert_allclose(intervals.clip(low, high), found, atol=2e-6 * (high - low))
    wcp = WCP(ratio=OracleRatio(by_covariate, on="x"), base=LinearRegression(), random_state=0)
    np.testing.assert_allclose(wcp.fit(X, Y, trial=TRIAL).predict_interval(X), intervals)


def test_a_huge_weight_of_the_new_row_gives_the_whole_searched_range():
    # Light calibration rows, and a ratio that explodes for the new rows at x = 9 alone.
    ratio = OracleRatio(lambda rows: np.where(rows[:, 0] > 8, 1e9, 1.0))
    arm = WTCPDR(ratio=ratio, base=LinearRegression(), random_state=0).fit(X, Y, trial=TRIAL)
    intervals = arm.predict_interval([[9.0, 0.0]])
    np.testing.assert_array_equal(intervals, [[arm.grid_[0], arm.grid_[-1]]])
    margin = 0.1 * np.ptp(Y)
    np.testing.assert_allclose(intervals, [[Y.min() - margin, Y.max() + margin]])


def test_a_set_narrower_than_the_grid_is_found():
    y = np.where(np.arange(len(Y)) % 500 == 0, 1e3, 1e-3 * Y)  # two outliers stretch the searched range
    one = OracleRatio(lambda rows: np.ones(len(rows)))
    arm = WTCPDR(ratio=one, base=DummyRegressor(strategy="median"), random_state=0).fit(X, y, trial=TRIAL)
    arm.grid_ = np.linspace(arm.grid_[0], arm.grid_[-1], 50)
    sets = arm.predict_set(X[:3])
    assert (sets.components == 1).all()
    assert (sets.measure < 0.01).all()


def test_an_infinite_bound_is_searched_like_none():
    ratio = OracleRatio(lambda rows: np.full(len(rows), 1e9) * (rows[:, 0] > 8) + 1)
    arm = WTCPDR(ratio=ratio, base=LinearRegression(), outcome_range=(-9, np.inf), random_state=0)
    lower, upper = arm.fit(X, Y, trial=TRIAL).predict_interval([[9.0, 0.0]])
    assert lower[0] == -9
    assert upper[0] == pytest.approx(Y.max() + 0.1 * np.ptp(Y))


def test_rows_in_chunks_equal_rows_at_once(monkeypatch):
    arm = WTCPDR(ratio=ClassifierRatio(), base=LinearRegression(), random_state=0).fit(X, Y, trial=TRIAL)
    whole = arm.predict_interval(X[:50])
    monkeypatch.setattr("confide.conformal.grid.MAX_PAIRS", 1000)
    np.testing.assert_allclose(arm.predict_interval(X[:50]), whole)
