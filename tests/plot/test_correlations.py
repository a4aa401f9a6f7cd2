"""The ρ curve: shares and widths are those of the records."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from confide import CounterfactualIntervals, Intervals, plot
from confide.diagnostics import AtCorrelation, correlation_curve
from drawings import drawn, is_whole, legend
from helpers import study_arrays

SOME = Intervals([0.5], [1.5])
LOW, HIGH = AtCorrelation(-0.5, SOME, 4.0, 0.1, 0.0), AtCorrelation(1.0, SOME, 1.0, 0.6, 0.2)


def points(ax):
    """Return the points of each line by its name."""
    lines = [each for each in ax.lines if len(each.get_xdata())]
    return {each.get_label(): [tuple(map(float, point)) for point in each.get_xydata()] for each in lines}


def test_shares_above_and_below_zero_in_order_of_the_correlation():
    ax = drawn(plot.correlation_curve([HIGH, LOW]))
    assert points(ax) == {"effect above 0": [(-0.5, 0.1), (1, 0.6)], "effect below 0": [(-0.5, 0.0), (1, 0.2)]}
    assert [each.get_linestyle() for each in ax.lines] == ["-", "--"]
    assert ax.get_ylim()[1] > 0.6
    assert is_whole(ax)


def test_what_is_drawn_of_a_model_equals_its_records():
    X, y, treatment, trial = study_arrays()
    model = CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(X, y, treatment, trial)
    found = correlation_curve(model, X[trial])
    shares = points(drawn(plot.correlation_curve(found)))
    assert shares["effect above 0"] == [(each.correlation, each.above) for each in found]
    assert shares["effect below 0"] == [(each.correlation, each.below) for each in found]
    (widths,) = points(drawn(plot.correlation_curve(found, "width"))).values()
    assert widths == [(each.correlation, each.width) for each in found]


def test_widths_have_their_unit_and_begin_at_zero():
    ax = drawn(plot.correlation_curve([LOW, HIGH], "width", unit="mmHg"))
    assert list(points(ax).values()) == [[(-0.5, 4.0), (1, 1.0)]]
    assert ax.get_ylabel() == "mean width of the effects' intervals (mmHg)"
    assert ax.get_ylim()[0] == 0
    assert ax.get_legend() is None


def test_infinite_widths_are_triangles_at_the_edge():
    ax = drawn(plot.correlation_curve([replace(LOW, width=np.inf), HIGH], "width"))
    assert points(ax)["infinite"] == [(-0.5, 1.0)]
    (edge,) = [each for each in ax.lines if each.get_label() == "infinite"]
    assert edge.get_transform() == ax.get_xaxis_transform()
    assert [(1, 1.0)] in points(ax).values()
    ax = drawn(plot.correlation_curve([replace(LOW, width=np.inf)], "width"))
    assert list(ax.get_yticks()) == []


def test_several_treatments_have_their_colours_and_names():
    found = {"drug A": [LOW, HIGH], "drug B": [replace(LOW, above=0.3), replace(HIGH, above=0.9)]}
    ax = drawn(plot.correlation_curve(found))
    assert legend(ax) == [f"drug {name}, effect {side} 0" for name in "AB" for side in ("above", "below")]
    assert points(ax)["drug B, effect above 0"] == [(-0.5, 0.3), (1, 0.9)]
    colours = [each.get_color() for each in ax.lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert is_whole(ax)
    assert legend(drawn(plot.correlation_curve(found, "width"))) == ["drug A", "drug B"]


@pytest.mark.parametrize(
    ("found", "of", "said"),
    [
        ([], "shares", r"1 AtCorrelation or more, got none: give correlation_curve\(model, X\)"),
        ({"a": [0.5]}, "shares", "got a float"),
        ({}, "shares", "1 curve or more, got none"),
        ([LOW], "rows", "of must be 'shares' or 'width', got 'rows'"),
    ],
)
def test_what_is_refused(found, of, said):
    with pytest.raises(ValueError, match=said):
        plot.correlation_curve(found, of)


def test_axes_that_are_given_are_drawn_on():
    ax = Figure().subplots()
    assert plot.correlation_curve([LOW], ax=ax) is ax
