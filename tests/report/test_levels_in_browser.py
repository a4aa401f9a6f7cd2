"""Levels on the page, in a real browser: the slider gives what Python gives, and is absent where it could not."""

import re

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from confide import Naive, PooledDR, Transfer
from confide.conformal.intervals import Intervals, IntervalSets
from confide.models.preprocessing import ridge_on_splines
from confide.ratio import OracleRatio
from confide.report import write_report
from report_pages import expected, fitted, new_patients, numbers, study_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
TREES = HistGradientBoostingRegressor(max_iter=15, random_state=0)


class Wider(Transfer):
    """An estimator of one's own that inherits anchors and offsets, and adds 1 at each end."""

    def _sets(self, rows):
        lower, upper = super()._sets(rows).hull()
        return IntervalSets.of(Intervals(lower - 1, upper + 1))


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (None, {}),
        (None, {"arm_alpha": 0.07}),
        (Naive(base=TREES, conformity_score="cqr"), {}),
        (Transfer(base=ridge_on_splines(), outcome_range=(-15.0, 30.0)), {}),
        (Transfer(base=ridge_on_splines(), base_on="grounded"), {}),
        (PooledDR(base=ridge_on_splines(), ratio=OracleRatio(lambda rows: np.ones(len(rows))), floor=0.05), {}),
    ],
    ids=["centred", "arm_alpha", "cqr", "range", "grounded", "pooled"],
)
def test_the_slider_gives_what_python_gives(look, folder, new, method, parameters):
    """Every number of the download, at every level that was tried, is the very number that Python has."""
    model = fitted(method, **parameters)
    path = folder / "slider.html"
    write_report(path, model, new)
    seen = look(path)
    assert seen.levels[0] == 0.001
    assert seen.levels[-1] == 0.5
    for alpha in (0.001, 0.02, 0.05, 0.1, 0.13, 0.29, 0.5):
        seen.slide_to(alpha)
        columns, name = seen.downloaded()
        assert name == f"intervals-alpha-{alpha}.csv"
        for column, values in expected(model, new, alpha).items():
            np.testing.assert_array_equal(numbers(columns[column]), values, err_msg=f"{column} at {alpha}")
        assert seen.page.get_attribute("#alpha", "aria-valuetext").startswith(f"α = {alpha}:")


@pytest.mark.parametrize(
    ("method", "parameters", "reason"),
    [
        ("wcp", {}, "each new row has an offset of its own"),
        (None, {"effect": "nested-exact"}, "effects by nested-exact are learnt again"),
        (
            Naive(base=ridge_on_splines(), conformity_score="normalised"),
            {},
            "with the score 'normalised' each new row",
        ),
        (Naive(base=ridge_on_splines(), outcome_values=range(-40, 60)), {}, "the outcome is discrete"),
        (Wider(base=ridge_on_splines()), {}, "are not what one offset for all rows gives"),
    ],
)
def test_levels_are_worked_out_where_there_is_no_one_offset(look, folder, new, method, parameters, reason):
    """At the report's level the numbers are Python's; at the others they are rounded outwards, by a step at most."""
    study = study_of()
    if "discrete" in reason:
        object.__setattr__(study, "y", np.round(study.y))
    model = fitted(method, study, **parameters)
    path = folder / "levels.html"
    write_report(path, model, new)
    seen = look(path)
    said = seen.page.text_content("#alpha-moves")
    assert reason in said
    assert seen.levels == [0.025, 0.05, 0.1, 0.2, 0.4]
    step = re.search(r"rounded outwards to ([0-9.e-]+)\.", said)
    most = 0 if step is None else float(step[1]) * (1 + 1e-9)
    for alpha in (0.1, 0.2, 0.025, 0.1):
        seen.slide_to(alpha)
        assert seen.page.text_content("#alpha-text").startswith(f"α = {alpha}: {100 * (1 - alpha):g} % intervals")
        columns, _ = seen.downloaded()
        for column, values in expected(model, new, alpha).items():
            told = numbers(columns[column])
            if alpha == 0.1 or not column.endswith(("lower", "upper")):
                np.testing.assert_array_equal(told, values, err_msg=column)
                continue
            finite = np.isfinite(values)
            np.testing.assert_array_equal(told[~finite], values[~finite])
            outwards = (told[finite] - values[finite]) * (1 if column.endswith("upper") else -1)
            assert (outwards >= 0).all(), column
            assert (outwards <= most).all(), column


def test_no_slider_where_no_other_level_fits(look, folder, new, monkeypatch):
    monkeypatch.setattr("confide.report.contents.MOST_BYTES", 0)
    path = folder / "fixed.html"
    write_report(path, fitted("wcp"), new)
    seen = look(path)
    assert seen.page.query_selector("#alpha") is None
    assert "each new row has an offset of its own" in seen.page.text_content("#no-slider")


@pytest.mark.parametrize(
    ("method", "parameters", "level", "title", "status"),
    [
        (None, {}, "{p} intervals", "{p} intervals of 200 rows,", "{p} intervals, effect of placebo against drug."),
        (
            None,
            {"arm_alpha": 0.1},
            "{p} intervals; effects do not change, each step at 0.1",
            "intervals of 200 rows, each step at 0.1,",
            "outcomes: {p} intervals; effect of placebo against drug: each step at 0.1.",
        ),
        (
            PooledDR(base=ridge_on_splines(), ratio=OracleRatio(lambda rows: np.ones(len(rows)))),
            {},
            "{p} intervals requested",
            "intervals of 200 rows, {p} requested,",
            "{p} intervals requested, effect of placebo against drug.",
        ),
    ],
    ids=["promised", "arm_alpha", "no promise"],
)
def test_effects_are_called_by_no_level_that_is_not_theirs(look, folder, new, method, parameters, level, title, status):
    path = folder / "level.html"
    write_report(path, fitted(method, **parameters), new)
    seen = look(path)
    for alpha, percent in ((0.1, "90 %"), (0.3, "70 %")):
        seen.slide_to(alpha)
        assert seen.page.text_content("#alpha-text") == f"α = {alpha}: " + level.format(p=percent)
        named = f"Effect of placebo against drug: {title.format(p=percent)} sorted by predicted effect"
        assert seen.page.text_content("#effects-title") == named
        assert seen.page.get_attribute("#effects-chart", "aria-label").startswith(named)
        assert seen.page.text_content("#status").partition(" selected; ")[2].startswith(status.format(p=percent))
    moves = seen.page.query_selector("#alpha-moves")
    assert (moves is not None) == ("arm_alpha" in parameters)
    assert moves is None or "changes outcomes only" in moves.text_content()


def test_another_level_than_the_reports_is_shown(look, whole):
    """On screen and on paper, at the promise and above the rows: the page around them is for its own level."""
    seen = look(whole)
    notes = seen.page.query_selector_all("#promise .moved, #people .moved")
    assert [note.is_visible() for note in notes] == [False, False]
    seen.slide_to(0.5)
    for media in ("screen", "print"):
        seen.page.emulate_media(media=media)
        assert [note.is_visible() for note in notes] == [True, True]
    told = "Shown at α = 0.5; the promise, coverage and warnings on this page are for α = 0.2."
    assert {note.text_content() for note in notes} == {told}
    seen.page.emulate_media(media="screen")
    seen.slide_to(0.2)
    assert [note.is_visible() for note in notes] == [False, False]


@pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
def test_ends_of_a_discrete_outcome_are_its_values(look, folder, new, effect):
    study = study_of()
    object.__setattr__(study, "y", (study.y > np.median(study.y)).astype(float))
    model = fitted(Transfer(base=ridge_on_splines(), outcome_values=[0, 1]), study, alpha=0.3, effect=effect)
    path = folder / "discrete.html"
    write_report(path, model, new)
    seen = look(path)
    found = expected(model, new, 0.3)
    ends = list(zip(found["y_drug_lower"], found["y_drug_upper"], strict=True))
    texts = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ends]
    texts = [text.replace("nan to nan", "empty") for text in texts]
    assert {"0", "1"} < set(texts)
    assert seen.cells("its interval, under drug") == texts[:25]
    effects = set(seen.cells("its interval, of the effect"))
    whole_numbers = effects <= {f"{a} to {b}" for a in ("−1", "0") for b in ("0", "1")} | {"−1", "0", "1", "empty"}
    assert whole_numbers == (effect == "bonferroni")
    assert "." in seen.cells("under drug")[0]
    said = " ".join(seen.page.text_content("#discrete").split())
    assert "Outcome takes only the values 0, 1." in said
    assert "The number beside an interval is a predicted risk" in said
    point, effect_point = found["y_drug"][0], found["effect_placebo_vs_drug"][0]
    assert seen.cells("under drug")[0] == f"{100 * point:.1f} %".replace("-", "−")
    assert seen.cells("effect")[0] == f"{100 * effect_point:.1f} pp".replace("-", "−")
    assert ("differences of two such values" in said) == (effect == "bonferroni")


def test_a_nested_effect_without_a_promise_says_requested(look, folder, new):
    path = folder / "nested.html"
    write_report(path, fitted(effect="nested-inexact"), new)
    seen = look(path)
    assert ": intervals of 200 rows, 90 % requested, sorted" in seen.page.text_content("#effects-title")
    assert "90 % intervals requested, effect of" in seen.page.text_content("#status")


def test_the_slider_of_ten_thousand_individuals_is_exact(look, many, model):
    seen = look(many)
    seen.slide_to(0.05)
    columns, _ = seen.downloaded()
    for column, values in expected(model, new_patients(10_000, 3), 0.05).items():
        np.testing.assert_array_equal(numbers(columns[column]), values)
