"""`confide effects`: a table, sentences, a file and JSON; errors are one line."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from commands import STUDY
from confide.cli.effects_text import contradictions, effect_lines, effect_table
from confide.effects.averages import AverageEffect
from tables import people, typed, write

pytestmark = pytest.mark.usefixtures("folder")

COMMAND = ["effects", *STUDY, "--method", "transfer", "--base", "ridge"]


def test_exchanged_tables_are_not_said_to_rest_on_a_lot(confide):
    """Neither that, nor that the other table cannot bias the answer."""
    chosen = people(240, 0)
    ages = np.nan_to_num(chosen["age"].to_numpy(), nan=50.0)
    given = pa.array(np.where(ages + np.random.default_rng(0).normal(0, 10, 240) > 50, "drug", "placebo"))
    write("obs.csv", chosen.set_column(chosen.column_names.index("t"), "t", given))
    exchanged = ["--observational", "trial.csv", "--trial", "obs.csv", *STUDY[4:], *COMMAND[len(STUDY) + 1 :]]
    status, out, err = confide("effects", *exchanged)
    assert status == 0, err
    assert "lot alone" not in out
    assert "1/n" not in out
    assert "the data refute that lot" in out
    assert "So the answer may be confounded" in out


def test_a_table_and_what_it_means(confide):
    status, out, err = confide(*COMMAND, "--by", "smoker", "--control", "placebo", "--out", "effects.csv")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].strip() == "Average effect of t = drug against placebo, with 95 % intervals"
    groups = ["everybody", "smoker = missing", "smoker = no", "smoker = yes"]
    assert [line.strip().startswith(group) for line, group in zip(lines[4:], groups, strict=False)] == [True] * 4
    assert "On average, t = drug instead of placebo lowers y by" in out
    assert "among people like the trial's." in out
    assert "It rests on the trial's lot alone." in out
    assert "refute" not in out
    assert "biases it at most by a part of order 1/n, n the trial's rows." in out
    table = typed("effects.csv")
    assert table["group"].to_pylist() == groups
    assert table["rows_treated"].to_numpy()[0] + table["rows_control"].to_numpy()[0] == table["n"].to_numpy()[0] == 80


def test_a_title_may_be_wider_than_the_table(confide):
    labels = ("the drug", "the usual care")
    for name, table in (("obs", people(240, 0, labels)), ("trial", people(80, 1, labels))):
        write(f"{name}.csv", table)
    _, out, _ = confide(*COMMAND, "--control", labels[1])
    title, *table = out.splitlines()
    assert title.strip() == "Average effect of t = the drug against the usual care, with 95 % intervals"
    assert len(title.strip()) > len(table[1].strip())


def test_json_has_the_same_numbers(confide):
    status, out, _ = confide(*COMMAND, "--json", "--out", "effects.csv", "--alpha", "0.2")
    (found,) = json.loads(out)
    assert status == 0
    assert found["effect"] == pytest.approx(typed("effects.csv")["effect"][0].as_py())
    assert (found["alpha"], found["rows"]["drug"] + found["rows"]["placebo"]) == (0.2, 80)
    assert found["share_of_width"] < 1


def test_the_file_may_be_standard_output(confide):
    status, out, err = confide(*COMMAND, "--out", "-")
    assert status == 0
    assert out.startswith("group,treated,control,n,effect,low,high,")
    assert "On average" in err


def test_every_treatment_is_compared_with_the_control(confide):
    for name, table in (("obs", people(240, 0, tuple("abc"))), ("trial", people(80, 1, tuple("abc")))):
        write(f"{name}.csv", table)
    status, out, _ = confide(*COMMAND, "--control", "b")
    assert status == 0
    assert [label for label in "abc" if f"Average effect of t = {label} against b" in out] == ["a", "c"]


def test_risks_are_told_in_people(confide):
    for name, table in (("obs", people(240, 0)), ("trial", people(200, 1))):
        risk = (table["y"].to_numpy() > np.where(table["t"].to_numpy(zero_copy_only=False) == "drug", 3, 6)).astype(int)
        write(f"{name}.csv", table.set_column(table.column_names.index("y"), "y", pa.array(risk)))
    status, out, err = confide(*COMMAND, "--control", "placebo")
    assert (status, err) == (0, "")
    assert "It is a difference of risks: one more y = 1 for every" in out


def test_several_by_are_apart_and_commas_cross(confide):
    """Everybody is shown once, and each group; it is what the report shows."""
    words = ["--by", "smoker", "--by", "age > 50", "--by", "smoker, age > 50", "--by", "smoker", "--json"]
    status, out, _ = confide(*COMMAND, *words)
    groups = [each["group"] for each in json.loads(out)]
    assert status == 0
    assert groups[:4] == ["everybody", "smoker = missing", "smoker = no", "smoker = yes"]
    assert groups[4:7] == ["age = missing", "age <= 50", "age > 50"]
    assert set(groups[7:]) >= {"smoker = no, age <= 50", "smoker = no, age > 50", "smoker = yes, age > 50"}
    assert all(", age" in group for group in groups[7:])


def test_a_saved_model_gives_the_answers_of_a_fit(confide, folder):
    """With the observational table and without: only the trial's rows are compared."""
    options = ["--method", "prognostic", "--base", "ridge", "--control", "placebo", "--category", "town"]
    assert confide("run", *STUDY, *options, "--save", "m.confide")[0] == 0
    asked = ["--by", "smoker", "--by", "town", "--alpha", "0.1", "--json"]
    _, fresh, _ = confide("effects", *STUDY, *options, *asked)
    alone = ["--trial", "trial.csv", "--treatment", "t", "--outcome", "y"]
    for tables in (STUDY, alone):
        status, out, err = confide("effects", "--model", "m.confide", *tables, *asked)
        assert (status, err) == (0, "")
        assert json.loads(out) == json.loads(fresh)
    _, _, err = confide("effects", "--model", "m.confide", *alone, "--outcome", "age")
    assert err.startswith("confide: m.confide was fitted on the outcome 'y', got --outcome age: name that column")
    (folder / "obs.csv").unlink()
    _, against, _ = confide("effects", "--model", "m.confide", *alone, "--control", "drug", "--json")
    assert json.loads(against)[0]["effect"] == -json.loads(fresh)[0]["effect"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "naive"], "--method decides a fit, and model.confide is fitted"),
        (["--seed", "0", "--base", "ridge", "--train-rows", "9"], "--base, --train-rows, --seed decide a fit"),
        (["--treatment", "tt"], "trial.csv has no column tt; did you mean t?"),
        (["--control", "plac"], "the control 'plac' is not a treatment; did you mean placebo?"),
        (["--out", "model.confide"], "model.confide"),
    ],
)
@pytest.mark.usefixtures("model")
def test_what_a_saved_model_refuses(confide, words, message):
    status, out, err = confide(
        "effects", "--model", "model.confide", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", *words
    )
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.usefixtures("model")
def test_a_trial_without_the_models_columns(confide):
    write("trial.csv", people(80, 1).rename_columns(["who", "age", "city", "joined", "smoker", "t", "y"]))
    status, _, err = confide(
        "effects", "--model", "model.confide", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y"
    )
    assert status == 2
    assert err.startswith(
        "confide: trial.csv has no column town, which model.confide was fitted on; there are: who, age"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--lower-is-better"], "With lower y as the better, t = drug is the better of the two on average.\n"),
        (["--higher-is-better"], "With higher y as the better, t = placebo is the better of the two on average.\n"),
    ],
)
def test_it_says_which_direction_is_better(confide, words, told):
    _, out, _ = confide(*COMMAND, "--control", "placebo", *words)
    assert told in out
    _, out, _ = confide(*COMMAND, "--control", "placebo")
    assert "better of the two" not in out


@pytest.mark.parametrize(("rows", "told"), [(14, True), (300, False)])
def test_an_interval_from_few_rows_is_said_to_be_approximate(confide, rows, told):
    write("trial.csv", people(rows, 1))
    _, out, _ = confide(*COMMAND)
    assert ("The interval is approximate with fewer than 50 rows of a treatment (here " in out) == told


def record(**changed):
    told = {"group": "everybody", "treated": 1, "control": 0, "n": 9, "effect": 2.0, "low": -1.0, "high": 5.0}
    plain = {"unadjusted": 2.0, "unadjusted_low": -1.0, "unadjusted_high": 5.0, "rows": {1: 4, 0: 5}}
    rest = {"clusters": None, "alpha": 0.05, "number_needed_to_treat": None}
    return AverageEffect(**{**told, **plain, **rest, **changed})


@pytest.mark.parametrize(
    ("half", "share", "told"),
    [
        (2.0, "33 % less", "nearly as much. The adjustment biases it at most"),
        (2.995, "equal", "nearly as much. Here it is as wide as without. The adjustment biases it at"),
        (3.005, "equal", "nearly as much. Here it is as wide as without. The adjustment biases it at"),
        (4.0, "33 % more", "nearly as much. Here it cost width: 33 % wider. The adjustment biases it at"),
        (np.inf, "", "nearly as much. The adjustment biases it at most"),
    ],
)
def test_it_says_what_the_large_table_did(half, share, told):
    """The sentence is on everybody; groups have a column of the table."""
    first = record(low=2.0 - half, high=2.0 + half)
    if np.isinf(half):
        first = record(low=-np.inf, high=np.inf, unadjusted_low=-np.inf, unadjusted_high=np.inf)
    assert told in " ".join(effect_lines([first, record(group="age = old", low=-9.0, high=9.0)], "t", "y"))
    screen = Console(width=100)
    with screen.capture() as shown:
        screen.print(effect_table([first], "t"))
    line = next(line for line in shown.get().splitlines() if "everybody" in line)
    assert line.strip().endswith(share or "∞")


def test_help_names_the_control_that_there_is(confide):
    """Only what answers with a saved model can take that model's."""
    for command, told in (
        ("effects", "the first in order."),
        ("run", "the first in order."),
        ("predict", "that of the"),
    ):
        _, out, _ = confide(command, "--help")
        assert f"compared with; by default {told}" in " ".join(re.sub("[│|]", " ", out).split())


def test_sentences_of_what_is_not_known():
    undecided = effect_lines([record()], "t", "y")
    assert undecided[0].endswith(
        "by +2 (95 % interval -1 to 5) among people like the trial's: the trial does not tell in which direction."
    )
    unknown = effect_lines([record(low=-np.inf, high=np.inf, clusters=3)], "t", "y")
    assert unknown[0] == "The trial has too few rows to tell the average effect of t = 1 on y."
    assert "Each of the 3 clusters counts once, however many rows it has." in unknown
    lower = effect_lines([record(effect=-2.0, low=-3.0, high=-1.0)], "t", "y")
    assert lower[0].startswith("On average, t = 1 instead of 0 lowers y by 2 (95 % interval 1 to 3)")


@pytest.mark.usefixtures("unfair_trial")
def test_a_trial_without_randomisation_has_a_note(confide):
    """The sentence is that of `run` and `diagnose`."""
    status, out, err = confide(*COMMAND)
    assert (status, "On average" in out) == (0, True)
    note = "Treatment in the trial depends on covariates more than chance allows (p = 0.001, most on age:"
    assert f"note: {note}" in err
    assert "rests on the trial's lot alone" not in out
    assert "the data refute that lot" in out
    _, summary, _ = confide("diagnose", *STUDY, "--method", "transfer", "--base", "ridge")
    assert note in " ".join(summary.split())


@pytest.mark.usefixtures("unfair_trial")
@pytest.mark.parametrize("refuted", [True, False])
def test_a_refuted_lot_is_not_taken_for_exchanged_tables(confide, monkeypatch, refuted):
    """The second note is there only where the test of randomisation has found nothing."""
    monkeypatch.setattr("confide.cli.effects_text.contradictions", lambda _: ["Check whether they are exchanged."])
    if not refuted:
        monkeypatch.setattr("confide.diagnostics.advice.UNBALANCED", 0.0)
    _, _, err = confide(*COMMAND)
    assert ("Treatment in the trial depends on covariates" in err) == refuted
    assert ("Check whether they are exchanged." in err) != refuted


def test_intervals_without_a_common_value_have_a_note():
    assert not contradictions([record(), record(low=4.0, high=9.0), record(low=-np.inf, high=np.inf)])
    (told,) = contradictions([record(), record(group="age = old", low=5.1, high=9.0)])
    assert told.startswith("The two intervals for age = old (1 against 0), adjusted by the large table and not, ")
    assert "have no value in common" in told
    assert len(contradictions([record(low=-9.0, high=-1.1)])) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "smokr"], "groups must be covariates, got 'smokr'; did you mean smoker?"),
        (["--by", "smokr", "--id", "whom"], "2 names are no columns: 'whom' (identifier; did you mean who?), 'smokr'"),
        (["--by", "who"], "groups must be covariates, got 'who'"),
        (["--trust", "x.Y"], "--trust is for a saved model: give --model."),
        (["--alpha", "2"], "alpha must lie strictly between 0 and 1, got 2.0"),
        (["--method", "naive"], "naive learns from trial rows"),
        (["--out", "trial.csv"], "trial.csv is an input"),
        (["--cluster", "site"], "'site'"),
    ],
)
def test_errors_are_one_line(confide, words, message):
    status, out, err = confide(*COMMAND, *words)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("confide: ")
    assert err.count("\n") == 1


def test_without_a_model_there_is_a_table_to_fit_on(confide):
    status, _, err = confide("effects", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y")
    assert (status, "give --observational, to fit on, or --model, a saved model." in err) == (2, True)
