"""What the page says beside the individuals, in a real browser: each number is that of Python's record."""

import numpy as np
import pyarrow as pa
import pytest

from confide import CounterfactualIntervals, Study, average_effect, select
from confide.diagnostics import balance, correlation_curve, gamma_curve, row_flow
from confide.effects.wording import average_in_words
from confide.report import individuals, write_report
from confide.report.findings import most_unbalanced
from confide.report.headline import spans
from report_pages import fitted, new_patients, study_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

WORDS = {"outcome_label": "days in hospital", "unit": "days", "treatment_labels": {"drug": "the drug"}}


@pytest.fixture(scope="module")
def study():
    return study_of()


@pytest.fixture(scope="module")
def model(study):
    return fitted(study=study, alpha=0.2, control="placebo")


@pytest.fixture(scope="module")
def new():
    return new_patients(400)


@pytest.fixture(scope="module")
def page(tmp_path_factory, model, study, new):
    path = tmp_path_factory.mktemp("answers") / "answer.html"
    asked = {"by": ["town", "age > 50"], "below": 5.0, "under": "placebo", "fdr": 0.2, "methods": ["naive"]}
    write_report(path, model, new, study=study, **asked, **WORDS, lower_is_better=True)
    return path


def test_the_question_and_the_answer_come_first(look, page, model, study):
    seen = look(page)
    asked = "Does the drug instead of placebo change days in hospital for people like these?"
    assert seen.page.text_content("h1") == asked
    (everybody,) = average_effect(model, study)
    said = average_in_words(
        everybody,
        treated="the drug",
        control="placebo",
        outcome="days in hospital",
        unit="days",
        minus="−",
        as_wide=True,
    )
    assert seen.page.text_content(".finding") == said
    assert everybody.low < 0 < everybody.high
    assert seen.page.text_content(".verdict.open") == "Not clear on average."
    bottom = seen.page.evaluate("document.querySelector('.tiles').getBoundingClientRect().top")
    assert bottom < 900  # on the first screen
    names = seen.page.eval_on_selector_all(
        "header, main section, main > h2, footer", "all => all.map(each => each.id || each.localName)"
    )
    order = ["header", "people", "evidence", "trust", "coverage", "assumptions", "tipping", "correlation", "promise"]
    assert [name for name in names if name in order] == order
    assert names[-1] == "small-print"


def test_averages_are_those_of_python(look, page, model, study):
    seen = look(page)
    records = average_effect(model, study)
    for by in ("town", "age > 50"):
        records += average_effect(model, study, by=by)[1:]
    shown = seen.lines("#averages-numbers")
    assert shown == [[each.group, f"{each.n:,}", spans(each)["text"], spans(each)["alone"]] for each in records]
    drawn = seen.page.text_content("#averages-chart svg")
    assert all(spans(each)["text"] in drawn for each in records)
    assert "age <= 50" in drawn
    assert "change of days in hospital" in drawn


def test_an_average_beyond_the_edge_has_arrows(look, tmp_path, study, new):
    """Few people have no known town: their interval is many times as wide as the others'."""
    path = tmp_path / "cut.html"
    write_report(path, fitted(study=study), new, study=study, methods=["naive"], by="town")
    seen = look(path)
    assert seen.page.is_visible("#averages-cut")
    drawn = seen.page.text_content("#averages-chart svg")
    assert (drawn.count("◀"), drawn.count("▶")) == (2, 2)
    plain = tmp_path / "plain.html"
    write_report(plain, fitted(study=study), new, study=study, methods=["naive"])
    seen = look(plain)
    assert not seen.page.is_visible("#averages-cut")
    assert "▶" not in seen.page.text_content("#averages-chart svg")


def test_rows_of_a_sample_keep_their_numbers(look, tmp_path, model, monkeypatch):
    monkeypatch.setattr(individuals, "MOST_ROWS", 30)
    many = new_patients(400)
    path = tmp_path / "sample.html"
    write_report(path, model, many, above=5.0, under="drug", fdr=0.3)
    seen = look(path)
    places = individuals.Individuals.of_table(model, many).places
    assert [int(cell) for cell in seen.cells("row")] == (places + 1).tolist()[:25]


def test_single_people_are_counted(look, page, model, new):
    seen = look(page)
    effects = model.predict_effect_interval(new)
    better, worse = (effects.upper < 0).sum(), (effects.lower > 0).sum()
    said = seen.page.text_content(".tile")
    assert f"{better + worse} of 400 people" in " ".join(said.split())
    assert f"Better under the drug: {better}. Better under placebo: {worse}." in said
    assert seen.page.text_content("[data-count=benefits]") == str(better)


def test_whom_to_choose(look, page, model, new):
    seen = look(page)
    rates = {}
    for place, rate in enumerate((0.05, 0.1, 0.2, 0.3)):
        found = rates[rate] = select(model, new, "placebo", below=5.0, fdr=rate)
        seen.page.select_option("#rate", str(place))
        count = int(found.selected.sum())
        assert f": {count} " in seen.page.text_content(f"#rate option:nth-child({place + 1})")
        assert seen.page.text_content("#rate-says") == f"{found.promise} {found.found_at_all}"
        assert seen.page.text_content("[data-count=chosen]") == str(count)
        seen.choose("chosen")
        assert seen.shown() == count
        if not count:
            assert seen.page.is_disabled("#download-chosen")
            continue
        columns, name = seen.downloaded("#download-chosen")
        assert name == f"chosen-fdr-{rate}.csv"
        assert columns["who"] == np.array(new["who"].to_pylist())[found.selected].tolist()
        assert [float(value) for value in columns["p_value"]] == found.p_values[found.selected].tolist()
    assert 0 < rates[0.2].selected.sum() < 400
    assert seen.page.text_content("#chosen h3") == "Whose days in hospital will be below 5 under placebo?"
    assert "This is not about who benefits from placebo" in seen.page.text_content("#chosen")
    assert str(rates[0.2].selected.sum()) in seen.page.text_content(".tile:nth-child(2) .big")


def test_evidence_and_assumptions_are_those_of_python(look, page, model, study, new):
    seen = look(page)
    flow = {(each.treatment, each.source, each.stage): each.rows for each in row_flow(model, study)}
    named = {"drug": "the drug", "placebo": "placebo"}
    assert seen.lines("#flow table") == [
        [
            named[arm],
            source,
            *(f"{flow[arm, source, stage]:,}" for stage in ("read", "fitting", "calibrating", "not used")),
        ]
        for arm in ("drug", "placebo")
        for source in ("observational", "trial")
    ]
    records = balance(study, new, control="placebo")
    shown = seen.lines("#balance table")
    assert [line[:2] for line in shown] == [[each.comparison, each.covariate] for each in records]
    told = [float(line[2].replace("−", "-")) for line in shown]
    np.testing.assert_allclose(told, [each.smd for each in records], rtol=0.01, atol=0.005)
    dots = seen.page.query_selector_all("#love-chart [aria-label=dot] path")
    assert len(dots) == len(records)
    curve = gamma_curve(model, new)
    assert seen.lines("#gammas") == [
        [
            f"{each.gamma:g}" + (" (this report)" if each is curve[0] else ""),
            str(each.above),
            str(each.below),
            f"{100 * (each.above + each.below) / 400:.1f} %",
        ]
        for each in curve
    ]
    correlations = correlation_curve(model, new)
    shown = seen.lines("#rho-numbers")
    assert [[line[2], line[3]] for line in shown] == [
        [f"{100 * each.above:.1f} %", f"{100 * each.below:.1f} %"] for each in correlations
    ]
    np.testing.assert_allclose([float(line[1]) for line in shown], [each.median for each in correlations], rtol=0.005)
    assert "an assumption, not a promise" in seen.page.text_content("#correlation")
    lot = f"p = {model.randomisation_.p_value:.3f}, most on {most_unbalanced(model.randomisation_, records)}."
    assert lot in seen.page.text_content("#balance")
    small = " ".join(seen.page.text_content("#small-print").split())
    assert "Seed0" in small
    assert "the model was fitted in Python, or was moved to another level" in small


@pytest.mark.parametrize(
    ("asked", "passes"),
    [
        ("age > 50", lambda row: row["age"] is not None and row["age"] > 50),
        ("AGE<=50", lambda row: row["age"] is not None and row["age"] <= 50),
        ("age ≥ 40 and town = öst", lambda row: row["age"] is not None and row["age"] >= 40 and row["town"] == "Öst"),
        (
            'town = "North, upper", age < 60',
            lambda r: r["town"] == "North, upper" and r["age"] is not None and r["age"] < 60,
        ),
        ("town != Öst", lambda row: row["town"] not in (None, "Öst")),
        ("age = missing", lambda row: row["age"] is None),
        ("joined >= 2021-06-01", lambda row: row["joined"] is not None and str(row["joined"]) >= "2021-06-01"),
    ],
)
def test_filters_by_columns(look, page, new, asked, passes):
    seen = look(page)
    seen.filter(asked)
    rows = new.to_pylist()
    wanted = [str(row["who"]) for row in rows if passes(row)]
    assert 0 < len(wanted) < 400
    assert seen.shown() == len(wanted)
    assert f"where {asked}" in seen.page.text_content("#status")
    assert seen.downloaded()[0]["who"] == wanted
    assert seen.page.get_attribute("#filter", "aria-invalid") == "false"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("weight > 3", "there is no column “weight”"),
        ("age", "“age” is not a comparison"),
        ("age > old", "age holds numbers, and “old” is none"),
        ("age >", "age > what?"),
    ],
)
def test_a_filter_that_is_not_understood_is_not_applied(look, page, asked, told):
    seen = look(page)
    seen.filter(asked)
    assert told in seen.page.text_content("#filter-help")
    assert seen.page.get_attribute("#filter", "aria-invalid") == "true"
    assert seen.shown() == 400
    assert "the filter is not understood and not applied" in seen.page.text_content("#status")


def test_examples_of_filters_can_be_clicked(look, page):
    seen = look(page)
    seen.page.click("#filter-help button:last-child")
    seen.page.wait_for_function("() => document.getElementById('status').textContent.includes(' where age > ')")
    assert 0 < seen.shown() < 400


def test_columns_beside_the_person_are_chosen(look, page):
    seen = look(page)

    def heads():
        return seen.page.eval_on_selector_all("#rows thead button", "all => all.map(each => each.title)")[:7]

    assert heads() == ["who", "row", "age", "town", "joined", "effect (days)", "its interval, of the effect"]
    seen.show_columns("smoker", "town")
    assert heads() == ["who", "row", "age", "joined", "smoker", "effect (days)", "its interval, of the effect"]


def test_risks(look, tmp_path, study, new):
    y = (study.y > np.median(study.y)).astype(float)
    risky = Study(study.X, y, study.treatment, study.trial)
    model = CounterfactualIntervals(
        fitted(study=study).method.set_params(outcome_values=[0, 1]), alpha=0.3, control="placebo", random_state=0
    ).fit(risky)
    path = tmp_path / "risk.html"
    write_report(path, model, new, study=risky, methods=["naive"], outcome_label="readmission", by="age > 50")
    seen = look(path)
    assert seen.page.text_content("h1").startswith("Does drug instead of placebo change the risk of readmission")
    records = average_effect(model, risky, by="age > 50")
    assert [line[2] for line in seen.lines("#averages-numbers")] == [spans(each, 100)["text"] for each in records]
    said = seen.page.text_content(".says")
    assert "the risk of readmission by" in said
    assert "percentage points" in said
    needed = records[0].number_needed_to_treat
    assert ("for every" in said) == (needed is not None)


def test_three_arms_have_an_answer_each(look, tmp_path, new):
    study = study_of(400, 210, ("placebo", "drug", "surgery"))
    model = fitted(study=study, alpha=0.3, control="placebo")
    path = tmp_path / "three.html"
    write_report(path, model, new, study=study, methods=["naive"], by="age > 50")
    seen = look(path)
    asked = "What do drug and surgery change in outcome, each instead of placebo, for people like these?"
    assert seen.page.text_content("h1") == asked
    verdicts = seen.page.eval_on_selector_all(".verdict", "all => all.map(each => each.textContent)")
    assert [verdict.partition(":")[0] for verdict in verdicts] == ["Drug", "Surgery"]
    shown = seen.lines("#averages-numbers")
    records = [*(average_effect(model, study, arm, by="age > 50") for arm in ("drug", "surgery"))]
    assert [line[3] for line in shown] == [spans(each)["text"] for group in records for each in group]
    assert "surgery: everybody" in seen.page.text_content("#averages-chart svg")
    assert len(seen.lines("#gammas")) == 12


@pytest.mark.parametrize("given", [True, False], ids=["refused", "no tables"])
def test_a_page_without_averages_says_why(look, tmp_path, study, new, given):
    model = fitted("naive" if given else None, study)
    path = tmp_path / "why.html"
    write_report(path, model, new, **({"study": study, "methods": ["naive"]} if given else {}))
    seen = look(path)
    assert seen.page.text_content(".verdict") == "The average effect is not worked out."
    why = " ".join(seen.page.text_content(".finding").split())
    assert ("learn" in why) if given else why.startswith("A saved model does not contain the tables. What follows")
    assert seen.page.query_selector("#averages-chart") is None
    assert "Nobody asked." in seen.page.text_content(".tiles")


def test_one_sided_pages_have_no_curve_and_say_so(look, tmp_path, study, new):
    model = fitted(study=study, side="lower", alpha=0.3, control="placebo")
    path = tmp_path / "side.html"
    write_report(path, model, new, study=study, methods=["naive"])
    seen = look(path)
    assert "Not worked out: intervals have one end." in seen.page.text_content("#correlation")
    effects = model.predict_effect_interval(new)
    assert f"Effect above 0: {(effects.lower > 0).sum()}." in seen.page.text_content(".tile")


def test_hostile_names_stay_text(look, tmp_path, study, new):
    nasty = "</script><img src=x onerror='window.hacked=1'>"
    path = tmp_path / "hostile.html"
    names = {"drug": nasty, "placebo": "<b>p</b>"}
    model = fitted(study=study)
    new = new.append_column("<i>more</i>", pa.array([nasty] * len(new)))
    write_report(
        path,
        model,
        new,
        study=study,
        methods=["naive"],
        outcome_label=nasty,
        unit=nasty,
        treatment_labels=names,
        above=0,
    )
    seen = look(path)
    assert nasty in seen.page.text_content("h1")
    assert seen.page.query_selector_all("img, b b, i[onclick]") == []
    assert seen.page.evaluate("window.hacked") is None
