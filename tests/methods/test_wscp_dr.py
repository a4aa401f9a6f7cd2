import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from confide import WSCPDR, CounterfactualIntervals, InfiniteIntervalWarning, method
from confide.conformal import weighted_quantile
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arm_rows

X, Y, TRIAL = arm_rows(n=300, m=80)
TILTED = OracleRatio(lambda rows: np.exp(-0.5 * rows[:, -1]))
LINEAR = {"base": LinearRegression(), "second_stage": LinearRegression(), "ratio": TILTED, "random_state": 0}


def fitted(**params):
    return WSCPDR(**{**LINEAR, **params}).fit(X, Y, trial=TRIAL)


def by_hand(arm, rows, alpha=0.1):
    """The first stage's intervals, from the definition."""
    weights = np.diff(arm.first_stage_.cumulative)
    own = np.exp(-0.5 * rows.y)
    q = weighted_quantile(arm.first_stage_.scores, weights, alpha, test_weight=own)
    centre = arm.base_.predict(rows.X)
    return centre - q, centre + q


@pytest.mark.parametrize(("exact", "target"), [(False, "interval"), (True, "interval"), (True, "outcome")])
def test_both_stages_by_hand(exact, target):
    arm = fitted(exact=exact, target=target)
    rows, calibration = arm.end_rows_, arm.calibration_rows_
    lower, upper = by_hand(arm, rows)
    low, high = (LinearRegression().fit(rows.X, end) for end in (lower, upper))
    offset = 0.0
    if exact:
        truth = by_hand(arm, calibration) if target == "interval" else (calibration.y, calibration.y)
        scores = np.maximum(low.predict(calibration.X) - truth[0], truth[1] - high.predict(calibration.X))
        offset = weighted_quantile(scores, np.ones(len(scores)), 0.1)
    expected = np.column_stack([low.predict(X) - offset, high.predict(X) + offset])
    np.testing.assert_allclose(arm.predict_interval(X), expected)


def test_no_row_does_two_things():
    exact, inexact = fitted(), fitted(exact=False)
    assert len(exact.end_rows_) == len(exact.calibration_rows_) == 40
    assert not set(exact.end_rows_.y) & set(exact.calibration_rows_.y)
    assert sorted(inexact.end_rows_.y) == sorted(Y[TRIAL])
    assert len(exact.first_stage_.scores) == 150


def test_with_alpha_regresses_the_ends_anew():
    one = fitted(alpha=0.1).with_alpha(0.3)
    np.testing.assert_allclose(one.predict_interval(X), fitted(alpha=0.3).predict_interval(X))
    levels = fitted(alpha=0.1, levels=(0.02, 0.08)).with_alpha(0.3)
    np.testing.assert_allclose(levels.predict_interval(X), fitted(alpha=0.3, levels=(0.06, 0.24)).predict_interval(X))


def test_levels_of_the_stages():
    wide, narrow = fitted(levels=(0.05, 0.05)), fitted(levels=(0.2, 0.2))
    assert wide.predict_interval(X).width.mean() > narrow.predict_interval(X).width.mean()
    np.testing.assert_array_equal(fitted(levels=(0.1, 0.1)).predict_interval(X), fitted().predict_interval(X))
    for bad, message in [((0.1,), "a pair"), (3, "a pair"), ((0.1, 2), r"levels\[1\] must lie strictly")]:
        with pytest.raises(ValueError, match=message):
            fitted(levels=bad)


@pytest.mark.slow
def test_refit_is_the_letter_of_the_algorithm():
    arm = fitted(refit=True)
    observational = ~TRIAL
    rows = arm.end_rows_
    weights = np.exp(-0.5 * Y[observational])
    lower = []
    for x, y in zip(rows.X, rows.y, strict=True):
        model = LinearRegression().fit(np.r_[X[observational], [x]], np.r_[Y[observational], y])
        scores = np.abs(Y[observational] - model.predict(X[observational]))
        q = weighted_quantile(scores, weights, 0.1, test_weight=np.exp(-0.5 * y))
        lower.append(model.predict([x])[0] - q)
    expected = LinearRegression().fit(rows.X, lower).predict(X)
    np.testing.assert_allclose(arm.ends_.predict(X)[0], expected)
    assert np.isfinite(arm.with_alpha(0.3).predict_interval(X)).all()


def test_infinite_first_stage_intervals_are_capped_counted_and_explained():
    # Every trial row outweighs all observational rows together.
    heavy = OracleRatio(lambda rows: np.where(np.isin(rows[:, -1], Y[TRIAL]), 1e9, 1.0))
    inexact = fitted(ratio=heavy, exact=False)
    assert inexact.ends_.capped_ == 2 * 80
    margin = 0.1 * np.ptp(Y)
    np.testing.assert_allclose(inexact.predict_interval(X[:2]), [[Y.min() - margin, Y.max() + margin]] * 2)
    with pytest.warns(InfiniteIntervalWarning, match="infinite at 40 of 40 trial calibration rows.*target='outcome'"):
        exact = fitted(ratio=heavy)
    assert exact.predict_interval(X).infinite.all()
    assert np.isfinite(fitted(ratio=heavy, target="outcome").predict_interval(X)).all()


def test_levels_move_with_alpha():
    arm = WSCPDR(**LINEAR, levels=(0.05, 0.05))
    study = (X, Y, (X[:, 1] > 0).astype(int), TRIAL)
    with pytest.warns(InfiniteIntervalWarning, match="alpha=0.025 needs 39"):
        later = CounterfactualIntervals(arm, alpha=0.1).fit(*study).with_alpha(0.3)
    assert [float(level) for level in later.method.levels] == pytest.approx([0.15, 0.15])
    refitted = clone(later).fit(*study)
    np.testing.assert_array_equal(refitted.predict_interval(X, 0), later.predict_interval(X, 0))
    assert arm.levels == (0.05, 0.05)
    with pytest.raises(ValueError, match=r"would reach 1 at alpha=0\.4; it must stay below 0\.333333"):
        fitted(levels=(0.3, 0.3)).with_alpha(0.4)


def test_a_ratio_given_to_a_starred_name_is_not_changed():
    ratio = ClassifierRatio()
    assert method("wscp-dr*-exact", ratio=ratio).ratio.on == "x"
    assert ratio.on == "xy"
    with pytest.raises(ValueError, match="NaiveBayesRatio has no parameter `on`"):
        method("wscp-dr*-exact", ratio="naive-bayes")


@pytest.mark.slow
def test_first_stages_are_computed_only_where_they_are_needed():
    for params, stages in [({"exact": False}, 1), ({"target": "outcome"}, 1), ({"target": "interval"}, 2)]:
        assert len(fitted(refit=True, **params).refits_) == stages


def test_names_are_settings():
    assert method("wscp-dr-exact").get_params()["target"] == "interval"
    assert method("wscp-dr-calibrated").get_params()["target"] == "outcome"
    assert method("wscp-dr-inexact").exact is False
    assert method("wscp-dr*-exact").ratio.on == "x"
    assert method("wscp-dr*-exact", ratio="kernel").ratio.on == "x"
    assert method("wscp-dr-exact").ratio is None
    with pytest.raises(ValueError, match="target='outcom' is unknown; did you mean outcome"):
        fitted(target="outcom")
