"""Tipping points: three statements by hand, and every one against a search through all values of gamma."""

import warnings

import numpy as np
import pytest

from confide import CounterfactualIntervals, InfiniteIntervalWarning, method
from confide.diagnostics import gamma_curve, tipping_point


def by_hand(effect=0.0, **params):
    """Return arms that predict 0; the outcomes of 99 trial rows are -49, …, 49, of the treated ``effect`` more."""
    rows = np.concatenate([np.zeros(50), np.zeros(50), np.arange(99) - 49.0, np.arange(99) - 49.0 + effect])
    treatment = np.repeat([0, 1, 0, 1], [50, 50, 99, 99])
    trial = np.repeat([False, True], [100, 198])
    X = np.linspace(0, 1, 298)[:, None]
    model = CounterfactualIntervals("transfer", base="constant", alpha=0.2, random_state=0, **params)
    return model.fit(X, rows, treatment, trial)


def test_a_statement_about_an_outcome_by_hand():
    # Scores are 0, 1, 1, …, 49, 49. "Above -45.5" needs a quantile of at most 45: ⌈(1 - 0.2/Γ)·100⌉ ≤ 91, the number
    # of scores up to 45. So 0.2/Γ ≥ 0.09, and Γ ≤ 2.222….
    assert tipping_point(by_hand(), [[0.5]], 1, above=-45.5) == pytest.approx([2.22])


def test_a_statement_about_one_side_by_hand():
    # Signed scores are -49, …, 49: "below 45.5" needs ⌈(1 - 0.2/Γ)·100⌉ ≤ 95, so that Γ ≤ 4.
    assert tipping_point(by_hand(side="upper"), [[0.5]], 0, below=45.5) == pytest.approx([4.0])


def test_a_statement_about_an_effect_by_hand():
    # Outcomes of the treated are 21, …, 119, so that their scores are these numbers, and the control's are at most 49.
    # The effect's lower end is minus the quantiles of both arms. At Γ = 1.25 each arm is at 0.2/2.5 = 0.08: the 92nd
    # of 99 scores, 21 + 91 = 112 and 46. "Above -158.5" (112 + 46 = 158) stands up to where one of the ranks grows,
    # 0.1/Γ < 0.08: beyond Γ = 1.25 the 93rd scores are 113 and 46, which is not above -158.5.
    model = by_hand(effect=70.0)
    assert model.with_gamma(1.25).predict_effect_interval([[0.5]]).lower == pytest.approx([-158])
    assert tipping_point(model, [[0.5]], above=-158.5) == pytest.approx([1.25])


def some_model(rng, slope=0.0, **params):
    X = rng.normal(size=(460, 2))
    treatment = rng.integers(2, size=460)
    y = X[:, 0] + 2 * treatment + slope * X[:, 1] * treatment + rng.normal(size=460)
    return CounterfactualIntervals(base="ridge", alpha=0.2, random_state=0, **params).fit(
        X, y, treatment, np.arange(460) >= 300
    )


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"method": "transfer", "arm_alpha": 0.15},
        {"method": "naive", "side": "lower", "gamma": 1.5},
    ],
)
def test_the_statement_stands_at_its_tipping_point_and_not_beyond(params):
    rng = np.random.default_rng(3)
    model, X = some_model(rng, **params), rng.normal(size=(12, 2))
    found = tipping_point(model, X, above=-1.0)
    assert 3 <= np.isfinite(found).sum() <= 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        for row, gamma in zip(X[:, None], found, strict=True):
            at = [1.0] if np.isnan(gamma) else [*np.linspace(1, gamma, 5), gamma + 0.01]
            stands = [bool((model.with_gamma(each).predict_effect_interval(row).lower > -1).all()) for each in at]
            assert stands == ([False] if np.isnan(gamma) else [True] * 5 + [False])


@pytest.mark.parametrize("params", [{"method": "transfer"}, {"method": "naive", "side": "lower", "gamma": 1.5}])
def test_the_curve_counts_tipping_points(params):
    rng = np.random.default_rng(3)
    model, X = some_model(rng, 4.0, **params), rng.normal(size=(60, 2))
    up, down = (tipping_point(model, X, **{side: 0.0}) for side in ("above", "below"))
    found = gamma_curve(model, X, (2.0, 1.0, 1.25, 1.6))
    own = float(model.gamma_)
    assert [each.gamma for each in found] == [own, *(gamma for gamma in (1.25, 1.6, 2.0) if gamma > own)]
    for each in found:
        assert (each.above, each.below) == ((up >= each.gamma).sum(), (down >= each.gamma).sum())
    assert found[0].above > found[-1].above


def test_a_statement_that_the_range_implies_never_falls_and_one_that_fails_has_no_tipping_point():
    model = by_hand()
    bounded = CounterfactualIntervals("transfer", base="constant", alpha=0.2, random_state=0)
    assert np.isnan(tipping_point(model, [[0.5]], 1, above=0.0)).all()
    bounded.set_params(method=method("transfer", outcome_range=(-60, 60)))
    X, rows = np.linspace(0, 1, 60)[:, None], np.tile([-1.0, 1.0], 30)
    bounded.fit(X, rows, np.repeat([0, 1], 30), np.ones(60, dtype=bool) & (np.arange(60) % 3 > 0))
    assert np.isposinf(tipping_point(bounded, [[0.5]], 1, above=-61.0)).all()


def test_with_gamma_is_a_refit_with_gamma():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 2))
    moved = some_model(np.random.default_rng(8), method="transfer-centred").with_gamma(1.7)
    refitted = some_model(np.random.default_rng(8), method="transfer-centred", gamma=1.7)
    np.testing.assert_array_equal(moved.predict_interval(X, 1), refitted.predict_interval(X, 1))
    np.testing.assert_array_equal(moved.predict_effect_interval(X), refitted.predict_effect_interval(X))
    assert str(moved.promise_) == str(refitted.promise_)
    assert moved.gamma == 1.7


def test_one_statement_must_be_given():
    model = by_hand()
    with pytest.raises(ValueError, match="above or below"):
        tipping_point(model, [[0.5]], 1)
    with pytest.raises(ValueError, match="above or below"):
        tipping_point(model, [[0.5]], 1, above=1.0, below=0.0)
    with pytest.raises(ValueError, match="one or the others"):
        tipping_point(model, [[0.5]], 1, above=1.0, control=0)
    with pytest.raises(ValueError, match="gamma"):
        model.with_gamma(0.5)
