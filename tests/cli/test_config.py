"""Declared analyses: a file with the options of `run`, its hash, and where the hash is kept."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
import typer

from commands import STUDY, names
from confide import CounterfactualIntervals, __version__, load, stack
from confide.cli import main as _commands  # noqa: F401  (it registers the commands)
from confide.cli.app import DEFAULT_METHOD, app
from confide.cli.config import NOT_HASHED, NOT_KEYS, PATHS, config_hash, options_of, say_changes
from confide.io.model_file import read_header
from tables import people

ASKED = [*STUDY, "--base", "ridge", "--alpha", "0.3"]
# A file that sets what is needed, and nothing else.
LEAST = 'observational = "obs.csv"\ntrial = "trial.csv"\ntreatment = "t"\noutcome = "y"\n'
RUN = typer.main.get_command(app).commands["run"]
# A value of every option of `run` that a file may set, other than its default.
EVERY = {
    "observational": "o.csv",
    "trial": "t.csv",
    "treatment": "t",
    "outcome": "y",
    "predict": "new.csv",
    "method": "naive",
    "base": "ridge",
    "conformity-score": "normalised",
    "alpha": 0.2,
    "covariates": "age,sex",
    "id": ["who", "where"],
    "category": ["code"],
    "sep": ";",
    "decimal": ",",
    "encoding": "latin-1",
    "out": "i.csv",
    "save": "m.confide",
    "report": "r.html",
    "participants": "own.csv",
    "lower-is-better": True,
    "outcome-label": "days in hospital",
    "unit": "days",
    "treatment-label": ["drug=the drug"],
    "by": ["sex", "age > 70"],
    "above": 3.0,
    "below": 5.0,
    "fdr": 0.2,
    "under": "drug",
    "control": "placebo",
    "outcome-values": "0,1",
    "outcome-range": "0,100",
    "assignment": "p",
    "cluster": "school",
    "target": "observational",
    "group": ["sex"],
    "gamma": 1.5,
    "side": "lower",
    "train-rows": 1000,
    "all-rows": True,
    "dask": "tcp://10.0.0.1:8786",
    "memory": "2GB",
    "seed": 7,
}


def asked(*arguments):
    """Return the context of `run` with these arguments, as typer reads them."""
    return RUN.make_context("run", [str(each) for each in arguments])


def hash_of(*arguments):
    return config_hash(asked(*arguments))


def write_toml(path, **values):
    """Write a file by another hand than the command's: options in another order, spaces and comments."""
    lines = [f"  {key}   =   {json.dumps(values[key])}  # why" for key in sorted(values, reverse=True)]
    Path(path).write_text("\n\n".join(lines), encoding="utf-8")


def as_arguments(values):
    for key, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            yield from [f"--{key}"] if each is True else [f"--{key}", str(each)]


@pytest.fixture(autouse=True)
def files(folder):
    """The files of the study, in the current folder."""
    return folder


def test_every_option_is_a_key_or_is_excluded_by_name():
    context = asked(*STUDY)
    keys = {option.key for option in options_of(context)}
    every = {parameter.opts[0].removeprefix("--") for parameter in RUN.params}
    assert every - keys == {"config", "save-config", "json"}
    assert keys == set(EVERY)
    assert {option.name for option in options_of(context)} >= NOT_HASHED | PATHS
    assert {parameter.name for parameter in RUN.params} >= NOT_KEYS


def test_every_option_comes_back_from_the_file_that_was_saved(confide):
    values = {key: value for key, value in EVERY.items() if key != "below"}  # one of the two
    status, out, err = confide("run", *as_arguments(values), "--save-config", "a.toml")
    assert (status, err) == (0, "")
    found = tomllib.loads(Path("a.toml").read_text(encoding="utf-8"))
    assert found.pop("confide") == __version__
    assert found == values
    again, direct = asked("--config", "a.toml"), asked(*as_arguments(values))
    same = {name: value for name, value in direct.params.items() if name != "config"}
    assert {name: value for name, value in again.params.items() if name != "config"} == same
    assert config_hash(again) == config_hash(direct)
    assert config_hash(direct) in out


def test_the_file_keeps_the_order_of_the_options(confide):
    confide("run", *ASKED, "--seed", "3", "--group", "sex", "--save-config", "a.toml")
    text = Path("a.toml").read_text(encoding="utf-8")
    order = [option.key for option in options_of(asked(*STUDY))]
    hashed, other = ([line.split(" = ")[0] for line in part.splitlines() if " = " in line] for part in split(text))
    assert hashed == sorted(hashed, key=order.index)
    assert other == sorted(other, key=order.index)
    assert {"alpha", "method", "seed", "gamma"} <= set(hashed)
    assert other == ["observational", "trial"]  # where answers go by default is not declared
    assert "# Not set: conformity-score, covariates" in text


def split(text):
    """Return what decides the answers, and the rest."""
    _, hashed, other = text.split("\n\n")
    return hashed, other


def test_saving_reads_no_table_and_replaces_no_file(confide, files):
    for path in files.iterdir():
        path.unlink()
    assert confide("run", *ASKED, "--save-config", "a.toml")[0] == 0
    assert names(files) == ["a.toml"]
    before = Path("a.toml").read_bytes()
    status, _, err = confide("run", *ASKED, "--alpha", "0.2", "--save-config", "a.toml")
    assert status == 2
    assert "a.toml exists, and a declared analysis is not replaced" in err
    assert Path("a.toml").read_bytes() == before
    status, out, _ = confide("run", "--config", "a.toml", "--save-config", "b.toml", "--json")
    assert (status, json.loads(out)) == (0, {"config": "b.toml", "config_hash": hash_of(*ASKED)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "method 'magic' is unknown"),
        (["--base", "magic"], "base 'magic' is unknown"),
        (["--conformity-score", "magic"], "conformity_score 'magic' is unknown"),
        (["--alpha", "2"], "alpha"),
        (["--gamma", "0.5"], "must be a number of at least 1, got 0.5"),
        (["--side", "left"], "left"),
        (["--outcome-values", "no"], "must be numbers"),
        (["--method", "wcp", "--group", "sex"], "wcp"),
        (["--above", "3", "--below", "5"], "give --above or --below, and one of them."),
        (["--fdr", "0.2"], "--fdr is for choosing people: give --above or --below too."),
        (["--below", "30", "--under", "B"], "--below is for a report: give --report."),
        (["--by", "sex"], "--by is for a report: give --report. Without a page, confide effects has average effects"),
        (["--above", "3", "--fdr", "2"], "fdr must lie strictly between 0 and 1, got 2"),
        (["--treatment-label", "drug"], "--treatment-label 'drug' must be a label, = and a name, such as 1=coupon."),
    ],
)
def test_what_a_fit_would_refuse_is_not_declared(confide, arguments, message):
    status, _, err = confide("run", *ASKED, *arguments, "--save-config", "a.toml")
    assert status == 2
    assert message in err
    assert not Path("a.toml").exists()


def test_the_hash_is_that_of_the_canonical_form():
    decide = '{"alpha":0.3,"base":"ridge","gamma":1.0,"id":["who"],"method":"prognostic","outcome":"y","seed":0,'
    decide += '"side":"both","treatment":"t"}'
    assert hash_of(*ASKED) == hashlib.sha256(decide.encode()).hexdigest()


def test_the_hash_does_not_depend_on_order_spaces_files_or_defaults():
    values = {"observational": "o", "trial": "t", "treatment": "t", "outcome": "y", "id": ["who"], "base": "ridge"}
    write_toml("a.toml", **values, alpha=0.3, gamma=1, seed=0, out="x.csv", sep=";")
    assert hash_of("--config", "a.toml") == hash_of(*ASKED) == hash_of(*reversed_options(ASKED))
    assert hash_of(*ASKED, "--save", "m.confide", "--participants", "p.csv") == hash_of(*ASKED)
    assert hash_of(*ASKED, "--target", "a.csv") == hash_of(*ASKED, "--target", "b.csv") != hash_of(*ASKED)
    assert hash_of(*ASKED, "--target", "observational") != hash_of(*ASKED, "--target", "a.csv")


def reversed_options(arguments):
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    return [each for pair in reversed(pairs) for each in pair]


@pytest.mark.parametrize("key", [key for key in EVERY if key not in {"treatment", "outcome"}])
def test_the_hash_changes_with_what_decides_the_answers_only(key):
    other = hash_of(*ASKED[:10], *as_arguments({key: EVERY[key]}))
    assert (other == hash_of(*ASKED[:10])) == (key.replace("-", "_") in NOT_HASHED)


@pytest.mark.slow
def test_run_predict_and_report_show_the_hash_that_the_model_keeps(confide):
    Path("a.toml").write_text(f'{LEAST}id = ["who"]\nbase = "ridge"\nalpha = 0.3\npredict = "new.csv"\n')
    expected = hash_of(*ASKED)
    status, out, err = confide("run", "--config", "a.toml", "--out", "i.csv", "--save", "m.confide")
    assert (status, "note: --" in err) == (0, False), err
    assert f"Analysis (SHA-256): {expected}" in out
    assert load("m.confide").config_hash_ == read_header("m.confide")["config_hash"] == expected
    assert f"Analysis (SHA-256): {expected}" in confide("predict", "m.confide", "new.csv", "--out", "j.csv")[1]
    assert Path("i.csv").read_bytes() == Path("j.csv").read_bytes()
    assert f"Analysis (SHA-256): {expected}" in confide("report", "m.confide", "--predict", "new.csv")[1]
    other = ["predict", "m.confide", "new.csv", "--out", "j.csv", "--alpha", "0.4"]
    assert (
        f"Not the analysis that the model is saved from, whose alpha is 0.3 (SHA-256: {expected})" in confide(*other)[1]
    )
    assert json.loads(confide(*other, "--json")[1])["config_hash"] is None


def test_a_model_of_another_level_or_fit_is_not_that_analysis(saved):
    model = load(saved)
    assert model.config_hash_ is None
    assert "config_hash" not in read_header(saved)
    model.config_hash_ = "abc"
    assert model.with_alpha(model.alpha_).config_hash_ == "abc"
    assert model.with_alpha(0.4).config_hash_ is None
    assert model.with_gamma(1.5).config_hash_ is None
    assert model.config_hash_ == "abc"
    observational, trial = (people(n, seed).drop_columns(["who"]) for n, seed in ((240, 0), (80, 1)))
    assert model.fit(stack(observational, trial, "t", "y")).config_hash_ is None


@pytest.mark.slow
def test_options_on_the_command_line_come_first_and_are_said(confide):
    Path("a.toml").write_text(f'{LEAST}id = ["who"]\nbase = "ridge"\nalpha = 0.2\nsave = "m.confide"\n')
    arguments = [
        "--config",
        "a.toml",
        "--alpha",
        "0.3",
        "--gamma",
        "1.2",
        "--save",
        "n.confide",
        "--trial",
        "trial.csv",
    ]
    status, out, err = confide("run", *arguments)
    assert status == 0, err
    declared = "this is not the analysis declared there, and has another hash."
    assert [line for line in err.splitlines() if line.startswith("note: --")] == [
        f"note: --alpha is 0.3 instead of 0.2 in a.toml: {declared}",
        'note: --save is "n.confide" instead of "m.confide" in a.toml.',
        f"note: --gamma is 1.2 and is not in a.toml: {declared}",
    ]
    assert load("n.confide").config_hash_ == hash_of(*ASKED, "--gamma", "1.2")
    assert hash_of("--config", "a.toml") not in out


def test_another_file_of_the_target_is_said_and_has_the_same_hash(capsys):
    Path("a.toml").write_text(f'{LEAST}target = "a.csv"\n')
    for target, ending in (("b.csv", 'instead of "a.csv" in a.toml.'), ("observational", "has another hash.")):
        context = asked("--config", "a.toml", "--target", target)
        say_changes(context, "a.toml")
        assert capsys.readouterr().err.endswith(f"{ending}\n")
        assert (config_hash(context) == hash_of("--config", "a.toml")) == (target == "b.csv")


def test_paths_are_relative_to_the_file(confide, files, monkeypatch):
    (files / "plans").mkdir()
    (files / "elsewhere").mkdir()
    absolute = files / "new.csv"
    asked_for = [*ASKED, "--predict", absolute, "--target", "observational", "--out", "plans/i.csv"]
    assert confide("run", *asked_for, "--save-config", "plans/a.toml")[0] == 0
    found = tomllib.loads(Path("plans/a.toml").read_text(encoding="utf-8"))
    assert [found[key] for key in ("trial", "predict", "target", "out")] == [
        "../trial.csv",
        str(absolute),
        "observational",
        "i.csv",
    ]
    monkeypatch.chdir(files / "elsewhere")
    context = asked("--config", "../plans/a.toml")
    for key, expected in (("trial", "trial.csv"), ("predict", "new.csv"), ("out", "plans/i.csv")):
        assert Path(context.params[key]).resolve() == files / expected
    assert context.params["target"] == "observational"


def test_a_link_to_a_folder_is_followed(confide, files):
    (files / "far" / "away").mkdir(parents=True)
    (files / "near").symlink_to(files / "far" / "away")
    assert confide("run", *ASKED, "--save-config", "near/a.toml")[0] == 0
    assert Path(asked("--config", "near/a.toml").params["trial"]).read_bytes() == Path("trial.csv").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = ", "a.toml is not TOML: Invalid value"),
        ("alpha 0.1", "a.toml is not TOML"),
        ("alpha = 0.1\nalpha = 0.2", "a.toml is not TOML"),
        (b"base = '\xff'", "a.toml is not TOML"),
        ("alhpa = 0.1", "a.toml: alhpa is not an option of confide run that a file can set; did you mean alpha"),
        ("outcome_values = '0,1'", "did you mean outcome-values"),
        ("json = true", "a.toml: json is not an option"),
        ("[run]\nalpha = 0.1", "a.toml: run is not an option"),
        ("alpha = '0.1'", 'a.toml: alpha = "0.1" must be a number, such as 0.1.'),
        ("alpha = true", "a.toml: alpha = true must be a number"),
        ("seed = 1.5", "a.toml: seed = 1.5 must be a whole number, such as 0."),
        ("seed = -1", "a.toml: seed = -1 must be from 0 to 4294967295."),
        ("lower-is-better = 1", "a.toml: lower-is-better = 1 must be true or false."),
        ("control = 0", 'a.toml: control = 0 must be text in quotes: control = "0".'),
        ("covariates = ['age', 'sex']", 'must be text in quotes: covariates = "age,sex".'),
        ("id = 'who'", 'a.toml: id = "who" must be a list of texts: id = ["who"].'),
        ("id = [1]", 'a.toml: id = [1] must be a list of texts: id = ["1"].'),
        ("outcome = 2026-01-01", "must be text in quotes"),
        ("alpha = 2.0\nid = ['who']", "alpha"),
    ],
)
def test_a_bad_file_is_one_line(confide, text, message):
    bad = text if isinstance(text, bytes) else text.encode()
    rest = "" if b"outcome =" in bad else LEAST
    Path("a.toml").write_bytes((f"{rest}save = 'm.confide'\n").encode() + bad)
    status, out, err = confide("run", "--config", "a.toml")
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_missing_or_incomplete_is_one_line(confide):
    assert confide("run", "--config", "no.toml")[::2] == (2, "confide: no.toml: No such file or directory.\n")
    Path("a.toml").write_text('trial = "trial.csv"\n')
    status, _, err = confide("run", "--config", "a.toml")
    assert status == 2
    assert "--observational" in err
    assert confide("run", *ASKED, "--save-config", "-")[::2] == (
        2,
        "confide: --save-config needs a file to write to.\n",
    )


def test_the_file_is_not_replaced_by_an_output(confide):
    Path("a.toml").write_text(LEAST)
    status, _, err = confide("run", "--config", "a.toml", "--save", "a.toml")
    assert (status, err) == (2, "confide: a.toml is an input: name another file for the output.\n")


def test_a_file_of_another_version_is_pointed_out(capsys):
    Path("a.toml").write_text(f'confide = "9.9.9"\n{LEAST}')
    assert hash_of("--config", "a.toml") == hash_of(*STUDY[:8])
    assert f"note: a.toml is of confide 9.9.9, and this is {__version__}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['a "b" \\ c', "é\n\t\x7f", "#", ""])
def test_any_text_comes_back(confide, text):
    assert confide("run", *ASKED, "--control", text, "--id", text, "--save-config", "a.toml")[0] == 0
    found = asked("--config", "a.toml").params
    assert (found["control"], list(found["id"])) == (text, ["who", text])


def test_the_default_method_is_the_models_own():
    assert CounterfactualIntervals().method == DEFAULT_METHOD
