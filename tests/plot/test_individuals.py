"""Intervals: what is drawn is what was given, infinite and empty ones included."""

import time

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from confide import Intervals, IntervalSets, plot
from drawings import FOUR, LOWER, UPPER, drawn, legend, line


def segments(ax):
    """Return the lines of all intervals, one (2, 2) array a row, in the order of their rank."""
    found = [line for each in ax.collections if isinstance(each, LineCollection) for line in each.get_segments()]
    return np.array(sorted(found, key=lambda line: line[0, 0]))


def test_intervals_are_drawn_in_order_of_the_lower_end():
    lines = segments(drawn(plot.intervals(FOUR)))
    order = [1, 2, 3, 0]
    np.testing.assert_array_equal(lines[:, :, 0], np.repeat(np.arange(4.0)[:, None], 2, axis=1))
    np.testing.assert_array_equal(lines[:, :, 1], np.column_stack([LOWER, UPPER])[order])


def test_intervals_points_and_truth_are_drawn_in_order_of_the_points():
    points, truth = [3.0, -2.5, 5.0, 0.6], [4.0, -4.0, 0.0, 3.1]
    ax = drawn(plot.intervals(FOUR, points, truth))
    np.testing.assert_array_equal(segments(ax)[:, 0, 1], LOWER[[1, 3, 0, 2]])
    assert line(ax, "point") == ([0, 1, 2, 3], [-2.5, 0.6, 3.0, 5.0])
    assert line(ax, "truth inside") == ([2, 3], [4.0, 0.0])
    assert line(ax, "truth outside") == ([0, 1], [-4.0, 3.1])
    assert legend(ax) == ["interval", "point", "truth inside: 2", "truth outside: 2"]
    bottom, top = ax.get_ylim()
    assert bottom < -4
    assert top > 5


def test_groups_against_zero_stand_apart_and_are_counted():
    lower, upper = [2.0, -3.0, -1.0, 0.0, -np.inf], [4.0, -2.0, 1.0, 3.0, -1.0]
    ax = drawn(plot.intervals(Intervals(lower, upper), points=[0.0, 9.0, 8.0, 7.0, 1.0], zero=True))
    groups = {each.get_label(): each for each in ax.collections}
    assert list(groups) == ["below 0: 2", "containing 0: 2", "above 0: 1"]
    assert [[line[1, 1] for line in each.get_segments()] for each in groups.values()] == [[-1, -2], [3, 1], [4]]
    colours = [to_hex(each.get_color()[0]) for each in groups.values()]
    assert len(set(colours)) == 3
    assert any(list(each.get_ydata()) == [0, 0] for each in ax.lines)


def test_zero_is_in_view_though_all_intervals_are_far_from_it():
    low, high = plot.intervals(Intervals([8.0], [9.0]), zero=True).get_ylim()
    assert low < 0
    assert high > 9


def test_infinite_ends_run_off_the_axes_with_a_mark_and_are_counted():
    lower, upper = np.array([-np.inf, 0.0, -np.inf, 1.0]), np.array([1.0, np.inf, np.inf, 2.0])
    ax = drawn(plot.intervals(Intervals(lower, upper)))
    assert legend(ax) == ["interval", "no lower end: 2", "no upper end: 2"]
    lines = segments(ax)
    low, high = ax.get_ylim()
    assert -1 < low < 0
    assert 2 < high < 4
    assert (lines[:2, 0, 1] < low - 100 * (high - low)).all()
    assert (lines[1:3, 1, 1] > high + 100 * (high - low)).all()
    np.testing.assert_array_equal(lines[2:, 0, 1], [0, 1])
    np.testing.assert_array_equal(lines[[0, 3], 1, 1], [1, 2])
    assert line(ax, "no lower end") == ([0, 1], [0, 0])
    assert line(ax, "no upper end") == ([1, 2], [1, 1])


def test_infinite_ends_run_off_axes_that_one_value_or_other_content_made():
    ax = Figure().subplots()
    ax.plot([0, 1], [0, 1e6])
    for each in (plot.intervals(Intervals([0.0], [np.inf])), plot.intervals(Intervals([0.0], [np.inf]), ax=ax)):
        low, high = drawn(each).get_ylim()
        assert segments(each)[0, 1, 1] > high + 100 * (high - low)


def test_where_nothing_is_finite_there_is_no_scale():
    ax = drawn(plot.intervals(Intervals([-np.inf] * 3, [np.inf] * 3)))
    assert list(ax.get_yticks()) == []
    assert legend(ax)[1:] == ["no lower end: 3", "no upper end: 3"]


def test_an_empty_interval_is_a_mark_after_all_others():
    ax = drawn(plot.intervals(Intervals([np.nan, 1.0, 0.0], [np.nan, 2.0, 5.0]), points=[0.5, 3, 4], truth=[1, 1, 1]))
    assert line(ax, "empty") == ([2], [0])
    assert line(ax, "point") == ([0, 1, 2], [3, 4, 0.5])
    assert line(ax, "truth outside")[0] == [2]
    assert len(segments(ax)) == 2
    assert legend(ax)[-1] == "empty: 1"


def test_one_row():
    ax = drawn(plot.intervals(Intervals([1.0], [1.0])))
    assert segments(ax).tolist() == [[[0, 1], [0, 1]]]
    assert ax.get_xlabel().startswith("1 row,")
    assert ax.get_legend() is None


def test_many_rows_are_quick_and_their_lines_show_through():
    rng = np.random.default_rng(0)
    points = rng.normal(size=10_000)
    start = time.perf_counter()
    ax = drawn(plot.intervals(Intervals(points - 1, points + 1), points, truth=points + rng.normal(size=10_000)))
    assert time.perf_counter() - start < 10
    (lines,) = ax.collections
    assert len(lines.get_segments()) == 10_000
    assert lines.get_alpha() < 0.2
    assert lines.get_linewidth()[0] < 0.5
    assert all(handle.get_alpha() == 1 for handle in ax.get_legend().legend_handles)


def test_nothing_is_behind_the_legend():
    rng = np.random.default_rng(0)
    points = rng.normal(size=50)
    ax = drawn(plot.intervals(Intervals(points - 9, points + 9), points, truth=points))
    top = ax.transData.transform([(0, points.max() + 9)])[0, 1]
    assert ax.get_legend().get_window_extent().y0 > top


def test_axes_that_are_given_are_drawn_on_and_keep_what_they_have():
    figure = Figure()
    _, ax = figure.subplots(1, 2)
    ax.plot([0, 1], [50, 60], label="mine")
    assert plot.intervals(FOUR, ax=ax) is ax
    assert ax.get_ylim()[1] > 60
    assert legend(ax) == ["mine", "interval"]
    assert len(figure.axes) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intervals": IntervalSets.of(FOUR)}, r"must be Intervals, got IntervalSets. Draw the hull\(\)"),
        ({"intervals": [[0, 1]]}, "must be Intervals, got list"),
        ({"intervals": Intervals([], [])}, "there are 0 intervals; a plot needs at least 1 row"),
        ({"points": [1, 2]}, r"points must be 4 numbers, one per interval, got shape \(2,\)"),
        ({"truth": 1.0}, r"truth must be 4 numbers, one per interval, got shape \(\)"),
        ({"truth": [0, 1, np.nan, 2]}, "truth must be finite, got nan in row 2"),
        ({"ax": "left"}, "ax must be the Axes of a matplotlib figure or None, got str"),
        ({"ax": Figure()}, "ax must be the Axes of a matplotlib figure or None, got Figure"),
    ],
)
def test_what_intervals_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot.intervals(**{"intervals": FOUR, **arguments})
