"""One level: frozen by fit, moved by with_alpha alone, and never set in two places that differ."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from confide import METHODS, WSCPDR, CounterfactualIntervals, Naive, PooledDR, Transfer, load, method
from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio, NaiveBayesRatio
from confide.report.parameters import changed_parameters
from helpers import arm_rows, study_arrays

X, Y, TREATMENT, TRIAL = study_arrays()
pytestmark = pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")


def fast(name, **params):
    if name.startswith("wscp"):
        params = {"second_stage": LinearRegression(), **params}
    return method(name, base=standardised(LinearRegression()), random_state=0, **params)


@pytest.mark.parametrize("name", METHODS)
def test_set_params_after_fit_changes_no_answer_of_an_arm(name):
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast(name).fit(X, y, trial=trial)
    before = np.asarray(arm.predict_interval(X[:9]))
    arm.set_params(alpha=0.5)
    assert (arm.alpha, arm.alpha_) == (0.5, 0.1)
    np.testing.assert_array_equal(arm.predict_interval(X[:9]), before)
    moved = arm.with_alpha(0.5)
    assert (moved.alpha, moved.alpha_) == (0.5, 0.5)
    np.testing.assert_array_equal(
        moved.predict_interval(X[:9]), clone(arm).fit(X, y, trial=trial).predict_interval(X[:9])
    )


@pytest.mark.parametrize("name", ["prognostic", *(pytest.param(name, marks=pytest.mark.slow) for name in METHODS)])
def test_an_arm_that_is_fitted_again_forgets_the_first_fit(name):
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast(name).fit(X, y, trial=trial)
    arm.predict_interval(X[:9])
    arm.fit(X, 3 * y + 100, trial=trial)
    fresh = fast(name).fit(X, 3 * y + 100, trial=trial)
    np.testing.assert_array_equal(arm.predict_interval(X[:9]), fresh.predict_interval(X[:9]))


@pytest.mark.parametrize("params", [{"floor": 0.3}, {"solve": "transductive"}])
def test_other_parameters_wait_for_a_fit_too(params):
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast("pooled-dr").fit(X, y, trial=trial)
    before = np.asarray(arm.predict_interval(X[:9]))
    np.testing.assert_array_equal(arm.set_params(**params).predict_interval(X[:9]), before)


@pytest.mark.parametrize("effect", ["bonferroni", pytest.param("nested-exact", marks=pytest.mark.slow)])
def test_set_params_after_fit_changes_no_answer_of_a_model(effect):
    model = CounterfactualIntervals(fast("transfer"), effect=effect).fit(X, Y, TREATMENT, TRIAL)
    before = [np.asarray(model.predict_interval(X[:9], 1)), np.asarray(model.predict_effect_interval(X[:9]))]
    model.set_params(alpha=0.5, arm_alpha=0.3, effect="nested-inexact", control=1)
    assert (model.alpha, model.alpha_, float(model.arm_alpha_)) == (0.5, 0.1, 0.05)
    np.testing.assert_array_equal(model.predict_interval(X[:9], 1), before[0])
    np.testing.assert_array_equal(model.predict_effect_interval(X[:9]), before[1])
    assert model.with_alpha(0.4).effect_name_ == effect
    assert float(model.with_alpha(0.4).arm_alpha_) == 0.2


@pytest.mark.parametrize(
    ("arm", "params", "names"),
    [
        (Transfer(alpha=0.2), {"alpha": 0.1}, r"CounterfactualIntervals\(alpha=0\.1\) and Transfer\(alpha=0\.2\)"),
        (Naive(random_state=3), {"random_state": 4}, r"CounterfactualIntervals\(random_state=4\) and Naive\(random"),
        (
            PooledDR(base=Ridge()),
            {"base": LinearRegression()},
            r"Intervals\(base=Linear.* and PooledDR\(base",
        ),
        (PooledDR(base=Ridge(2)), {"base": Ridge(3)}, "base is set in two places"),
    ],
)
def test_set_in_two_places_and_different_is_an_error_that_names_both(arm, params, names):
    with pytest.raises(ValueError, match=names):
        CounterfactualIntervals(arm, **params).fit(X, Y, TREATMENT, TRIAL)


def test_set_in_two_places_and_equal_is_no_error():
    arm = Transfer(alpha=0.2, base=Ridge(2), random_state=3)
    model = CounterfactualIntervals(arm, alpha=0.2, base=Ridge(2), random_state=3)
    assert model.fit(X, Y, TREATMENT, TRIAL).alpha_ == 0.2


@pytest.mark.parametrize(
    "arm", [Transfer(alpha=0.2), WSCPDR(alpha=0.2, levels=(0.1, 0.1), second_stage=LinearRegression())]
)
def test_a_copy_at_another_level_can_be_fitted_again(arm):
    arm.set_params(base=standardised(LinearRegression()), random_state=0)
    moved = CounterfactualIntervals(arm).fit(X, Y, TREATMENT, TRIAL).with_alpha(0.4)
    again = clone(moved).fit(X, Y, TREATMENT, TRIAL)
    assert again.alpha_ == 0.4
    np.testing.assert_array_equal(again.predict_interval(X[:9], 0), moved.predict_interval(X[:9], 0))
    np.testing.assert_array_equal(again.predict_effect_interval(X[:9]), moved.predict_effect_interval(X[:9]))


def test_a_fixed_level_of_the_effect_stays():
    model = CounterfactualIntervals(fast("transfer"), arm_alpha=0.2).fit(X, Y, TREATMENT, TRIAL)
    assert model.with_alpha(0.4).arm_alpha_ == 0.2


PROMISING = [
    ("wscp-dr-exact", {"target": "outcome"}),
    ("wscp-dr-exact", {"exact": False}),
    ("wscp-dr-calibrated", {"levels": (0.01, 0.02)}),
    ("wscp-dr-exact", {"ratio": NaiveBayesRatio()}),
    ("pooled-dr", {"floor": 0.05}),
    ("pooled-dr", {"solve": "transductive"}),
    ("wtcp-dr", {"outcome_range": (-99.0, 99.0)}),
    ("wtcp-dr", {"ratio_rows": "all"}),
    ("wtcp-dr", {"ratio": NaiveBayesRatio()}),
    ("transfer", {"base_on": "trial"}),
    ("transfer", {"base_on": "centred"}),
]


@pytest.mark.parametrize(("name", "params"), PROMISING)
def test_what_a_fitted_arm_promises_waits_for_a_fit_too(name, params):
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast(name).fit(X, y, trial=trial)
    before = (arm.method_name, arm.promise, changed_parameters(arm))
    meant = fast(name).set_params(**params)
    assert (meant.method_name, meant.promise, changed_parameters(meant)) != before
    arm.set_params(**params)
    assert (arm.method_name, arm.promise, changed_parameters(arm)) == before
    assert arm.with_alpha(0.3).promise == arm.promise
    arm.fit(X, y, trial=trial)
    assert (arm.method_name, arm.promise, changed_parameters(arm)) == (
        meant.method_name,
        meant.promise,
        changed_parameters(meant),
    )


def test_a_parameter_of_a_parameter_waits_as_well():
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast("wtcp-dr", ratio=ClassifierRatio()).fit(X, y, trial=trial)
    before = arm.promise
    arm.set_params(ratio__on="x")
    assert arm.promise == before
    assert arm.fit(X, y, trial=trial).promise == fast("wtcp-dr", ratio=ClassifierRatio(on="x")).promise != before


def test_what_a_model_promises_waits_for_a_fit_and_is_saved(tmp_path):
    model = CounterfactualIntervals(fast("wscp-dr-exact")).fit(X, Y, TREATMENT, TRIAL)
    before = (str(model.promise_), str(model.effect_promise_), str(model.diagnostics_[0].promise))
    for arm in model.arms_.values():
        arm.set_params(target="outcome")
    model.save(tmp_path / "model.confide")
    for each in (model, load(tmp_path / "model.confide")):
        vars(each).pop("diagnostics_", None)
        assert (str(each.promise_), str(each.effect_promise_), str(each.diagnostics_[0].promise)) == before


def test_levels_that_move_are_promised_where_they_moved_to():
    X, y, trial = arm_rows(n=80, m=30)
    arm = fast("wscp-dr-exact", levels=(0.1, 0.2), alpha=0.3).fit(X, y, trial=trial)
    assert (arm.promise.misses, float(arm.promise.level(0.3))) == ((0.1, 0.2), 0.7)
    moved = arm.with_alpha(0.15)
    assert moved.promise.level(0.15) == pytest.approx(0.85)
    assert arm.promise.level(0.3) == pytest.approx(0.7)
    assert clone(moved).promise == moved.promise
