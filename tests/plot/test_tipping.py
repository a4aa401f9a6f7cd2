"""Tipping points: the height at each Γ is the share of rows for which the statement stands there."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from confide import CounterfactualIntervals, plot
from confide.diagnostics import tipping_point
from drawings import drawn, is_whole, legend


def curves(ax):
    return [each for each in ax.lines if each.get_drawstyle() == "steps-pre"]


def height(curve, gamma):
    """Return the height of a step curve: that of the first point at gamma or beyond."""
    x, y = curve.get_data()
    return y[np.searchsorted(x, gamma)]


def arrows(ax):
    return [tuple(map(float, each.get_ydata())) for each in ax.lines if each.get_marker() == ">"]


def test_a_statement_falls_beyond_its_tipping_point():
    ax = drawn(plot.tipping_point([2.0, np.nan, 1.5, 2.0, 4.0]))
    (curve,) = curves(ax)
    heights = {1: 4, 1.49: 4, 1.5: 4, 1.51: 3, 2: 3, 2.01: 1, 4: 1, 4.01: 0}
    assert {gamma: round(5 * height(curve, gamma)) for gamma in heights} == heights
    assert legend(ax) == ["4 of 5 rows at Γ = 1"]
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[1] > 4
    assert arrows(ax) == []
    assert is_whole(ax)


@pytest.mark.parametrize("side", ["both", "lower"])
def test_what_is_drawn_of_a_model_is_what_stands_with_gamma(side):
    rng = np.random.default_rng(0)
    X, treatment, trial = rng.normal(size=(160, 1)), np.arange(160) % 2, np.arange(160) >= 80
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.2, side=side, random_state=0)
    model.fit(X, X[:, 0] + rng.normal(size=160), treatment, trial)
    new = X[trial]
    value = float(np.median(model.with_gamma(1.5).predict_interval(new, 1).lower))
    (curve,) = curves(drawn(plot.tipping_point({"above": tipping_point(model, new, 1, above=value)})))
    gammas = (1, 1.2, 1.5, 2, 2.5, 3)
    for gamma in gammas:
        standing = model.with_gamma(gamma).predict_interval(new, 1).lower > value
        assert height(curve, gamma) == standing.mean()
    assert len({height(curve, gamma) for gamma in gammas}) > 3


def test_what_stands_however_large_gamma_is_has_an_arrow():
    ax = drawn(plot.tipping_point([np.inf, 3.0, np.inf, np.nan]))
    assert height(curves(ax)[0], ax.get_xlim()[1]) == 0.5
    assert arrows(ax) == [(0.5,)]
    assert curves(drawn(plot.tipping_point([np.inf])))[0].get_ydata().tolist() == [1, 1]


def test_several_statements_have_their_curves_and_names():
    found = {"drug A above 0": [1.5, np.nan], "drug B above 0": [np.nan, np.nan], 3: [np.inf]}
    ax = drawn(plot.tipping_point(found))
    counted = ["drug A above 0: 1 of 2 rows", "drug B above 0: 0 of 2 rows", "3: 1 of 1 row"]
    assert legend(ax) == [f"{each} at Γ = 1" for each in counted]
    assert [height(curve, 1) for curve in curves(ax)] == [0.5, 0, 1]
    assert len({curve.get_color() for curve in curves(ax)}) == 3


def test_ticks_are_plain_numbers_within_the_axis_and_small_shares_are_seen():
    for largest, last in ((1.2, "2"), (12.0, "10"), (900.0, "1000")):
        ax = drawn(plot.tipping_point([largest, *[np.nan] * 49]))
        names = [text.get_text() for text in ax.get_xticklabels()]
        assert (names[0], names[-1]) == ("1", last)
        assert [text for text in ax.get_xticklabels(minor=True) if text.get_text()] == []
        assert ax.get_ylim()[1] < 0.1


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "1 statement or more, got none"),
        ([], r"1 number or more per statement, got shape \(0,\)"),
        ({"a": [[1.5]]}, r"got shape \(1, 1\)"),
        ([1.5, 0.7], "1 or more, or NaN, got 0.7"),
    ],
)
def test_what_is_refused(found, said):
    with pytest.raises(ValueError, match=said):
        plot.tipping_point(found)


def test_axes_that_are_given_are_drawn_on():
    ax = Figure().subplots()
    assert plot.tipping_point([1.5], ax=ax) is ax
