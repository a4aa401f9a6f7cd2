"""What all methods share: bad input, ranges, levels, seeds."""

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.neighbors import KNeighborsRegressor

from confide import METHODS, WCP, WTCPDR, InfiniteIntervalWarning, Naive, PooledDR, Transfer, method
from confide.data.splits import Rows
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arm_rows

X, Y, TRIAL = arm_rows()
ONE = OracleRatio(lambda rows: np.ones(len(rows)))


def fast(name, **params):
    """A method with linear models, and a blind ratio where it has one that is slow to learn."""
    own = {"ratio": ONE} if "-dr" in name else {}
    if name.startswith("wscp"):
        own["second_stage"] = LinearRegression()
    return method(name, **{"base": LinearRegression(), "random_state": 0, **own, **params})


# Methods whose automatic models are learnt: those with a star differ from others by the columns of their ratio alone.
ONE_OF_EACH_KIND = [pytest.param(name, marks=[pytest.mark.slow] * ("*" in name)) for name in METHODS]
OFFSET = ("naive", "transfer", "wcp")  # one offset around the base model, whatever the outcome


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y[:-1]}, "numbers of rows differ: X has 240, y has 239"),
        ({"trial": TRIAL[:-1]}, "numbers of rows differ: X has 240, y has 240, trial has 239"),
        ({"trial": np.full(len(Y), 2)}, "boolean mask"),
        ({"y": np.where(np.arange(len(Y)) == 3, np.nan, Y)}, "outcome must be finite: 1 of 240.*rows 3"),
        ({"y": np.where(np.arange(len(Y)) == 3, np.inf, Y)}, "outcome must be finite"),
        ({"X": np.where(X > 2, np.inf, X)}, "infinity"),
        ({"params": {"alpha": 1.5}}, "alpha must lie strictly between 0 and 1, got 1.5"),
        ({"params": {"alpha": 0}}, "alpha must lie strictly between 0 and 1, got 0"),
        ({"params": {"calibration": 1.0}}, "calibration is the share.*got 1.0"),
        ({"params": {"calibration": 3}}, "calibration is the share.*got 3"),
        (
            {"params": {"conformity_score": "squared"}},
            "conformity_score 'squared' is unknown; there are: absolute, cqr, normalised",
        ),
        ({"params": {"outcome_range": (0.0, 1.0)}}, r"outcomes lie outside outcome_range=\(0.0, 1.0\), such as"),
        ({"params": {"outcome_range": (1.0, 0.0)}}, "low < high"),
        ({"params": {"outcome_range": 3}}, "a pair"),
    ],
)
def test_bad_input_is_a_clear_error_and_nothing_is_half_fitted(name, change, message):
    data = {"X": X, "y": Y, "trial": TRIAL} | {key: value for key, value in change.items() if key != "params"}
    arm = fast(name, **change.get("params", {}))
    before = dict(vars(arm))
    with pytest.raises(ValueError, match=message):
        arm.fit(data["X"], data["y"], trial=data["trial"])
    assert vars(arm) == before


@pytest.mark.parametrize("name", METHODS)
def test_a_failed_refit_keeps_the_old_fit(name):
    arm = fast(name).fit(X, Y, trial=TRIAL)
    before = np.asarray(arm.predict_interval(X[:4]))
    with pytest.raises(ValueError, match="finite"):
        arm.fit(np.ones((4, 7)), [1, 2, 3, np.nan], trial=[True, True, False, False])
    np.testing.assert_array_equal(arm.predict_interval(X[:4]), before)


NO_TRIAL, NO_OBSERVATIONAL = np.zeros(len(Y), dtype=bool), np.ones(len(Y), dtype=bool)


@pytest.mark.parametrize(
    ("name", "trial", "message"),
    [
        ("naive", NO_TRIAL, "Naive needs at least 2 trial rows, got 0"),
        ("transfer", NO_TRIAL, "Transfer needs at least 1 trial row, got 0"),
        ("transfer", NO_OBSERVATIONAL, "Transfer needs at least 1 observational row, got 0"),
        ("wcp", NO_OBSERVATIONAL, "WCP needs at least 2 observational rows, got 0"),
        ("wcp", NO_TRIAL, "WCP needs the covariates of the population: pass population="),
        ("wtcp-dr", NO_TRIAL, "WTCPDR needs at least 1 trial row, got 0"),
        ("wtcp-dr", NO_OBSERVATIONAL, "WTCPDR needs at least 2 observational rows, got 0"),
    ],
)
def test_a_missing_source(name, trial, message):
    with pytest.raises(ValueError, match=message):
        fast(name).fit(X, Y, trial=trial)


def test_a_source_that_is_not_needed_may_be_missing():
    assert len(fast("naive").fit(X, Y, trial=NO_OBSERVATIONAL).predict_interval(X)) == len(X)
    assert len(fast("wcp").fit(X, Y, trial=NO_TRIAL, population=X).predict_interval(X)) == len(X)


@pytest.mark.parametrize("ratio", [OracleRatio(lambda rows: np.zeros(len(rows)), on=on) for on in ("xy", "x")])
def test_a_ratio_that_is_zero_everywhere(ratio):
    for arm in [WTCPDR(ratio=ratio), *([WCP(ratio=ratio)] if ratio.on == "x" else [])]:
        with pytest.raises(ValueError, match="the ratio is zero on all 100 calibration rows"):
            arm.fit(X, Y, trial=TRIAL)


@pytest.mark.parametrize("name", METHODS)
def test_predict_before_fit_and_with_other_columns(name):
    with pytest.raises(NotFittedError):
        fast(name).predict_interval(X)
    arm = fast(name).fit(X, Y, trial=TRIAL)
    for question in (arm.predict, arm.predict_interval, arm.predict_set):
        with pytest.raises(ValueError, match="X has 3 features, but"):
            question(np.ones((2, 3)))


def test_unknown_names_and_parameters():
    with pytest.raises(ValueError, match="method 'naiv' is unknown; did you mean naive"):
        method("naiv")
    with pytest.raises(TypeError, match="Naive has no parameter 'ratio'; it has: base, conformity_score, calibration"):
        Naive(ratio=None)
    with pytest.raises(TypeError, match="Transfer has no parameter 'tolerance'"):
        method("transfer", tolerance=1)
    with pytest.raises(ValueError, match="base_on='trail' is unknown; did you mean trial"):
        Transfer(base_on="trail").fit(X, Y, trial=TRIAL)
    with pytest.raises(ValueError, match="tolerance must be a positive number"):
        WTCPDR(tolerance=0).fit(X, Y, trial=TRIAL)
    with pytest.raises(ValueError, match="wcp weighs by covariates only"):
        WCP(ratio=ClassifierRatio()).fit(X, Y, trial=TRIAL)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.slow
def test_the_seed_decides_everything(name):
    one, two = (method(name, random_state=5).fit(X, Y, trial=TRIAL).predict_interval(X[:20]) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_nothing_touches_the_global_random_state(name):
    before = np.random.get_state()
    method(name, random_state=5).fit(X, Y, trial=TRIAL).predict_set(X[:5])
    after = np.random.get_state()
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(before[1], after[1])


@pytest.mark.parametrize("name", METHODS)
def test_with_alpha_is_a_fit_at_that_level(name):
    arm = fast(name, alpha=0.1).fit(X, Y, trial=TRIAL)
    other = arm.with_alpha(0.3)
    np.testing.assert_allclose(
        other.predict_interval(X), fast(name, alpha=0.3).fit(X, Y, trial=TRIAL).predict_interval(X)
    )
    assert arm.alpha == 0.1
    assert (other.predict_interval(X).width < arm.predict_interval(X).width).all()
    with pytest.raises(ValueError, match="alpha"):
        arm.with_alpha(2)


@pytest.mark.parametrize("name", METHODS)
def test_the_outcome_range_intersects_intervals_and_clips_points(name):
    low, high = Y.min() - 0.1, Y.max() + 0.1
    free, bound = (fast(name, alpha=0.05, outcome_range=r).fit(X, Y, trial=TRIAL) for r in (None, (low, high)))
    far = 5 * X
    np.testing.assert_array_equal(bound.predict(far), np.clip(free.predict(far), low, high))
    intervals = bound.predict_interval(far)
    present = ~np.isnan(intervals.lower)
    assert (intervals.lower[present] >= low).all()
    assert (intervals.upper[present] <= high).all()
    assert (intervals.width[~present] == 0).all()
    if name in OFFSET:
        assert (~present).any()  # a prediction far outside the range has an empty interval
        np.testing.assert_array_equal(intervals, free.predict_interval(far).clip(low, high))


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_a_constant_outcome_works(name):
    X, _, trial = arm_rows(n=60, m=40)
    y = np.full(len(X), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        intervals = method(name, random_state=0).fit(X, y, trial=trial).predict_interval(X[:10])
    assert intervals.contains(0.1).all()
    assert (intervals.width < 1e-9).all()


@pytest.mark.parametrize(
    ("name", "observational", "trial", "source"),
    [("naive", 0, 2, "trial"), ("transfer", 5, 1, "trial"), ("wcp", 2, 5, "observational")],
)
def test_one_calibration_row_gives_infinite_intervals_and_one_warning(name, observational, trial, source):
    rows = np.r_[np.flatnonzero(~TRIAL)[:observational], np.flatnonzero(TRIAL)[:trial]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = fast(name).fit(X[rows], Y[rows], trial=TRIAL[rows])
        intervals = arm.predict_interval(X[:7])
    assert intervals.infinite.all()
    assert intervals.contains(1e9).all()
    assert [warning.category for warning in caught] == [InfiniteIntervalWarning]
    assert f"alpha=0.1 needs 9 {source} calibration rows for a finite interval; there is 1" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_too_few_rows_for_another_level():
    arm = fast("transfer", alpha=0.5).fit(X, Y, trial=TRIAL)
    with pytest.warns(InfiniteIntervalWarning, match="alpha=0.01 needs 99 trial calibration rows.*there are 40"):
        assert arm.with_alpha(0.01).predict_interval(X).infinite.all()


def test_too_few_rows_with_a_range_give_the_range():
    with pytest.warns(InfiniteIntervalWarning, match="All intervals are as wide as the outcome"):
        arm = fast("transfer", outcome_range=(-9, 9), alpha=0.01).fit(X, Y, trial=TRIAL)
    np.testing.assert_array_equal(arm.predict_interval(X[:2]), [[-9, 9], [-9, 9]])


@pytest.mark.parametrize("name", METHODS)
def test_sets_and_intervals_agree(name):
    arm = fast(name).fit(X, Y, trial=TRIAL)
    np.testing.assert_array_equal(arm.predict_set(X).hull(), arm.predict_interval(X))


def test_transfer_uses_all_rows_of_both_sources():
    arm = Transfer(base=DummyRegressor()).fit(X, Y, trial=TRIAL)
    assert arm.base_[-1].constant_[0, 0] == pytest.approx(Y[~TRIAL].mean())
    np.testing.assert_allclose(arm.calibration_.scores, np.sort(np.abs(Y[TRIAL] - Y[~TRIAL].mean())))


def test_a_pair_of_shares_splits_each_source_by_its_own():
    """200 observational and 40 trial rows."""
    arm = fast("wtcp-dr", calibration=(0.2, 0.5)).fit(X, Y, trial=TRIAL)
    assert len(arm.calibration_.scores) == 40
    assert len(fast("naive", calibration=(0.2, 0.75)).fit(X, Y, trial=TRIAL).calibration_.scores) == 30
    both = fast("wscp-dr-exact", calibration=(0.2, 0.25)).fit(X, Y, trial=TRIAL)
    assert (len(both.first_stage_.scores), len(both.calibration_.scores)) == (40, 10)
    same, pair = (fast("pooled-dr", calibration=shares).fit(X, Y, trial=TRIAL) for shares in (0.3, (0.3, 0.3)))
    np.testing.assert_array_equal(same.predict_interval(X), pair.predict_interval(X))


def test_transfer_on_the_trial_is_naive():
    one = Transfer(base_on="trial", random_state=2, base=LinearRegression()).fit(X, Y, trial=TRIAL)
    two = Naive(random_state=2, base=LinearRegression()).fit(X, Y, trial=TRIAL)
    np.testing.assert_array_equal(one.predict_interval(X), two.predict_interval(X))


def test_a_centred_base_takes_the_bias_out_and_calibrates_on_all_rows():
    arm = fast("transfer-centred").fit(X, Y + 2 * ~TRIAL, trial=TRIAL)
    assert arm.predict(X[TRIAL]).mean() == pytest.approx(Y[TRIAL].mean())
    assert len(arm.calibration_.scores) == TRIAL.sum()
    # Whatever the bias of the observational rows is, the intervals are the same.
    other = fast("transfer-centred").fit(X, Y - 7 * ~TRIAL, trial=TRIAL)
    np.testing.assert_allclose(arm.predict_interval(X), other.predict_interval(X))
    plain = fast("transfer").fit(X, Y - 7 * ~TRIAL, trial=TRIAL)
    assert plain.predict_interval(X).width.mean() > 2 * other.predict_interval(X).width.mean()


def test_a_centred_base_is_for_absolute_residuals():
    with pytest.raises(ValueError, match="base_on='centred' takes absolute residuals, got conformity_score='cqr'"):
        fast("transfer-centred", conformity_score="cqr").fit(X, Y, trial=TRIAL)


def test_a_centred_base_without_observational_rows_is_naive():
    trial = np.repeat(True, TRIAL.sum())
    with pytest.warns(UserWarning, match="Transfer found 0 observational rows and calibrates on the trial alone"):
        arm = fast("transfer-centred").fit(X[TRIAL], Y[TRIAL], trial=trial)
    naive = fast("naive").fit(X[TRIAL], Y[TRIAL], trial=trial)
    np.testing.assert_array_equal(arm.predict_interval(X), naive.predict_interval(X))


@pytest.mark.parametrize("name", ["pooled-dr", "wscp-dr-calibrated"])
@pytest.mark.parametrize("score", ["absolute", "normalised", "cqr"])
def test_a_weighted_base_does_not_learn_from_rows_of_ratio_0(name, score):
    y = Y + 9 * (~TRIAL & (X[:, 0] > 0))
    ratio = OracleRatio(lambda rows: (rows[:, -1] < 5).astype(float))
    params = {"conformity_score": score, "base": QuantileRegressor(alpha=0, quantile=0.5)}
    weighted = fast(name, ratio=ratio, base_on="weighted", **params).fit(X, y, trial=TRIAL)
    plain = fast(name, ratio=ratio, **params).fit(X, y, trial=TRIAL)
    errors = [np.abs(arm.predict(X) - X[:, 0]).mean() for arm in (weighted, plain)]
    assert errors[0] < 0.5 < errors[1]


def test_a_weighted_base_of_transfer_leans_towards_the_trial():
    y = Y + 9 * ~TRIAL
    weighted, plain = (
        fast("transfer", base_on=base_on).fit(X, y, trial=TRIAL).predict(X).mean()
        for base_on in ("weighted", "observational")
    )
    assert weighted < plain - 3


def test_weights_of_a_weighted_base_are_those_of_a_sample_of_the_trial():
    arm = fast("pooled-dr", ratio=OracleRatio(lambda rows: 1 + rows[:, 0] ** 2)).fit(X, Y, trial=TRIAL)
    rows = arm._weighted(Rows(X[~TRIAL], Y[~TRIAL]), Rows(X[TRIAL], Y[TRIAL]))
    ratio = 1 + rows.X[:, 0] ** 2
    expected = ratio / ((~TRIAL).sum() + TRIAL.sum() * ratio)
    np.testing.assert_allclose(rows.weight, expected / expected.mean())
    np.testing.assert_array_equal(rows.y, np.concatenate([Y[~TRIAL], Y[TRIAL]]))


def test_a_weighted_base_needs_a_model_that_weighs():
    with pytest.raises(ValueError, match="fit takes sample_weight, and KNeighborsRegressor's takes none"):
        Transfer(base=KNeighborsRegressor(), base_on="weighted").fit(X, Y, trial=TRIAL)
    with pytest.raises(ValueError, match="the ratio is zero on all"):
        PooledDR(ratio=OracleRatio(lambda rows: np.zeros(len(rows))), base_on="weighted").fit(X, Y, trial=TRIAL)


@pytest.mark.parametrize("name", ["transfer", "pooled-dr", "wscp-dr-calibrated"])
@pytest.mark.parametrize("score", ["absolute", "normalised"])
def test_a_grounded_base_corrects_the_bias_of_observational_rows(name, score):
    biased, grounded = (
        fast(name, conformity_score=score, base_on=base_on).fit(X, Y + 2 * ~TRIAL, trial=TRIAL).predict(X)
        for base_on in ("observational", "grounded")
    )
    assert np.mean(biased - X[:, 0]) == pytest.approx(2.5, abs=0.3)
    assert np.mean(grounded - X[:, 0]) == pytest.approx(0, abs=0.3)


def test_a_grounded_base_has_not_seen_the_calibration_rows():
    arm = fast("transfer", base_on="grounded").fit(X, Y, trial=TRIAL)
    assert len(arm.calibration_.scores) == 20
    wide = Transfer(base=QuantileRegressor(alpha=0), conformity_score="cqr", base_on="grounded", random_state=0)
    assert wide.fit(X, Y, trial=TRIAL).predict_interval(X).contains(Y)[TRIAL].mean() > 0.8
