"""The page in a real browser: it shows what Python says, hides nothing, asks nobody, and everyone can use it."""

import re

import numpy as np
import pyarrow as pa
import pytest
from axe_playwright_python.sync_playwright import Axe
from sklearn.ensemble import HistGradientBoostingRegressor

from confide import METHODS, CounterfactualIntervals, Naive, PooledDR, Study, Transfer, stack
from confide.conformal.intervals import Intervals, IntervalSets
from confide.exceptions import InfiniteIntervalWarning
from confide.models.preprocessing import ridge_on_splines
from confide.ratio import OracleRatio
from confide.report import write_report
from report_pages import expected, fitted, new_patients, numbers, patients, study_of
from tables import covariates

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PHONE = {"viewport": {"width": 360, "height": 780}, "device_scale_factor": 2, "has_touch": True}
LOOKS = {"desktop": {}, "phone": PHONE, "dark": {"color_scheme": "dark"}}
# What the page with everything on it is asked.
ASKED = {"by": ["town", "age > 50"], "above": 4.0, "under": "drug", "fdr": 0.2}
TREES = HistGradientBoostingRegressor(max_iter=15, random_state=0)


class Wider(Transfer):
    """An estimator of one's own that inherits anchors and offsets, and adds 1 at each end."""

    def _sets(self, rows):
        lower, upper = super()._sets(rows).hull()
        return IntervalSets.of(Intervals(lower - 1, upper + 1))


def widths_of(seen):
    return seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def new():
    return new_patients()


@pytest.fixture(scope="module")
def model():
    return fitted(alpha=0.2)


@pytest.fixture(scope="module")
def whole(folder, model, new):
    """The page with everything on it."""
    path = folder / "whole.html"
    write_report(path, model, new, study=study_of(), methods=["naive", "wcp", "pooled-dr"], **ASKED)
    return path


@pytest.fixture(scope="module")
def many(folder, model):
    """The page of 10,000 individuals."""
    path = folder / "many.html"
    write_report(path, model, new_patients(10_000, 3))
    return path


def test_it_renders(look, whole, model, new):
    seen = look(whole)
    assert seen.page.title() == "Does placebo instead of drug change outcome for people like these?"
    assert seen.page.text_content("h1") == seen.page.title()
    assert seen.shown() == 200
    assert seen.cells("who")[:3] == ["20000", "20001", "20002"]
    assert len(seen.page.query_selector_all("#rows tbody tr")) == 25
    # Averages, effects, balance, worth, overlap, and two over correlations; those of methods when they are opened.
    assert len(seen.page.query_selector_all(".chart svg")) == 7
    seen.page.click("#methods summary")
    seen.page.wait_for_function("() => document.querySelectorAll('.chart svg').length === 9")
    found = expected(model, new, 0.2)
    assert seen.cells("effect")[0] == f"{found['effect_placebo_vs_drug'][0]:.3f}".replace("-", "−")
    ends = (f"{found[f'effect_placebo_vs_drug_{end}'][0]:.3f}".replace("-", "−") for end in ("lower", "upper"))
    assert seen.cells("its interval, of the effect")[0] == " to ".join(ends)
    text = seen.page.text_content("main")
    assert str(METHODS["transfer-centred"].promise) in text
    assert "≥ 80 %, because each of its two steps is taken at 0.1" in text


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
            "with conformity_score='normalised' each new row",
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
    assert seen.levels == [0.05, 0.1, 0.2, 0.3, 0.5]
    step = re.search(r"rounded outwards to ([0-9.e-]+)\.", said)
    most = 0 if step is None else float(step[1]) * (1 + 1e-9)
    for alpha in (0.1, 0.2, 0.5, 0.1):
        seen.slide_to(alpha)
        columns, _ = seen.downloaded()
        for column, values in expected(model, new, alpha).items():
            told = numbers(columns[column])
            if alpha == 0.1 or not column.endswith(("lower", "upper")):
                np.testing.assert_array_equal(told, values, err_msg=column)
                continue
            outwards = (told - values) * (1 if column.endswith("upper") else -1)
            finite = np.isfinite(values)
            np.testing.assert_array_equal(told[~finite], values[~finite])
            assert (outwards[finite] >= 0).all(), column
            assert (outwards[finite] <= most).all(), column


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


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_filter_shows_who_benefits(look, folder, model, new, lower_is_better):
    path = folder / "better.html"
    write_report(path, model, new, control="placebo", lower_is_better=lower_is_better)
    seen = look(path)
    found = expected(model, new, 0.2, "placebo")
    above, below = found["effect_drug_vs_placebo_lower"] > 0, found["effect_drug_vs_placebo_upper"] < 0
    benefits, harmed = (below, above) if lower_is_better else (above, below)
    groups = {"benefits": benefits, "harmed": harmed, "undecided": ~(above | below), "all": np.full(len(new), True)}
    assert all(rows.any() for rows in groups.values())
    who = np.array(new["who"].to_pylist())
    says = {"benefits": "▲ better under drug", "harmed": "▼ better under placebo", "undecided": "● undecided"}
    for group, rows in groups.items():
        seen.choose(group)
        assert seen.shown() == rows.sum()
        assert seen.page.text_content(f"[data-count={group}]") == str(rows.sum())
        assert seen.downloaded()[0]["who"] == who[rows].tolist()
        if group != "all":
            assert set(seen.cells("says")) == {says[group]}
            assert seen.page.text_content(f"[value={group}] + span") == f"{says[group]} {rows.sum()}"
            assert f"of 200 rows {says[group][2:]} " in seen.page.text_content("#status")
            assert f" {rows.sum()} {says[group][2:]}" in seen.page.get_attribute("#effects-chart", "aria-label")
            assert says[group] in seen.page.text_content("#effects-note")
    assert f"takes a {'smaller' if lower_is_better else 'larger'}" in seen.page.text_content("#people")
    assert "not for those picked by their intervals" in seen.page.text_content("#people")
    meaning = " ".join(seen.page.text_content("#meaning").split())
    assert meaning.startswith("Effect of drug against placebo: outcome under drug minus outcome under placebo.")
    good, bad = ("below", "above") if lower_is_better else ("above", "below")
    benefits = f"counts as benefiting from drug has an effect interval entirely {good} 0 and is better under drug;"
    assert f"A person who {benefits}" in meaning
    harmed = f"one who counts as harmed by it has an interval entirely {bad} 0 and is better under placebo;"
    assert f"{harmed} for one who is undecided the interval contains 0 or is empty." in meaning


def test_every_group_has_one_sign(look, whole):
    """Filter and table have it as text; the chart draws it, upwards and downwards."""
    seen = look(whole)
    marks = seen.page.eval_on_selector_all(
        "#effects-chart [aria-label=dot] path",
        """all => all.map(each => {
            const path = each.getAttribute("d");
            const [first, second] = path.match(/-?[0-9.]+,-?[0-9.]+/g).map(place => Number(place.split(",")[1]));
            return [each.getAttribute("fill"), path.includes("A") ? "●" : first < second ? "▲" : "▼"];
        })""",
    )
    assert {tuple(mark) for mark in marks} == {("var(--benefit)", "▲"), ("var(--harm)", "▼"), ("var(--ink-2)", "●")}


def test_the_search_finds_identifiers_and_covariates(look, whole, new):
    seen = look(whole)
    seen.search("20017")
    assert seen.cells("who") == ["20017"]
    seen.search("ÖST")
    towns = new["town"].to_pylist()
    assert seen.shown() == towns.count("Öst")
    assert set(seen.cells("town")) == {"Öst"}
    assert "with “ÖST” selected" in seen.page.text_content("#status")
    seen.choose("benefits")
    assert 0 < seen.shown() < towns.count("Öst")
    seen.search("nobody at all")
    assert seen.shown() == 0
    assert seen.page.text_content("#effects-note") == "No row to draw."
    assert seen.downloaded()[0]["who"] == []
    seen.search("")
    seen.choose("all")
    assert seen.shown() == 200


def test_the_search_takes_any_white_space_for_a_space(look, folder, model):
    new = new_patients(30)
    who = ["Ada\n  Muster" if row == 7 else str(row) for row in range(30)]
    path = folder / "spaces.html"
    write_report(path, model, new.set_column(0, "who", pa.array(who)))
    seen = look(path)
    for text in ("ada muster", "Ada  Muster", "a\u00a0m"):
        seen.search(text)
        assert seen.cells("row") == ["8"]
    seen.search("30 ")  # never across two columns
    assert seen.shown() == sum("30" in cell for cell in map(str, who)) + sum(
        "30" in str(value) for name in ("age", "joined") for value in new[name].to_pylist()
    )


def test_the_table_sorts_and_turns_its_pages(look, whole, model, new):
    seen = look(whole)
    found = expected(model, new, 0.2)
    who = np.array(new["who"].to_pylist())

    def by(heading, column="who"):
        seen.page.click(f"#rows thead button[title='{heading}']")
        return seen.downloaded()[0][column]

    by_effect = np.argsort(found["effect_placebo_vs_drug"], kind="stable")
    assert by("effect") == who[by_effect].tolist()
    assert seen.page.get_attribute("#rows thead th:has(button[title=effect])", "aria-sort") == "ascending"
    assert by("effect") == who[by_effect[::-1]].tolist()
    for _ in ("up", "down"):
        *known, missing = by("age", "age")
        assert missing == ""  # whichever way
    assert [float(age) for age in known if age] == sorted((float(age) for age in known if age), reverse=True)
    towns = [town for town in by("town", "town") if town]
    assert towns == sorted(towns, key=["North, upper", "Öst", 'the "South"'].index)
    by("row")
    assert seen.page.is_disabled("#previous")
    seen.page.click("#next")
    assert seen.cells("who")[0] == "20025"
    seen.page.click("#last")
    assert seen.cells("who")[-1] == "20199"
    assert seen.page.is_disabled("#next")
    assert seen.page.text_content("#page") == "page 8 of 8"
    assert seen.page.text_content("#status").endswith(
        " The table shows rows 176 to 200 of 200, page 8; the download has all of them."
    )
    seen.search("20017")
    assert "The table shows" not in seen.page.text_content("#status")


def test_the_download_is_what_run_writes(look, whole, model, new):
    columns, _ = look(whole).downloaded()
    assert list(columns) == [
        *["who", "age", "town", "joined", "smoker"],
        *[f"y_{label}{end}" for label in ("drug", "placebo") for end in ("", "_lower", "_upper")],
        *[f"effect_placebo_vs_drug{end}" for end in ("", "_lower", "_upper")],
    ]
    assert [town or None for town in columns["town"]] == new["town"].to_pylist()
    assert len(expected(model, new, 0.2)) == 9


def test_several_treatments(look, folder, new):
    labels = ("placebo", "drug", "surgery")
    study = study_of(400, 210, labels)
    model = fitted(study=study, alpha=0.3)
    path = folder / "three.html"
    write_report(path, model, new, control="placebo")
    seen = look(path)
    assert seen.page.eval_on_selector_all("#contrast option", "all => all.map(each => each.textContent)") == [
        "drug against placebo",
        "surgery against placebo",
    ]
    found = expected(model, new, 0.3, "placebo")
    for number, treated in enumerate(("drug", "surgery")):
        seen.page.select_option("#contrast", str(number))
        assert f"Effect of {treated} against placebo: outcome under" in seen.page.text_content("#meaning")
        assert seen.page.text_content("[value=benefits] + span").startswith(f"▲ better under {treated} ")
        assert {f"▲ better under {treated}"} == {cell for cell in seen.cells("says") if cell.startswith("▲")}
        seen.choose("benefits")
        assert seen.shown() == (found[f"effect_{treated}_vs_placebo_lower"] > 0).sum() > 0
        seen.choose("all")
    seen.slide_to(0.1)
    columns, _ = seen.downloaded()
    for column, values in expected(model, new, 0.1, "placebo").items():
        np.testing.assert_array_equal(numbers(columns[column]), values)
    said = " ".join(seen.page.text_content("main").split())
    assert "All are against placebo. For others make the report again with another --control." in said
    together = "not promised that all intervals of one person, for the outcomes and for the effects, are right at once."
    assert f"Each interval is promised by itself. It is {together}" in said
    for label in labels:
        assert len(seen.cells(f"its interval, under {label}")) == 25


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


def test_it_may_ask_no_network(look, whole):
    """The page's own policy forbids what it does not do anyway."""
    seen = look(whole)
    tried = seen.page.evaluate("fetch('https://example.invalid/').then(() => 'went', () => 'refused')")
    assert tried == "refused"
    planted = "const planted = document.createElement('script'); planted.textContent = 'window.hacked = 1'"
    hacked = seen.page.evaluate(f"() => {{ {planted}; document.body.append(planted); return window.hacked ?? 'no' }}")
    assert hacked == "no"
    styled = "const planted = document.createElement('style'); planted.textContent = 'body { opacity: 0.5 }'"
    seen.page.evaluate(f"() => {{ {styled}; document.body.append(planted) }}")
    assert seen.page.evaluate("getComputedStyle(document.body).opacity") == "1"
    assert len(seen.faults) >= 3
    assert all("Content Security Policy" in fault for fault in seen.faults)
    seen.faults.clear()


@pytest.mark.parametrize("name", LOOKS)
def test_everyone_can_use_it(look, whole, screenshots, name):
    """No serious fault for people who cannot see it, no page wider than the screen; a picture for those who can."""
    seen = look(whole, **LOOKS[name])
    for details in seen.page.query_selector_all("details"):
        details.evaluate("each => { each.open = true }")
    found = Axe().run(seen.page).response["violations"]
    faults = {fault["id"]: fault["nodes"][0]["html"] for fault in found if fault["impact"] in ("serious", "critical")}
    assert faults == {}
    for details in seen.page.query_selector_all("details"):
        details.evaluate("each => { each.open = false }")
    page_width, window_width = widths_of(seen)
    assert page_width <= window_width
    seen.page.screenshot(path=screenshots / f"report-{name}.png", full_page=True)


def test_charts_follow_the_colours(look, many):
    seen = look(many)
    fills = []
    for scheme in ("light", "dark"):
        seen.page.emulate_media(color_scheme=scheme)
        fills.append(
            seen.page.evaluate("getComputedStyle(document.querySelector('#effects-chart [aria-label=area] path')).fill")
        )
    assert fills[0] != fills[1]


def test_charts_follow_the_width(look, whole):
    seen = look(whole)
    widths = []
    for width in (1280, 420):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.wait_for_function(
            "() => { const box = document.getElementById('effects-chart');"
            " return Math.abs(box.firstChild.getAttribute('width') - box.clientWidth) < 2 }"
        )
        widths.append(seen.page.evaluate("document.querySelector('#effects-chart svg').clientWidth"))
    assert widths[1] < widths[0] / 2


def test_the_keyboard_is_enough(look, whole):
    seen = look(whole)
    page = seen.page

    def tab_to(wanted):
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
                width = "getComputedStyle(document.activeElement{}).outlineWidth"
                beside = ".nextElementSibling" if "group" in wanted else ""
                assert page.evaluate(width.format(beside)) == "3px"
                return
        pytest.fail(f"{wanted} is not reached")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the individuals"
    page.keyboard.press("Enter")
    tab_to("#alpha")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('79 % intervals')")
    tab_to("[name=group]")
    page.keyboard.press("ArrowRight")
    assert "rows better under placebo selected" in page.text_content("#status")
    tab_to("#search")
    page.keyboard.type("Öst")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('Öst')")
    tab_to("#rows button[title=effect]")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.title") == "effect"
    assert page.get_attribute("#rows thead th:has(button[title=effect])", "aria-sort") == "ascending"


def test_what_changes_is_announced_and_charts_have_words(look, whole):
    seen = look(whole)
    assert seen.page.get_attribute("#status", "aria-live") == "polite"
    for chart in seen.page.query_selector_all(".chart"):
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 40
    said = seen.page.get_attribute("#effects-chart", "aria-label")
    counts = [int(count) for count in re.findall(r"(\d+) (?:better|undecided)", said)]
    assert sum(counts) == 200
    assert len(seen.page.query_selector_all("#effects-numbers tbody tr")) == 7
    names = seen.page.eval_on_selector_all(
        "#rows thead button[aria-label]", "all => all.map(each => [each.getAttribute('aria-label'), each.textContent])"
    )
    assert len(names) == 3
    assert all(text in name for name, text in names)  # who says what they see is understood
    seen.page.click("#next")
    assert "The table shows rows 26 to 50 of 200, page 2;" in seen.page.text_content("#status")
    landmarks = seen.page.eval_on_selector_all("header, nav, main, footer", "all => all.map(each => each.localName)")
    assert landmarks == ["header", "nav", "main", "footer"]


def test_it_prints(look, whole, screenshots):
    """On two sheets of paper: light, the answer first, without controls and without the list of people."""
    seen = look(whole, color_scheme="dark")
    pdf = seen.page.pdf(prefer_css_page_size=True, path=screenshots / "report-print.pdf")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 2
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("#controls", "#rows", "nav", "#methods", "#averages details"):
        assert not seen.page.is_visible(hidden)
    for printed in (
        "h1",
        ".verdict",
        "#averages-chart svg",
        ".tiles",
        "#love-chart",
        "#gammas",
        "#promise",
        "#small-print",
    ):
        assert seen.page.is_visible(printed)
    seen.page.set_viewport_size({"width": 720, "height": 1000})
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    seen.page.screenshot(path=screenshots / "report-print.png", full_page=True)


def test_charts_are_drawn_again_for_paper(look, whole):
    seen = look(whole, **PHONE)

    def widths():
        return set(seen.page.eval_on_selector_all(".chart svg", "all => all.map(each => each.getAttribute('width'))"))

    before = widths()
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert widths() == {"660", "320"} != before  # balance has half a sheet
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert widths() == before


def test_ten_thousand_individuals_within_two_seconds(look, many):
    """From the start of the navigation until table and chart are painted and a filter was answered; best of three."""
    assert many.stat().st_size < 3_000_000
    times = []
    for _ in range(3):
        seen = look(many)
        done, rows, steps, shown = seen.page.evaluate(
            """async () => {
                document.querySelector("[name=group][value=undecided]").click();
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
                return [performance.now(), document.querySelectorAll("#rows tbody tr").length,
                        document.querySelectorAll("#effects-chart svg *").length,
                        document.getElementById("status").textContent];
            }"""
        )
        assert rows == 25
        assert 10 < steps < 1_000
        assert "of 10,000 rows undecided" in shown
        times.append(done)
    assert min(times) < 2_000


def test_the_slider_of_ten_thousand_individuals_is_exact(look, many, model):
    seen = look(many)
    seen.slide_to(0.05)
    columns, _ = seen.downloaded()
    for column, values in expected(model, new_patients(10_000, 3), 0.05).items():
        np.testing.assert_array_equal(numbers(columns[column]), values)


@pytest.mark.parametrize(
    ("side", "words", "lacks"), [("lower", "at least", "harmed"), ("upper", "at most", "benefits")]
)
def test_bounds_have_one_end(look, folder, new, side, words, lacks):
    """What is not asked for is drawn to the edge and not written; the download has it, as the answers do."""
    model = fitted(side=side, alpha=0.3)
    path = folder / f"{side}.html"
    write_report(path, model, new)
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
    with pytest.warns(InfiniteIntervalWarning, match="belong to groups of smoker"):
        write_report(path, model, new)
    seen = look(path)
    strange = new["smoker"].null_count
    assert strange
    said = " ".join(seen.page.text_content("#trust").split())
    assert f"{strange} of 200 rows belong to groups of smoker that the trial does not have" in said
    assert f"{strange} of 200 rows have an infinite lower bound for an outcome" in said
    assert f"{strange} lower bounds are infinite and drawn to the edge" in seen.page.text_content("#effects-note")
    seen.page.click('button[title="its lower bound, of the effect"]')
    assert seen.cells("its lower bound, of the effect")[0] == "no bound"
