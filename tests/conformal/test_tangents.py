"""Bounds of sums of deleted scores hold for every change in their ball, and are off by the square of its radius."""

import numpy as np
import pytest

from confide.conformal.stacked import Rows, Stack
from confide.conformal.tangents import Band, Tangents, TrialRows

BANDS = (Band(1, 1), Band(1, 30), Band(2, 30), Band(15, 29), Band(30, 30))


def trial(rng, count=30, features=2):
    """A stack with unequal scales and tails."""
    x = rng.normal(size=(count, features))
    lower = np.exp(0.3 * rng.normal(size=count))
    rows = Rows.of(np.column_stack([np.ones(count), x]), 0.0, np.exp(0.5 * x[:, 0]), lower, 1 / lower)
    return Stack.of(rows, rng.normal(size=count) + x[:, 0], np.zeros(features + 1))


def exact(stack, band, change, new):
    """The three sums, from scores one by one."""
    products = stack.features @ new
    left = 1 - (stack.features**2).sum(axis=1) + products**2 / (1 + new @ new)
    residuals = stack.residuals - stack.features @ change
    scores = np.sort(np.maximum(residuals / stack.upper, -residuals / stack.lower) / left)
    first, last = band
    parts = ((max(first - 2, 0), last - 1), (first - 1, last - 1), (first - 1, last))
    return [scores[begin:end].sum() for begin, end in parts]


@pytest.mark.parametrize("seed", range(20))
def test_hold_in_their_ball(seed):
    rng = np.random.default_rng(seed)
    stack = trial(rng)
    rows, p = TrialRows.of(stack), stack.features.shape[1]
    balls = 6
    centre, radius = 2 * rng.normal(size=(balls, p)), 10.0 ** rng.uniform(-3, 1, balls)
    leverage = 10.0 ** rng.uniform(-3, 0.5, balls)
    for band in BANDS:
        tangents = Tangents.of(rows, band, centre, radius, leverage)
        for ball in range(balls):
            for _ in range(20):
                way, new = rng.normal(size=(2, p))
                change = centre[ball] + way / np.linalg.norm(way) * radius[ball] * rng.choice([1.0, rng.random()])
                new *= np.sqrt(leverage[ball] * rng.random()) / np.linalg.norm(new)
                sums = exact(stack, band, change, new)
                there = tangents.value[:, ball] + tangents.slope[:, ball] @ change
                assert (there - tangents.under[:, ball] <= sums).all()
                assert (sums <= there + tangents.over[:, ball]).all()


def test_one_centre_serves_many_balls():
    rng = np.random.default_rng(0)
    rows, centre = TrialRows.of(trial(rng)), rng.normal(size=(1, 3))
    radius, leverage = np.array([0.01, 1.0, 3.0]), np.array([0.1, 0.01, 1.0])
    shared = Tangents.of(rows, Band(15, 29), centre, radius, leverage)
    each = Tangents.of(rows, Band(15, 29), np.repeat(centre, 3, axis=0), radius, leverage)
    assert shared.slope.shape == (3, 1, 3)
    np.testing.assert_allclose(np.broadcast_to(shared.slope, each.slope.shape), each.slope)
    for name in ("value", "under", "over"):
        np.testing.assert_allclose(getattr(shared, name), getattr(each, name))


def test_errors_shrink_with_the_square_of_the_radius():
    rng = np.random.default_rng(1)
    rows = TrialRows.of(trial(rng, 1000))
    radius = np.array([1.0, 0.1])
    tangents = Tangents.of(rows, Band(500, 970), np.zeros((1, 3)), radius, np.full(2, 1e-9))
    for errors in (tangents.under, tangents.over):
        assert (errors[:, 1] < errors[:, 0] / 30).all()


def test_a_row_that_is_fitted_by_itself_alone_leaves_nothing_known_of_its_sums():
    rows = Rows.of(np.column_stack([np.ones(5), [0.0, 0.0, 0.0, 0.0, 1.0]]), 0.0, 1.0, 1.0, 1.0)
    stack = Stack.of(rows, np.array([1.0, 2.0, 4.0, 8.0, 3.0]), np.zeros(2))
    tangents = Tangents.of(TrialRows.of(stack), Band(3, 5), np.zeros((1, 2)), np.array([0.1]), np.array([0.1]))
    assert np.isfinite(tangents.under[:2]).all()
    assert np.isfinite(tangents.over[:2]).all()
    assert np.isposinf(tangents.under[2]).all()
    assert np.isposinf(tangents.over[2]).all()


def test_bounds_at_changes_are_those_of_their_ball():
    rng = np.random.default_rng(2)
    stack = trial(rng)
    centre, radius = rng.normal(size=(4, 3)), np.full(4, 0.5)
    tangents = Tangents.of(TrialRows.of(stack), Band(15, 29), centre, radius, np.full(4, 0.1))
    ball = np.array([3, 0, 0])
    changes = centre[ball] + 0.1
    low, high = np.split(tangents.at(ball, changes), 2)
    for place, one in enumerate(ball):
        there = tangents.value[:, one] + tangents.slope[:, one] @ changes[place]
        np.testing.assert_allclose(low[:, place], np.maximum(there - tangents.under[:, one], 0))
        np.testing.assert_allclose(high[:, place], there + tangents.over[:, one])
