"""Sets from residual lines, against the membership rule in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.conformal.lines import ResidualLines, solve_lines

DOMAIN = (-10, 10)
GRID = np.linspace(*DOMAIN, 41)
SLACK = 1e-9


def lines_of(pairs):
    intercepts, slopes = np.array(pairs, dtype=float).T
    return ResidualLines(intercepts, slopes)


def solve(pairs, weights, own=lambda _, y: np.ones(len(y)), alpha=0.3, grid=GRID, slack=SLACK):
    return solve_lines(
        [lines_of(pairs)], np.array(weights, dtype=float), own, alpha, grid, tolerance=1e-10, slack=slack
    )


def is_member(pairs, weights, own, outcome, alpha):
    """Whether a candidate conforms, in fractions."""
    residuals = [abs(a + b * outcome) for a, b in pairs]
    below = sum(weight for weight, residual in zip(weights, residuals[:-1], strict=True) if residual < residuals[-1])
    return below < (1 - Fraction(str(alpha))) * (sum(weights) + own) or sum(weights) + own == 0


def crossings(pairs):
    """Every outcome at which a residual has the same size as the new row's."""
    a, b = pairs[-1]
    for a_i, b_i in pairs[:-1]:
        for sign in (1, -1):
            if b != sign * b_i:
                yield Fraction(sign * a_i - a, b - sign * b_i)


small = st.integers(-4, 4)


@given(
    pairs=st.lists(st.tuples(small, small), min_size=2, max_size=9),
    data=st.data(),
    alpha=st.sampled_from([0.1, 0.3, 0.5]),
    steps=st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
@settings(max_examples=100, deadline=None)
@pytest.mark.slow
def test_equals_the_membership_rule(pairs, data, alpha, steps):
    """Few small integers make lines tie, run in parallel and coincide; the own weight is a step function of y."""
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs) - 1, max_size=len(pairs) - 1))
    cells = np.array(steps)

    def own(outcome):
        return int(cells[int(np.clip((outcome + 10) // 5, 0, 3))])

    sets = solve(pairs, weights, lambda _, y: np.array([own(value) for value in y], dtype=float), alpha)
    crossed = [value for value in crossings(pairs) if DOMAIN[0] < value < DOMAIN[1]]
    jumps = [Fraction(-5), Fraction(0), Fraction(5)]
    edges = [*map(float, crossed), *map(float, jumps)]
    grid = [Fraction(step, 37) for step in range(-370, 371)]
    for outcome in [*grid, *crossed]:
        truth = is_member(pairs, weights, own(outcome), outcome, alpha)
        found = bool(sets.contains(float(outcome))[0])
        near = min((abs(float(outcome) - edge) for edge in edges), default=1.0) < 1e-6
        if truth and outcome not in jumps:
            assert found, outcome  # closed, and rounded outwards
        assert truth or near or not found, outcome


def test_empty_disconnected_and_whole():
    near, far = [(0, 0)] * 9, (100, 0)
    assert solve([*near, far], [1] * 9).empty.tolist() == [True]
    whole = solve([*near, (0, 0)], [1] * 9)
    assert whole[0].tolist() == [[-10, 10]]
    assert whole.whole.tolist() == [True]
    # Residuals |y| below the new row's |5| - but where the new row itself weighs much, everything is in.
    sets = solve([*[(0, 1)] * 9, (5, 0)], [1] * 9, lambda _, y: np.where(np.abs(y) < 1, 1e3, 0.0))
    np.testing.assert_allclose(sets[0], [[-10, -5], [-1, 1], [5, 10]], atol=1e-8)
    assert (sets.disconnected.tolist(), sets.whole.tolist()) == ([True], [False])


def test_without_bounds_and_with_a_constant_weight_ends_are_exact_and_may_be_infinite():
    everything = np.array([-np.inf, np.inf])
    pairs = [*[(value, 0.0) for value in range(1, 10)], (-2.0, 1.0)]
    np.testing.assert_allclose(solve(pairs, [1] * 9, grid=everything, alpha=0.2)[0], [[-6, 10]])
    infinite = solve(pairs, [1] * 9, lambda _, y: np.full(len(y), 9.0), grid=everything, alpha=0.2)
    assert infinite[0].tolist() == [[-np.inf, np.inf]]
    assert infinite.whole.tolist() == [True]


def test_rows_have_their_own_lines_and_weights():
    lines = [lines_of([*[(value, 0.0) for value in range(1, 10)], (-centre, 1.0)]) for centre in (0.0, 3.0)]
    sets = solve_lines(
        lines, np.ones(9), lambda rows, y: np.where(rows == 0, 1.0, 0.0) + 0 * y, 0.5, GRID, tolerance=1e-9, slack=0
    )
    np.testing.assert_allclose(sets.hull(), [[-5, 5], [-2, 8]])


def test_a_weight_that_moves_is_followed_between_crossings():
    """At level ½ of nine rows the candidate is in where its own weight exceeds nine: above y = 9/7."""
    sets = solve([*[(0, 0)] * 9, (1, 0)], [1] * 9, lambda _, y: 7 * np.maximum(y, 0), alpha=0.5)
    np.testing.assert_allclose(sets[0], [[9 / 7, 10]], atol=1e-9)
    assert sets.lower[0] <= 9 / 7


@pytest.mark.parametrize("slack", [0.0, 1e-3])
def test_weight_below_single_outcomes(slack):
    rng = np.random.default_rng(0)
    lines, weights, outcomes = ResidualLines(*rng.integers(-3, 4, (2, 30)).astype(float)), rng.gamma(1, size=29), GRID
    residuals = np.abs(lines.intercepts[:, None] + lines.slopes[:, None] * outcomes)
    expected = [weights[column[:-1] < column[-1] - slack].sum() for column in residuals.T]
    np.testing.assert_allclose(lines.below(outcomes, weights, slack), expected)
