"""Reports by command: of a run, and of a saved model."""

import io
import json
import sys

import pytest

from commands import QUICK, STUDY, names
from confide.report import evidence
from tables import typed, write


@pytest.fixture
def two_methods(monkeypatch):
    """Reports measure these methods only: others take their time."""
    monkeypatch.setattr(evidence, "MEASURED", ("naive", "wcp"))


@pytest.mark.usefixtures("two_methods")
def test_run_writes_a_report(folder, confide):
    status, out, err = confide(
        *["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--report", "report.html"],
        *["--alpha", "0.3", "--lower-is-better"],
    )
    assert (status, err) == (0, "")
    assert "Report: report.html, to be opened in a browser." in out
    assert names(folder) == ["new.csv", "obs.csv", "out.csv", "report.html", "trial.csv"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>Does placebo instead of drug change y for people like these?</title>" in page
    assert "takes a <strong>smaller</strong> y" in page
    for name in ("naive", "wcp"):
        assert f'<th scope="row">{name}' in page
    assert '<th scope="col" class="n">p-value</th>' in page
    assert "1,000 rows of a table it is found by drawing anew which rows are the trial's" in page
    told = json.loads(
        confide(
            *["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--report", "report.html", "--json"]
        )[1]
    )
    assert told["report"] == "report.html"


@pytest.mark.parametrize(("named", "called"), [([], "y"), (["--outcome-label", "days"], "days")])
def test_a_saved_model_keeps_the_name_of_the_outcome(folder, confide, named, called):
    assert confide("run", *STUDY, *QUICK, "--save", "model.confide")[0] == 0
    assert confide("report", "model.confide", "--predict", "new.csv", *named)[0] == 0
    page = (folder / "new.html").read_text(encoding="utf-8")
    assert f"<title>Does placebo instead of drug change {called} for people like these?</title>" in page


@pytest.mark.usefixtures("two_methods")
@pytest.mark.slow
def test_a_report_on_a_saved_model(folder, confide, model):
    """Without the tables it says how to get the rest; with them it has it. An old page is replaced whole."""
    status, out, err = confide("report", model, "--predict", "new.csv", "--control", "placebo", "--alpha", "0.4")
    assert (status, err) == (0, "")
    assert "30 rows answered, in new.html" in out
    assert "Effect of drug against placebo: its interval is" in out
    before = (folder / "new.html").read_text(encoding="utf-8")
    assert "Not measured: a saved model does not contain the tables" in before
    assert "transfer-centred at α = 0.4" in before
    assert "The average effect is not worked out." in before
    status, out, err = confide("report", model, "--predict", "new.csv", *STUDY, "--out", "new.html", "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert record == {"answered": record["answered"], "report": "new.html", "config_hash": None}
    assert json.loads(out)["answered"]["rows"] == 30
    after = (folder / "new.html").read_text(encoding="utf-8")
    assert "Not measured" not in after
    assert "Not counted: the model was fitted on other rows than these" in after  # the tables are not its own
    assert "this report’s method</small>" in after
    assert names(folder) == ["model.confide", "new.csv", "new.html", "obs.csv", "trial.csv"]


@pytest.mark.usefixtures("two_methods")
@pytest.mark.slow
def test_names_groups_and_choices(folder, confide):
    """In a run, and for a saved model with and without the tables; the hash is that of the run."""
    named = ["--outcome-label", "days in hospital", "--unit", "nights", "--treatment-label", "drug=the drug"]
    asked = [*named, "--above", "2", "--under", "placebo", "--fdr", "0.3", "--lower-is-better"]
    groups = ["--by", "age > 50", "--by", "smoker", "--by", "smoker, age > 50"]
    quick = ["--method", "transfer", "--base", "ridge"]
    run = ["run", *STUDY, *quick, "--predict", "new.csv", "--out", "out.csv", "--save", "model.confide"]
    assert confide(*run, "--report", "report.html", *asked, *groups)[0] == 0
    report = ["report", "model.confide", "--predict", "new.csv", "--out", "again.html"]
    assert confide(*report, *asked, *groups, *STUDY)[0] == 0
    question = "Does placebo instead of the drug change days in hospital (nights) for people like these?"
    for name in ("report.html", "again.html"):
        page = (folder / name).read_text(encoding="utf-8")
        assert f"<h1>{question}</h1>" in page
        assert '<th scope="row">age &gt; 50</th>' in page
        assert '<th scope="row">smoker = no</th>' in page
        assert '<th scope="row">smoker = no, age &gt; 50</th>' in page
        assert "Whose days in hospital will be above 2 nights under placebo?" in page
        assert "On average at most 30 % of such a list are false picks" in page
        assert "SHA-256 of the options that decide the answers" in page
    assert confide(*report, *asked)[0] == 0
    page = (folder / "again.html").read_text(encoding="utf-8")
    assert f"<h1>{question}</h1>" in page
    assert "The average effect is not worked out." in page
    assert "On average at most 30 %" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "age > 50"], "--by is for --observational and --trial; give them too."),
        (["--treatment-label", "drg=the drug"], "a name is given to treatment 'drg', which is unknown"),
        (["--above", "1", "--under", "magic"], "treatment 'magic' is unknown"),
        (["--above", "1", "--below", "2"], "give --above or --below, and one of them."),
        (["--under", "drug"], "--under is for choosing people"),
    ],
)
def test_options_of_the_page_that_cannot_be_are_one_line(folder, confide, model, options, message):
    status, out, err = confide("report", model, "--predict", "new.csv", "--out", "report.html", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert "report.html" not in names(folder)


def test_options_of_the_page_need_one(confide, folder):
    status, _, err = confide("run", *STUDY, "--predict", "new.csv", "--out", "out.csv", "--unit", "days")
    assert status == 2
    assert "--unit is for a report: give --report." in err
    assert "out.csv" not in names(folder)


def test_a_report_without_a_name_leaves_the_one_of_run_alone(folder, confide, model, monkeypatch):
    """It is called as the rows' file is, in the folder of the caller; rows of a stream have no name."""
    (folder / "report.html").write_text("of run --report")
    (folder / "deep").mkdir()
    (folder / "new.csv").rename(folder / "deep" / "later.csv")
    status, out, _ = confide("report", model, "--predict", "deep/later.csv")
    assert status == 0
    assert "in later.html." in out
    assert names(folder) == ["deep", "later.html", "model.confide", "obs.csv", "report.html", "trial.csv"]
    assert (folder / "report.html").read_text() == "of run --report"
    rows = (folder / "deep" / "later.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(rows))))
    status, out, _ = confide("report", model, "--predict", "-")
    assert status == 0
    assert "in report.html." in out


@pytest.mark.usefixtures("two_methods")
def test_a_report_reads_the_columns_of_the_model_and_no_others(folder, confide):
    """As in `confide predict`, more columns do no harm, whether they are identifiers or not."""
    quick = ["--method", "transfer", "--base", "linear", "--covariates", "age,smoker"]
    assert confide("run", *STUDY, *quick, "--save", "m.confide")[0] == 0
    report = ["report", "m.confide", "--predict", "new.csv", "--out"]
    without_id = [text for text in STUDY if text not in ("--id", "who")]
    for name, tables in (("a.html", without_id), ("b.html", [*STUDY, "--id", "joined"])):
        status, _, err = confide(*report, name, *tables)
        assert (status, err) == (0, "")
    assert (folder / "a.html").read_text() == (folder / "b.html").read_text()


def test_a_report_refuses_tables_without_the_columns_of_the_model(folder, confide, model):
    table = typed("trial.csv")
    write("trial.csv", table.drop_columns(["town"]))
    status, out, err = confide("report", model, "--predict", "new.csv", *STUDY, "--out", "report.html")
    assert (status, out) == (2, "")
    assert "trial.csv has no column town" in err
    assert "report.html" not in names(folder)


def test_a_report_on_rows_from_standard_input(folder, confide, model, monkeypatch):
    confide("report", model, "--predict", "new.csv", "--out", "file.html")
    raw = io.BufferedReader(io.BytesIO((folder / "new.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    status, _, err = confide("report", model, "--predict", "-", "--out", "stdin.html")
    assert (status, err) == (0, "")
    assert (folder / "stdin.html").read_bytes() == (folder / "file.html").read_bytes()
