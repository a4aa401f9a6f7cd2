"""Tables of many files: patterns, folders, columns that differ between files, and files that cannot be read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.data.files import read_study
from confide.data.many_files import is_of_batches, names_in, open_dataset, unified
from tables import people

TABLE = people(120, seed=0)


@pytest.fixture
def folder(tmp_path):
    """A folder with three files of the table and what Spark leaves beside them, and the trial."""
    (tmp_path / "table").mkdir()
    for part in range(3):
        pq.write_table(TABLE.slice(40 * part, 40), tmp_path / f"table/{part}.parquet")
    (tmp_path / "table/_SUCCESS").write_text("")
    (tmp_path / "table/.0.parquet.crc").write_bytes(b"crc")
    pq.write_table(people(90, seed=1), tmp_path / "trial.parquet")
    return tmp_path


def study(folder, path, **kept):
    return read_study(str(folder / path), str(folder / "trial.parquet"), "t", "y", ["who"], **kept)


@pytest.mark.parametrize("path", ["table", "table/*.parquet", "tab*/[0-2].parquet", "**/?.parquet"])
def test_a_folder_and_a_pattern_are_the_table_in_one_file(folder, path):
    pq.write_table(TABLE, folder / "whole.parquet")
    found, whole = study(folder, path), study(folder, "whole.parquet")
    assert found.X.equals(whole.X)
    np.testing.assert_array_equal(found.y, whole.y)
    assert found.beyond is None


def test_a_bound_on_rows(folder):
    found = study(folder, "table", rows=50, random_state=3)
    assert (int((~found.trial).sum()), found.beyond.rows) == (50, 70)


def test_folders_that_are_columns(folder):
    for part in range(3):
        (folder / f"by/part={part}").mkdir(parents=True)
        pq.write_table(TABLE.slice(40 * part, 40), folder / f"by/part={part}/rows.parquet")
    pq.write_table(people(90, seed=1).append_column("part", pa.array([1, 2] * 45)), folder / "trial.parquet")
    assert study(folder, "by").X["part"].to_pylist()[:120] == [0] * 40 + [1] * 40 + [2] * 40


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kept", [{}, {"rows": 120}])
def test_types_that_go_together(folder, place, kept):
    one = TABLE.slice(40 * place, 40)
    one = one.set_column(1, "age", pa.array([1] * 40, pa.int16())).set_column(2, "town", pa.nulls(40))
    pq.write_table(one, folder / f"table/{place}.parquet")
    X = study(folder, "table", **kept).X
    assert X["age"].to_pylist()[40 * place : 40 * place + 40] == [1.0] * 40
    assert X["age"].to_pylist()[:120].count(1.0) == 40
    assert X["town"].null_count >= 40


def change(folder, name, column):
    one = TABLE.slice(40, 40).drop_columns([name])
    pq.write_table(one if column is None else one.append_column(name, column), folder / "table/1.parquet")


BAD = {
    "no match": (None, "table/*.pq", "no file matches .*table/\\*.pq. Quote the pattern"),
    "an empty folder": (lambda folder: (folder / "empty").mkdir(), "empty", "empty is a folder without files"),
    "a missing file": (None, "none.parquet", "No such file"),
    "not parquet": (lambda folder: (folder / "table/9.csv").write_text("a"), "table", "must be Parquet, got .*9.csv"),
    "a broken file": (
        lambda folder: (folder / "table/2.parquet").write_bytes(b"PAR1 no"),
        "table",
        "2.parquet cannot be read as parquet",
    ),
    "a first file that is broken": (
        lambda folder: (folder / "table/0.parquet").write_bytes(b""),
        "table",
        "0.parquet cannot be read as parquet",
    ),
    "a column that one lacks": (
        lambda folder: change(folder, "age", None),
        "table",
        "table/1.parquet has no column age, which other files of the table have",
    ),
    "types that differ": (
        lambda folder: change(folder, "age", pa.array(["old"] * 40)),
        "table",
        "column 'age' is double in .*0.parquet and string in .*1.parquet. Write it alike",
    ),
    "no rows": (lambda folder: pq.write_table(TABLE[:0], folder / "o.parquet"), "o.parquet", "has no rows"),
    "two columns of one name": (
        lambda folder: pq.write_table(
            pa.Table.from_arrays([*TABLE.columns, TABLE["age"]], names=[*TABLE.column_names, "age"]),
            folder / "table/2.parquet",
        ),
        "table",
        "2.parquet has two columns named age; rename one",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_with_the_file(folder, case):
    spoil, path, message = BAD[case]
    if spoil is not None:
        spoil(folder)
    with pytest.raises((ValueError, OSError), match=message):
        study(folder, path)


def test_a_file_whose_pages_are_broken_is_named(folder):
    whole = (folder / "table/1.parquet").read_bytes()
    (folder / "table/1.parquet").write_bytes(whole[:4] + bytes(200) + whole[204:])
    with pytest.raises(ValueError, match=r"1.parquet cannot be read as parquet"):
        study(folder, "table")


def test_a_column_that_some_files_lack_does_not_matter_where_it_is_not_read(folder):
    change(folder, "age", None)
    found = read_study(
        str(folder / "table"), str(folder / "trial.parquet"), "t", "y", ["who"], covariates=["town", "smoker"]
    )
    assert found.X.column_names == ["town", "smoker"]


def test_people_who_are_in_both(folder):
    pq.write_table(people(30, seed=0), folder / "trial.parquet")
    with pytest.warns(UserWarning, match="30 values of 'who' are in both files. No promise holds"):
        study(folder, "table")


@pytest.mark.parametrize("path", ["trial.parquet", "*.parquet", "**/*.parquet"])
def test_the_trial_is_none_of_the_files(folder, path):
    with pytest.raises(ValueError, match=r"trial.parquet is one of the files of .*no promise holds"):
        study(folder, path)


def test_a_bound_needs_batches(folder):
    (folder / "obs.csv").write_text("a,t,y\n1,0,1\n")
    with pytest.raises(ValueError, match=r"a bound on rows needs Parquet files, .*got .*obs.csv"):
        study(folder, "obs.csv", rows=5)


def test_what_is_read_by_batches(folder):
    asked = ["table", "table/*.parquet", "x.PARQUET", "-", "obs.csv", "a.arrow"]
    assert [is_of_batches(str(folder / each) if each != "-" else each) for each in asked] == [True] * 3 + [False] * 3
    (folder / "odd[1].csv").write_text("a\n1\n")  # a file by that name is no pattern
    assert not is_of_batches(str(folder / "odd[1].csv"))


def test_names_of_all_files(folder):
    change(folder, "age", pa.array([1.0] * 40))
    dataset = open_dataset(str(folder / "table"))
    assert names_in(dataset) == TABLE.column_names
    assert unified(dataset, ["y", "age"]).schema.names == ["y", "age"]
