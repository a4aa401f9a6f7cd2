"""The curve over correlations of the two outcomes: by hand, and right where its assumption is."""

import numpy as np
import pytest

from confide import CounterfactualIntervals, Intervals, Transfer
from confide.diagnostics import AtCorrelation, correlation_curve


def normal_study(rng, correlation, rows=4000):
    X = rng.normal(size=(rows, 1))
    errors = rng.multivariate_normal([0, 0], [[1, 2 * correlation], [2 * correlation, 4]], size=rows)
    return X, X[:, 0] + errors[:, 0], X[:, 0] + 1 + errors[:, 1]


def fitted(X, y0, y1, rng, **params):
    treatment = rng.integers(2, size=len(X))
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.2, random_state=0, **params)
    return model.fit(X, np.where(treatment == 1, y1, y0), treatment, np.arange(len(X)) % 2 == 1)


def test_the_ends_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    model = fitted(*normal_study(rng, 0.0, 400), rng)
    X = np.array([[0.0], [1.0]])
    above, below = model.predict_interval(X, 1), model.predict_interval(X, 0)
    found = correlation_curve(model, X, [-1, 0, 1])
    widths = [(above.width + below.width), np.hypot(above.width, below.width), np.abs(above.width - below.width)]
    for record, width in zip(found, widths, strict=True):
        np.testing.assert_allclose(record.intervals.width, width)
        assert record.width == pytest.approx(width.mean())
        middle = (above.lower + above.upper - below.lower - below.upper) / 2
        np.testing.assert_allclose((record.intervals.lower + record.intervals.upper) / 2, middle)
        assert record.above == (record.intervals.lower > 0).mean()


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
def test_normal_errors_are_covered_at_their_own_correlation(correlation):
    rng = np.random.default_rng(7)
    model = fitted(*normal_study(rng, correlation), rng)
    X, y0, y1 = normal_study(rng, correlation)
    covered = [each.intervals.contains(y1 - y0).mean() for each in correlation_curve(model, X, [correlation, 0.99])]
    assert 0.77 < covered[0] < 0.83  # 4,000 calibration and 4,000 new rows: a standard error of 0.01
    assert covered[1] < 0.75


def test_infinite_intervals_stay_infinite():
    rng = np.random.default_rng(0)
    X, y0, y1 = normal_study(rng, 0.0, 400)
    treatment = rng.integers(2, size=400)
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.01, random_state=0)
    with pytest.warns(UserWarning, match="infinite"):
        model.fit(X, np.where(treatment == 1, y1, y0), treatment, np.arange(400) >= 380)
    record = correlation_curve(model, X[:3], [1.0])[0]
    assert np.isneginf(record.intervals.lower).all()
    assert np.isposinf(record.intervals.upper).all()
    assert (record.above, record.below) == (0.0, 0.0)


def skewed(rows):
    """Return a study in which ridge predicts outcomes far below 0 for many people, and none is."""
    rng = np.random.default_rng(1)
    X, treatment = rng.normal(size=(rows, 1)), rng.integers(2, size=rows)
    y = np.where(X[:, 0] > 0.5, np.exp(3 * X[:, 0]), 0.0) + treatment
    return X, y, treatment, np.arange(rows) % 4 == 0


def test_an_empty_outcome_makes_an_empty_effect_and_no_infinite_one():
    """Sets wholly below the outcome's range are empty at the model's level, and not at the half that effects use."""
    X, y, treatment, trial = skewed(1200)
    arm = Transfer(base="ridge", outcome_range=(0, np.inf))
    model = CounterfactualIntervals(arm, alpha=0.2, random_state=0).fit(X, y, treatment, trial)
    new = np.random.default_rng(2).normal(size=(200, 1))
    empty = np.any([np.isnan(model.predict_interval(new, label).lower) for label in (0, 1)], axis=0)
    assert 0 < empty.sum() < 200
    for record in correlation_curve(model, new):
        assert np.array_equal(np.isnan(record.intervals.lower), empty)
        assert np.isfinite(record.intervals.upper[~empty]).all()
        assert np.isfinite(record.width)
        assert record.infinite == 0.0
        assert record.above + record.below <= 1 - empty.mean()


def test_a_few_infinite_rows_leave_the_median():
    width = np.array([1.0, 2.0, 3.0, np.inf])
    record = AtCorrelation(0.0, Intervals(np.zeros(4), width), float(width.mean()), 0.0, 0.0)
    assert (record.width, record.median, record.infinite) == (np.inf, 2.5, 0.25)


def test_what_cannot_be_asked_is_named():
    rng = np.random.default_rng(0)
    study = normal_study(rng, 0.0, 400)
    model = fitted(*study, rng)
    for bad in ([], [1.5], [float("nan")]):
        with pytest.raises(ValueError, match="from -1 to 1"):
            correlation_curve(model, study[0], bad)
    with pytest.raises(ValueError, match="two ends"):
        correlation_curve(fitted(*study, rng, side="lower"), study[0])
