"""Calibration by decile: each mark and its bar are those of a record."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from confide import CounterfactualIntervals, plot
from confide.datasets import synthetic
from confide.diagnostics import Coverage, PartCoverage, coverage_by_decile
from drawings import dots, drawn, is_whole, legend, ticks
from helpers import study_arrays

ARM = Coverage("drug", 40, 0.85, 0.7, 0.95, 3.2, 0.0)
FIRST = PartCoverage("prediction", 1, 10, 1.5, 4.04, ARM)
LAST = replace(FIRST, part=10, least=7.0, most=8.0, coverage=replace(ARM, coverage=1.0, low=0.91, high=1.0))


def marks(ax):
    """Return (part, coverage, low, high) of each mark, in the order drawn."""
    return [(round(x), *bar) for x, *bar in dots(ax)]


def told(record):
    arm = record.coverage
    return (record.part, arm.coverage, arm.low, arm.high)


def test_one_arm_has_its_deciles_and_their_largest_values():
    ax = drawn(plot.calibration_by_decile([FIRST, LAST], alpha=0.1, outcome="pain", unit="cm"))
    np.testing.assert_allclose(marks(ax), [told(FIRST), told(LAST)])
    names = ticks(ax.xaxis)
    assert (names[0], names[1], names[-1]) == ("1\n≤ 4.04", "2", "10\n≤ 8")
    assert ax.get_xlabel() == "decile of the predicted pain (cm), lowest first"
    assert legend(ax) == ["asked: 90 %", "drug: 80 rows"]
    assert any(list(each.get_ydata()) == [0.9, 0.9] for each in ax.lines)
    assert ax.get_ylim()[0] < 0.7
    assert is_whole(ax)


@pytest.mark.parametrize(("of", "side"), [("prediction", "both"), ("width", "both"), ("prediction", "lower")])
def test_what_is_drawn_of_a_model_equals_its_records(of, side):
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.2, side=side, random_state=0)
    model.fit(*study_arrays())
    new = synthetic(200, randomized=True, d=1, random_state=5)
    found = coverage_by_decile(model, new.X, new.y, new.treatment, of, parts=5)
    ax = drawn(plot.calibration_by_decile(found, alpha=0.2))
    np.testing.assert_allclose(marks(ax), [told(each) for each in found])
    values = "predicted outcome" if of == "prediction" else "width of the set"
    assert ax.get_xlabel() == f"{values}, in 5 parts of equal size, lowest first"
    assert ticks(ax.xaxis) == list("12345")
    assert is_whole(ax)


def test_three_arms_stand_side_by_side_in_their_colours():
    found = [replace(FIRST, coverage=replace(ARM, treatment=label)) for label in ("a", "b", "c")]
    ax = drawn(plot.calibration_by_decile(found, alpha=0.1))
    places = [float(each.lines[0].get_xdata()[0]) for each in ax.containers]
    assert places == sorted(places)
    assert places[1] == 1
    assert 0.7 < places[0] < 0.9
    assert len({each.lines[0].get_color() for each in ax.containers}) == 3
    assert legend(ax)[1:] == ["a: 40 rows", "b: 40 rows", "c: 40 rows"]


def test_infinite_sets_are_hollow_and_infinite_widths_named():
    infinite = replace(LAST, of="width", most=np.inf, coverage=replace(LAST.coverage, infinite=0.4))
    ax = drawn(plot.calibration_by_decile([replace(FIRST, of="width"), infinite], alpha=0.1))
    assert [each.lines[0].get_markerfacecolor() == "white" for each in ax.containers] == [False, True]
    assert legend(ax)[-1] == "hollow: some sets are infinite"
    assert ticks(ax.xaxis)[-1] == "10\n∞"


@pytest.mark.parametrize(
    ("found", "alpha", "said"),
    [
        ([], 0.1, r"1 PartCoverage or more, got none: give coverage_by_decile\("),
        ([ARM], 0.1, "got a Coverage"),
        ([FIRST, replace(FIRST, of="width")], 0.1, "one order and number of parts"),
        ([FIRST, replace(FIRST, parts=5)], 0.1, r"got \('prediction', 10\) and \('prediction', 5\)"),
        ([FIRST], 1.5, "strictly between 0 and 1, got 1.5"),
    ],
)
def test_what_is_refused(found, alpha, said):
    with pytest.raises(ValueError, match=said):
        plot.calibration_by_decile(found, alpha)


def test_axes_that_are_given_are_drawn_on():
    ax = Figure().subplots()
    assert plot.calibration_by_decile([FIRST], 0.1, ax=ax) is ax
