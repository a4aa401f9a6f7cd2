"""Answers that are odd, in a real browser: infinite, empty, of one end, of any size, and with hostile names."""

import numpy as np
import pyarrow as pa
import pytest

from confide import CounterfactualIntervals, Study, Transfer, stack
from confide.exceptions import InfiniteIntervalWarning
from confide.models.preprocessing import ridge_on_splines
from confide.report import write_report
from report_pages import PHONE, expected, fitted, new_patients, patients, study_of, widths_of
from tables import covariates

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def test_infinite_intervals_are_shown_as_such(look, folder, new):
    with pytest.warns(UserWarning, match="infinite"):
        model = fitted(study=study_of(200, 16), alpha=0.05)
    path = folder / "infinite.html"
    write_report(path, model, new)
    seen = look(path)
    assert set(seen.cells("its interval, of the effect")) == {"−∞ to ∞"}
    assert "200 intervals are infinite and drawn to the edge" in seen.page.text_content("#effects-note")
    assert "200 of 200 rows have an infinite interval for an outcome" in seen.page.text_content("#trust")
    assert set(seen.downloaded()[0]["y_drug_upper"]) == {"inf"}
    assert "NaN" not in seen.page.inner_html("#effects-chart")
    places = seen.page.eval_on_selector_all(
        "#rows .bar rect:last-child", "all => all.map(each => Number(each.getAttribute('x')) + 1)"
    )
    points = expected(model, new, 0.05)["effect_placebo_vs_drug"][:25]
    np.testing.assert_allclose(places, 50 + 48 * points / np.abs(points).max(), rtol=1e-9)
    seen.slide_to(0.5)
    assert "∞" not in seen.cells("its interval, of the effect")[0]


def test_empty_intervals_are_shown_as_such(look, folder, new):
    """Far outside of the declared range nothing is left of an interval."""
    model = fitted(Transfer(base=ridge_on_splines(), outcome_range=(-12.0, 25.0)), alpha=0.5)
    for arm in model.arms_.values():
        arm.outcome_range_ = (5.0, 5.1)
    for arm in model.effect_.arms_.values():
        arm.outcome_range_ = (5.0, 5.1)
    path = folder / "empty.html"
    write_report(path, model, new)
    seen = look(path)
    columns, _ = seen.downloaded()
    empty = np.isnan(expected(model, new, 0.5)["effect_placebo_vs_drug_lower"])
    assert empty.any()
    assert [text == "" for text in columns["effect_placebo_vs_drug_lower"]] == empty.tolist()
    assert "empty" in seen.cells("its interval, of the effect")
    assert f"{empty.sum()} intervals are empty and not drawn" in seen.page.text_content("#effects-note")


@pytest.mark.parametrize("scale", [1e-7, 1e9])
def test_one_row_of_any_size(look, folder, scale):
    X, y, treatment, trial = study_of()
    model = fitted(study=Study(X, y * scale, treatment, trial))
    path = folder / "one.html"
    new = new_patients(1)
    write_report(path, model, new)
    seen = look(path)
    assert seen.page.text_content(".kicker").startswith("Report on 1 person · ")
    assert seen.page.text_content("#status").startswith("1 of 1 row selected; ")
    assert "intervals of 1 row," in seen.page.text_content("#effects-title")
    effect = expected(model, new, 0.1)["effect_placebo_vs_drug"][0]
    (told,) = seen.cells("effect")
    assert float(told.replace("−", "-").replace(",", "")) == pytest.approx(effect, rel=0.01)
    assert widths_of(seen) == [1280, 1280]


def test_small_effects_on_large_outcomes_show_their_digits(look, folder, new):
    X, y, treatment, trial = study_of()
    model = fitted(study=Study(X, 1000 + y / 100, treatment, trial))
    path = folder / "fine.html"
    write_report(path, model, new)
    seen = look(path)
    found = expected(model, new, 0.1)["effect_placebo_vs_drug"]
    told = np.array([float(text.replace("−", "-")) for text in seen.cells("effect")])
    assert np.median(np.abs(told / found[:25] - 1)) < 0.005
    assert seen.cells("under drug")[0].startswith(("999.", "1,000."))


def test_an_arm_without_observational_rows(look, folder, new):
    observational, trial = (patients(n, seed).drop_columns(["who"]) for n, seed in ((300, 0), (120, 1)))
    study = stack(observational.filter(pa.compute.equal(observational["t"], "placebo")), trial)
    with pytest.warns(UserWarning, match="calibrates on the trial alone"):
        model = fitted(study=study)
    path = folder / "one-armed.html"
    with pytest.warns(UserWarning, match="the test needs 10 rows"):
        write_report(path, model, new, study=study, methods=["naive", "wtcp-dr"])
    seen = look(path)
    assert "refuses: treatment drug: WTCPDR needs" in seen.page.text_content("#coverage")
    assert "too few rows to tell" in seen.page.text_content("#confounding")
    assert "too few rows" in seen.page.text_content("#weights")


HOSTILE = "<script>window.hacked = 1</script>"
NASTY = [
    "</script><img src=x onerror='window.hacked=1'>",
    "<!-- <script>",
    "\u2028\u2029",
    '"];window.hacked=1//',
    "{{ 7 * 7 }}",
]


def test_hostile_names_and_values_stay_text(look, folder):
    """Columns, values, identifiers and treatments that try to be more than text."""
    labels = ("</script><script>window.hacked=1</script>" + "long" * 40, "<b onclick=alert(1)>drug</b>")
    tables = []
    for n, seed in ((200, 0), (80, 1), (60, 2)):
        table = patients(n, seed, labels).drop_columns(["town"])
        cells = pa.array([NASTY[row % len(NASTY)] for row in range(n)])
        table = table.append_column(HOSTILE, cells).append_column("__proto__", table["smoker"])
        tables.append(table.set_column(0, "<i>who</i>", pa.array([f"{NASTY[0]}{row}" for row in range(n)])))
    observational, trial, new = tables
    study = stack(*(table.drop_columns(["<i>who</i>"]) for table in (observational, trial)))
    path = folder / "hostile.html"
    model = fitted(study=study)
    write_report(path, model, covariates(new), study=study, methods=["naive"])
    assert widths_of(look(path, **PHONE)) == [360, 360]
    seen = look(path)
    assert HOSTILE not in seen.page.inner_text("#rows thead")
    seen.show_columns(HOSTILE)
    assert seen.cells(HOSTILE)[:5] == NASTY
    assert seen.cells("<i>who</i>")[0] == f"{NASTY[0]}0"
    assert len(seen.cells(f"under {labels[0]}")) == 25
    assert labels[1] in seen.page.text_content("h1")
    seen.search("<!--")
    assert seen.shown() == 12
    columns, _ = seen.downloaded()
    assert set(columns[HOSTILE]) == {NASTY[1]}
    assert columns[f"y_{labels[0]}"]
    assert seen.page.evaluate("window.hacked") is None
    assert seen.page.query_selector_all("main img, main b[onclick]") == []
    assert seen.page.evaluate("document.scripts.length") == 4


@pytest.mark.parametrize(
    ("side", "words", "lacks"), [("lower", "at least", "harmed"), ("upper", "at most", "benefits")]
)
def test_bounds_have_one_end(look, folder, new, side, words, lacks):
    """What is not asked for is drawn to the edge and not written; the download has it, as the answers do."""
    model = fitted(side=side, alpha=0.3)
    path = folder / f"{side}.html"
    write_report(path, model, new, lower_is_better=False)
    seen = look(path)
    found = expected(model, new, 0.3)
    ends = found[f"effect_placebo_vs_drug_{side}"]
    cells = seen.cells(f"its {side} bound, of the effect")
    assert [text.split()[:2] for text in cells] == [words.split()] * 25
    shown = [float(text.split()[2].replace("−", "-").replace(",", "")) for text in cells]
    np.testing.assert_allclose(shown, ends[:25], atol=0.01)
    assert all(text.startswith(f"{words} ") for text in seen.cells(f"its {side} bound, under drug"))
    assert f"70 % {side} bounds" in seen.page.text_content("#effects-title")
    note = seen.page.text_content("#effects-note")
    assert f"begins at one row’s {side} bound and goes on to the edge" in note
    assert "infinite" not in note
    assert seen.page.query_selector(f"[name=group][value={lacks}]") is None
    assert "Nobody can be found to be better under" in " ".join(seen.page.text_content("#meaning").split())
    better = (ends > 0).sum() if side == "lower" else (ends < 0).sum()
    assert better > 0
    seen.choose("benefits" if lacks == "harmed" else "harmed")
    assert seen.shown() == better
    assert set(seen.downloaded()[0][f"y_drug_{'upper' if side == 'lower' else 'lower'}"]) <= {"inf", "-inf"}
    assert not {"NaN", "Infinity"} & set(seen.page.inner_html("#effects-chart").replace('"', " ").split())
    heads = seen.page.eval_on_selector_all("#effects-numbers thead th", "cells => cells.map(cell => cell.textContent)")
    assert heads == ["position", "row", "effect", f"{side} bound"]


def test_many_bounds_make_a_band_to_the_edge(look, folder):
    model = fitted(side="lower", alpha=0.3)
    path = folder / "band.html"
    write_report(path, model, new_patients(400))
    seen = look(path)
    assert "The band begins at the lower bounds and goes on to the edge" in seen.page.text_content("#effects-note")
    assert "NaN" not in seen.page.inner_html("#effects-chart")


def test_a_bound_of_nobody_known_is_none(look, folder, new):
    """People of a group that the trial does not have get no bound, and the page counts them."""
    study = study_of()
    model = CounterfactualIntervals("transfer", base="ridge", groups="smoker", side="lower", alpha=0.3, random_state=0)
    trial = study.X.filter(study.trial)
    known = np.flatnonzero(~study.trial | study.X["smoker"].is_valid().to_numpy())
    assert trial["smoker"].null_count
    model.fit(study.take(known))
    path = folder / "strange.html"
    with pytest.warns(InfiniteIntervalWarning, match="smoker is missing in "):
        write_report(path, model, new)
    seen = look(path)
    strange = new["smoker"].null_count
    assert strange
    said = " ".join(seen.page.text_content("#trust").split())
    assert f"Smoker is missing in {strange} of 200 rows" in said
    assert f"{strange} of 200 rows have an infinite lower bound for an outcome" in said
    assert f"{strange} lower bounds are infinite and drawn to the edge" in seen.page.text_content("#effects-note")
    seen.page.click('button[title="its lower bound, of the effect"]')
    assert seen.cells("its lower bound, of the effect")[0] == "no bound"
