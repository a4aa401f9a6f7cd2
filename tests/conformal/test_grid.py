import numpy as np
import pytest

from confide.conformal import Calibration
from confide.conformal.grid import outcome_grid, rows_at_once, solve_on_grid
from confide.conformal.intervals import Intervals

TOLERANCE = 1e-9


def no_core(rows):
    return Intervals(np.full(rows, np.nan), np.full(rows, np.nan))


def solve(member, rows=1, core=None, grid=None):
    grid = np.linspace(-1, 1, 41) if grid is None else grid
    return solve_on_grid(member, core or no_core(rows), grid, TOLERANCE)


def test_disconnected_sets_have_their_components():
    sets = solve(lambda _, y: (np.abs(y - 0.5) <= 0.2) | (np.abs(y + 0.5) <= 0.1))
    np.testing.assert_allclose(sets[0], [[-0.6, -0.4], [0.3, 0.7]], atol=2 * TOLERANCE)


def test_each_row_has_its_own_set():
    centres = np.array([-0.8, 0.0, 0.33])
    sets = solve(lambda rows, y: np.abs(y - centres[rows]) <= 0.1, rows=3)
    np.testing.assert_allclose(sets.hull(), np.column_stack([centres - 0.1, centres + 0.1]), atol=2 * TOLERANCE)


def test_empty_and_whole_domain():
    sets = solve(lambda rows, _: rows == 1, rows=2)
    assert sets.components.tolist() == [0, 1]
    assert sets[1].tolist() == [[-1, 1]]


def test_a_core_narrower_than_the_grid_is_found():
    core = Intervals(np.array([0.111]), np.array([0.112]))
    sets = solve(lambda _, y: (y >= 0.1105) & (y <= 0.1125), core=core)
    np.testing.assert_allclose(sets[0], [[0.1105, 0.1125]], atol=2 * TOLERANCE)


def test_a_core_outside_the_domain_adds_nothing():
    core = Intervals(np.array([3.0, -5.0]), np.array([4.0, 5.0]))
    sets = solve(lambda _, y: y > 0.95, rows=2, core=core)
    np.testing.assert_allclose(sets[0], [[0.95, 1]], atol=2 * TOLERANCE)
    assert sets[1].tolist() == [[-1, 1]]


def test_ends_are_rounded_outwards():
    sets = solve(lambda _, y: np.abs(y) <= 1 / 3)
    assert sets.lower[0] < -1 / 3
    assert sets.upper[0] > 1 / 3


def test_a_single_candidate():
    assert solve(lambda _, y: y == 2.0, grid=np.array([2.0]))[0].tolist() == [[2, 2]]


def test_bisection_ends_where_floats_do():
    sets = solve_on_grid(lambda _, y: y <= 1e17 + 100, no_core(1), np.array([1e17, 2e17]), tolerance=1e-30)
    assert sets.upper[0] >= 1e17 + 100


def test_equals_the_membership_rule_on_many_candidates():
    """Against 10⁵ candidates a row, up to components that are narrower than the grid."""
    rng = np.random.default_rng(3)
    rows, bound = 20, 4.0
    scores = np.abs(rng.standard_normal(300))
    calibration = Calibration.of(scores, rng.gamma(0.3, size=300))
    centres = rng.uniform(-2, 2, rows)
    phases = rng.uniform(0, 6, rows)

    def weight(row, y):
        return 40 * np.exp(2 * np.sin(3 * y + phases[row]))

    def member(row, y):
        return calibration.contains(np.abs(y - centres[row]), 0.1, weight(row, y))

    quantile = calibration.quantile(0.1, 0.0)
    grid = np.linspace(-bound, bound, 256)
    sets = solve_on_grid(member, Intervals(centres - quantile, centres + quantile), grid, 1e-6)
    candidates = np.linspace(-bound, bound, 100_001)
    differ = total_components = 0
    for row in range(rows):
        truth = member(np.full(len(candidates), row), candidates)
        found = ((sets[row][:, :1] <= candidates) & (candidates <= sets[row][:, 1:])).any(axis=0)
        total_components += len(sets[row])
        # Runs of disagreement must be shorter than a grid cell.
        edges = np.flatnonzero(np.diff(np.r_[0, (truth != found).astype(int), 0]))
        for start, stop in edges.reshape(-1, 2):
            differ += stop - start
            assert candidates[stop - 1] - candidates[start] <= grid[1] - grid[0]
    assert total_components > rows  # the case is a hard one: some sets are unions
    assert differ < 1e-3 * rows * len(candidates)


def test_the_grid_spans_the_domain_and_follows_the_outcomes():
    outcomes = np.random.default_rng(0).lognormal(sigma=2, size=1000)
    grid = outcome_grid(outcomes, (-1.0, 2000.0), 128)
    assert (grid[0], grid[-1]) == (-1, 2000)
    assert (np.diff(grid) > 0).all()
    assert np.mean(grid < np.median(outcomes)) > 0.2


@pytest.mark.parametrize("columns", [2, 50, 100_000])
def test_rows_at_once_respect_the_memory_bound(columns):
    rows = rows_at_once(258, columns)
    assert rows == 1 or rows * 258 * columns <= 2**22
