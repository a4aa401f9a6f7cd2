"""Weights, groups and clusters of calibration rows, against their definitions."""

from fractions import Fraction

import numpy as np
import pytest

from confide.conformal.chosen import Choice
from confide.conformal.marks import Marks, calibrated
from confide.conformal.quantile import Calibration, level
from confide.conformal.stacked import Rows, Stack


def test_without_marks_every_row_counts_once():
    scores = np.array([3.0, 1.0, 2.0])
    assert calibrated(scores, None).quantile(0.5) == Calibration.of(scores).quantile(0.5)


def test_rows_of_other_groups_do_not_count():
    marks = Marks(group=np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(marks.weights(1), [0, 1, 0, 1])
    np.testing.assert_array_equal(marks.weights(), [1, 1, 1, 1])
    np.testing.assert_array_equal(calibrated(np.array([4.0, 3.0, 2.0, 1.0]), marks, 1).scores, [1, 3])
    assert calibrated(np.array([4.0, 3.0, 2.0, 1.0]), marks, -1).quantile(0.5) == np.inf


def test_a_cluster_weighs_one():
    marks = Marks(cluster=np.array([0, 0, 1, 2, 2, 2]))
    np.testing.assert_allclose(marks.weights(), [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])


def test_one_row_of_a_cluster_counts_in_its_group():
    counting = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    marks = Marks(counting, np.array([0, 1, 0, 0, 0, 1]), np.array([0, 0, 1, 2, 2, 2]))
    np.testing.assert_allclose(marks.weights(), counting)
    np.testing.assert_allclose(marks.weights(0), [1, 0, 1, 0, 0, 0])


def test_marks_are_taken_with_their_rows():
    marks = Marks(np.array([1.0, 2.0, 3.0]), None, np.array([5, 6, 7]))
    some = marks[np.array([2, 0])]
    np.testing.assert_array_equal(some.weight, [3, 1])
    np.testing.assert_array_equal(some.cluster, [7, 5])
    assert some.group is None
    assert len(some) == 2


def refitted(rows, y, outcomes, penalty, side, weights, own, alpha):
    """Whether each outcome of the last row is in the set: a refit by the normal equations, weights as fractions."""
    table = np.concatenate([np.repeat(y[:, None], len(outcomes), axis=1), outcomes[None]])
    target, design = (table - rows.offset[:, None]) / rows.scale[:, None], rows.features / rows.scale[:, None]
    hat = design @ np.linalg.solve(design.T @ design + np.diag(penalty), design.T)
    residuals = target - hat @ target
    below, above = -residuals / rows.lower[:, None], residuals / rows.upper[:, None]
    scores = np.maximum(below, above)
    smaller = (weights[:, None] * (scores[:-1] < scores[-1] - 1e-9)).sum(axis=0)
    inside = smaller < level(alpha) * (weights.sum() + own)
    if side == "upper":
        return inside | (residuals[-1] < 0)
    return inside | (residuals[-1] > 0) if side == "lower" else inside


def within(sets, outcomes):
    """Whether the one set contains each outcome."""
    return ((sets.lower[:, None] <= outcomes) & (outcomes <= sets.upper[:, None])).any(axis=0)


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize("seed", range(12))
def test_weighted_sets_equal_refits(seed, side):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 30))
    x = rng.normal(size=(m + 1, 2))
    far = 2.0**20
    lower = np.full(m + 1, {"both": 1.3, "lower": 1.0, "upper": far}[side])
    upper = np.full(m + 1, {"both": 0.8, "lower": far, "upper": 1.0}[side])
    features = np.column_stack([np.ones(m + 1), x[:, :1]])
    views = Rows.of(features, 0.3 * x[:, 1], np.exp(0.5 * x[:, 0]), lower, upper)
    y = x[:m, 0] + rng.normal(size=m)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], m)
    own, alpha, penalty = float(rng.choice([0.3, 1.0, 4.0])), 0.25, np.array([0.0, 0.1])
    stack = Stack.of(views.take(slice(0, m)), y, penalty)
    sets = Choice.of([stack], alpha, weights=weights, side=side).sets([views.take(slice(m, m + 1))], own)
    outcomes = np.linspace(-12, 12, 4001)
    expected = refitted(views, y, outcomes, penalty, side, weights, own, alpha)
    found = within(sets, outcomes)
    differ = np.flatnonzero(found != expected)
    # An end may lie between an outcome and the next.
    assert all(
        expected[max(place - 1, 0) : place + 2].any() != expected[max(place - 1, 0) : place + 2].all()
        for place in differ
    )
    assert not (expected & ~found).any()
    if level(alpha) * (weights.sum() + own) > weights.sum():
        assert sets.hull().width[0] == np.inf


@pytest.mark.parametrize("seed", range(6))
def test_the_choice_with_weights_equals_refits_of_every_candidate(seed):
    rng = np.random.default_rng(100 + seed)
    m, alpha = 25, 0.2
    x = rng.normal(size=(m + 1, 2))
    one, both = np.ones((m + 1, 1)), np.column_stack([np.ones(m + 1), x])
    views = [Rows.of(one), Rows.of(both), Rows.of(one, x[:, 0], np.exp(0.5 * x[:, 1]))]
    penalties = [np.zeros(1), np.array([0.0, 1.0, 1.0]), np.zeros(1)]
    y = x[:m, 0] + rng.normal(size=m)
    weights, own = rng.uniform(0.2, 3.0, m), 1.5
    stacks = [Stack.of(view.take(slice(0, m)), y, penalty) for view, penalty in zip(views, penalties, strict=True)]
    choice = Choice.of(stacks, alpha, weights=weights)
    new = [view.take(slice(m, m + 1)) for view in views]
    outcomes = np.linspace(-8, 8, 1601)
    again = [view.take(np.full(len(outcomes), m)) for view in views]
    chosen = choice.chosen_at(again, outcomes)
    members = np.array(
        [
            refitted(view, y, outcomes, penalty, "both", weights, own, alpha)
            for view, penalty in zip(views, penalties, strict=True)
        ]
    )
    expected = members[chosen, np.arange(len(outcomes))]
    found = within(choice.sets(new, own), outcomes)
    assert not (expected & ~found).any()
    assert (found != expected).sum() <= 4


def test_equal_weights_are_no_weights():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    rows = Rows.of(np.column_stack([np.ones(60), x]), 0.0, np.exp(0.4 * x[:, 0]))
    y = x[:40, 0] + rng.normal(size=40)
    stack = Stack.of(rows.take(slice(0, 40)), y, np.array([0.0, 0.01]))
    new = [rows.take(slice(40, 60))]
    plain = Choice.of([stack], 0.1).sets(new).hull()
    weighted = Choice.of([stack], 0.1, weights=np.full(40, 2.5)).sets(new, 2.5).hull()
    np.testing.assert_allclose(np.asarray(plain), np.asarray(weighted))


def test_weighted_coverage_by_exact_enumeration():
    """A new row that is row j with the probability of its weight: covered with at least 1-α, in rational arithmetic."""
    scores = [Fraction(3), Fraction(1), Fraction(4), Fraction(1), Fraction(5)]
    weights = [Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3), Fraction(1)]
    alpha = Fraction(1, 4)
    covered = Fraction(0)
    for new in range(5):
        others = [place for place in range(5) if place != new]
        smaller = sum(weights[place] for place in others if scores[place] < scores[new])
        inside = smaller < (1 - alpha) * sum(weights)
        marks = Marks(weight=np.array([float(weights[place]) for place in others]))
        found = calibrated(np.array([float(scores[place]) for place in others]), marks)
        assert bool(found.contains(float(scores[new]), alpha, float(weights[new]))) == inside
        covered += weights[new] / sum(weights) * inside
    assert covered >= 1 - alpha
