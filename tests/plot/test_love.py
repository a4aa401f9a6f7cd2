"""The Love plot: every difference is drawn at its covariate, sorted, finite or not."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from confide import plot
from confide.diagnostics import Balance
from confide.plot.style import LONGEST
from drawings import drawn, legend

ARMS, TABLES = "trial: 1 against 0", "trial against observational"


def record(covariate, smd, comparison=ARMS, weighted=None):
    return Balance(covariate, comparison, smd, weighted, covariate, (50, 50))


def marks(ax, *, hollow=False):
    """Return {covariate: x} of each line of marks, in the order drawn."""
    names = [text.get_text() for text in ax.get_yticklabels()]
    found = []
    for each in ax.lines:
        x, y = (np.asarray(values, dtype=float) for values in each.get_data())
        if each.get_marker() != "None" and len(x) and (each.get_markerfacecolor() == "white") == hollow:
            known = ~np.isnan(x)
            found.append({names[int(at)]: float(value) for value, at in zip(x[known], y[known], strict=True)})
    return found


def test_absolute_differences_are_drawn_with_the_largest_at_the_top():
    found = [record("age", -0.3), record("sex", 0.05), record("age", 0.1, TABLES), record("sex", 0.6, TABLES)]
    ax = drawn(plot.love_plot(found))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["age", "sex"]
    assert marks(ax) == [{"age": 0.3, "sex": 0.05}, {"age": 0.1, "sex": 0.6}]
    assert any(list(each.get_xdata()) == [0.1, 0.1] for each in ax.lines)
    assert legend(ax) == ["customary line, 0.1", ARMS, TABLES]
    assert ax.get_xlim()[1] > 0.6


def test_weighted_differences_are_hollow_and_joined_to_what_they_were():
    ax = drawn(plot.love_plot([record("age", -0.3, weighted=0.05), record("sex", 0.2)]))
    assert marks(ax) == [{"age": 0.3, "sex": 0.2}]
    assert marks(ax, hollow=True) == [{"age": 0.05}]
    assert legend(ax)[-1] == "hollow: weighted"
    joined = [line for each in ax.collections for line in each.get_segments() if np.isfinite(line).all()]
    assert any(np.allclose(line, [[0.3, 1], [0.05, 1]]) for line in joined)


def test_infinite_differences_stand_apart_and_unknown_ones_have_no_mark():
    ax = drawn(plot.love_plot([record("age", 0.4), record("sex", -np.inf), record("town", np.nan)]))
    (found,) = marks(ax)
    assert set(found) == {"age", "sex"}
    low, high = ax.get_xlim()
    assert low < 0.4 < 0.94 * high < found["sex"] < high
    assert ax.get_xticklabels()[-1].get_text() == "∞"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["town", "age", "sex"]


def test_only_the_largest_of_many_are_drawn_and_their_number_is_said():
    ax = drawn(plot.love_plot([record(f"x{number}", number / 100) for number in range(60)], most=40))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert (len(names), names[0], names[-1]) == (40, "x20", "x59")
    assert ax.get_xlabel() == "absolute standardised mean difference; the 40 largest of 60"


def test_names_of_many_covariates_do_not_overlap_and_long_ones_keep_both_ends():
    long = "a covariate whose name is much too long for a plot"
    ax = drawn(plot.love_plot([record(f"{long} = level {number:02d}", number / 100) for number in range(40)]))
    labels = ax.get_yticklabels()
    texts = [label.get_text() for label in labels]
    assert max(map(len, texts)) <= LONGEST
    assert len(set(texts)) == 40
    assert all(text.startswith("a covariate") and "…" in text for text in texts)
    boxes = [label.get_window_extent() for label in labels]
    assert all(below.y1 <= above.y0 for below, above in pairwise(boxes))
    assert boxes[0].x0 >= 0


def test_the_legend_is_inside_the_figure_and_hides_neither_marks_nor_label():
    found = [record(name, 0.2, comparison) for name in "abcde" for comparison in ("one", "two", "three", "four")]
    ax = plot.love_plot(found)
    ax.set_title("a title")
    drawn(ax)
    box = ax.get_legend().get_window_extent()
    assert box.y0 >= 0
    assert box.y1 <= ax.xaxis.label.get_window_extent().y0
    assert box.x1 <= ax.figure.bbox.width


def test_axes_that_are_given_are_drawn_on():
    ax = Figure().subplots()
    assert plot.love_plot([record("age", 0.2)], ax=ax) is ax
    with pytest.raises(ValueError, match="ax must be the Axes of a matplotlib figure or None, got str"):
        plot.love_plot([record("age", 0.2)], ax="left")


@pytest.mark.parametrize(("found", "got"), [([], "none"), ([0.5], "a float")])
def test_what_a_love_plot_refuses(found, got):
    with pytest.raises(ValueError, match=rf"1 Balance or more, got {got}: give balance\(study\)"):
        plot.love_plot(found)


def test_at_least_one_covariate_is_drawn():
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        plot.love_plot([record("age", 0.2)], most=0)
