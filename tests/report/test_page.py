"""The page as a file: small, whole, and true to what it was made from."""

import hashlib
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hatchling.builders.wheel import WheelBuilder

import confide.report
from confide import METHODS, WSCPDR, CounterfactualIntervals, Naive, Study, Transfer
from confide.exceptions import InfiniteIntervalWarning
from confide.methods.promise import ASSUMPTIONS
from confide.models.preprocessing import ridge_on_splines
from confide.report import individuals, packed_intervals, page, write_report
from report_pages import fitted, new_patients, study_of

ROOT = Path(__file__).parents[2]
VENDOR = Path(confide.report.__file__).parent / "vendor"


@pytest.fixture(scope="module")
def model():
    return fitted()


def text_of(path):
    """Return the words of a page, without its scripts, markup and line ends."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", body))


def test_the_same_rows_give_the_same_bytes(tmp_path, model):
    pages = []
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, model, new_patients())
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_it_says_what_the_model_says(tmp_path, model):
    path = tmp_path / "report.html"
    answered = write_report(path, model, new_patients())
    assert answered.rows == 200
    said = text_of(path)
    body, _, maker = said.replace("&#39;", "'").replace("α = ", "alpha = ").partition("For whoever makes this page")
    for arm in model.diagnostics_.values():
        assert arm.advice
        for text in arm.advice:
            assert text.says in body
            assert not text.remedy or text.replace("`", "") in maker
    assert METHODS["transfer-centred"].summary in said
    assert "Not measured: a saved model does not contain the tables, and the page was made without them." in body
    assert "No difference found is not evidence that there is none" in said


def test_the_outcome_is_called_as_its_column_was(tmp_path, model):
    path = tmp_path / "report.html"
    study = study_of()
    named = Study(*study, outcome_column="spent").take(np.arange(len(study)))
    for fitted_on, called in ((CounterfactualIntervals("naive", base="ridge").fit(named), "spent"), (model, "outcome")):
        write_report(path, fitted_on, new_patients(10))
        assert f"Does placebo instead of drug change {called} for people like these?" in text_of(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "parameters", "promise"),
    [
        ("transfer", {}, "≥ 90 %, because each of its two steps is taken at 0.05 (bonferroni)"),
        ("transfer", {"arm_alpha": 0.1}, "≥ 80 %, because each of its two steps is taken at 0.1 (bonferroni)"),
        (
            "transfer",
            {"effect": "nested-exact"},
            "≥ 90 %, because each of its two steps is taken at 0.05 (nested-exact)",
        ),
        ("transfer", {"effect": "nested-inexact"}, "none (nested-inexact)"),
        (
            "transfer",
            {"arm_alpha": 0.6},
            "none in numbers: each of its two steps is taken at 0.6, and together they may miss always (bonferroni)",
        ),
        ("pooled-dr", {}, "none in numbers: it would need arms that keep their level, and they do not"),
        ("wscp-dr-inexact", {}, "none in numbers"),
    ],
)
def test_the_promise_is_no_stronger_than_that_of_the_method(tmp_path, method, parameters, promise):
    path = tmp_path / "report.html"
    model = fitted(method, **parameters)
    write_report(path, model, new_patients(10))
    said = text_of(path).replace("&#39;", "'")
    assert f"Promised for an effect{promise}" in said
    assert f"Promised for an outcome{model.promise_}" in said


@pytest.mark.slow
def test_changed_parameters_are_shown_beside_what_the_record_says(tmp_path):
    path = tmp_path / "report.html"
    study = study_of()
    model = fitted(Transfer(base=ridge_on_splines(), base_on="grounded"), study)
    write_report(path, model, new_patients(10), study=study, methods=["naive"])
    said = text_of(path).replace("&#39;", "'")
    record = METHODS["transfer"]
    assert f"Methodtransfer with base_on='grounded'; by default: {record.summary}" in said
    assert f"What it useswith base_on='grounded' not all of this holds; by default: {record.uses}" in said
    assert "transfer this report’s method, with base_on='grounded'" in said


def test_what_the_record_says_stands_alone_where_it_is_true(tmp_path, model):
    path = tmp_path / "report.html"
    write_report(path, model, new_patients(10))
    assert f"What it uses{METHODS['transfer-centred'].uses}" in text_of(path)


@pytest.mark.slow
def test_both_stages_weights_are_shown(tmp_path):
    path = tmp_path / "report.html"
    model = fitted(WSCPDR(base=ridge_on_splines(), target="outcome"))
    write_report(path, model, new_patients(10))
    page = path.read_text(encoding="utf-8")
    assert "of the first stage</th>" in page
    for arm in model.diagnostics_.values():
        sizes = (f'<td class="n">{size:.1f}</td>' for size in (arm.effective_size, arm.first_stage_size))
        assert "".join(sizes) in page


def test_one_stage_has_no_column_for_two(tmp_path, model):
    path = tmp_path / "report.html"
    write_report(path, model, new_patients(10))
    assert "first stage" not in text_of(path)


def test_a_promise_by_reference_is_shown_in_full(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, fitted("wcp-nb"), new_patients(10))
    said = text_of(path)
    told = str(METHODS["wcp-nb"].promise)
    assert f"Promised for an outcome{told}; here 1-α is 90 %" in said
    assert "as wtcp-dr" not in said


def test_it_says_what_is_assumed(tmp_path, model):
    path = tmp_path / "report.html"
    write_report(path, model, new_patients(10))
    said = text_of(path)
    assert ASSUMPTIONS in said.replace("&#39;", "'")
    assert "They also assume that the method and its level were chosen before looking at these outcomes." in said
    assert "For whomnew people from the trial's population" in said.replace("&#39;", "'")


def test_it_says_for_whom(tmp_path, monkeypatch):
    monkeypatch.setattr("confide.report.evidence.hidden_confounding_test", lambda *_, **__: [])  # it takes its time
    path = tmp_path / "report.html"
    study = study_of()
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, groups="town", gamma=1.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # some towns are small
        model.fit(study)
        # A column that is the model's group and the reader's is shown once.
        write_report(path, model, new_patients(10), study=study, methods=[], by=["town", "age > 50", "age<=50"])
    said = text_of(path).replace("&#39;", "'").replace("&#34;", '"').replace("&gt;", ">").replace("&lt;", "<")
    assert "transfer at α = 0.3, computed at level 0.3/1.5 = 0.2" in said
    assert "70 % intervals are requested; they are computed at level 0.3/1.5 = 0.2, that is α/1.5" in said
    assert "the true outcome of randomised people, computed at level 0.3/1.5 = 0.2. On" in said
    assert f"For whom{model.whom_.people}" in said
    assert model.whom_.assumptions in said
    assert "picked by its intervals, or by its covariates other than town." in said
    assert "Promised for an effect≥ 70 %, because each of its two steps is taken at 0.15/1.5 = 0.1 (bonferroni)" in said
    measured = said.partition("This report’s method, also by group")[2].partition("measured on the same rows")[0]
    averages = said.partition("the trial's means, unadjusted")[2].partition("Is it certain")[0]
    for town in ("town = North, upper", 'town = the "South"', "town = Öst"):
        assert measured.count(town) == 2
        assert averages.count(town) == 1
    assert averages.count("age > 50") == averages.count("age <= 50") == 1


def test_a_refuted_lot_stands_above_the_answer(tmp_path, monkeypatch):
    """A trial whose lot favoured older people, and does not say so."""
    monkeypatch.setattr("confide.report.evidence.hidden_confounding_test", lambda *_, **__: [])  # it takes its time
    path = tmp_path / "report.html"
    study = study_of()
    old = study.X["age"].fill_null(50.0).to_numpy() > 50
    labels = np.where(study.trial, np.where(old, "drug", "placebo"), study.treatment)
    labels[np.flatnonzero(study.trial)[:20]] = study.treatment[np.flatnonzero(study.trial)[:20]]
    unfair = Study(study.X, study.y + 3 * (labels == "drug"), labels, study.trial)
    write_report(path, fitted(study=unfair), new_patients(10), study=unfair, methods=[], control="placebo")
    told = "Treatment in the trial depends on covariates more than chance allows"
    top, verdict, below = text_of(path).partition("In doubt: on average higher by")
    assert verdict
    below, _, maker = below.partition("For whoever makes this page")
    assert top.count(told) == below.count(told) == maker.count(told) == 1
    assert "State probabilities that differ (assignment=, --assignment)." in maker
    assert 'class="verdict better"' not in path.read_text(encoding="utf-8")
    write_report(path, fitted(), new_patients(10))
    assert told not in text_of(path)


def test_it_says_why_there_is_no_test_of_randomisation(tmp_path):
    path = tmp_path / "report.html"
    study = study_of(labels=("placebo", "drug", "tea"))
    stated = np.where(study.X["age"].fill_null(50.0).to_numpy() > 50, 0.3, 0.4)
    weighted = Study(study.X, study.y, study.treatment, study.trial, assignment=stated)
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0).fit(weighted)
    write_report(path, model, new_patients(10), study=weighted, methods=["naive"])
    said = text_of(path)
    assert "not made: with three or more treatments only the probability of the one received is known." in said
    assert "Whether the trial kept to the stated probabilities is not tested" in said
    assert "Whether the trial kept to the stated probabilities is not tested" in " ".join(model.summary().split())


def test_it_says_how_far_the_target_is(tmp_path):
    path = tmp_path / "report.html"
    study = study_of()
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0)
    model.fit(study.X, study.y, study.treatment, study.trial, target="observational")
    write_report(path, model, new_patients(10))
    said = text_of(path).replace("&#39;", "'")
    assert "For whompeople of the target population" in said
    assert "The target differs from the trial most by" in said


def test_more_rows_than_a_page_holds(tmp_path, model, monkeypatch):
    monkeypatch.setattr(individuals, "MOST_ROWS", 150)
    path = tmp_path / "report.html"
    answered = write_report(path, model, new_patients(200))
    said = text_of(path)
    assert "The page contains a random sample of 150 of 200 rows, in the order of the table; 50 are left out." in said
    sides = answered.signs["placebo", "drug"]
    above, below = f"{sides['above']} effects are above 0", f"{sides['below']} below 0"
    assert f"at α = 0.1: {above}, {below}, {sides['neither']} undecided." in said
    write_report(path, model, new_patients(200), lower_is_better=False)
    better, worse = f"{sides['above']} are better under placebo", f"{sides['below']} better under drug"
    assert f"at α = 0.1: {better}, {worse}, {sides['neither']} undecided." in text_of(path)


def test_numbers_that_would_be_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(packed_intervals, "MOST_BYTES", 10_000)
    path = tmp_path / "report.html"
    write_report(path, fitted("wcp"), new_patients(200))
    assert "The page contains a random sample of 117 of 200 rows" in text_of(path)


def test_many_long_columns_stay_within_three_megabytes(tmp_path, model):
    rng = np.random.default_rng(0)
    new = new_patients(10_000)
    for number in range(30):
        new = new.append_column(f"extra {number}", pa.array(rng.standard_normal(10_000)))
    new = new.append_column("story", pa.array([f"{row} " + "long " * 400 for row in range(10_000)]))
    path = tmp_path / "report.html"
    write_report(path, model, new)
    assert path.stat().st_size < 3_000_000
    left_out = re.search(r"Left out to keep the page small: (\d+) of the table.s own columns \((.*?)\)", text_of(path))
    assert int(left_out[1]) > 10
    assert "extra 29" in left_out[2] or "…" in left_out[2]


@pytest.mark.parametrize("arms", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_the_largest_page_stays_within_three_megabytes(tmp_path, arms):
    """As many numbers and as much text as a page takes, and no offset that would save any."""
    labels = tuple("abcdef"[:arms])
    arm = Naive(base=ridge_on_splines(), conformity_score="normalised")
    model = fitted(arm, study_of(60 * arms, 60 * arms, labels), alpha=0.3)
    new = new_patients(10_000)
    for number in range(40):
        new = new.append_column(f"extra {number}", pa.array([f"{row:04d} and more" for row in range(10_000)]))
    path = tmp_path / "report.html"
    write_report(path, model, new)
    assert 1_500_000 < path.stat().st_size < 3_000_000


def test_infinite_effects_are_told_where_outcomes_are_finite(tmp_path):
    path = tmp_path / "report.html"
    with pytest.warns(UserWarning, match="effect intervals, alpha=0.05 needs 19"):
        model = fitted(study=study_of(200, 30))
    write_report(path, model, new_patients(10))
    said = text_of(path)
    assert "Effect intervals: α = 0.05 needs 19 trial calibration rows for a finite interval; there are" in said
    assert "10 of 10 rows have an infinite interval for an effect at α = 0.1: too little" in said
    assert "interval for an outcome" not in said


def test_an_error_keeps_the_page_that_was_there(tmp_path, model):
    path = tmp_path / "report.html"
    path.write_bytes(b"of yesterday")
    with pytest.raises(ValueError, match="has no column"):
        write_report(path, model, new_patients(3).drop_columns(["age"]))
    assert path.read_bytes() == b"of yesterday"
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_control_is_refused(tmp_path, model):
    with pytest.raises(ValueError, match="did you mean placebo"):
        write_report(tmp_path / "report.html", model, new_patients(3), control="placbo")


def test_the_charting_library_is_what_it_says_it_is(tmp_path, model):
    sums = dict(reversed(line.split()) for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    others = {"README.md", "SHA256SUMS"}
    assert set(sums) == {path.name for path in VENDOR.iterdir()} - others
    for name, checksum in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == checksum
    script, readme = ((path.read_text()) for path in (ROOT / "scripts" / "vendor.sh", VENDOR / "README.md"))
    for package, version in re.findall(r"^fetch (\S+) (\S+) ", script, flags=re.MULTILINE):
        assert re.search(rf"`{package}`.* \| {re.escape(version)} \|", readme)
    write_report(tmp_path / "report.html", model, new_patients(3))
    for path in VENDOR.glob("LICENSE.*"):
        assert path.read_text().split("\n\n")[1][:60] in (tmp_path / "report.html").read_text()


def test_the_wheel_has_all_that_a_page_needs(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    inside = set(zipfile.ZipFile(wheel).namelist())
    needed = {"page.css", *page.LIBRARIES, *(f"scripts/{name}.js" for name in page.PARTS), *page.LICENCES.values()}
    folder = Path(confide.report.__file__).parent
    needed |= {f"templates/{path.name}" for path in (folder / "templates").iterdir()}
    assert {f"confide/report/{name}" for name in needed} <= inside
    assert {path.stem for path in (folder / "scripts").iterdir()} == set(page.PARTS)
