"""Ends at other levels: rounded outwards by less than a step, or exact where few differ."""

import numpy as np
import pytest

from confide.report.individuals import Individuals
from confide.report.packed_levels import MOST_LISTED, Grid, levels_of, rounded
from report_pages import fitted, new_patients

ENDS = np.random.default_rng(0).normal(3, 20, 2000)


@pytest.mark.parametrize("size", [1e-6, 1.0, 37.0, 1e9])
@pytest.mark.parametrize("up", [False, True])
def test_ends_move_outwards_by_less_than_a_step(size, up):
    ends = np.concatenate([size * ENDS, [np.inf, -np.inf, np.nan]])
    grid = Grid.of([ends], np.full(3, 30 * size))
    assert grid.mantissa in (1, 2, 5)
    found = rounded(ends, grid, up=up)
    outwards = (found[:-3] - ends[:-3]) * (1 if up else -1)
    assert (outwards >= 0).all()
    assert (outwards < grid.step * (1 + 1e-9)).all()
    np.testing.assert_array_equal(found[-3:], ends[-3:])
    assert np.ptp(found[:-3]) / grid.step < 65_533


def test_a_few_huge_intervals_do_not_make_the_others_coarse():
    ends = np.concatenate([ENDS, [1e9]])
    assert Grid.of([ends], np.full(3, 30.0)) is None
    for up in (False, True):
        outwards = (rounded(ends, None, up=up) - ends) * (1 if up else -1)
        assert (outwards >= 0).all()
        assert (outwards <= 2e-7 * np.abs(ends)).all()


def test_few_different_ends_are_exact():
    ends = np.resize(ENDS[:MOST_LISTED], 5000)
    np.testing.assert_array_equal(rounded(ends, Grid(1, 0), up=True), ends)


def test_as_many_levels_as_there_is_room_for():
    model = fitted("wcp")
    individuals = Individuals.of_table(model, new_patients(300))

    def levels(room):
        found = levels_of(model, individuals, None, room)
        return found and found["levels"]

    one = 6 * 300 * 2 * 4 // 3
    assert levels(10**6) == [0.025, 0.05, 0.1, 0.2, 0.4]
    assert levels(2 * one + 1) == [0.05, 0.1, 0.2]
    assert levels(one) == [0.1, 0.2]
    assert levels(one - 1) is None
    assert levels(-5) is None
