"""An observational table of many files on the command line."""

import json
from pathlib import Path

import pytest

from commands import names
from confide.data.files import read_study
from tables import people, write

TABLES = ["--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
RUN = ["run", "--observational", "table", *TABLES, "--method", "transfer", "--base", "linear", "--save", "m.confide"]


@pytest.fixture(autouse=True)
def files(folder):
    """The observational table in three files."""
    (folder / "table").mkdir()
    for part in range(3):
        write(folder / f"table/{part}.parquet", people(240, 0).slice(80 * part, 80))
    return folder


def answers(confide, observational, *more):
    command = [*RUN, "--observational", observational, "--predict", "new.csv", "--out", "out.csv", *more]
    status, out, err = confide(*command)
    assert status == 0, err
    return Path("out.csv").read_text(), out, err


def test_many_files_are_one_table(confide):
    whole, *_ = answers(confide, "obs.csv")
    for path in ("table", "table/*.parquet"):
        found, out, err = answers(confide, path)
        assert found == whole
        assert err == ""
        assert "Observational rows: 240 read, 240 learnt from.\nPeak memory: " in out
        assert " GB, of 8GB.\n" in out


def test_a_sample_is_told_and_is_decided_by_the_seed(confide):
    first, out, _ = answers(confide, "table", "--train-rows", 100, "--memory", "2GB")
    assert "Observational rows: 240 read, 100 learnt from" in out
    assert " GB, of 2GB.\n" in out
    again, *_ = answers(confide, "table/*.parquet", "--train-rows", 100)
    other, *_ = answers(confide, "table", "--train-rows", 100, "--seed", 1)
    assert first == again != other


def test_all_rows_are_learnt_from_by_batches(confide, files):
    write(files / "table/3.parquet", people(3000, 5))
    _, out, err = answers(confide, "table", "--base", "lightgbm", "--all-rows")
    said = "Observational rows: 3,240 read, 2,240 learnt from by batches, 1,000 held out for the size of errors."
    assert said in out
    assert err == ""


def test_columns_of_many_files_of_new_rows_are_checked_before_a_fit(files):
    """They are for a cluster, which answers a folder."""
    (files / "many").mkdir()
    write("many/1.parquet", people(20, 2).drop_columns(["t", "y", "town"]))
    with pytest.raises(ValueError, match="many has no column town"):
        read_study("obs.csv", "trial.csv", "t", "y", ["who"], "many")


def test_json_has_the_peak_of_memory(confide):
    status, out, _ = confide(*RUN, "--json")
    assert status == 0
    assert json.loads(out)["peak_memory"] > 10**6


@pytest.mark.parametrize("command", ["diagnose", "effects"])
@pytest.mark.slow
def test_other_commands_take_them_too(confide, command):
    status, out, err = confide(command, "--observational", "table/*.parquet", *TABLES, "--train-rows", 150)
    assert status == 0, err
    assert "Observational rows: 240 read, 150 learnt from, a uniform sample: figures on observational rows are" in out


@pytest.mark.slow
def test_the_flow_counts_all_rows_read_and_the_sample(confide):
    command = ["diagnose", "--observational", "table", *TABLES, "--method", "transfer", "--base", "linear"]
    status, out, _ = confide(*command, "--train-rows", 150)
    assert status == 0
    assert "Covariate balance, with the sample: standardised mean differences (SMD)" in out
    assert "trial against observational (80 and 150 rows)" in out
    assert "Flow of all rows: none was dropped" in out
    status, out, _ = confide(*command, "--train-rows", 150, "--json")
    flow = [each for each in json.loads(out)["flow"] if each["source"] == "observational"]
    rows = {stage: sum(each["rows"] for each in flow if each["stage"] == stage) for stage in ("read", "sampled")}
    assert rows == {"read": 240, "sampled": 150}
    status, out, _ = confide(*command)
    assert "Observational rows: 240 read, 240 learnt from.\n" in out
    assert "Covariate balance: standardised" in out
    assert "sampled" not in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--observational", "tabel/*.parquet"], "no file matches tabel/*.parquet"),
        (["--observational", "obs.csv", "--memory", "2GB"], "a bound on memory needs Parquet files"),
        (["--memory", "much"], "memory must be a size such as '8GB' or '500MB', got 'much'."),
        (["--memory", "1MB"], "memory must be at least 1000MB, got '1MB'."),
        (["--train-rows", "0"], "--train-rows"),
        (["--train-rows", "9", "--all-rows"], "give --train-rows or --all-rows, and one of them."),
        (["--observational", "obs.csv", "--all-rows"], "a bound on rows needs Parquet files"),
        (["--save", "table/m.confide"], "table/m.confide is an input: name another file"),
        (["--observational", "table/*.parquet", "--save", "table/1.parquet"], "table/1.parquet is an input"),
        (["--outcome", "z"], "table has no column z"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(confide, files, more, message):
    before = names(files)
    status, out, err = confide(*RUN, *more)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert names(files) == before
    assert names(files / "table") == ["0.parquet", "1.parquet", "2.parquet"]
