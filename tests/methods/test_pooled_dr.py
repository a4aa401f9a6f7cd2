import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import InfiniteIntervalWarning, Naive, PooledDR
from confide.conformal import permutation_weights, weighted_quantile
from confide.conformal.permutation import conditional_poisson
from confide.ratio import OracleRatio
from decision import assert_covers
from helpers import arm_rows

BIAS = 0.7


def true_ratio(rows):
    """p^I(y|x)/p^O(y|x) = N(y; x, 1)/N(y; x + BIAS, 1)."""
    return np.exp(-BIAS * (rows[:, -1] - rows[:, 0]) + BIAS**2 / 2)


def blind(rows):
    return np.ones(len(rows))


X, Y, TRIAL = arm_rows(n=120, m=40)
TILTED = OracleRatio(lambda rows: np.exp(-0.5 * rows[:, -1]))


def fitted(**params):
    return PooledDR(**{"base": LinearRegression(), "ratio": TILTED, "random_state": 0, **params}).fit(X, Y, trial=TRIAL)


def pooled_points(arm):
    """Scores and ratios of the calibration rows, found again from the fitted arm."""
    scores = np.abs(Y - arm.base_.predict(X))
    rows = [int(np.argmin(np.abs(scores - score))) for score in arm.calibration_.scores]
    return scores[rows], np.exp(-0.5 * Y[rows])


def test_the_offset_is_the_quantile_of_exact_weights():
    arm = fitted()
    scores, ratios = pooled_points(arm)
    assert len(scores) == 60 + 20
    offset = weighted_quantile(scores, conditional_poisson(ratios, 20).inclusion, 0.1, test_weight=1)
    centre = arm.base_.predict(X)
    np.testing.assert_allclose(arm.predict_interval(X), np.column_stack([centre - offset, centre + offset]))


def member(arm, x, y):
    """Whether an outcome is in the sharp set, from Eq. 5 with the new point among the others."""
    scores, ratios = pooled_points(arm)
    weights = permutation_weights([*ratios, np.exp(-0.5 * y)], 20)
    score = abs(y - arm.base_.predict(x[None])[0])
    return weights[:-1][scores < score].sum() < 0.9 * (1 - 1e-12)


def test_the_sharp_set_is_the_membership_rule_with_the_new_point_in_the_permutation():
    arm = fitted(solve="transductive")
    sets = arm.predict_set(X[:5])
    for row in range(5):
        low, high = sets.hull().lower[row], sets.hull().upper[row]
        for y in np.linspace(arm.grid_[0], arm.grid_[-1], 60):
            if min(abs(y - low), abs(y - high)) > 1e-4:
                inside = bool(((sets[row][:, 0] <= y) & (y <= sets[row][:, 1])).any())
                assert inside == member(arm, X[row], y)
    offset = fitted().predict_interval(X[:5])
    assert (sets.hull().lower >= offset.lower - 1e-5).all()
    assert (sets.hull().upper <= offset.upper + 1e-5).all()


@pytest.mark.parametrize("solve", ["offset", "transductive"])
def test_discrete_sets_are_the_membership_rule(solve):
    y = np.clip(np.round(Y), -2, 2)
    values = [-2, -1, 0, 1, 2]
    arm = PooledDR(base=LinearRegression(), ratio=TILTED, solve=solve, outcome_values=values, random_state=0)
    sets = arm.fit(X, y, trial=TRIAL).predict_set(X[:20])
    weights = np.diff(arm.calibration_.cumulative)
    larger = np.diff(arm.without_new_row_.cumulative) if solve == "transductive" else None
    for row, x in enumerate(X[:20]):
        expected = []
        for value in values:
            score = abs(value - arm.base_.predict(x[None])[0])
            below = arm.calibration_.scores < score
            kappa, r = np.exp(arm.log_kappa_), np.exp(-0.5 * value)
            mass = weights[below].sum()
            if solve == "transductive":
                mass = (kappa * larger[below].sum() + r * mass) / (kappa + r)
            if mass < 0.9 * 21 * (1 - 1e-12):
                expected.append(value)
        assert sets[row][:, 0].tolist() == expected


def coverages(m, repetitions, n=60, function=true_ratio, cut=False, **params):
    """One coverage a repetition; ``cut`` leaves a region without any observational row."""
    found = []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, m])
        trial = np.arange(2 * n + 2 * m) >= 2 * n
        X = rng.standard_normal((len(trial), 1))
        y = X[:, 0] + rng.standard_normal(len(trial)) + BIAS * ~trial
        keep = trial | ~(cut & (X[:, 0] > 1)) if cut else np.ones(len(trial), dtype=bool)

        def ratio(rows):
            r = function(rows)
            return np.where(rows[:, 0] > 1, 1e12, 0.84134 * r) if cut else r  # Φ(1) of the observational rows are left

        arm = PooledDR(base=LinearRegression(), ratio=OracleRatio(ratio), outcome_range=(-12, 12), random_state=seed)
        arm.set_params(**params).fit(X[keep], y[keep], trial=trial[keep])
        new = rng.standard_normal((50, 1))
        found.append(arm.predict_set(new).contains(new[:, 0] + rng.standard_normal(50)).mean())
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@pytest.mark.parametrize("cut", [False, True], ids=["overlap", "no overlap"])
@pytest.mark.parametrize("repetitions", [120, pytest.param(2000, marks=pytest.mark.long)])
def test_the_true_ratio_covers_and_not_too_much(cut, repetitions):
    cells, ceilings = {}, {}
    for solve in ("offset", "transductive"):
        for m in (5, 20, 100):
            name = f"{solve}, m={m}"
            cells[name] = (coverages(m, repetitions if m < 100 else repetitions // 2, cut=cut, solve=solve), 0.9)
            ceilings[name] = 0.9 + 2 / (m + 1)
    assert_covers(cells, ceilings)


@pytest.mark.slow
def test_the_guard_holds_whatever_the_ratio():
    # A ratio that believes only rows whose outcome is as predicted.
    wrong = {"n": 400, "function": lambda rows: np.exp(-9 * np.abs(rows[:, -1] - rows[:, 0] - BIAS))}
    plain = coverages(30, 150, **wrong)
    guarded = coverages(30, 150, **wrong, floor=0.05)
    assert_covers({"guarded": (guarded, 0.85)})
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"plain": (plain, 0.85)})


def far_out(seed, m=8, fresh=0):
    """A narrow large table, and a trial whose outcomes lie far beyond it and follow x."""
    rng = np.random.default_rng(seed)
    trial = np.arange(100 + m + fresh) >= 100
    X = rng.standard_normal((len(trial), 1)) * np.where(trial, 1, 0.1)[:, None]
    return X, X[:, 0] + 0.01 * rng.standard_normal(len(trial)), trial


@pytest.mark.slow
def test_the_guard_of_sharp_sets_holds_where_few_outcomes_were_seen():
    """Of 8 trial rows 4 calibrate: their largest score covers 80 %, unless it is cut at the outcomes that were seen."""
    guarded, cut = [], []
    for seed in range(250):
        X, y, trial = far_out(seed, fresh=100)
        arm = PooledDR(base=LinearRegression(), ratio=OracleRatio(blind), solve="transductive", floor=0, alpha=0.2)
        arm.set_params(random_state=seed).fit(X[:-100], y[:-100], trial=trial[:-100])
        inside = arm.predict_set(X[-100:]).contains(y[-100:])
        guarded.append(inside.mean())
        cut.append((inside & (y[-100:] >= arm.grid_[0]) & (y[-100:] <= arm.grid_[-1])).mean())
    assert_covers({"guarded": (guarded, 0.8)})
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"cut at the searched outcomes": (cut, 0.8)})


def test_the_guard_is_in_the_sharp_set_and_only_a_declared_range_bounds_it():
    X, y, trial = far_out(0)
    new = np.linspace(-20, 20, 9)[:, None]
    arm = PooledDR(base=LinearRegression(), ratio=OracleRatio(blind), solve="transductive", floor=0.1, alpha=0.2)
    sets = arm.set_params(random_state=0).fit(X, y, trial=trial).predict_set(new)
    offset = arm.trial_calibration_.quantile(0.3)
    centre = arm.base_.predict(new)
    for end in (centre - offset, centre, centre + offset):
        assert sets.contains(end).all()
    assert (sets.hull().lower < arm.grid_[0]).any()
    assert (sets.hull().upper > arm.grid_[-1]).any()
    bounded = arm.set_params(outcome_range=(-10, 10)).fit(X, y, trial=trial).predict_set(new)
    assert (bounded.lower >= -10).all()
    assert (bounded.upper <= 10).all()
    unguarded = arm.set_params(outcome_range=None, floor=None).fit(X, y, trial=trial).predict_set(new)
    assert (unguarded.lower >= arm.grid_[0]).all()


def test_a_guard_of_too_few_rows_is_infinite_and_says_so():
    X, y, trial = far_out(0)
    arm = PooledDR(base=LinearRegression(), ratio=OracleRatio(blind), solve="transductive", floor=0.05, alpha=0.1)
    with pytest.warns(
        InfiniteIntervalWarning, match=r"alpha \+ floor = 0.15 needs 6 trial calibration rows .* there are 4\. All"
    ):
        arm.fit(X, y, trial=trial)
    assert arm.predict_interval(X).infinite.all()


def test_without_observational_rows_it_is_naive_and_says_so():
    with pytest.warns(UserWarning, match="calibrates on the trial alone, as naive does"):
        arm = PooledDR(base=LinearRegression(), random_state=0).fit(X[TRIAL], Y[TRIAL], trial=TRIAL[TRIAL])
    naive = Naive(base=LinearRegression(), random_state=0).fit(X[TRIAL], Y[TRIAL], trial=TRIAL[TRIAL])
    np.testing.assert_array_equal(arm.predict_interval(X), naive.predict_interval(X))


def test_few_trial_rows():
    keep = ~TRIAL | (np.cumsum(TRIAL) <= 8)
    with pytest.warns(
        InfiniteIntervalWarning,
        match=r"needs 9 trial calibration rows for a finite interval; there are 4\b.*solve='transductive' has no",
    ):
        arm = PooledDR(base=LinearRegression(), ratio=TILTED, random_state=0).fit(X[keep], Y[keep], trial=TRIAL[keep])
    assert arm.predict_interval(X).infinite.all()
    sharp = PooledDR(base=LinearRegression(), ratio=TILTED, solve="transductive", random_state=0)
    assert np.isfinite(sharp.fit(X[keep], Y[keep], trial=TRIAL[keep]).predict_interval(X)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solve": "ofset"}, "solve='ofset' is unknown; did you mean offset"),
        ({"floor": -0.1}, "floor must be None or a number of at least 0"),
        ({"floor": 0.95}, "alpha \\+ floor must be below 1, got 1.05"),
        ({"base_on": "both"}, "base_on='both' is unknown"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        fitted(**params)
