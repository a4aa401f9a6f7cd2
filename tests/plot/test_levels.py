"""Calibration over levels: what is drawn is what was reported."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, Transfer, plot
from confide.datasets import synthetic
from confide.diagnostics import coverage_by_alpha, coverage_report
from drawings import ARM, drawn, legend, line
from helpers import study_arrays


@pytest.mark.filterwarnings("ignore:.*All intervals are infinite")
def test_calibration_is_that_of_the_reports():
    X, y, treatment, trial = study_arrays(n=300, m=120)
    new = synthetic(200, randomized=True, random_state=9)
    model = CounterfactualIntervals(Transfer(base=LinearRegression()), random_state=0).fit(X, y, treatment, trial)
    found = coverage_by_alpha(model, new.X, new.y, new.treatment, alphas=[0.1, 0.5, 0.001])
    ax = drawn(plot.calibration(found))
    for number, arm in enumerate((0, 1)):
        reports = [coverage_report_at(model, alpha, new)[number] for alpha in (0.5, 0.1, 0.001)]
        x, y = line(ax, f"treatment {arm}: {reports[0].n} rows")
        assert x == pytest.approx([0.5, 0.9, 0.999])
        assert y == [report.coverage for report in reports]
        corners = ax.collections[number].get_paths()[0].vertices
        for level, report in zip((0.5, 0.9, 0.999), reports, strict=True):
            heights = corners[np.isclose(corners[:, 0], level), 1]
            assert (heights.min(), heights.max()) == (report.low, report.high)
        full = ax.lines[2 + 2 * number]
        assert list(full.get_xdata()) == pytest.approx([0.5, 0.9])  # the last level is infinite: hollow
    assert legend(ax)[-1] == "hollow: some sets are infinite"
    assert list(ax.lines[0].get_xdata()) == list(ax.lines[0].get_ydata()) == [0, 1]


def coverage_report_at(model, alpha, new):
    return coverage_report(model.with_alpha(alpha), new.X, new.y, new.treatment)


def test_a_level_without_infinite_sets_has_no_hollow_mark():
    assert legend(drawn(plot.calibration({0.1: [ARM]}))) == ["as asked", "treatment 0: 100 rows"]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({}, r"1 level or more, got none: give coverage_by_alpha"),
        ([ARM], "must be a dict of 1 level or more, got list"),
        ({1.5: [ARM]}, "alpha must lie strictly between 0 and 1, got 1.5"),
        ({0.1: [0.9]}, "must hold Coverage, got a float"),
    ],
)
def test_what_calibration_refuses(found, message):
    with pytest.raises(ValueError, match=message):
        plot.calibration(found)
