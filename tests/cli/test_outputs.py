"""Output in CSV has the format of the input: separator, decimal mark and encoding."""

import csv
from pathlib import Path

import numpy as np
import pytest

from commands import STUDY
from confide.data.csv_files import Dialect
from confide.data.files import read_file
from confide.data.kinds import numbers
from tables import typed, write

QUICK = ["--method", "transfer", "--base", "ridge", "--id", "who"]
GIVEN = ["--decimal", ",", "--encoding", "latin-1"]  # the separator is recognised
GERMAN = Dialect(decimal=",", encoding="latin-1")


@pytest.fixture
def german(folder):
    """The files of the study with semicolons, decimal commas and Latin-1."""
    for name in ("obs", "trial", "new"):
        plain = read_file(f"{name}.csv")
        with Path(f"{name}.csv").open("w", newline="", encoding="latin-1") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(plain.column_names)
            for row in plain.to_pylist():
                writer.writerow([text.replace(".", ",") if key in ("age", "y") else text for key, text in row.items()])
    return folder


def cells(path):
    """The cells of a file in that format, and nothing else."""
    with Path(path).open(newline="", encoding="latin-1") as file:
        rows = list(csv.reader(file, delimiter=";"))
    assert len({len(row) for row in rows}) == 1
    assert len(rows[0]) > 1
    return rows


def same_numbers(path, parquet, columns):
    """Whether the file, read with the options of the input, has the numbers of a Parquet file."""
    found, expected = read_file(path, GERMAN), typed(parquet)
    return all(
        np.array_equal(numbers(name, found[name], finite=False), expected[name].to_numpy(), equal_nan=True)
        for name in columns
    )


@pytest.mark.usefixtures("german")
def test_run_predict_and_select_answer_in_the_format_of_the_new_rows(confide):
    asked = ["--predict", "new.csv", "--out", "out.csv", "--participants", "p.csv", "--save", "m.confide"]
    status, _, err = confide("run", *STUDY, *QUICK, *GIVEN, *asked)
    assert status == 0, err
    for out, source in (("out.csv", "new.csv"), ("p.csv", "trial.csv")):
        own = cells(source)
        assert [row[: len(own[0])] for row in cells(out)] == own
    assert confide("predict", "m.confide", "new.csv", "--out", "out.parquet", *GIVEN)[0] == 0
    answers = [name for name in cells("out.csv")[0] if name.startswith(("y_", "effect_"))]
    assert same_numbers("out.csv", "out.parquet", answers)
    confide("predict", "m.confide", "new.csv", "--out", "again.csv", "--sep", ";", *GIVEN)
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    choosing = ["--treatment", "drug", "--above", "4", "--fdr", "0.5", "--all", *GIVEN]
    assert confide("select", "m.confide", "new.csv", "--out", "chosen.csv", *choosing)[0] == 0
    assert cells("chosen.csv")[0][-2:] == ["p_value", "selected"]
    assert all("." not in row[-2] for row in cells("chosen.csv")[1:])
    write("new.parquet", typed("out.parquet").select(cells("new.csv")[0]))
    assert confide("predict", "m.confide", "new.parquet", "--out", "-", "--decimal", ",")[1].startswith("who;age;")
    assert confide("predict", "m.confide", "new.parquet", "--out", "-")[1].startswith("who,age,")


@pytest.mark.usefixtures("german")
def test_effects_are_written_in_the_format_that_was_given(confide):
    command = ["effects", *STUDY, *QUICK, "--by", "town", *GIVEN]
    for out in ("effects.csv", "effects.parquet"):
        assert confide(*command, "--out", out)[0] == 0
    assert "town = Öst" in {row[0] for row in cells("effects.csv")}
    assert same_numbers("effects.csv", "effects.parquet", ["effect", "low", "high", "n"])


@pytest.mark.usefixtures("german")
def test_tables_in_two_encodings_give_the_answers_of_one(confide):
    """The registry is UTF-8 with a mark, the trial is Latin-1; the output has the encoding of the new rows."""
    asked = ["--predict", "new.csv", "--out"]
    assert confide("run", *STUDY, *QUICK, *GIVEN, *asked, "one.csv")[0] == 0
    for name in ("obs", "new"):
        text = Path(f"{name}.csv").read_text(encoding="latin-1")
        Path(f"{name}.csv").write_text(text, encoding="utf-8-sig")
    status, _, err = confide("run", *STUDY, *QUICK, *GIVEN, *asked, "two.csv")
    assert status == 0, err
    one, two = Path("one.csv").read_text(encoding="latin-1"), Path("two.csv").read_text(encoding="utf-8")
    assert "Öst" in one
    assert one == two
