"""Plots: what is drawn is what was given, infinite and empty intervals included."""

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, Intervals, IntervalSets, Transfer, plot
from confide.compare import Compared
from confide.datasets import synthetic
from confide.diagnostics import Coverage, Weights, coverage_by_alpha, coverage_report
from confide.plot import canvas
from drawings import dots, drawn, legend
from helpers import study_arrays

LOWER, UPPER = np.array([2.0, -3.0, -1.0, 0.5]), np.array([4.0, -2.0, 1.0, 3.0])
FOUR = Intervals(LOWER, UPPER)
ARM = Coverage(treatment=0, n=100, coverage=0.92, low=0.85, high=0.97, width=2.0, infinite=0.0)


@pytest.fixture(autouse=True)
def _nothing_global():
    """No plot opens a figure of pyplot or changes a setting."""
    before = dict(plt.rcParams)
    yield
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before


def segments(ax):
    """Return the lines of all intervals, one (2, 2) array a row, in the order of their rank."""
    found = [line for each in ax.collections if isinstance(each, LineCollection) for line in each.get_segments()]
    return np.array(sorted(found, key=lambda line: line[0, 0]))


def line(ax, label):
    """Return x and y of the line whose label starts so."""
    (found,) = [each for each in ax.lines if str(each.get_label()).startswith(label)]
    return tuple(np.asarray(values, dtype=float).tolist() for values in found.get_data())


# Intervals.


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


# Coverage against width.


def labels(ax):
    return [text.get_text() for text in ax.texts if text.get_text() != "∞" and "asked" not in text.get_text()]


def test_coverage_against_width_is_that_of_the_records():
    other = replace(ARM, treatment=1, coverage=0.8, low=0.7, high=0.88, width=1.0)
    ax = drawn(plot.coverage({"a": [ARM, other], "b": [replace(ARM, coverage=0.95, width=3.0)]}, alpha=0.1))
    expected = [(1.0, 0.8, 0.7, 0.88), (2.0, 0.92, 0.85, 0.97), (3.0, 0.95, 0.85, 0.97)]
    np.testing.assert_allclose(dots(ax), expected)
    assert labels(ax) == ["a", "a", "b"]
    assert [text.xy for text in ax.texts if text.get_text() in "ab"] == [dot[:2] for dot in expected]
    assert any(list(each.get_ydata()) == [0.9, 0.9] for each in ax.lines)
    assert "asked: 90 %" in [text.get_text() for text in ax.texts]
    assert legend(ax) == ["treatment 0", "treatment 1"]
    colours = [container.lines[0].get_color() for container in ax.containers]
    assert colours[1] == colours[2] != colours[0]


def test_one_model_is_labelled_by_its_arms():
    ax = drawn(plot.coverage([ARM, replace(ARM, treatment="drug", width=3.0)], alpha=0.1))
    assert sorted(labels(ax)) == ["drug", "treatment 0"]
    assert ax.get_legend() is None


def test_groups_are_named_and_bounds_drawn_at_their_mean():
    ax = drawn(plot.coverage({"mine": [replace(ARM, group="sex = f"), replace(ARM, width=3.0)]}, alpha=0.1))
    assert sorted(labels(ax)) == ["mine", "mine, sex = f"]
    ax = drawn(plot.coverage([replace(ARM, width=np.inf, bound=-1.5)], alpha=0.1))
    assert labels(ax) == ["treatment 0"]
    assert dots(ax)[0][0] == -1.5
    assert ax.get_xlabel() == "mean bound"


def test_infinite_widths_stand_apart_and_refusals_are_named():
    infinite = replace(ARM, width=np.inf, infinite=0.034, coverage=1.0, high=1.0)
    found = [
        Compared("naive", "", [ARM], {}),
        Compared("wcp", "", [], {}, "no observational rows"),
        Compared("transfer", "", [infinite], {}),
        Compared("wtcp-dr", "", [], {}, "no observational rows"),
    ]
    ax = drawn(plot.coverage(iter(found), alpha=0.1))
    assert labels(ax) == ["naive", "transfer (∞ for 3.4 %)"]
    assert ax.get_xlabel().splitlines()[1] == "refused: wcp, wtcp-dr"
    assert "∞" in [text.get_text() for text in ax.texts]
    finite, far = (container.lines[0] for container in ax.containers)
    low, high = ax.get_xlim()
    assert low < 2 < low + 0.9 * (high - low)
    assert far.get_transform() == ax.get_yaxis_transform()
    assert far.get_xdata()[0] > 0.9
    assert finite.get_transform() == ax.transData


def test_where_all_widths_are_infinite_there_is_no_scale():
    ax = drawn(plot.coverage([replace(ARM, width=np.inf, infinite=1.0)], alpha=0.1))
    assert list(ax.get_xticks()) == []
    assert labels(ax) == ["treatment 0 (∞ for 100 %)"]


def test_labels_of_many_methods_do_not_overlap():
    rng = np.random.default_rng(0)
    found = {
        f"method {at}": [replace(ARM, treatment=arm, coverage=0.9, width=width) for arm, width in enumerate(widths)]
        for at, widths in enumerate(rng.uniform(1, 2, (13, 2)))
    }
    ax = drawn(plot.coverage(found, alpha=0.1))
    boxes = [text.get_tightbbox() for text in ax.texts if "method" in text.get_text()]
    heights = np.sort([text.xyann[1] for text in ax.texts if "method" in text.get_text()])
    size = ax.texts[-1].get_fontsize() * ax.figure.dpi / 72
    assert len(boxes) == 26
    assert (ax.get_window_extent().height * np.diff(heights) > size).all()
    assert min(box.y0 for box in boxes) >= 0
    assert max(box.y1 for box in boxes) <= ax.figure.bbox.height


def test_many_arms_all_look_different():
    ax = drawn(plot.coverage({"a": [replace(ARM, treatment=arm, width=arm) for arm in range(12)]}, alpha=0.1))
    looks = {(each.lines[0].get_color(), each.lines[0].get_marker()) for each in ax.containers}
    assert len(looks) == 12


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "no coverage to draw; a plot needs at least 1 method"),
        ({}, "no coverage to draw"),
        ([Compared("wcp", "", [], {}, "why")], r"1 methods refused \(wcp\)"),
        ([0.9], "must hold Coverage, got a float: give what coverage_report"),
        ({"a": 0.9}, "must hold Coverage, got a float"),
        (7, "must hold Coverage, got a int"),
        ([ARM, Compared("wcp", "", [ARM], {})], "must hold Coverage, got a Compared"),
    ],
)
def test_what_coverage_refuses(found, message):
    with pytest.raises(ValueError, match=message):
        plot.coverage(found, alpha=0.1)


def test_the_level_must_be_a_level():
    with pytest.raises(ValueError, match=r"alpha must lie strictly between 0 and 1, got 90"):
        plot.coverage([ARM], alpha=90)


# Weights.


def test_weights_are_drawn_as_the_share_that_the_heaviest_rows_carry():
    ax = drawn(plot.weights([Weights(1, "calibration", np.array([0.5, 0.3, 0.2]))]))
    x, y = line(ax, "treatment 1")
    assert x == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert y == pytest.approx([0, 0.5, 0.8, 1])
    assert legend(ax)[1] == "treatment 1: 3 rows, n_eff 3, heaviest 50 %"


def test_weights_that_are_alike_missing_or_nothing_are_said_to_be_so():
    found = [
        Weights("drug", "first stage", np.array([0.7, 0.3])),
        Weights("drug", "calibration", np.full(1000, 1e-3)),
        Weights("none", "calibration", np.array([])),
        Weights("zero", "calibration", np.zeros(3)),
    ]
    ax = drawn(plot.weights(found))
    assert legend(ax)[1:] == [
        "drug, first stage: 2 rows, n_eff 2, heaviest 70 %",
        "drug: 1,000 rows, all alike",
        "none: no row calibrates",
        "zero: 3 rows, all of weight 0",
    ]
    x, y = line(ax, "drug: ")
    np.testing.assert_allclose(x, y)
    assert line(ax, "none") == line(ax, "zero") == ([], [])
    dashes = [each.get_linestyle() for each in ax.lines[1:3]]
    assert dashes == ["--", "-"]


@pytest.mark.parametrize(("found", "got"), [([], "none"), ([0.5], "a float")])
def test_what_weights_refuses(found, got):
    with pytest.raises(ValueError, match=f"1 Weights or more, got {got}: give calibration_weights"):
        plot.weights(found)


# Calibration.


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


# matplotlib, and the picture.


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(canvas, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"not installed: pip install confide\[plot\]"):
        plot.intervals(FOUR)


@pytest.mark.parametrize("code", ["import confide", "import confide.plot"])
@pytest.mark.slow
def test_matplotlib_is_only_imported_to_draw(code):
    command = f"{code}; import sys; print('matplotlib' in sys.modules, 'confide.plot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str("plot" in code)]


def test_a_picture_is_the_same_bytes_each_time(tmp_path):
    for name in ("one", "two"):
        canvas.write_png(plot.intervals(FOUR).figure, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes().startswith(b"\x89PNG")
    assert b"Software" not in (tmp_path / "one").read_bytes()


def test_new_axes_show_their_figure_in_a_notebook_and_given_ones_are_left_alone():
    ax = plot.intervals(FOUR)
    assert isinstance(ax, Axes)
    assert ax._repr_png_().startswith(b"\x89PNG")
    assert ax._repr_png_() == ax._repr_png_()
    given = Figure().add_subplot()
    assert plot.intervals(FOUR, ax=given) is given
    assert type(given) is Axes
