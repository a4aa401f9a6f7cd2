"""The choice among candidates, against refits of every candidate with every outcome, and each row in turn as new."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.conformal.chosen import Choice
from confide.conformal.deleted import band_of
from confide.conformal.stacked import Rows, Stack, rank_of


def random_views(rng, count, candidates, tails=True):
    """The same rows as several candidates see them, and penalties: with and without slopes, scales, tails, offsets."""
    x = rng.normal(size=(count, 3))
    views, penalties = [], []
    for _ in range(candidates):
        p = rng.integers(0, 4)
        constant = int(rng.random() < 0.8)
        lower = np.exp((rng.choice([0.0, 0.5]) if tails else 0.0) * rng.normal(size=count))
        scale = np.exp(rng.choice([0.0, 0.3, 1.0]) * x[:, 1])
        features = np.column_stack([*[np.ones(count)] * constant, x[:, :p]]) if p + constant else np.empty((count, 0))
        views.append(Rows.of(features, rng.choice([0.0, 1.0, -1.0]) * x[:, 0], scale, lower, 1 / lower))
        penalties.append(np.append(np.zeros(constant), rng.choice([0.01, 3.0], p)))
    return x, views, penalties


def take(views, index):
    return [view.take(index) for view in views]


def stacks_of(views, y, penalties):
    return [Stack.of(view, y, penalty) for view, penalty in zip(views, penalties, strict=True)]


def refitted(rows, y, outcomes, penalty, alpha):
    """Whether each outcome of the last row is in the set, and the estimate V: a refit by the normal equations."""
    table = np.concatenate([np.repeat(y[:, None], len(outcomes), axis=1), outcomes[None]])
    target, design = (table - rows.offset[:, None]) / rows.scale[:, None], rows.features / rows.scale[:, None]
    hat = design @ np.linalg.solve(design.T @ design + np.diag(penalty), design.T)
    residuals = target - hat @ target
    scores = np.maximum(-residuals / rows.lower[:, None], residuals / rows.upper[:, None])
    rank = rank_of(alpha, len(y))
    first, last = band_of(alpha, len(y))
    deleted = np.sort(scores / (1 - np.diag(hat))[:, None], axis=0)[first - 1 : last].mean(axis=0)
    return (scores[:-1] < scores[-1]).sum(axis=0) < rank, deleted * ((rows.lower + rows.upper) * rows.scale).mean()


def by_refits(views, y, outcomes, penalties, alpha, handicaps):
    """Membership and the chosen candidate of each outcome of the last row."""
    each = [refitted(view, y, outcomes, penalty, alpha) for view, penalty in zip(views, penalties, strict=True)]
    inside, estimates = (np.array(values) for values in zip(*each, strict=True))
    chosen = (estimates * handicaps[:, None]).argmin(axis=0)
    return inside[chosen, np.arange(len(outcomes))], chosen


@pytest.mark.parametrize("seed", range(6))
def test_equals_refits_of_every_candidate(seed):
    rng = np.random.default_rng(seed)
    outcomes, changing = np.linspace(-60, 60, 3001), 0
    for _ in range(12):
        m, alpha = int(rng.integers(4, 41)), rng.choice([0.05, 0.1, 0.2, 0.3, 0.5])
        x, views, penalties = random_views(rng, m + 2, rng.integers(2, 6))
        y = rng.choice([0.0, 1.0]) * x[:m, 0] + rng.choice([1.0, 30.0]) * rng.normal(size=m)
        handicaps = rng.choice([1.0, 1.1], len(views))
        choice = Choice.of(stacks_of(take(views, slice(0, m)), y, penalties), alpha, handicaps)
        new = take(views, slice(m, None))
        sets = choice.sets(new)
        for row in range(2):
            together = take(views, np.append(np.arange(m), m + row))
            expected, chosen = by_refits(together, y, outcomes, penalties, alpha, handicaps)
            found = ((sets[row][:, :1] <= outcomes) & (outcomes <= sets[row][:, 1:])).any(axis=0)
            np.testing.assert_array_equal(found, expected)
            at = rng.integers(len(outcomes))
            assert choice.chosen_at(take(new, slice(row, row + 1)), outcomes[at]) == chosen[at]
            changing += len(set(chosen[expected])) > 1
    assert changing


@pytest.mark.parametrize("alpha", ["0.01", "0.05", "0.1", "0.2", "0.3", "0.5", "0.9"])
def test_the_rank_of_the_quantile_is_in_the_band(alpha):
    for m in (1, 2, 3, 9, 10, 19, 30, 99, 250, 1000):
        first, last = band_of(Fraction(alpha), m)
        assert 1 <= first <= last <= m
        if (rank := rank_of(Fraction(alpha), m)) <= m:
            assert first <= rank <= last
    assert band_of(0.1, 99) == (50, 97)


def share_covered(views, y, penalties, alpha, solve):
    """Each row in turn is the new one: the share of the m+1 that are in their own set."""
    covered = 0
    for new in range(len(y)):
        rest = np.delete(np.arange(len(y)), new)
        stacks = stacks_of(take(views, rest), y[rest], penalties)
        covered += int(solve(stacks, take(views, [new]), alpha).contains(y[new])[0])
    return Fraction(covered, len(y))


def chosen_sets(stacks, new, alpha):
    return Choice.of(stacks, alpha).sets(new)


def narrowest_sets(stacks, new, alpha):
    """What must not be done: the candidate whose set is narrowest, given the m trial rows alone."""
    return min((stack.sets(rows, alpha) for stack, rows in zip(stacks, new, strict=True)), key=lambda s: s.measure[0])


@pytest.mark.parametrize("alpha", ["0.1", "0.25", "0.5"])
@pytest.mark.parametrize("m", [3, *(pytest.param(m, marks=pytest.mark.slow) for m in (9, 14))])
def test_every_row_in_turn_is_the_new_one(alpha, m):
    """The proof of the promise: of m+1 rows without ties exactly ⌈(1-α)(m+1)⌉ are in their own sets."""
    rng = np.random.default_rng(m)
    for _ in range(4):
        _, views, penalties = random_views(rng, m + 1, 4)
        share = share_covered(views, rng.normal(size=m + 1), penalties, Fraction(alpha), chosen_sets)
        assert share == Fraction(rank_of(Fraction(alpha), m), m + 1)
        assert 1 - Fraction(alpha) <= share < 1 - Fraction(alpha) + Fraction(1, m + 1)


@pytest.mark.slow
def test_the_narrowest_on_the_trial_rows_alone_covers_too_little():
    """On the same data the choice that includes the new row covers exactly 9 of 10, the other one less."""
    rng = np.random.default_rng(1)
    invalid, valid = [], []
    for _ in range(15):
        x = rng.normal(size=(10, 8))
        y = rng.normal(size=10)
        views = [Rows.of(np.ones((10, 1)), 2 * x[:, place]) for place in range(8)]
        invalid.append(share_covered(views, y, [[0.0]] * 8, 0.1, narrowest_sets))
        valid.append(share_covered(views, y, [[0.0]] * 8, 0.1, chosen_sets))
    assert set(valid) == {Fraction(9, 10)}
    assert np.mean(invalid) < 0.85


few = st.integers(-2, 2)


@given(
    st.lists(st.tuples(few, few, st.integers(1, 2), st.integers(1, 2)), min_size=3, max_size=9),
    st.sampled_from(["0.1", "0.2", "0.25", "0.5"]),
    st.sampled_from([0.0, 101.7, 1e4 + 1 / 3]),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_ties_are_ties_whichever_row_is_new(table, alpha, offset):
    """Few values of everything: scores tie, and so do candidates; the first two are even the same."""
    y, x, scale, tail = np.array(table, dtype=float).T
    one, slope = np.ones((len(y), 1)), np.column_stack([np.ones(len(y)), x])
    views = [Rows.of(one, offset), Rows.of(one, offset), Rows.of(slope, offset + x), Rows.of(slope, 0.0, scale, tail)]
    share = share_covered(views, y + offset, [[0.0], [0.0], [0.0, 0.0], [0.0, 1.0]], Fraction(alpha), chosen_sets)
    assert share >= 1 - Fraction(alpha)


def example(m=30, n=200, candidates=5, seed=0):
    rng = np.random.default_rng(seed)
    x, views, penalties = random_views(rng, m + n, candidates)
    return take(views, slice(0, m)), x[:m, 0] + rng.normal(size=m), penalties, take(views, slice(m, None))


def test_a_batch_is_its_rows_one_by_one():
    trial, y, penalties, new = example()
    choice = Choice.of(stacks_of(trial, y, penalties), 0.1)
    together = choice.sets(new)
    assert not together.empty.any()
    for row in range(0, 200, 5):
        alone = choice.sets(take(new, slice(row, row + 1)))
        np.testing.assert_allclose(alone.hull(), np.asarray(together.hull())[row : row + 1], rtol=1e-4)
        np.testing.assert_allclose(alone.measure, together.measure[row], rtol=1e-4)


def test_neither_the_order_of_rows_nor_units_matter():
    trial, y, penalties, new = example()
    before = Choice.of(stacks_of(trial, y, penalties), 0.1).sets(new).measure
    order = np.random.default_rng(1).permutation(30)
    shuffled = Choice.of(stacks_of(take(trial, order), y[order], penalties), 0.1).sets(new)
    np.testing.assert_allclose(shuffled.measure, before, rtol=1e-4)

    def changed(views):
        return [Rows.of(v.features, 32 * v.offset + 50, 32 * v.scale, v.lower, v.upper) for v in views]

    # Penalties are per scaled feature: features are divided by the larger scale, so they are enlarged with it.
    larger = (
        [Rows.of(32 * view.features, view.offset, view.scale, view.lower, view.upper) for view in changed(trial)],
        [Rows.of(32 * view.features, view.offset, view.scale, view.lower, view.upper) for view in changed(new)],
    )
    other = Choice.of(stacks_of(larger[0], 32 * y + 50, penalties), 0.1).sets(larger[1])
    np.testing.assert_allclose(other.measure, 32 * before, rtol=1e-4)


def test_one_candidate_alone_or_repeated_is_that_candidate():
    trial, y, penalties, new = example()
    for place in range(5):
        stack = Stack.of(trial[place], y, penalties[place])
        expected = stack.sets(new[place], 0.1)
        for copies in (1, 3):
            found = Choice.of([stack] * copies, 0.1).sets([new[place]] * copies)
            np.testing.assert_allclose(found.lower, expected.lower, rtol=1e-9)
            np.testing.assert_allclose(found.upper, expected.upper, rtol=1e-9)


def test_a_much_better_candidate_is_chosen_everywhere():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(90, 1))
    y = 5 * x[:40, 0] + 0.1 * rng.normal(size=40)
    views = [Rows.of(np.ones((90, 1))), Rows.of(np.ones((90, 1)), 5 * x[:, 0])]
    choice = Choice.of(stacks_of(take(views, slice(0, 40)), y, [[0.0], [0.0]]), 0.1)
    new = take(views, slice(40, None))
    expected, found = choice.stacks[1].sets(new[1], 0.1), choice.sets(new)
    np.testing.assert_allclose(found.lower, expected.lower)
    assert (choice.chosen_at(new, found.hull().upper) == 1).all()
    assert (choice.chosen_at(new, found.hull().lower) == 1).all()


def test_values_of_a_discrete_outcome():
    trial, y, penalties, new = example()
    choice = Choice.of(stacks_of(trial, np.round(y), penalties), 0.2)
    values = np.arange(-5, 6)
    found, sets = choice.contains(new, values), choice.sets(new)
    for place, value in enumerate(values):
        np.testing.assert_array_equal(found[:, place], sets.contains(float(value)))


def test_too_few_rows_get_the_whole_line():
    trial, y, penalties, new = example(m=8)
    assert Choice.of(stacks_of(trial, y, penalties), 0.1).sets(new).whole.all()
    assert not Choice.of(stacks_of(trial, y, penalties), 0.2).sets(new).whole.all()


def test_a_candidate_that_the_trial_leaves_undetermined_is_not_chosen():
    trial, y, _, new = example(m=6)
    many = [np.random.default_rng(place).normal(size=(rows, 9)) for place, rows in enumerate((6, 200))]
    choice = Choice.of([Stack.of(Rows.of(many[0]), y), Stack.of(trial[0], y, 0.1)], 0.3)
    views = [Rows.of(many[1]), new[0]]
    assert (choice.chosen_at(views, 0.0) == 1).all()
    np.testing.assert_allclose(choice.sets(views).measure, choice.stacks[1].sets(new[0], 0.3).measure, rtol=1e-4)


def test_wrong_candidates():
    trial, y, penalties, new = example()
    stacks = stacks_of(trial, y, penalties)
    with pytest.raises(ValueError, match="needs 1 to 62 candidates, got 0"):
        Choice.of([], 0.1)
    with pytest.raises(ValueError, match="must have the same trial rows, got 29, 30 rows"):
        Choice.of([stacks[0], Stack.of(trial[1].take(slice(1, None)), y[1:], penalties[1])], 0.1)
    with pytest.raises(ValueError, match="5 candidates need as many views of the new rows, got 200 rows"):
        Choice.of(stacks, 0.1).sets(new[:1])


@pytest.mark.parametrize("side", ["both", "lower"])
def test_ranked_among_some_rows_is_other_rows_of_weight_0(side):
    trial, y, penalties, new = example(m=60)
    choice = Choice.of(stacks_of(trial, y, penalties), 0.1, side=side)
    for kept in (np.arange(60) % 3 > 0, np.arange(60) < 5):
        sets = choice.among(np.flatnonzero(kept), 0.1).sets(new)
        weighed = choice.weighing(kept.astype(float)).sets(new)
        np.testing.assert_array_equal(sets.rows, weighed.rows)
        np.testing.assert_allclose(sets.lower, weighed.lower, rtol=1e-9)
        np.testing.assert_allclose(sets.upper, weighed.upper, rtol=1e-9)
    assert choice.among(np.arange(0), 0.1).sets(new).whole.all()
