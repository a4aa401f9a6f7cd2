"""Tables in files: what goes in comes out, in every format, and a file that is not a table says so."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from pandas._libs.parsers import STR_NA_VALUES
from pyarrow import feather

from confide.data import csv_files, files, kinds
from confide.data.encoding import TableEncoder, kinds_of
from confide.data.files import column_names, read_batches, read_file, read_study
from confide.data.formats import format_of
from confide.data.writing import writing
from tables import carried, people, write

TABLE = people(500, seed=0)
KINDS = ["csv", "csv.gz", "parquet", "arrow", "feather"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_as_it_was_written(tmp_path, kind):
    path = write(tmp_path / f"people.{kind}", TABLE)
    read = read_file(path)
    assert read.column_names == TABLE.column_names
    assert column_names(path) == TABLE.column_names
    if not kind.startswith("csv"):
        assert read.equals(TABLE)
        return
    # A CSV file knows no types; what its text means is what the typed table has, to the last bit.
    assert set(read.schema.types) == {pa.string()}
    assert kinds_of(read) == kinds_of(TABLE)
    assert read["who"].to_pylist() == TABLE["who"].to_pylist()
    np.testing.assert_array_equal(TableEncoder().fit_transform(read), TableEncoder().fit_transform(TABLE))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 7, 499, 500, 501])
def test_batches_keep_every_row_in_order(tmp_path, monkeypatch, kind, rows):
    monkeypatch.setattr(files, "BATCH_ROWS", rows)
    for module in (csv_files, files):
        monkeypatch.setattr(module, "READ_BYTES", 1024)
    path = write(tmp_path / f"people.{kind}", TABLE)
    batches = list(read_batches(path))
    assert max(len(batch.read) for batch in batches) <= rows
    together = pa.concat_tables(batch.read for batch in batches)
    assert together["who"].to_pylist() == TABLE["who"].to_pylist()
    assert kinds.texts("town", together["town"]).to_pylist() == TABLE["town"].to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_give_the_same_bytes(tmp_path, kind):
    first, second = (write(tmp_path / f"{name}.{kind}", TABLE) for name in "ab")
    assert Path(first).read_bytes() == Path(second).read_bytes()


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_categories_whose_lists_differ_from_batch_to_batch(tmp_path, kind):
    parts = [pa.table({"town": pa.array(values).dictionary_encode()}) for values in (["a", "b"], ["c", "a", None])]
    path = tmp_path / f"out.{kind}"
    with writing(str(path), parts[0].schema) as sink:
        for part in parts:
            sink.write_table(part)
    read = carried(path)["town"]
    assert read.cast(pa.string()).to_pylist() == ["a", "b", "c", "a", "" if kind == "csv" else None]
    assert pa.types.is_dictionary(read.type) == (kind == "parquet")


def test_an_arrow_stream_is_read_like_an_arrow_file(tmp_path):
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)
    feather.write_feather(TABLE, tmp_path / "v2.feather", compression="lz4")
    for name in ("stream.arrow", "v2.feather"):
        assert read_file(str(tmp_path / name)).equals(TABLE)
        assert carried(tmp_path / name).equals(TABLE)


def test_standard_input_and_output_are_csv(tmp_path, monkeypatch, capfdbinary):
    path = write(tmp_path / "in.csv", TABLE)
    raw = Path(path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    table = carried("-")
    with writing("-", table.schema) as sink:
        sink.write_table(table)
    assert capfdbinary.readouterr().out == raw


def test_the_extension_of_gzip_in_capitals(tmp_path):
    (tmp_path / "IN.CSV.GZ").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert carried(tmp_path / "IN.CSV.GZ").to_pydict() == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("path", ["people", "people.xlsx", "people.parquet.gz", ".csv"])
def test_an_unknown_extension_is_refused(path):
    with pytest.raises(ValueError, match=r"extension must be one of \.csv, \.parquet"):
        format_of(path)


def break_file(path, how):
    if how == "empty":
        path.write_bytes(b"")
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "garbage":
        path.write_bytes(bytes(range(256)) * 4)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("how", ["empty", "garbage", "truncated"])
def test_a_broken_file_is_named(tmp_path, kind, how):
    path = tmp_path / f"people.{kind}"
    write(path, TABLE)
    break_file(path, how)
    for read in (read_file, carried):
        with pytest.raises(ValueError, match=rf"people\.{kind}"):
            read(str(path))


def test_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,a\n1,2,3\n")
    for read in (read_file, carried):
        with pytest.raises(ValueError, match="two columns named a"):
            read(str(tmp_path / "in.csv"))


def test_no_rows_are_no_study_but_can_be_answered(tmp_path):
    for kind in KINDS:
        path = write(tmp_path / f"none.{kind}", TABLE.slice(0, 0))
        with pytest.raises(ValueError, match="has no rows"):
            read_file(path)
        assert len(carried(path)) == 0
        assert column_names(path) == TABLE.column_names


@pytest.mark.parametrize("kind", KINDS)
def test_what_fails_while_it_is_written_leaves_nothing(tmp_path, kind):
    path = str(tmp_path / f"out.{kind}")
    with pytest.raises(RuntimeError, match="in the middle"), writing(path, TABLE.schema) as sink:  # noqa: PT012
        sink.write_table(TABLE)
        raise RuntimeError("in the middle")
    assert not list(tmp_path.iterdir())


def test_lists_do_not_fit_a_csv_file(tmp_path):
    table = pa.table({"a": [[1, 2], [3]]})
    with pytest.raises(ValueError, match=r"out\.csv cannot be written as csv"):
        write(tmp_path / "out.csv", table)
    assert not list(tmp_path.iterdir())
    assert read_file(write(tmp_path / "out.parquet", table)).equals(table)


def test_a_study_of_two_files(tmp_path):
    observational, trial = (people(n, seed) for n, seed in ((60, 0), (30, 1)))
    paths = [write(tmp_path / name, table) for name, table in (("o.parquet", observational), ("t.csv", trial))]
    study = read_study(*paths, "t", "y", ["who"])
    assert study.X.column_names == ["age", "town", "joined", "smoker"]
    assert len(study) == 90
    assert study.trial.sum() == 30
    np.testing.assert_array_equal(study.y[60:], trial["y"].to_numpy())


def test_identifiers_need_not_stand_in_every_file(tmp_path):
    tables = {"o": people(60, 0).drop_columns(["who"]), "t": people(30, 1), "new": people(5, 2)}
    paths = [write(tmp_path / f"{name}.parquet", table) for name, table in tables.items()]
    study = read_study(*paths[:2], "t", "y", ["who"], paths[2])
    assert "who" not in study.X.column_names
    with pytest.raises(ValueError, match="no file has the identifier 'whom'; did you mean who"):
        read_study(*paths[:2], "t", "y", ["whom"], paths[2])


def test_new_rows_without_a_covariate_are_told_before_a_model_is_fitted(tmp_path):
    tables = {"o": people(60, 0), "t": people(30, 1), "new": people(5, 2).rename_columns(["who", "agee", *"abcd", "y"])}
    paths = [write(tmp_path / f"{name}.parquet", table) for name, table in tables.items()]
    with pytest.raises(ValueError, match=r"new\.parquet has no column age, town, joined, smoker; did you mean agee"):
        read_study(*paths[:2], "t", "y", ["who"], paths[2])


def test_one_treatment_is_nothing_to_compare(tmp_path):
    paths = [write(tmp_path / f"{seed}.parquet", people(30, seed, labels=["drug"])) for seed in (0, 1)]
    with pytest.raises(ValueError, match="has one value, drug: there is nothing to compare it with"):
        read_study(*paths, "t", "y", ["who"])


def test_the_missing_values_of_other_readers_are_missing():
    assert set(pa_csv.ConvertOptions().null_values) <= set(kinds.MISSING.to_pylist())
    assert set(STR_NA_VALUES) <= set(kinds.MISSING.to_pylist())


def test_parquet_of_one_row_group_is_read_in_batches(tmp_path):
    pq.write_table(TABLE, tmp_path / "one.parquet", row_group_size=len(TABLE))
    assert carried(tmp_path / "one.parquet").equals(TABLE)


def test_people_who_stand_in_both_files_are_told(tmp_path):
    paths = [write(tmp_path / f"{n}.parquet", people(n, 0)) for n in (30, 31)]
    with pytest.warns(UserWarning, match="30 values of 'who' are in both files. No promise holds if") as caught:
        read_study(*paths, "t", "y", ["who"])
    assert str(caught[0].message).endswith(
        "take those who were randomised out of the observational file, and those who were not out of the trial's."
    )


def test_files_that_may_be_exchanged_are_told(tmp_path):
    small, twice, more = (write(tmp_path / f"{n}.parquet", people(n, n)) for n in (30, 60, 61))
    with pytest.warns(UserWarning, match=r"61\.parquet has 61 rows, .* 30\. No promise holds if they are exchanged"):
        read_study(small, more, "t", "y", covariates=["age"])
    assert len(read_study(small, twice, "t", "y", covariates=["age"])) == 90


def test_people_with_several_rows_in_the_trial_are_told(tmp_path):
    first, trial = write(tmp_path / "o.csv", people(40, 0)), people(30, 1)
    names = [f"r{place}" for place in range(20)]
    twice = trial.set_column(trial.column_names.index("who"), "who", [[*names, *names[:10]]])
    second = write(tmp_path / "t.csv", twice)
    with pytest.warns(UserWarning, match=r"10 values of 'who' are in several rows of .*t\.csv\. If these are the same"):
        read_study(first, second, "t", "y", ["who"])
    few = trial.set_column(trial.column_names.index("who"), "who", [[*names[:5]] * 6])
    read_study(first, write(tmp_path / "f.csv", few), "t", "y", ["who"])  # as many sites name no people


def test_one_file_is_not_two_tables(tmp_path):
    path = write(tmp_path / "one.csv", people(30, 0))
    (tmp_path / "link.csv").symlink_to(path)
    for other in (path, str(tmp_path / "link.csv")):
        with pytest.raises(ValueError, match=r"one\.csv is given as both tables: no promise holds"):
            read_study(other, path, "t", "y", ["who"])


def test_a_covariate_that_looks_like_an_identifier_is_told(tmp_path):
    paths = [write(tmp_path / f"{seed}.parquet", people(30 + seed, seed)) for seed in (1, 2)]
    with pytest.warns(UserWarning, match="column 'who' has a different value in every row.*give it as --id") as caught:
        study = read_study(*paths, "t", "y")
    assert len(caught) == 1  # a number that differs in every row is a measurement, not a name
    assert "who" in study.X.column_names


def test_parquet_files_may_hold_dictionaries(tmp_path):
    paths = []
    for seed in (1, 2):
        table = people(30 + seed, seed).drop_columns(["who"])
        place = table.column_names.index("town")
        kept = table.set_column(place, "town", table["town"].combine_chunks().dictionary_encode())
        paths.append(write(tmp_path / f"{seed}.parquet", kept))
    assert kinds_of(read_study(*paths, "t", "y").X)["town"] == kinds.CATEGORIES


def test_identifiers_are_compared_as_they_are_written(tmp_path):
    """Leading zeros count, whatever else stands in one of the files."""
    for name, last in (("o", "0049"), ("t", "X049")):
        rows = [f"{number:04d},{number % 7},{number % 2},{number}" for number in range(49)] + [f"{last},1,1,1"]
        (tmp_path / f"{name}.csv").write_text("\n".join(["who,x,t,y", *rows]) + "\n")
    with pytest.warns(UserWarning, match="49 values of 'who' are in both files"):
        read_study(str(tmp_path / "o.csv"), str(tmp_path / "t.csv"), "t", "y", ["who"])


def test_codes_that_look_like_numbers_in_one_file_are_text_in_both(tmp_path):
    for name, codes in (("o", "12A"), ("t", "122")):
        rows = [f"{code},{number % 2},{number}" for number, code in enumerate(codes * 10)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["code,t,y", *rows]) + "\n")
    study = read_study(str(tmp_path / "o.csv"), str(tmp_path / "t.csv"), "t", "y")
    assert study.X["code"].to_pylist() == [*"12A" * 10, *"122" * 10]
