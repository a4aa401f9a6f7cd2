"""Effects of the trial's own people on the command line: as in Python, from the trial's file only."""

import json

import numpy as np
import pyarrow as pa
import pytest

from commands import STUDY
from confide import CounterfactualIntervals
from confide.data.arrow import take_rows
from confide.data.files import read_file, read_study
from tables import people, write

ASKED = [*STUDY, "--base", "ridge", "--alpha", "0.3", "--method", "transfer"]


@pytest.fixture(autouse=True)
def files(folder):
    """The files of the study, in the current folder."""
    return folder


def test_the_file_has_the_trials_own_columns_and_the_effects_as_in_python(confide):
    table = people(240, 1)
    age = table["age"].fill_null(50.0).to_numpy()
    chance = np.where(age > 50, 0.6, 0.4)
    placebo = np.array(table["t"].to_pylist()) == "placebo"
    write("trial.csv", table.append_column("p", pa.array(np.where(placebo, chance, 1 - chance))))
    status, out, err = confide("run", *ASKED, "--assignment", "p", "--participants", "own.csv", "--save", "m.confide")
    assert status == 0, err
    assert "The trial's own people" in out
    written, trial = read_file("own.csv"), read_file("trial.csv")
    assert written.select(trial.column_names).equals(trial)
    study = read_study("obs.csv", "trial.csv", "t", "y", ["who"], assignment="p")
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0).fit(study)
    mine = np.flatnonzero(study.trial)
    received, own = study.treatment[mine], study.assignment[mine]
    treated = next(label for label in model.arms_ if label != model.control_)
    found = model.predict_effect_interval(
        take_rows(study.X, mine),
        received=received,
        outcome=study.y[mine],
        assignment=np.where(received == treated, own, 1 - own),
    )
    name = f"effect_{treated}_vs_{model.control_}"
    for end in ("lower", "upper"):
        shown = np.array(written[f"{name}_{end}"].to_pylist(), dtype=float)
        np.testing.assert_allclose(shown, getattr(found, end))


def test_json_counts_them(confide):
    status, out, err = confide("run", *ASKED, "--participants", "own.parquet", "--json")
    assert status == 0, err
    counts = next(iter(json.loads(out)["participants"].values()))
    assert counts["rows"] == counts["above"] + counts["below"] + counts["neither"] > 0


def test_what_cannot_be_written_is_said_before_anything_is_computed(confide):
    for path, message in (("trial.csv", "is an input"), ("-", "needs a file"), ("own.docx", "own.docx")):
        status, _, err = confide("run", *ASKED, "--participants", path)
        assert status == 2
        assert message in err
    status, _, err = confide("run", *ASKED, "--method", "naive", "--participants", "own.csv")
    assert status == 2
    assert "learns from trial rows" in err
