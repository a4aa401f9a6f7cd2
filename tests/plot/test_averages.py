"""Average effects: every estimate and interval is drawn at its group, finite or not."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from confide import CounterfactualIntervals, Study, average_effect, plot
from confide.effects.averages import AverageEffect
from confide.plot.style import BLUE, VERMILION
from drawings import drawn, is_whole, legend, ticks

ALL = AverageEffect("everybody", 1, 0, 100, 1.0, 0.4, 1.6, 0.8, -0.2, 1.8, {1: 50, 0: 50}, None, 0.05, None)
WOMEN = replace(ALL, group="sex = f", n=60, effect=2.0, low=1.0, high=3.0, unadjusted=1.5, unadjusted_low=0.2)
NOTHING = {"effect": np.nan, "low": -np.inf, "high": np.inf, "unadjusted": np.nan} | {
    "unadjusted_low": -np.inf,
    "unadjusted_high": np.inf,
}


def estimates(ax):
    """Return (colour, hollow, group, effect, low, high) of each estimate, from the top down; None without a mark."""
    lines = [each for each in ax.lines if len(each.get_xdata()) and each.get_transform() == ax.transData]
    marks = {each.get_ydata()[0]: each for each in lines if len(each.get_xdata()) == 1}
    found = []
    for each in sorted((line for line in lines if len(line.get_xdata()) == 2), key=lambda line: line.get_ydata()[0]):
        (low, high), (height, _) = each.get_data()
        mark = marks.get(height)
        effect = None if mark is None else float(mark.get_xdata()[0])
        hollow = None if mark is None else mark.get_markerfacecolor() == "white"
        found.append((to_hex(each.get_color()).upper(), hollow, round(height), effect, float(low), float(high)))
    return found


def triangles(ax):
    """Return the edge and the mark of what runs off the axes."""
    off = [each for each in ax.lines if each.get_transform() == ax.get_yaxis_transform() and len(each.get_xdata()) == 1]
    return sorted((float(each.get_xdata()[0]), each.get_marker()) for each in off)


def told(record):
    return [
        (record.effect, record.low, record.high),
        (record.unadjusted, record.unadjusted_low, record.unadjusted_high),
    ]


def test_each_group_has_its_estimate_with_the_table_above_that_without():
    ax = drawn(plot.average_effects([ALL, WOMEN], outcome="pain", unit="cm"))
    found = estimates(ax)
    assert [each[3:] for each in found] == [*told(ALL), *told(WOMEN)]
    assert [each[1:3] for each in found] == [(False, 0), (True, 0), (False, 1), (True, 1)]
    assert ticks(ax.yaxis) == ["everybody\n100 rows", "sex = f\n60 rows"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert ax.get_xlabel() == "average effect of treatment 1 against treatment 0 on pain (cm)"
    assert legend(ax) == ["adjusted by the large table, 95 % interval", "unadjusted, 95 % interval"]
    assert any(list(each.get_xdata()) == [0, 0] for each in ax.lines)
    assert triangles(ax) == []
    assert is_whole(ax)


def test_what_is_drawn_of_a_real_trial_of_three_arms_equals_its_records():
    rng = np.random.default_rng(0)
    X, arm = np.column_stack([rng.normal(size=240), rng.integers(2, size=240)]), rng.integers(3, size=240)
    y = X[:, 0] + arm + rng.normal(size=240)
    study = Study(X, y, np.array(["none", "low", "high"])[arm], np.arange(240) >= 120)
    model = CounterfactualIntervals("transfer", base="ridge", control="none", random_state=0).fit(study)
    low, high = (average_effect(model, study, label, by=1, alpha=0.1) for label in ("low", "high"))
    ax = drawn(plot.average_effects([*low, *high]))
    expected = [value for pair in zip(low, high, strict=True) for each in pair for value in told(each)]
    np.testing.assert_array_equal([each[3:] for each in estimates(ax)], expected)
    assert [each[0] for each in estimates(ax)] == [BLUE, BLUE, VERMILION, VERMILION] * 3
    assert ticks(ax.yaxis)[1] == f"x1 = 0\n{low[1].n} / {high[1].n} rows"
    assert legend(ax)[:2] == ["low against none", "high against none"]
    assert legend(ax)[2:] == ["adjusted by the large table, 90 % interval", "unadjusted, 90 % interval"]
    assert ax.get_xlabel() == "average effect on the outcome"
    assert is_whole(ax)


def test_what_is_not_known_runs_off_the_axes_and_has_no_mark():
    ax = drawn(plot.average_effects([ALL, replace(ALL, group="sex = x", n=2, rows={1: 2, 0: 0}, **NOTHING)]))
    low, high = ax.get_xlim()
    assert (-1 < low < -0.2, 1.8 < high < 3) == (True, True)
    for _, hollow, group, effect, left, right in estimates(ax)[2:]:
        assert (hollow, group, effect) == (None, 1, None)
        assert left < low - 100 * (high - low)
        assert right > high + 100 * (high - low)
    assert triangles(ax) == [(0, "<"), (0, "<"), (1, ">"), (1, ">")]


def test_an_estimate_without_ends_has_its_mark_and_is_in_view():
    ax = drawn(plot.average_effects([replace(ALL, effect=9.0, low=-np.inf, high=np.inf)]))
    assert [each[3] for each in estimates(ax)] == [9.0, 0.8]
    assert ax.get_xlim()[1] > 9
    assert triangles(ax) == [(0, "<"), (1, ">")]


def test_nothing_known_at_all_can_be_drawn():
    ax = drawn(plot.average_effects([replace(ALL, **NOTHING)]))
    assert [each[3] for each in estimates(ax)] == [None, None]


def test_lists_by_different_columns_share_everybody():
    old = replace(ALL, group="old = yes")
    ax = drawn(plot.average_effects([ALL, WOMEN, replace(ALL), old, replace(old)]))
    assert [text.split("\n")[0] for text in ticks(ax.yaxis)] == ["everybody", "sex = f", "old = yes"]
    unknown = [replace(ALL, **{**NOTHING, "effect": float("nan")}) for _ in range(2)]
    assert len(estimates(drawn(plot.average_effects(unknown)))) == 2


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], r"1 AverageEffect or more, got none: give average_effect\(model, study\)"),
        ([ALL, 0.5], "got a float"),
        (0.5, "got a float"),
        ([ALL, replace(WOMEN, alpha=0.1)], "one level, got alpha=0.05 and 0.1: draw them apart"),
        ([ALL, replace(ALL, effect=1.1)], "two records of 'everybody' that differ, 1 against 0"),
    ],
)
def test_what_is_refused(found, said):
    with pytest.raises(ValueError, match=said):
        plot.average_effects(found)


def test_axes_that_are_given_are_drawn_on():
    ax = Figure().subplots()
    assert plot.average_effects([ALL], ax=ax) is ax
