"""The options that say for whom answers hold: every command takes them, and says what follows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from commands import STUDY, names
from confide import METHODS, CounterfactualIntervals, load
from confide.compare import compare_on_held_out
from confide.data import files
from confide.data.files import read_study
from confide.report import evidence
from tables import covariates, people, typed, write

FAST = ["--base", "ridge", "--alpha", "0.3"]
ASKED = [*STUDY, *FAST, "--method", "transfer"]
ROLES = ("assignment", "cluster", "target")
TWO = {name: METHODS[name] for name in ("transfer", "wcp")}


@pytest.fixture(autouse=True)
def stratified(folder, monkeypatch):
    """A trial with probabilities, sites and two groups; two methods to compare, and no test, which takes its time."""
    table = people(240, 1)
    age = table["age"].fill_null(50.0).to_numpy()
    placebo = np.array(table["t"].to_pylist()) == "placebo"
    chance = np.where(age > 50, 0.6, 0.4)
    table = table.append_column("p", pa.array(np.where(placebo, chance, 1 - chance)))
    table = table.append_column("site", pa.array([f"s{number % 60}" for number in range(240)]))
    write("trial.csv", table.set_column(4, "smoker", pc.fill_null(table["smoker"], fill_value=False)))
    write("new.csv", covariates(people(30, 2)).set_column(4, "smoker", pa.array([True, False] * 15)))
    monkeypatch.setattr("confide.methods.registry.METHODS", TWO)
    monkeypatch.setattr(evidence, "MEASURED", tuple(TWO))
    for module in ("confide.diagnostics.confounding_test", "confide.report.evidence"):
        monkeypatch.setattr(f"{module}.hidden_confounding_test", lambda *_, **__: [])
    return folder


def line_of(out, *words):
    """Return the words of the first line that has these."""
    return next(line.split() for line in out.splitlines() if all(word in line for word in words))


def test_compare_shows_coverage_by_group(confide, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    options = ["--assignment", "p", "--group", "smoker", "--gamma", "1.1"]
    status, out, _ = confide("compare", *STUDY, *FAST, *options)
    assert status == 0
    told = "Coverage by smoker: 70 % intervals, computed at level 0.3/1.1 = 0.273, of transfer on held-out trial rows"
    assert told in " ".join(out.split())
    assert "By group: transfer only. `confide diagnose --method` shows another, --json all." in out
    assert "wcp refuses: wcp does not calibrate on trial rows alone" in out
    assert "fewer of people who were likely to get their treatment" in out
    told = json.loads(confide("compare", *STUDY, *FAST, *options, "--json")[1])
    study = read_study("obs.csv", "trial.csv", "t", "y", ["who", "site"], assignment="p")
    models = {"transfer": CounterfactualIntervals("transfer", base="ridge", groups=["smoker"], gamma=1.1)}
    (found,) = compare_on_held_out(study, 0.3, 0, ["transfer"], models, "smoker")
    assert [(each["group"], each["treatment"], each["width"]) for each in told[0]["by_group"]] == [
        (each.group, each.treatment, each.width) for each in found.by_group
    ]
    assert told[1]["by_group"] == []
    first = found.by_group[0]
    shown = line_of(out, first.group, first.treatment)
    assert shown[3:8] == [first.treatment, str(first.n), f"{first.coverage:.2f}", f"{first.low:.2f}", "to"]


def test_compare_of_bounds_shows_their_mean(confide):
    status, out, _ = confide("compare", *STUDY, *FAST, "--side", "lower", "--cluster", "site")
    assert status == 0
    assert "70 % bounds on" in out
    assert "mean bound" in out
    assert "inf" not in line_of(out, " transfer ")
    assert "On 30% of the trial's clusters, one row of each, which no method saw." in out
    told = json.loads(confide("compare", *STUDY, *FAST, "--side", "lower", "--json")[1])
    assert [np.isfinite(arm["bound"]) for arm in told[0]["arms"]] == [True, True]


def test_compare_refuses_a_target(confide):
    status, out, err = confide("compare", *STUDY, *FAST, "--target", "observational")
    assert (status, out) == (2, "")
    assert err == "confide: held-out rows are the trial's people, and the target's outcomes are not known.\n"


def test_diagnose_shows_coverage_by_group(confide, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    status, out, _ = confide("diagnose", *ASKED, "--group", "smoker", "--assignment", "p")
    assert status == 0
    assert "Coverage by smoker: 70 % intervals of transfer on held-out trial rows" in out
    told = json.loads(confide("diagnose", *ASKED, "--group", "smoker", "--assignment", "p", "--json")[1])
    assert [(each["group"], each["treatment"]) for each in told["held_out"]["by_group"]] == [
        (group, label) for label in ("drug", "placebo") for group in ("smoker = no", "smoker = yes")
    ]
    for each in told["held_out"]["by_group"]:
        assert f"{each['coverage']:.2f}" in line_of(out, each["group"], each["treatment"])
    assert json.loads(confide("diagnose", *ASKED, "--json")[1])["held_out"] is None


def test_diagnose_says_why_there_is_no_coverage_by_group(confide, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    status, out, _ = confide("diagnose", *ASKED, "--group", "smoker", "--target", "observational")
    assert status == 0
    assert "Coverage by smoker is not shown: held-out rows are the trial's people" in out


def test_unseen_groups_are_one_note_for_a_file(confide, monkeypatch):
    confide("run", *ASKED, "--group", "smoker", "--save", "model.confide")
    monkeypatch.setattr(files, "BATCH_ROWS", 7)
    table = typed("new.csv")
    write("strange.csv", table.set_column(4, "smoker", pa.array([None if n % 2 else True for n in range(30)])))
    status, _, err = confide("predict", "model.confide", "strange.csv", "--out", "out.csv")
    assert status == 0
    assert err.count("is missing in") == 1
    said = "smoker is missing in 15 of 30 rows (the first is row 2), so that their groups are unknown: their intervals"
    assert f"note: {said} are infinite." in err
    assert "does not have" not in err


def words(page):
    """Return the text of a page, its quotes as typed."""
    return " ".join(page.read_text(encoding="utf-8").replace("&#39;", "'").split())


@pytest.mark.parametrize(
    ("options", "whom"),
    [
        (["--assignment", "p", "--side", "upper"], "with the probabilities that were stated"),
        (["--cluster", "site", "--gamma", "1.2"], "a new person at random from a new cluster like the trial's (or"),
        (["--assignment", "p", "--target", "observational"], "<dd>people of the target population</dd>"),
    ],
)
def test_reports_of_a_run_and_of_its_model_are_alike(stratified, confide, options, whom):
    rows = ["--predict", "new.csv"]
    status, _, _ = confide(
        *["run", *ASKED, *options, *rows, "--out", "out.csv", "--save", "m.confide", "--report", "run.html"]
    )
    assert status == 0
    assert whom in words(stratified / "run.html")
    carried = [text for pair in zip(options[::2], options[1::2], strict=True) for text in pair if pair[0][2:] in ROLES]
    status, _, _ = confide("report", "m.confide", *rows, *STUDY, *carried, "--out", "saved.html")
    assert status == 0
    assert words(stratified / "saved.html") == words(stratified / "run.html")


def test_a_report_has_coverage_by_group(stratified, confide):
    status, _, _ = confide(
        *["run", *ASKED, "--group", "smoker", "--predict", "new.csv", "--out", "out.csv", "--report", "run.html"]
    )
    assert status == 0
    said = words(stratified / "run.html")
    assert "in each group of smoker</dd>" in said
    assert "by its covariates other than smoker." in said
    table = said[said.index('id="by-group"') :]
    assert table.count('<th scope="row">smoker = yes</th>') == 2


def test_a_report_names_what_the_tables_were_read_without(stratified, confide):
    confide("run", *ASKED, "--assignment", "p", "--save", "m.confide")
    assert load("m.confide").carries_ == ("assignment",)
    confide("report", "m.confide", "--predict", "new.csv", *STUDY, "--out", "saved.html")
    assert "these were read with nothing beyond them. Name the same columns (--assignment" in words(
        stratified / "saved.html"
    )
    for option in ("--assignment", "--cluster", "--target"):
        status, _, err = confide("report", "m.confide", "--predict", "new.csv", option, "p")
        assert (status, err.count("\n")) == (2, 1)
        assert f"{option} is for --observational and --trial; give them too." in err
    assert "new.html" not in names(stratified)


def test_an_output_does_not_replace_the_target(confide):
    status, _, err = confide("run", *ASKED, "--target", "new.csv", "--predict", "new.csv", "--out", "new.csv")
    assert status == 2
    assert "new.csv is an input" in err
