"""Coverage against width: what is drawn is what was given, infinite widths and refusals included."""

from dataclasses import replace

import numpy as np
import pytest

from confide import plot
from confide.compare import Compared
from drawings import ARM, dots, drawn, legend


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
