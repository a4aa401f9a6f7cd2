"""Sets of a stacked regression, against refits with every candidate outcome, in floats and in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.conformal.centred import CentredCalibration
from confide.conformal.stacked import CHUNK, Rows, Stack, rank_of

ALPHAS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5]


def random_rows(rng, count, p, spread=1.0, tails=0.5):
    features = np.column_stack([np.ones(count), rng.normal(size=(count, p - 1))])
    sizes = [np.exp(size * rng.normal(size=count)) for size in (spread, tails, tails)]
    return Rows.of(features, rng.normal(size=count), *sizes)


def refitted_scores(trial, y, new, outcomes, penalty):
    """Scores of the m+1 rows, one column per candidate outcome: a refit by the normal equations."""
    every = [np.concatenate([getattr(trial, name), getattr(new, name)]) for name in ("features", "offset", "scale")]
    lower, upper = (np.concatenate([getattr(trial, name), getattr(new, name)]) for name in ("lower", "upper"))
    features, offset, scale = every
    table = np.concatenate([np.repeat(y[:, None], len(outcomes), axis=1), outcomes[None]])
    target, design = (table - offset[:, None]) / scale[:, None], features / scale[:, None]
    normal = design.T @ design + np.diag(penalty)
    residuals = target - design @ np.linalg.solve(normal, design.T @ target)
    return np.maximum(-residuals / lower[:, None], residuals / upper[:, None])


def is_in(scores, alpha):
    smaller = (scores[:-1] < scores[-1]).sum(axis=0)
    return smaller < (1 - Fraction(str(alpha))) * len(scores)


def inside(intervals, outcomes):
    return ((intervals[:, :1] <= outcomes) & (outcomes <= intervals[:, 1:])).any(axis=0)


@pytest.mark.parametrize("seed", range(10))
def test_the_closed_form_is_the_refit(seed):
    """200 random cases: 10⁴ candidates each, and none on the wrong side of an end."""
    rng = np.random.default_rng(seed)
    outcomes = np.linspace(-40, 40, 10_000)
    kinds = set()
    for _ in range(20):
        m, p = rng.integers(3, 41), rng.integers(1, 5)
        spread, tails = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.5])
        trial, new = random_rows(rng, m, p, spread, tails), random_rows(rng, 1, p, spread, tails)
        y, alpha = trial.offset + 2 * rng.normal(size=m), rng.choice(ALPHAS)
        penalty = np.append(0.0, rng.choice([0.0, 0.01, 3.0], p - 1))
        found = Stack.of(trial, y, penalty).sets(new, alpha)
        kinds.add((bool(found.hull().infinite[0]), bool(found.disconnected[0])))
        expected = is_in(refitted_scores(trial, y, new, outcomes, penalty), alpha)
        np.testing.assert_array_equal(inside(found[0], outcomes), expected)
    assert {(False, False), (True, False)} <= kinds


def test_gaps_are_found():
    """A new row of high leverage moves trial rows past their own score and back: some sets have gaps."""
    rng = np.random.default_rng(3)
    outcomes, gaps = np.linspace(-100, 100, 4001), 0
    for _ in range(200):
        trial, new = random_rows(rng, 6, 2), random_rows(rng, 1, 2)
        y = rng.normal(size=6)
        found = Stack.of(trial, y).sets(new, 0.5)
        gaps += found.disconnected[0]
        expected = is_in(refitted_scores(trial, y, new, outcomes, [0, 0]), 0.5)
        np.testing.assert_array_equal(inside(found[0], outcomes), expected)
    assert gaps


def test_more_features_than_rows():
    rng = np.random.default_rng(4)
    trial, new = random_rows(rng, 12, 30), random_rows(rng, 3, 30)
    y, penalty = rng.normal(size=12), np.append(0.0, np.full(29, 8.0))
    found = Stack.of(trial, y, penalty).sets(new, 0.2)
    outcomes = np.linspace(-20, 20, 10_000)
    for row in range(3):
        expected = is_in(refitted_scores(trial, y, new.take(slice(row, row + 1)), outcomes, penalty), 0.2)
        np.testing.assert_array_equal(inside(found[row], outcomes), expected)


def shares_covered(rows, y, penalty, alpha, slack=0.0):
    """Each row in turn is the new one: how many of the m+1 are in their own set."""
    covered = 0
    for new in range(len(y)):
        rest = np.delete(np.arange(len(y)), new)
        sets = Stack.of(rows.take(rest), y[rest], penalty, slack).sets(rows.take(np.array([new])), alpha)
        covered += int(sets.contains(y[new])[0])
    return Fraction(covered, len(y))


@pytest.mark.parametrize("alpha", ["0.05", "0.1", "0.25", "0.3", "0.5"])
@pytest.mark.parametrize("m", [3, 4, 9, 19])
def test_every_row_in_turn_is_the_new_one(alpha, m):
    """The proof of the promise: of m+1 rows without ties exactly ⌈(1-α)(m+1)⌉ are in their own sets."""
    rng = np.random.default_rng(m)
    for p in (1, 2, 3):
        rows, y = random_rows(rng, m + 1, p), rng.normal(size=m + 1)
        share = shares_covered(rows, y, np.append(0.0, np.full(p - 1, 0.1)), Fraction(alpha))
        assert share == Fraction(rank_of(Fraction(alpha), m), m + 1)
        assert 1 - Fraction(alpha) <= share < 1 - Fraction(alpha) + Fraction(1, m + 1)


few = st.integers(-2, 2)


@given(
    st.lists(st.tuples(few, few, st.integers(1, 2), st.integers(1, 2)), min_size=3, max_size=12),
    st.sampled_from(["0.1", "0.2", "0.25", "0.3", "0.5"]),
    st.sampled_from([0.0, 101.7, 1e4 + 1 / 3]),
    st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=150, deadline=None)
def test_ties_are_ties_whichever_row_is_new(table, alpha, offset, ridge):
    """Few values of everything: rows repeat, features are collinear, and residuals are equal or 0."""
    y, x, scale, tail = np.array(table, dtype=float).T
    rows = Rows.of(np.column_stack([np.ones(len(y)), x]), offset, scale, tail, 1.0)
    assert shares_covered(rows, y + offset, [0.0, ridge], Fraction(alpha)) >= 1 - Fraction(alpha)


def exact_scores(features, scale, lower, y, penalty):
    """Scores of all rows of a regression on two features, in fractions."""
    psi = [[Fraction(each, size) for each in row] for row, size in zip(features, scale, strict=True)]
    z = [Fraction(value, size) for value, size in zip(y, scale, strict=True)]
    (a, b), (_, d) = (
        [sum(row[i] * row[j] for row in psi) + (penalty[i] if i == j else 0) for j in range(2)] for i in range(2)
    )
    right = [sum(row[i] * each for row, each in zip(psi, z, strict=True)) for i in range(2)]
    determinant = a * d - b * b
    beta = [(d * right[0] - b * right[1]) / determinant, (a * right[1] - b * right[0]) / determinant]
    residuals = [each - row[0] * beta[0] - row[1] * beta[1] for row, each in zip(psi, z, strict=True)]
    return [max(-each / Fraction(tail), each) for each, tail in zip(residuals, lower, strict=True)]


@given(
    st.lists(st.tuples(st.integers(-3, 3), few, st.integers(1, 2), st.integers(1, 2)), min_size=3, max_size=9),
    st.sampled_from(["0.1", "0.2", "0.25", "0.3", "0.5"]),
)
@settings(max_examples=100, deadline=None)
def test_equals_the_rule_in_fractions(table, alpha):
    """Membership of discrete outcomes, the last row being the new one: every tie is in, and nothing else."""
    y, x, scale, lower = (list(each) for each in zip(*table, strict=True))
    features, penalty, values = [[1, each] for each in x], [0, 1], np.arange(-6, 7)
    rows = Rows.of(features, 0.0, scale, lower, 1.0)
    stack = Stack.of(rows.take(slice(0, len(y) - 1)), np.array(y[:-1]), penalty)
    found = stack.contains(rows.take(slice(len(y) - 1, None)), values, Fraction(alpha))
    for place, value in enumerate(values):
        scores = exact_scores(features, scale, lower, [*y[:-1], int(value)], penalty)
        smaller = sum(each < scores[-1] for each in scores[:-1])
        assert found[0, place] == (smaller < (1 - Fraction(alpha)) * len(y))


def test_a_batch_is_its_rows_one_by_one():
    rng = np.random.default_rng(5)
    trial, new = random_rows(rng, 30, 3), random_rows(rng, 300, 3)
    stack = Stack.of(trial, rng.normal(size=30), [0, 0, 1])
    together = stack.sets(new, 0.1)
    for row in range(300):
        np.testing.assert_allclose(stack.sets(new.take(slice(row, row + 1)), 0.1)[0], together[row], rtol=1e-9)


def test_chunks_join():
    rng = np.random.default_rng(6)
    trial, new = random_rows(rng, 20, 2), random_rows(rng, CHUNK + 7, 2)
    stack = Stack.of(trial, rng.normal(size=20))
    sets = stack.sets(new, 0.2)
    assert len(sets) == len(new)
    last = np.arange(CHUNK - 3, CHUNK + 7)
    np.testing.assert_allclose(sets.take(last).lower, stack.sets(new.take(last), 0.2).lower, rtol=1e-9)


def test_neither_the_order_of_trial_rows_nor_units_matter():
    rng = np.random.default_rng(7)
    trial, new, y = random_rows(rng, 25, 3), random_rows(rng, 50, 3), rng.normal(size=25)
    before = Stack.of(trial, y).sets(new, 0.1)
    order = rng.permutation(25)
    shuffled = Stack.of(trial.take(order), y[order]).sets(new, 0.1)
    np.testing.assert_allclose(shuffled.lower, before.lower, rtol=1e-9)
    np.testing.assert_allclose(shuffled.upper, before.upper, rtol=1e-9)

    def changed(rows):
        return Rows.of(rows.features * [1, 1e-3, 1e3], 32 * rows.offset + 50, 32 * rows.scale, rows.lower, rows.upper)

    other = Stack.of(changed(trial), 32 * y + 50).sets(changed(new), 0.1)
    np.testing.assert_allclose(other.lower, 32 * before.lower + 50, rtol=1e-8)
    np.testing.assert_allclose(other.upper, 32 * before.upper + 50, rtol=1e-8)


def test_the_constant_with_offset_is_the_centred_calibration():
    rng = np.random.default_rng(8)
    y, offset = rng.normal(size=40), rng.normal(size=40)
    sets = Stack.of(Rows.of(np.ones((40, 1)), offset), y).sets(Rows.of(np.ones((1, 1)), 5.0), 0.1)
    mean = (y - offset).mean()
    below, above = CentredCalibration.of(y - offset - mean).quantiles(0.1)
    np.testing.assert_allclose(sets[0], [[5 + mean - below, 5 + mean + above]])


@pytest.mark.parametrize("m", [1, 5, 8, 9, 30])
def test_never_empty_and_unbounded_exactly_when_the_rule_says(m):
    """Above: unless at least k rows have -u_i/u < ψ_iᵀψ < ℓ_i/u; below: unless k have -ℓ_i/ℓ < ψ_iᵀψ < u_i/ℓ."""
    rng = np.random.default_rng(m)
    trial, new, penalty = random_rows(rng, m, 2), random_rows(rng, 2000, 2), np.array([0.0, 0.1])
    stack = Stack.of(trial, rng.normal(size=m), penalty)
    sets, rank = stack.sets(new, 0.1), rank_of(0.1, m)
    assert not sets.empty.any()
    psi, psi_new = trial.features / trial.scale[:, None], new.features / new.scale[:, None]
    products = psi_new @ np.linalg.solve(psi.T @ psi + np.diag(penalty), psi.T)
    upper, lower = new.upper[:, None], new.lower[:, None]
    finite_above = ((-trial.upper / upper < products) & (products < trial.lower / upper)).sum(axis=1) >= rank
    finite_below = ((-trial.lower / lower < products) & (products < trial.upper / lower)).sum(axis=1) >= rank
    hull = sets.hull()
    np.testing.assert_array_equal(np.isposinf(hull.upper), ~finite_above)
    np.testing.assert_array_equal(np.isneginf(hull.lower), ~finite_below)
    assert sets.whole.all() == (rank > m)


def test_rows_that_the_trial_leaves_undetermined_get_the_whole_line():
    rng = np.random.default_rng(9)
    rare = np.zeros(40)
    features = np.column_stack([np.ones(40), rng.normal(size=40), rare])
    stack = Stack.of(Rows.of(features), rng.normal(size=40))
    sets = stack.sets(Rows.of([[1.0, 0.3, 1.0], [1.0, 0.3, 0.0]]), 0.1)
    assert sets.whole.tolist() == [True, False]
    without = Stack.of(Rows.of(features[:, :2]), rng.normal(size=40))
    assert not without.sets(Rows.of([[1.0, 0.3]]), 0.1).whole.any()
    few_rows = Stack.of(Rows.of(features[:2]), rng.normal(size=2))
    assert few_rows.sets(Rows.of([[1.0, 0.3, 0.0]]), 0.5).whole.all()


def test_a_feature_given_twice_changes_nothing():
    rng = np.random.default_rng(10)
    x, new, y = rng.normal(size=(30, 1)), rng.normal(size=(5, 1)), rng.normal(size=30)

    def with_copies(values, copies):
        return Rows.of(np.column_stack([np.ones(len(values)), *[values] * copies]))

    once = Stack.of(with_copies(x, 1), y).sets(with_copies(new, 1), 0.1)
    twice = Stack.of(with_copies(x, 2), y).sets(with_copies(new, 2), 0.1)
    np.testing.assert_allclose(twice.lower, once.lower, rtol=1e-9)


def test_scores_within_the_slack_are_tied():
    y = np.array([0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    rows = Rows.of(np.zeros((9, 0)))
    new, value = Rows.of(np.zeros((1, 0))), 1.0 + 1e-6
    assert not Stack.of(rows, y).sets(new, 0.1).contains(value)[0]
    assert Stack.of(rows, y, slack=1e-5).sets(new, 0.1).contains(value)[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": [1.0, 0.0]}, "scale must be finite and above 0, got 0.0"),
        ({"lower": -1.0}, "lower must be finite and above 0, got -1.0"),
        ({"offset": np.nan}, "offset must be finite, got nan"),
        ({"upper": [1.0, 1.0, 1.0]}, r"upper must be one number or 2 numbers, got shape \(3,\)"),
        ({"features": [1.0, 1.0]}, r"features must have two dimensions, got shape \(2,\)"),
    ],
)
def test_wrong_rows(change, message):
    with pytest.raises(ValueError, match=message):
        Rows.of(**{"features": np.ones((2, 1)), **change})


def test_wrong_numbers_of_features_and_penalties():
    stack = Stack.of(Rows.of(np.ones((5, 1))), np.arange(5.0))
    with pytest.raises(ValueError, match="new rows need 1 features, got 2"):
        stack.sets(Rows.of(np.ones((1, 2))), 0.5)
    with pytest.raises(ValueError, match="penalty finite and at least 0"):
        Stack.of(Rows.of(np.ones((5, 1))), np.arange(5.0), -1.0)
