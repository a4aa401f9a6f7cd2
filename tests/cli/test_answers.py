"""What is asked for comes out."""

import io
import json
import re
import shlex
import subprocess
import sys
import webbrowser

import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

from commands import QUICK, STUDY, names
from confide import METHODS, CounterfactualIntervals, __version__, load, stack
from confide import compare as held_out
from confide import demo as story
from confide.cli.shared import dialect_of, options_of
from confide.cli.text import console
from pages import ROOT
from tables import people, typed, write


def test_help_lists_the_commands(confide):
    for arguments in ([], ["--help"]):
        status, out, err = confide(*arguments)
        assert (status, err) == (0, "")
        commands = (
            "run",
            "predict",
            "report",
            "select",
            "compare",
            "effects",
            "diagnose",
            "methods",
            "demo",
            "reproduce",
        )
        for command in commands:
            assert f"\n  {command} " in out


def modules_after(*arguments):
    """Return the names of what a command has imported, of the packages and of confide."""
    code = f"""
import sys
import webbrowser
from confide.cli.main import main
sys.argv = ["confide", *{arguments!r}]
try:
    main()
except SystemExit as left:
    assert not left.code
print("", *sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


HEAVY = {"sklearn", "scipy", "pyarrow", "narwhals", "skops"}


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_needs_no_numbers(arguments):
    """Neither numpy nor scikit-learn nor pyarrow is imported: help is instant."""
    assert not (HEAVY | {"numpy"}) & modules_after(*arguments)


@pytest.mark.parametrize("arguments", [["methods"], ["methods", "--json"]])
def test_methods_needs_no_estimators(arguments):
    assert not HEAVY & modules_after(*arguments)


@pytest.mark.slow
def test_the_files_of_the_demo_need_no_methods(tmp_path):
    """Neither the story nor the paper's tables nor the report are imported to write three files."""
    told = {"confide.demo", "confide.paper", "confide.report", "jinja2"}
    assert not told & modules_after("demo", "--files", str(tmp_path))
    assert names(tmp_path) == ["new.csv", "observational.csv", "trial.csv"]


def test_version(confide):
    assert confide("--version") == (0, f"confide {__version__}\n", "")


def test_run_answers_and_keeps_the_model(folder, confide):
    status, out, err = confide(
        "run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "model.confide", "--alpha", "0.2"
    )
    assert (status, err) == (0, "")
    table = typed("out.csv")
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [["run", "--save", "m.confide"], ["diagnose"], ["compare"], ["effects"]])
def test_a_high_level_has_a_note(confide, monkeypatch, command):
    """It is said at once, and the share of outcomes stands on the screen."""
    monkeypatch.setattr("confide.compare.compare_on_held_out", lambda *_: iter(()))
    quick = [] if command == ["compare"] else ["--method", "transfer", "--base", "linear"]
    status, out, err = confide(*command, *STUDY, *quick, "--alpha", "0.9")
    assert status == 0
    hold = "the average effect in 10 % of trials" if command == ["effects"] else "10 % of outcomes"
    note = f"note: alpha = 0.9 asks for 10 % intervals, which hold {hold}; for 90 % intervals give --alpha 0.1.\n"
    assert note in err
    assert ("Asked for: intervals that hold 10 % of outcomes.\n\n" in out) == (command[0] in ("run", "diagnose"))


@pytest.mark.usefixtures("unfair_trial")
@pytest.mark.parametrize(("out", "noted"), [("out.csv", True), ("-", False)])
def test_a_trial_without_randomisation_has_a_note_beside_the_summary(confide, out, noted):
    """Not where the summary itself goes to standard error."""
    status, said, err = confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", out)
    told = "Treatment in the trial depends on covariates more than chance allows"
    assert (status, f"note: {told}" in err) == (0, noted)
    assert " ".join(f"{said if noted else err}".split()).count(told) == 1


def test_the_trial_as_new_rows_has_a_note(folder, confide):
    (folder / "link.csv").symlink_to(folder / "trial.csv")
    for new, told in (("new.csv", False), ("link.csv", True)):
        status, _, err = confide("run", *STUDY, *QUICK, "--predict", new, "--out", "out.csv")
        assert status == 0
        assert ("note: link.csv is the trial's own file, and promises are for people who are not in it" in err) is told


@pytest.mark.usefixtures("folder")
def test_dates_and_fractions_name_no_people(confide):
    """They are left out of the covariates by --id, and equal values are no sign of a person with several rows."""
    quick = ["--method", "transfer", "--base", "linear", "--save", "m.confide"]
    days = [f"2024-01-{day:02d}" for day in range(1, 31)]
    values = {"day": days, "clock": [f"10:{day}" for day in range(10, 40)], "dose": [day / 8 for day in range(30)]}
    people = {"number": list(range(30)), "household": [f"{100 + day // 3}.{1 + day % 3}" for day in range(30)]}
    trial = typed("trial.csv").slice(0, 40)
    for name, thirty in (values | people).items():
        trial = trial.append_column(name, [[*thirty, *thirty[:10]]])
    write("trial.csv", trial)
    words = [word for name in values | people for word in ("--id", name)]
    status, _, err = confide("run", *STUDY, *quick, *words)
    assert status == 0
    told = [line for line in err.splitlines() if "several rows" in line]
    for name, line in zip(people, told, strict=True):
        assert line.startswith(f"note: 10 values of {name!r} are in several rows of trial.csv. If these are the same")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("side", "where"), [("upper", "below"), ("lower", "above")])
def test_effects_of_bounds_are_told_by_their_end(confide, side, where):
    quick = ["--method", "transfer", "--base", "linear", "--side", side, "--save", "m.confide"]
    new = ["--predict", "new.csv", "--out", "out.csv", "--participants", "p.csv"]
    _, out, _ = confide("run", *STUDY, *quick, *new)
    bounds = typed("out.csv")[f"effect_placebo_vs_drug_{side}"].to_numpy()
    count = int((bounds > 0).sum() if side == "lower" else (bounds < 0).sum())
    told = f"Effect of placebo against drug: its {side} bound is {where} 0 for {count}, not for {30 - count}.\n"
    assert told in out
    assert f"Effect of placebo against drug for 80: its {side} bound is {where} 0 for" in out
    assert "Asked for: bounds that hold 90 % of outcomes." in out
    assert told in confide("predict", "m.confide", "new.csv", "--out", "again.csv")[1]


def test_predict_gives_what_run_gave(folder, confide):
    confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv", "--save", "model.confide")
    status, out, err = confide("predict", "model.confide", "new.csv", "--out", "again.csv")
    assert (status, err) == (0, "")
    assert "30 rows answered, in again.csv" in out
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()


@pytest.mark.slow
def test_the_next_command_repeats_the_format_of_the_files(folder, confide):
    for name in ("obs", "trial", "new"):
        table = typed(f"{name}.csv")
        lines = [table.column_names, *([str(cell) for cell in row.values()] for row in table.to_pylist())]
        german = "\n".join(";".join(line).replace(".", ",") for line in lines).replace("None", "")
        (folder / f"{name}.csv").write_text(german, encoding="latin-1")
    given = ["--sep", ";", "--decimal", ",", "--encoding", "latin-1"]
    status, out, _ = confide("run", *STUDY, *QUICK, *given, "--save", "m.confide")
    assert status == 0
    following = out.partition("Next: confide ")[2].splitlines()[0]
    assert following == "predict m.confide new.csv --out intervals.csv --sep ';' --decimal , --encoding latin-1"
    assert confide(*shlex.split(following))[0] == 0
    assert confide("predict", "m.confide", "new.csv", "--out", "intervals.csv")[0] == 2


@pytest.mark.parametrize("given", [(None, ".", None), (r"\t", ",", None), ("|", ".", "utf-16")])
def test_options_give_the_format_that_they_were_made_from(given):
    dialect = dialect_of(*given)
    words = shlex.split(options_of(dialect))
    found = dict(zip(words[::2], words[1::2], strict=True))
    assert dialect_of(found.get("--sep"), found.get("--decimal", "."), found.get("--encoding")) == dialect
    assert len(found) == sum(each not in (None, ".") for each in given)


def test_a_seed_decides_everything(folder, confide):
    for out, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", out, "--save", f"{out}.confide", "--seed", seed)
    first, second, third = [(folder / f"{name}.csv").read_bytes() for name in "abc"]
    assert first == second != third
    assert (folder / "a.csv.confide").read_bytes() == (folder / "b.csv.confide").read_bytes()


@pytest.mark.slow
def test_identifiers_are_no_covariates(folder, confide):
    """With or without a telling identifier the answers are the same."""
    confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "with.parquet")
    for name in ("obs", "trial"):
        write(f"{name}.csv", typed(f"{name}.csv").drop_columns(["who"]))
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
        table = typed("out.parquet")
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
    table = typed("out.parquet")
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
    monkeypatch.setattr("confide.methods.registry.METHODS", {"naive": METHODS["naive"]})
    status, out, _ = confide("compare", *STUDY, "--alpha", "0.001", "--json")
    assert status == 0
    (found,) = json.loads(out)
    assert [arm["width"] for arm in found["arms"]] == ["inf", "inf"]


def test_warnings_are_notes_each_once(confide, model):
    strange = typed("new.csv").set_column(1, "age", pa.array([900.0] * 30))
    write("strange.csv", strange)
    status, _, err = confide("predict", model, "strange.csv", "--out", "out.csv")
    assert status == 0
    assert err.count("note: ") == 1
    assert "new rows look unlike the trial's" in err
    assert "fit with a target (target=, --target), or leave out a column" in err
    assert "age" in err


def test_methods_shows_names_and_promises(confide, monkeypatch):
    console.cache_clear()  # its width is that of its first use
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = confide("methods")
    for record in METHODS.values():
        assert f"\n{record.name}\n" in f"\n{out}"
        assert str(record.promise) in out
        assert record.uses in out


@pytest.mark.slow
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
@pytest.mark.slow
def test_diagnose_tests_for_hidden_confounding(confide):
    write("obs.csv", people(240, 0, shift=3.0))
    status, out, err = confide("diagnose", *STUDY, *QUICK, "--alpha", "0.2")
    assert (status, err) == (0, "")
    assert "naive at alpha = 0.2" in out
    assert out.count(": a difference is seen (p = ") == 2
    assert out.count("estimated: +") == 2
    told = json.loads(confide("diagnose", *STUDY, *QUICK, "--alpha", "0.2", "--json")[1])
    assert [test["treatment"] for test in told["hidden_confounding"]] == ["drug", "placebo"]


@pytest.mark.slow
def test_the_demo_tells_the_story_and_what_to_look_at(tmp_path, confide, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("DISPLAY", ":0")
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)))
    status, out, err = confide("demo", "--open")
    assert (status, err) == (0, "")
    assert opened == [(tmp_path / "report.html").as_uri()]
    assert out.index("With both tables an interval of") < out.index("are the observational table")
    narrower = re.search(r"(\d+) % narrower \(±", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    assert f"intervals are {narrower}% narrower" in " ".join(out.split())
    assert names(tmp_path) == ["report.html"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    question = "Does mathematics instead of vocabulary change the mathematics score (points) for people like these?"
    assert f"<title>{question}</title>" in page
    assert "On average, mathematics instead of vocabulary changes the mathematics score by +" in page
    assert "On 500 people who are neither in the trial nor in the observational table." in page
    for name in ("naive", "prognostic", "pooled-dr", "wcp"):
        assert f'<th scope="row">{name}' in page
    assert "report.html, in a browser" in out
    for what in ("observational alone", "trial alone, ridge", "confide, with both", "≥ 90 %", "nothing"):
        assert what in out


@pytest.mark.slow
def test_the_demo_writes_its_files_without_telling_the_story(tmp_path, confide, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = json.loads(confide("demo", "--files", "pupils/again", "--data", "star", "--json")[1])
    assert list(told["files"].values())[1:] == [400, 1000]
    monkeypatch.setattr(story, "story_of", None)
    status, out, err = confide("demo", "--files", "pupils/", "--data", "star")
    assert (status, err) == (0, "")
    assert names(tmp_path) == ["pupils"]
    assert names(tmp_path / "pupils") == ["again", "new.csv", "observational.csv", "trial.csv"]
    assert "pupils/trial.csv: 400 pupils who came to their classes by lot" in out
    command = out[out.index("  confide run") :].replace("\\\n", " ").split()
    status, out, _ = confide(*command[1:])
    assert status == 0
    assert "1,000 rows answered, in intervals.csv" in out


@pytest.mark.usefixtures("folder")
def test_treatments_whose_names_look_like_markup(confide):
    for name, n, seed in (("obs", 240, 0), ("trial", 80, 1)):
        write(f"{name}.csv", people(n, seed, labels=("[bold]", "[/red]")))
    assert confide("run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv")[0] == 0
    assert "y_[/red]_lower" in typed("out.csv").column_names


@pytest.mark.usefixtures("folder")
def test_the_base_model_the_score_and_the_covariates_are_chosen(confide):
    status, _, err = confide(
        *["run", *STUDY, "--method", "transfer", "--base", "ridge", "--conformity-score", "normalised"],
        *["--covariates", "age, smoker", "--save", "model.confide"],
    )
    assert (status, err) == (0, "")
    model = load("model.confide")
    assert model.base == "ridge"
    assert model.method.conformity_score == "normalised"
    assert model.encoder_.feature_names_in_.tolist() == ["age", "smoker"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--base", "rigde"], "base 'rigde' is unknown; did you mean ridge?"),
        (["--conformity-score", "cqr"], "prognostic takes absolute residuals"),
        (["--covariates", "age,height"], "has no column height"),
        (["--control", "plaecbo"], "control 'plaecbo' is not a treatment; did you mean placebo?"),
    ],
)
def test_a_choice_that_there_is_not_is_one_line(options, line, confide):
    status, out, err = confide("run", *STUDY, *options, "--save", "model.confide")
    assert (status, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.slow
def test_the_control_is_kept_with_the_model(confide):
    confide("run", *STUDY, *QUICK, "--control", "placebo", "--save", "model.confide")
    model = load("model.confide")
    assert model.control_ == "placebo"
    confide("predict", "model.confide", "new.csv", "--out", "out.csv")
    assert "effect_drug_vs_placebo" in typed("out.csv").column_names


@pytest.mark.usefixtures("folder")
def test_diagnose_and_compare_take_them_too(confide, monkeypatch):
    monkeypatch.setattr("confide.methods.registry.METHODS", {name: METHODS[name] for name in ("naive", "transfer")})
    choice = ["--base", "linear", "--covariates", "age"]
    status, out, err = confide("diagnose", *STUDY, *choice, "--method", "transfer", "--control", "placebo")
    assert (status, err) == (0, "")
    assert "base model: LinearRegression; R² " in out
    assert "Effects against placebo (the control)" in out
    status, out, err = confide("compare", *STUDY, *choice, "--json")
    assert (status, err) == (0, "")
    study = stack(typed("obs.csv"), typed("trial.csv"), "t", "y", ["age"])
    models = {name: CounterfactualIntervals(name, base="linear") for name in ("naive", "transfer")}
    found = list(held_out.compare_on_held_out(study, 0.1, 0, models, models))
    assert [(each["method"], [arm["width"] for arm in each["arms"]]) for each in json.loads(out)] == [
        (each.method, [arm.width for arm in each.arms]) for each in found
    ]


@pytest.mark.usefixtures("folder")
def test_a_report_on_a_stream_answers_every_row_once(confide, monkeypatch):
    """The rows go to the file and to the page from one pass: they may come from a pipe."""
    asked = []
    real = LinearRegression.predict
    monkeypatch.setattr(LinearRegression, "predict", lambda model, X: (asked.append(len(X)), real(model, X))[1])
    monkeypatch.setattr("confide.report.evidence.MEASURED", ())
    rows = len(typed("new.csv"))
    with open("new.csv", "rb") as file:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(file.read()))))
    options = ["--predict", "-", "--out", "out.csv", "--report", "r.html", "--base", "linear", "--alpha", "0.3"]
    status, _, err = confide("run", *STUDY, *QUICK, *options)
    assert (status, err) == (0, "")
    assert len(typed("out.csv")) == rows
    assert asked.count(rows) == 2  # once for each arm
