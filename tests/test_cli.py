"""The command line: what is asked for comes out, what cannot be is one line, and nothing is left half done."""

import builtins
import io
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from rich.cells import cell_len

from confide import METHODS, __version__, load
from confide.cli import main
from confide.experiments import held_out
from confide.experiments.reproduction import TABLES, reproduce
from confide.formats import read_file, writing
from confide.report import evidence
from confide.screen import console
from small_reproduction import SMALL, write_coat
from tables import covariates, fitted_model, people

CONFIDE = Path(sys.executable).with_name("confide")


def write(path, table):
    with writing(str(path), table.schema) as sink:
        sink.write_table(table)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of a study, a fitted model, and nothing else; it is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, table in (("obs", people(240, 0)), ("trial", people(80, 1)), ("new", covariates(people(30, 2)))):
        write(f"{name}.csv", table)
    return tmp_path


@pytest.fixture
def model(folder):
    fitted_model().save(folder / "model.confide")
    return folder / "model.confide"


@pytest.fixture
def confide(monkeypatch, capfd):
    """Run a command in this process; return its status, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["confide", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return left.value.code, out, err

    return run


STUDY = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
QUICK = ["--method", "naive"]


def names(path):
    return sorted(each.name for each in path.iterdir())


# What is asked for comes out.


def test_help_lists_the_commands(confide):
    for arguments in ([], ["--help"]):
        status, out, err = confide(*arguments)
        assert (status, err) == (0, "")
        for command in ("run", "predict", "report", "compare", "diagnose", "methods", "demo", "reproduce"):
            assert f"\n  {command} " in out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_needs_no_numbers(arguments):
    """Neither numpy nor scikit-learn nor pyarrow is imported: help is instant."""
    code = f"""
import sys
from confide.cli import main
sys.argv = ["confide", *{arguments!r}]
try:
    main()
except SystemExit as left:
    assert not left.code
heavy = {{"numpy", "sklearn", "scipy", "pyarrow", "narwhals", "skops"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(confide):
    assert confide("--version") == (0, f"confide {__version__}\n", "")


def test_run_answers_and_keeps_the_model(folder, confide):
    status, out, err = confide(
        "run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "model.confide", "--alpha", "0.2"
    )
    assert (status, err) == (0, "")
    table = read_file("out.csv")
    assert table.column_names == [
        *["who", "age", "town", "joined", "smoker"],
        *[f"y_{label}{end}" for label in ("drug", "placebo") for end in ("", "_lower", "_upper")],
        *[f"effect_placebo_vs_drug{end}" for end in ("", "_lower", "_upper")],
    ]
    assert table["who"].to_pylist() == list(range(20_000, 20_030))
    assert "naive at alpha = 0.2" in out
    assert "30 rows answered, in out.csv" in out
    assert "confide predict model.confide" in out
    model = load("model.confide")
    assert list(model.encoder_.feature_names_in_) == ["age", "town", "joined", "smoker"]
    assert names(folder) == ["model.confide", "new.csv", "obs.csv", "out.csv", "trial.csv"]


def test_predict_gives_what_run_gave(folder, confide):
    confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "model.confide")
    status, out, err = confide("predict", "model.confide", "new.csv", "--out", "again.csv")
    assert (status, err) == (0, "")
    assert "30 rows answered, in again.csv" in out
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()


def test_a_seed_decides_everything(folder, confide):
    for out, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", out, "--save", f"{out}.confide", "--seed", seed)
    first, second, third = [(folder / f"{name}.csv").read_bytes() for name in "abc"]
    assert first == second != third
    assert (folder / "a.csv.confide").read_bytes() == (folder / "b.csv.confide").read_bytes()


def test_identifiers_are_no_covariates(folder, confide):
    """With or without a telling identifier the answers are the same."""
    confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "with.parquet")
    for name in ("obs", "trial"):
        write(f"{name}.csv", read_file(f"{name}.csv").drop_columns(["who"]))
    confide("run", *STUDY[:-2], *QUICK, "--predict", "new.csv", "--out", "without.parquet")
    assert (folder / "with.parquet").read_bytes() == (folder / "without.parquet").read_bytes()


def test_without_out_the_rows_go_to_standard_output_and_words_to_error(confide, model):
    status, out, err = confide("predict", model, "new.csv")
    assert status == 0
    assert out.splitlines()[0].startswith("who,age,town,joined,smoker,y_drug")
    assert len(out.splitlines()) == 31
    assert "30 rows answered." in err
    status, out, err = confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "-")
    assert len(out.splitlines()) == 31
    assert "naive at alpha" in err


def test_rows_from_standard_input(folder, confide, model, monkeypatch):
    raw = io.BufferedReader(io.BytesIO((folder / "new.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    status, out, _ = confide("predict", model, "-")
    assert status == 0
    assert out == confide("predict", model, "new.csv")[1]


def test_another_level_without_a_new_fit(confide, model):
    widths = []
    for alpha in ("0.05", "0.2"):
        confide("predict", model, "new.csv", "--out", "out.parquet", "--alpha", alpha)
        table = read_file("out.parquet")
        widths.append(table["y_drug_upper"].to_numpy() - table["y_drug_lower"].to_numpy())
    assert (widths[0] > widths[1]).all()


@pytest.mark.usefixtures("folder")
def test_discrete_outcomes_and_another_control(confide):
    for name, n, seed in (("obs", 240, 0), ("trial", 80, 1)):
        table = people(n, seed)
        write(f"{name}.csv", table.set_column(6, "y", pa.array((table["y"].to_numpy() > 5).astype(float))))
    status, out, _ = confide(
        *["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.parquet", "--outcome-values", "0,1"],
        *["--control", "placebo", "--alpha", "0.2"],
    )
    assert status == 0
    assert "Covariates: age (numbers); town (categories); joined (dates); smoker (booleans)." in out
    assert "Effect of drug against placebo: its interval is" in out
    table = read_file("out.parquet")
    assert set(table["y_drug_lower"].drop_null().to_pylist()) <= {0.0, 1.0}
    assert "effect_drug_vs_placebo_upper" in table.column_names


def test_json_is_for_machines(confide, model):
    status, out, err = confide("predict", model, "new.csv", "--out", "out.csv", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["answered"]["rows"] == 30
    status, out, _ = confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--json")
    told = json.loads(out)
    assert told["arms"]["drug"]["method"] == "naive"
    assert sum(told["answered"]["signs"]["placebo vs drug"].values()) == 30
    assert told["saved"] is None
    assert [record["name"] for record in json.loads(confide("methods", "--json")[1])] == list(METHODS)


@pytest.mark.usefixtures("folder")
def test_an_infinite_number_is_text_in_json(confide, monkeypatch):
    """JSON has no infinity; whoever reads it gets "inf"."""
    monkeypatch.setattr(held_out, "METHODS", {"naive": METHODS["naive"]})
    monkeypatch.setattr(held_out.compare_on_held_out, "__defaults__", (["naive"],))
    status, out, _ = confide("compare", *STUDY, "--alpha", "0.001", "--json")
    assert status == 0
    assert [arm["width"] for arm in json.loads(out)[0]["arms"]] == ["inf", "inf"]


def test_warnings_are_notes_each_once(confide, model):
    strange = read_file("new.csv").set_column(1, "age", pa.array([900.0] * 30))
    write("strange.csv", strange)
    status, _, err = confide("predict", model, "strange.csv", "--out", "out.csv")
    assert status == 0
    assert err.count("note: ") == 1
    assert "new rows look unlike the trial's" in err
    assert "age" in err


def test_methods_shows_names_and_promises(confide, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = confide("methods")
    for record in METHODS.values():
        assert f"\n{record.name}\n" in f"\n{out}"
        assert record.promise in out
        assert record.uses in out


@pytest.mark.usefixtures("folder")
def test_compare_shows_every_method(confide, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    status, out, err = confide("compare", *STUDY)
    assert (status, err) == (0, "")
    for name in METHODS:
        assert f" {name} " in out
    assert "Treatment drug: 90 % intervals" in out
    assert "On 30% of the trial's rows" in out


@pytest.mark.usefixtures("folder")
def test_diagnose_tests_for_hidden_confounding(confide):
    write("obs.csv", people(240, 0, shift=3.0))
    status, out, err = confide("diagnose", *STUDY, *QUICK, "--alpha", "0.2")
    assert (status, err) == (0, "")
    assert "naive at alpha = 0.2" in out
    assert out.count(": a difference is seen (p = ") == 2
    assert out.count("estimated: +") == 2
    told = json.loads(confide("diagnose", *STUDY, *QUICK, "--alpha", "0.2", "--json")[1])
    assert [test["treatment"] for test in told["hidden_confounding"]] == ["drug", "placebo"]


def test_the_demo_tells_the_story_and_the_next_command(tmp_path, confide, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    status, out, err = confide("demo", "--files", "pupils")
    assert (status, err) == (0, "")
    assert names(tmp_path) == ["pupils", "report.html"]
    assert names(tmp_path / "pupils") == ["new.csv", "observational.csv", "trial.csv"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>Intervals for 1,000 individuals</title>" in page
    assert "On 1,000 pupils who are neither in the trial nor in the observational table." in page
    for name in ("naive", "transfer-centred", "pooled-dr", "wcp"):
        assert f'<th scope="row">{name}' in page
    assert "report.html, in a browser" in out
    for what in ("observational alone", "trial alone", "confide, with both", "≥ 90 %", "nothing"):
        assert what in out
    command = out[out.index("  confide run") :].replace("\\\n", " ").split()
    status, out, _ = confide(*command[1:])
    assert status == 0
    assert "1,000 rows answered, in intervals.csv" in out


@pytest.fixture
def two_methods(monkeypatch):
    """Reports measure these methods only: others take their time."""
    monkeypatch.setattr(evidence, "METHODS", {name: METHODS[name] for name in ("naive", "wcp")})


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
    assert "<title>Intervals for 30 individuals</title>" in page
    assert "takes a <strong>smaller</strong>" in page
    for name in ("naive", "wcp"):
        assert f'<th scope="row">{name}' in page
    assert "p-value" in page
    told = json.loads(
        confide(
            *["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--report", "report.html", "--json"]
        )[1]
    )
    assert told["report"] == "report.html"


@pytest.mark.usefixtures("two_methods")
def test_a_report_on_a_saved_model(folder, confide, model):
    """Without the tables it says how to get the rest; with them it has it. An old page is replaced whole."""
    status, out, err = confide("report", model, "--predict", "new.csv", "--control", "placebo", "--alpha", "0.4")
    assert (status, err) == (0, "")
    assert "30 rows answered, in new.html" in out
    assert "Effect of drug against placebo: its interval is" in out
    before = (folder / "new.html").read_text(encoding="utf-8")
    assert "Not measured: a saved model holds no tables" in before
    assert "<strong>transfer-centred</strong> at α = 0.4" in before
    status, out, err = confide("report", model, "--predict", "new.csv", *STUDY, "--out", "new.html", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"answered": json.loads(out)["answered"], "report": "new.html"}
    assert json.loads(out)["answered"]["rows"] == 30
    after = (folder / "new.html").read_text(encoding="utf-8")
    assert "Not measured" not in after
    assert "this report’s method</small>" in after
    assert names(folder) == ["model.confide", "new.csv", "new.html", "obs.csv", "trial.csv"]


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


def test_a_report_refuses_tables_of_other_columns(folder, confide, model):
    without_id = [text for text in STUDY if text not in ("--id", "who")]
    status, out, err = confide("report", model, "--predict", "new.csv", *without_id, "--out", "report.html")
    assert (status, out) == (2, "")
    assert "the study's covariates are not the model's: the model does not read 'who'" in err
    assert "--id" in err
    assert "report.html" not in names(folder)


def test_a_report_on_rows_from_standard_input(folder, confide, model, monkeypatch):
    confide("report", model, "--predict", "new.csv", "--out", "file.html")
    raw = io.BufferedReader(io.BytesIO((folder / "new.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    status, _, err = confide("report", model, "--predict", "-", "--out", "stdin.html")
    assert (status, err) == (0, "")
    assert (folder / "stdin.html").read_bytes() == (folder / "file.html").read_bytes()


@pytest.mark.usefixtures("folder")
def test_treatments_whose_names_look_like_markup(confide):
    for name, n, seed in (("obs", 240, 0), ("trial", 80, 1)):
        write(f"{name}.csv", people(n, seed, labels=("[bold]", "[/red]")))
    assert confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv")[0] == 0
    assert "y_[/red]_lower" in read_file("out.csv").column_names


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Reproductions of small sizes, in a folder of their own, with ratings in Coat's form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(reproduce, "Settings", lambda: SMALL)
    (tmp_path / "coat").mkdir()
    write_coat(tmp_path / "coat", monkeypatch)
    console.cache_clear()  # it keeps the width that it began with
    yield tmp_path
    console.cache_clear()


def test_reproduce_shows_ours_beside_the_papers(small, confide):
    status, out, err = confide("reproduce", "table2", "--seeds", "2", "--jobs", "1")
    assert (status, err) == (0, "")
    assert "Table 2: counterfactual outcomes and effects, 2 seeds" in out
    for what in (
        "paper: 200 test rows",
        "ours:  gradient boosting",
        "why wcp: published",
        "written: reproduction/table2.csv",
    ):
        assert what in out
    lines = [line.split() for line in out.splitlines()]
    wcp = next(line for line in lines if line[:1] == ["wcp"])
    assert len(wcp) == 5
    assert wcp[2] == "0.572±0.039"
    assert wcp[4] == "0.222±0.007"
    assert sum(line[:2] == ["wtcp-dr,", "refits"] for line in lines) == 3
    assert "…" not in out
    assert max(map(cell_len, out.splitlines())) <= 80
    assert names(small / "reproduction") == ["parts", "table2.csv", "times.csv"]
    before = (small / "reproduction" / "table2.csv").read_bytes()
    status, again, _ = confide("reproduce", "table2", "--seeds", "2", "--jobs", "1")
    assert (status, again) == (0, out)
    assert (small / "reproduction" / "table2.csv").read_bytes() == before


def test_reproduce_all(small, confide):
    """Every table, in 80 columns; what is simulated or left out is told."""
    status, out, err = confide("reproduce", "all", "--seeds", "1", "--jobs", "1", "--out", "here")
    assert status == 0
    assert err.startswith("note: coat and coat-splits are left out")
    assert err.count("\n") == 1
    made = [name for name in TABLES if not name.startswith("coat")]
    assert sorted(path.stem for path in (small / "here").glob("*.csv")) == sorted([*made, "times"])
    assert sorted(path.stem for path in (small / "here").glob("*.png")) == ["dimension", "trial-size"]
    assert out.count("SIMULATED ratings, not") == 2
    assert "∞ (100%)" in out
    assert "no claim" in out
    assert max(map(cell_len, out.splitlines())) <= 80
    assert "…" not in out
    status, out, err = confide("reproduce", "all", "--seeds", "1", "--jobs", "1", "--out", "here", "--coat", "coat")
    assert (status, err) == (0, "")
    assert sorted(path.stem for path in (small / "here").glob("*.csv")) == sorted([*TABLES, "times"])
    assert "additive, trial alone" in out
    assert "…" not in out


@pytest.mark.usefixtures("small")
def test_reproduce_for_machines(confide):
    status, out, err = confide("reproduce", "theorem", "--seeds", "2", "--json")
    assert (status, err) == (0, "")
    (table,) = json.loads(out)["tables"]
    assert (table["name"], table["seeds"]) == ("theorem", 2)
    assert [row["verdict"] for row in table["rows"]] == ["no claim", "no claim"]
    status, out, err = confide("reproduce", "coat", "--seeds", "1", "--jobs", "1", "--coat", "coat", "--json")
    (table,) = json.loads(out)["tables"]
    assert table["lines"][0]["paper_width"] == {"mean": 3.787, "sd": 0.045}
    assert table["lines"][0]["width"]["sd"] == "nan"


# What cannot be is one line, status 2, and nothing is left behind.


def change(name, how):
    write(name, how(read_file(name)))


def put(name, content):
    Path(name).write_bytes(content)


RUN = ["run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "m.confide"]
BAD = {
    "missing file": (lambda: Path("obs.csv").unlink(), RUN, "obs.csv: No such file or directory"),
    "missing new file": (lambda: Path("new.csv").unlink(), RUN, "new.csv: No such file or directory"),
    "a folder": (lambda: [Path("obs.csv").unlink(), Path("obs.csv").mkdir()], RUN, "obs.csv: Is a directory"),
    "empty file": (lambda: put("trial.csv", b""), RUN, "trial.csv cannot be read as csv"),
    "empty new file": (lambda: put("new.csv", b""), RUN, "new.csv cannot be read as csv"),
    "no rows": (lambda: put("trial.csv", b"age,t,y\n"), RUN, "trial.csv has no rows"),
    "not text": (lambda: put("obs.csv", b"age,town,t,y\n1,M\xfcnchen,drug,1\n"), RUN, "column town is no UTF-8 text"),
    "ragged": (lambda: put("obs.csv", b"a,b\n1,2\n3\n"), RUN, "Expected 2 columns, got 1"),
    "not parquet": (
        lambda: put("o.parquet", b"PAR1" * 9),
        ["run", *STUDY, "--observational", "o.parquet", *RUN[-2:]],
        "o.parquet cannot be read as parquet",
    ),
    "extension": (
        None,
        ["run", *STUDY, "--trial", "trial.xlsx", *RUN[-2:]],
        "trial.xlsx: the extension must be one of",
    ),
    "treatment column": (None, [*RUN, "--treatment", "agee"], "no column agee; did you mean age?"),
    "outcome column": (None, [*RUN, "--outcome", "yy"], "no column yy; did you mean y?"),
    "identifier column": (None, [*RUN, "--id", "whom"], "no file has the identifier 'whom'; did you mean who?"),
    "new column": (
        lambda: change("new.csv", lambda table: table.drop_columns(["town"])),
        RUN,
        "new.csv has no column town",
    ),
    "one treatment": (
        lambda: [write(f"{name}.csv", people(80, 3, ["drug"])) for name in ("obs", "trial")],
        RUN,
        "has one value, drug",
    ),
    "no common covariates": (
        lambda: change("obs.csv", lambda table: table.select(["who", "t", "y"])),
        RUN,
        "there are no covariates",
    ),
    "outcome not numeric": (
        None,
        [*RUN, "--outcome", "town", "--id", "y"],
        "the outcome must be numeric, but column 'town' is string",
    ),
    "outcome missing": (
        lambda: change("trial.csv", lambda table: table.set_column(6, "y", pa.array([None] * 40 + [1.0] * 40))),
        RUN,
        "the trial table has no outcome 'y' in 40 of 80 rows (such as row 1)",
    ),
    "unknown option": (None, [*RUN, "--methd", "naive"], "No such option: --methd"),
    "unknown command": (None, ["runn"], "No such command 'runn'"),
    "unknown method": (None, [*RUN, "--method", "pooled-rd"], "did you mean pooled-dr"),
    "missing option": (None, ["run", "--trial", "trial.csv"], "Missing option '--observational'"),
    "alpha": (None, [*RUN, "--alpha", "1.5"], "1.5"),
    "alpha as text": (None, [*RUN, "--alpha", "ten"], "Invalid value for '--alpha'"),
    "seed": (None, [*RUN, "--seed", "-1"], "Invalid value for '--seed'"),
    "nothing to do": (None, ["run", *STUDY], "give --predict, --save or both"),
    "json beside rows": (None, [*RUN, "--out", "-", "--json"], "cannot both go to standard output"),
    "two standard inputs": (None, [*RUN, "--trial", "-", "--predict", "-"], "only one of the files"),
    "no such folder": (None, [*RUN, "--out", "deep/out.csv"], "deep/out.csv cannot be written"),
    "no such folder to save in": (None, [*RUN, "--save", "deep/m.confide"], "deep/m.confide cannot be written"),
    "a folder as output": (lambda: Path("out.csv").mkdir(), RUN, "out.csv cannot be written"),
    "one name for two": (None, [*RUN, "--save", "out.csv"], "out.csv cannot hold both the intervals and the model"),
    "one file for two": (None, [*RUN, "--save", "./out.csv"], "out.csv cannot hold both the intervals and the model"),
    "an input as output": (None, [*RUN, "--save", "./trial.csv"], "trial.csv is an input"),
    "the new rows as output": (None, [*RUN, "--out", "new.csv"], "new.csv is an input"),
    "out without predict": (None, ["run", *STUDY, "--save", "m.confide", "--out", "out.csv"], "--out needs --predict"),
    "unknown control": (None, [*RUN, "--control", "placbo"], "did you mean placebo?"),
    "values that are no numbers": (None, [*RUN, "--outcome-values", "yes,no"], "must be numbers with commas"),
    "an outcome beyond its values": (None, [*RUN, "--outcome-values", "0,1"], "outcomes are none of outcome_values"),
    "output's extension": (None, [*RUN, "--out", "out.txt"], "out.txt: the extension must be one of"),
    "full disk": (lambda: Path("out.csv").symlink_to("/dev/full"), RUN, "out.csv: No space left on device"),
    "full disk while saving": (
        lambda: Path("m.confide").symlink_to("/dev/full"),
        ["run", *STUDY, *QUICK, "--save", "m.confide"],
        "m.confide: No space left on device",
    ),
    "a column that the answers need": (
        lambda: change("new.csv", lambda table: table.append_column("y_drug", table["age"])),
        RUN,
        "columns that the answers need: y_drug",
    ),
    "a word among numbers": (
        lambda: put("new.csv", b"who,age,town,joined,smoker\n1,old,x,2020-01-01,true\n"),
        RUN,
        "column 'age' holds values that are not numbers",
    ),
    "missing model": (None, ["predict", "m.confide", "new.csv"], "m.confide: No such file or directory"),
    "no model": (
        lambda: put("m.confide", b"PK\x03\x04 not really"),
        ["predict", "m.confide", "new.csv", "--out", "out.csv"],
        "m.confide",
    ),
    "empty model": (
        lambda: put("m.confide", b""),
        ["predict", "m.confide", "new.csv", "--out", "out.csv"],
        "m.confide",
    ),
    "extra argument": (None, ["demo", "extra"], "unexpected extra argument"),
    "compare": (None, ["compare", *STUDY, "--outcome", "yy"], "no column yy"),
    "diagnose": (None, ["diagnose", *STUDY, "--treatment", "tt"], "no column tt"),
    "unknown table": (None, ["reproduce", "tabel2"], "table 'tabel2' is unknown; did you mean table2?"),
    "no seeds": (None, ["reproduce", "table2", "--seeds", "0"], "Invalid value for '--seeds'"),
    "no jobs": (None, ["reproduce", "table2", "--jobs", "0"], "Invalid value for '--jobs'"),
    "Coat without its files": (None, ["reproduce", "coat"], "coat needs Coat's ratings: give --coat"),
    "Coat's files elsewhere": (None, ["reproduce", "coat-splits", "--coat", "deep"], "deep is no directory"),
    "not Coat's files": (None, ["reproduce", "coat", "--coat", "."], "train.ascii is not there"),
    "Yahoo's files elsewhere": (None, ["reproduce", "yahoo", "--yahoo", "deep"], "deep is no directory"),
    "results into a file": (None, ["reproduce", "table2", "--out", "new.csv"], "new.csv cannot be written"),
    "demo into a file": (None, ["demo", "--files", "new.csv"], "new.csv"),
    "demo where nothing can be written": (
        None,
        ["demo", "--report", "deep/report.html"],
        "deep/report.html cannot be written: its folder must exist",
    ),
    "a folder as the demo's report": (lambda: Path("report.html").mkdir(), ["demo"], "report.html cannot be written"),
    "a report that is no page": (None, [*RUN, "--report", "r.csv"], "r.csv: a report is a page"),
    "a report on standard output": (None, [*RUN, "--report", "-"], "give it a name that ends in .html"),
    "a report beside nothing": (
        None,
        ["run", *STUDY, "--save", "m.confide", "--report", "r.html"],
        "--report needs --predict",
    ),
    "a report of a stream": (None, [*RUN, "--predict", "-", "--report", "r.html"], "its rows are read twice"),
    "better without a report": (None, [*RUN, "--lower-is-better"], "--lower-is-better is for a report"),
    "a report in no folder": (None, [*RUN, "--report", "deep/r.html"], "deep/r.html cannot be written"),
    "an input as report": (
        lambda: put("m.html", b""),
        ["report", "m.html", "--predict", "new.csv", "--out", "./m.html"],
        "m.html is an input",
    ),
    "half a study": (
        None,
        ["report", "m.confide", "--predict", "new.csv", "--trial", "trial.csv"],
        "give --observational, --trial, --treatment and --outcome together",
    ),
    "identifiers of no study": (
        None,
        ["report", "m.confide", "--predict", "new.csv", "--id", "who"],
        "--id is for --observational and --trial",
    ),
    "a report without its model": (
        None,
        ["report", "m.confide", "--predict", "new.csv"],
        "m.confide: No such file or directory",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(folder, confide, case):
    prepare, arguments, message = BAD[case]
    if prepare is not None:
        prepare()
    before = names(folder)
    status, out, err = confide(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("confide: ")
    assert err.count("\n") == 1
    assert message in err
    assert names(folder) == before


@pytest.mark.usefixtures("folder")
def test_a_file_that_may_not_be_read(confide, monkeypatch):
    """Root may read everything, so the system's refusal is played."""
    real = builtins.open

    def refuse(path, *arguments, **options):
        if str(path) == "obs.csv":
            raise PermissionError(13, "Permission denied", "obs.csv")
        return real(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    status, out, err = confide(*RUN)
    assert (status, out, err) == (2, "", "confide: obs.csv: Permission denied.\n")


def test_a_disk_that_fills_up_in_the_middle(folder, model):
    """A limit on the size of files stands for the end of the disk: some bytes fit, and not all."""
    write("many.csv", covariates(people(4000, 3)))
    before = names(folder)
    code = f"""
import resource, sys
from confide.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
sys.argv = ["confide", "predict", {str(model)!r}, "many.csv", "--out", sys.argv[1]]
main()
"""
    for out in ("out.csv", "out.parquet", "out.arrow", "out.csv.gz"):
        command = [sys.executable, "-c", code, out]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr == f"confide: {out}: File too large.\n"
        assert names(folder) == before


def test_an_error_keeps_the_file_that_was_there(folder, confide, model):
    put("out.csv", b"of yesterday")
    put("new.csv", b"who,age,town,joined,smoker\n1,40,x,2020-01-01,true\n2,old,x,2020-01-01,true\n")
    assert confide("predict", model, "new.csv", "--out", "out.csv")[0] == 2
    assert (folder / "out.csv").read_bytes() == b"of yesterday"


def test_whoever_stops_reading_gets_no_traceback(folder, model):
    write("many.csv", pa.concat_tables([read_file("new.csv")] * 2000))
    command = f"{CONFIDE} predict {model} many.csv | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S602
    assert done.stdout.startswith("who,age")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_an_interrupt_is_one_line(folder, model):
    write("many.csv", pa.concat_tables([read_file("new.csv")] * 20_000))
    started = subprocess.Popen(
        [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"], stderr=subprocess.PIPE, text=True, cwd=folder
    )
    while not list(folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, err) == (130, "confide: interrupted.\n")
    assert "out.csv" not in names(folder)
    assert not list(folder.glob(".out.csv.*"))


def test_a_terminated_run_leaves_nothing(folder, model):
    write("many.csv", pa.concat_tables([read_file("new.csv")] * 20_000))
    started = subprocess.Popen([CONFIDE, "predict", model, "many.csv", "--out", "out.csv"], cwd=folder)
    while not list(folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.terminate()
    assert started.wait(timeout=60) == 143
    assert not list(folder.glob("*out.csv*"))


def test_nothing_but_the_answer_where_no_one_watches(folder, model):
    """No spinner, no bar, no colour in a pipe."""
    done = subprocess.run(
        [CONFIDE, "predict", model, "new.csv", "--out", "out.csv"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


# Killed in the middle.


def kill_at_random_moments(command, outputs, folder, moments, seed):
    """Run to the end once, then kill that many times, and after each look at what stands under the outputs' names."""
    durations = []
    for _ in range(2):  # the first one warms the disk up
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        durations.append(time.perf_counter() - began)
    whole = {name: (folder / name).read_bytes() for name in outputs}
    luck = random.Random(seed)  # noqa: S311
    killed = 0
    for _ in range(moments):
        for name in outputs:
            (folder / name).unlink(missing_ok=True)
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        time.sleep(luck.uniform(0, durations[-1]))
        started.kill()
        killed += started.wait() == -signal.SIGKILL
        for name in outputs:
            assert not (folder / name).exists() or (folder / name).read_bytes() == whole[name]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    for name in outputs:
        assert (folder / name).read_bytes() == whole[name]
    return killed


@pytest.mark.parametrize("moments", [3, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["run", "predict"])
def test_killed_at_random_moments(folder, model, what, moments):
    write("many.csv", pa.concat_tables([read_file("new.csv")] * 2000))
    if what == "run":
        outputs = ["out.parquet", "m.confide"]
        command = [CONFIDE, "run", *STUDY, *QUICK, "--predict", "many.csv", "--out", outputs[0], "--save", outputs[1]]
    else:
        outputs = ["out.csv"]
        command = [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"]
    killed = kill_at_random_moments(command, outputs, folder, moments, seed=moments)
    assert killed >= moments / 3


def test_an_old_output_survives_a_kill(folder, model):
    put("out.csv", b"of yesterday")
    write("many.csv", pa.concat_tables([read_file("new.csv")] * 20_000))
    command = [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    while not any(path.stat().st_size for path in folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.kill()
    started.wait()
    assert (folder / "out.csv").read_bytes() == b"of yesterday"
