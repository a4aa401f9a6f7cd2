"""`Transfer(clipped=…)`: finite intervals for tiny trials, and a floor that they keep whatever the large table is."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, InfiniteIntervalWarning, Transfer, load
from confide.conformal.clipped import ClippedQuantile
from decision import assert_covers
from helpers import study_arrays


def people(n, m, seed, bias=0.0, spread=1.0, new=200):
    """An arm: n observational rows with a bias and another spread, m trial rows, and new people of the trial's kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m + new, 2))
    noise = rng.normal(size=len(X))
    noise[:n] *= spread
    y = X[:, 0] + noise
    y[:n] += bias
    trial = np.r_[np.zeros(n, dtype=bool), np.ones(m, dtype=bool)]
    return X[: n + m], y[: n + m], trial, X[n + m :], y[n + m :]


def clipped(**params):
    return Transfer(base=LinearRegression(), random_state=0, **{"clipped": 0.1, **params})


def test_the_offset_is_the_clipped_quantile_of_both_tables():
    X, y, trial, new, _ = people(300, 5, 0)
    arm = clipped().fit(X, y, trial=trial)
    rule = ClippedQuantile.of(5, 300, 0.1, 0.1)
    assert len(arm.beside_) == 300
    offset = rule.offset(arm.calibration_.scores, arm.beside_)
    lower, upper = arm.predict_interval(new)
    np.testing.assert_allclose(upper - lower, 2 * offset)
    assert arm._offsets() == (offset, offset)
    assert arm.promise.level(0.1) == float(rule.floor)
    assert 0 < rule.floor < Fraction(9, 10)


def test_the_plain_arm_is_infinite_and_this_one_does_not_warn(recwarn):
    X, y, trial, new, _ = people(300, 5, 0)
    assert np.isfinite(clipped().fit(X, y, trial=trial).predict_interval(new).width).all()
    assert not recwarn.list
    with pytest.warns(InfiniteIntervalWarning, match="needs 9 trial calibration rows"):
        plain = clipped(clipped=None).fit(X, y, trial=trial)
    assert plain.predict_interval(new).infinite.all()


def test_with_enough_rows_nothing_changes():
    X, y, trial, new, _ = people(300, 30, 1)
    ours, plain = (clipped(clipped=beta).fit(X, y, trial=trial) for beta in (0.1, None))
    np.testing.assert_array_equal(ours.predict_interval(new), plain.predict_interval(new))
    assert ours.promise == plain.promise
    # At another level there may be too few.
    assert ours.with_alpha(0.01).promise.level(0.01) < 0.99
    assert np.isfinite(ours.with_alpha(0.01).predict_interval(new).width).all()


@pytest.mark.slow
@pytest.mark.parametrize(("bias", "spread"), [(0.0, 1.0), (3.0, 1.0), (0.0, 0.01), (0.0, 9.0)])
def test_the_floor_holds_whatever_the_table_is(bias, spread):
    cells = {}
    for m, alpha in [(3, 0.1), (6, 0.1), (8, 0.1), (12, 0.05)]:
        coverages = []
        for seed in range(300):
            X, y, trial, new, truth = people(60, m, 1000 * m + seed, bias, spread, new=50)
            arm = clipped(alpha=alpha).fit(X, y, trial=trial)
            coverages.append(arm.predict_set(new).contains(truth).mean())
        cells[str(m)] = (coverages, arm.promise.level(alpha) or 0.0)
    assert_covers(cells)


@pytest.mark.slow
def test_a_table_like_the_trial_gives_the_level_itself():
    coverages = []
    for seed in range(400):
        X, y, trial, new, truth = people(400, 6, seed, new=50)
        coverages.append(clipped().fit(X, y, trial=trial).predict_set(new).contains(truth).mean())
    assert np.mean(coverages) > 0.87


def test_a_model_promises_what_its_smallest_arm_does(tmp_path):
    X, y, treatment, trial = study_arrays()
    few = np.flatnonzero(trial & (treatment == 1))[4:]
    kept = np.setdiff1d(np.arange(len(y)), few)
    study = X[kept], y[kept], treatment[kept], trial[kept]
    model = CounterfactualIntervals(clipped()).fit(*study)
    levels = [arm.promise.level(0.1) for arm in model.arms_.values()]
    assert levels[0] == 0.9 > levels[1] == model.promise_.level(0.1)
    assert str(model.effect_promise_).startswith("none in numbers: it would need arms that keep their level")
    assert f"{model.promise_}" in model.summary()
    model.save(tmp_path / "model.confide")
    again = load(tmp_path / "model.confide")
    np.testing.assert_array_equal(again.predict_interval(X, 1), model.predict_interval(X, 1))
    assert again.promise_ == model.promise_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base_on": "centred"}, r"clipped=0\.1 takes base_on='observational'.*got base_on='centred'"),
        ({"clipped": 1.5}, r"clipped must lie strictly between 0 and 1, got 1\.5"),
    ],
)
def test_what_does_not_fit_is_named(params, message):
    X, y, trial, *_ = people(60, 5, 0)
    with pytest.raises(ValueError, match=message):
        clipped(**params).fit(X, y, trial=trial)


def test_discrete_outcomes_are_members_by_the_same_offset():
    X, y, trial, new, _ = people(300, 5, 2)
    y = np.clip(np.round(y), -3, 3)
    arm = clipped(outcome_values=range(-3, 4)).fit(X, y, trial=trial)
    sets = arm.predict_set(new)
    offset = arm._clipped_offset()
    for value in range(-3, 4):
        np.testing.assert_array_equal(sets.contains(float(value)), np.abs(value - arm.base_.predict(new)) <= offset)
