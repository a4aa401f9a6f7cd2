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


def test_a_table_and_what_it_means(confide):
    status, out, err = confide(*COMMAND, "--by", "smoker", "--control", "placebo", "--out", "effects.csv")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].strip() == "Average effect of t = drug against placebo, with 95 % intervals"
    groups = ["everybody", "smoker = missing", "smoker = no", "smoker = yes"]
    assert [line.strip().startswith(group) for line, group in zip(lines[4:], groups, strict=False)] == [True] * 4
    assert "On average, t = drug instead of placebo lowers y by" in out
    assert "among people like the trial's." in out
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


def record(**changed):
    told = {"group": "everybody", "treated": 1, "control": 0, "n": 9, "effect": 2.0, "low": -1.0, "high": 5.0}
    plain = {"unadjusted": 2.0, "unadjusted_low": -1.0, "unadjusted_high": 5.0, "rows": {1: 4, 0: 5}}
    rest = {"clusters": None, "alpha": 0.05, "number_needed_to_treat": None}
    return AverageEffect(**{**told, **plain, **rest, **changed})


@pytest.mark.parametrize(
    ("half", "share", "told"),
    [
        (2.0, "33 %", "sharper if it predicts well, and biases it at most"),
        (2.995, "0 %", "predicts well; here the interval is as wide as from the trial alone. The table biases it at"),
        (3.005, "0 %", "predicts well; here the interval is as wide as from the trial alone. The table biases it at"),
        (4.0, "-33 %", "predicts well; here it cost width: the interval is 33 % wider than from the trial alone. The"),
        (np.inf, "", "sharper if it predicts well, and biases it at most"),
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
    _, summary, _ = confide("diagnose", *STUDY, "--method", "transfer", "--base", "ridge")
    assert note in " ".join(summary.split())


def test_intervals_without_a_common_value_have_a_note():
    assert not contradictions([record(), record(low=4.0, high=9.0), record(low=-np.inf, high=np.inf)])
    (told,) = contradictions([record(), record(group="age = old", low=5.1, high=9.0)])
    assert told.startswith("The two intervals for age = old (1 against 0), with the large table and from the trial")
    assert "have no value in common" in told
    assert len(contradictions([record(low=-9.0, high=-1.1)])) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "smokr"], "groups must be covariates, got 'smokr'; did you mean smoker?"),
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
