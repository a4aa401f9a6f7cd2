"""CSV files in a format of one's own: separator, decimal mark, encoding, and dates as short as they may be."""

import datetime as dt
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from confide.data.csv_files import Dialect
from confide.data.files import read_batches, read_file
from confide.data.writing import shortest, writing

GERMAN = Dialect(";", ",")
DAY, NOON = dt.datetime(1950, 1, 31), dt.datetime(1950, 1, 31, 12)  # noqa: DTZ001  (both kinds are tested)


def written(path, parts, dialect):
    """The bytes of a file of several parts."""
    with writing(str(path), parts[0].schema, dialect) as sink:
        for part in parts:
            sink.write_table(part)
    return path.read_bytes()


def lines(path, columns, dialect=GERMAN):
    """The lines of a file, below its header."""
    return written(path, [pa.table(columns)], dialect).decode().splitlines()[1:]


def test_numbers_have_the_decimal_mark_and_text_stays(tmp_path):
    columns = {
        "float": pa.array([1234.5, np.nan, -1e-20, np.inf]),
        "int": [1, 2, None, 4],
        "text": ["1.5", "a,b", "a;b", 'a"b'],
        "decimal": pa.array([1.5, 2, 3, 4]).cast(pa.decimal128(5, 2)),
        "category": pa.array([0.5, 0.5, 1.5, None]).dictionary_encode(),
    }
    assert lines(tmp_path / "out.csv", columns) == [
        "1234,5;1;1.5;1,50;0,5",
        ";2;a,b;2,00;0,5",
        '-1e-20;;"a;b";3,00;1,5',
        'inf;4;"a""b";4,00;',
    ]


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), *product([";", "\t", "|", " ", "-", "5", "e", "_", "^", "\\", "]"], ".,")]
)
def test_what_is_written_is_read_again_with_the_same_format(tmp_path, separator, decimal):
    dialect = Dialect(separator, decimal)
    rng = np.random.default_rng(0)
    values = rng.standard_normal(300) * 10.0 ** rng.integers(-30, 30, 300)
    table = pa.table(
        {f"a{separator}b": values, "n": rng.integers(-9999, 9999, 300), "true": rng.uniform(size=300) < 0.5}
    )
    written(tmp_path / "out.csv", [table], dialect)
    read = read_file(str(tmp_path / "out.csv"), dialect)
    assert read.column_names == table.column_names
    assert [float(cell) for cell in read.columns[0].to_pylist()] == values.tolist()
    assert read["n"].cast(pa.int64()).equals(table["n"])
    assert read["true"].cast(pa.bool_()).equals(table["true"])


@pytest.mark.parametrize(("dialect", "sign"), [(Dialect(), ","), (Dialect(decimal=","), ";"), (Dialect("|", ","), "|")])
def test_the_separator_where_no_header_shows_it(tmp_path, dialect, sign):
    assert written(tmp_path / "out.csv", [pa.table({"a": [1], "b": [2]})], dialect) == f"a{sign}b\n1{sign}2\n".encode()
    (tmp_path / "one.csv").write_text("a\n1,5\n" if dialect.decimal == "," else "a\n1.5\n")
    assert read_file(str(tmp_path / "one.csv"), dialect)["a"].to_pylist() == ["1.5"]


def test_a_comma_that_separates_and_is_the_decimal_mark_is_in_quotes(tmp_path):
    (tmp_path / "in.csv").write_text('a,b\n"1,5",2\n')
    (batch,) = read_batches(str(tmp_path / "in.csv"), Dialect(decimal=","))
    table = pa.table({"a": [1.5], "b": ["x"]})
    assert written(tmp_path / "out.csv", [table], batch.dialect) == b'a,b\n"1,5",x\n'
    assert read_file(str(tmp_path / "out.csv"), Dialect(decimal=","))["a"].to_pylist() == ["1.5"]


def test_a_format_is_recognised_or_given(tmp_path):
    (tmp_path / "in.csv").write_text("a;b\n1;2\n", encoding="latin-1")
    for dialect in (Dialect(encoding="latin-1"), Dialect(";", encoding="latin-1")):
        (batch,) = read_batches(str(tmp_path / "in.csv"), dialect)
        assert (batch.dialect.sign, batch.dialect.encoding) == (";", "latin-1")
    for name in ("in.parquet", "in.arrow"):
        written(tmp_path / name, [pa.table({"a": [1]})], dialect)
        (batch,) = read_batches(str(tmp_path / name), dialect)
        assert (batch.dialect.sign, batch.dialect.encoding) == (";", None)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "utf-8", "iso2022_jp", None])
def test_the_encoding_is_that_which_was_given(tmp_path, encoding):
    text = "東" if encoding == "iso2022_jp" else "ö"
    parts = [pa.table({text: [text, "x"]}), pa.table({text: [f"{text}{text}"]})]
    raw = written(tmp_path / "out.csv", parts, Dialect(encoding=encoding))
    assert raw == f"{text}\n{text}\nx\n{text}{text}\n".encode(encoding or "utf-8")  # one byte order mark, if any


def test_names_that_an_encoding_does_not_have_make_the_file_utf_8(tmp_path):
    raw = written(tmp_path / "out.csv", [pa.table({"y_Ł": ["ö"]})], Dialect(encoding="latin-1"))
    assert raw.decode() == "y_Ł\nö\n"


def test_text_that_an_encoding_does_not_have_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"out\.csv cannot be written in LATIN-1, which does not have 'Ł'"):
        written(tmp_path / "out.csv", [pa.table({"a": ["Ł"]})], Dialect(encoding="latin-1"))
    assert not list(tmp_path.iterdir())


MOMENTS = [
    ([DAY, None], pa.timestamp("ns"), ["1950-01-31", None], "day"),
    ([DAY, NOON], pa.timestamp("ns"), ["1950-01-31 00:00:00", "1950-01-31 12:00:00"], "s"),
    ([DAY.replace(microsecond=500_000)], pa.timestamp("us"), ["1950-01-31 00:00:00.500"], "ms"),
    ([DAY.replace(microsecond=1)], pa.timestamp("ns"), ["1950-01-31 00:00:00.000001"], "us"),
    ([DAY], pa.timestamp("us", "Europe/Berlin"), ["1950-01-31 01:00:00+0100"], "s"),
    ([DAY.replace(tzinfo=dt.UTC)], pa.timestamp("ns", "UTC"), ["1950-01-31 00:00:00Z"], "s"),
    ([dt.time(3, 4), None], pa.time64("ns"), ["03:04:00", None], "s"),
    ([dt.time(3, 4, 5, 100)], pa.time64("us"), ["03:04:05.000100"], "us"),
    ([dt.time(3, 4)], pa.time32("s"), ["03:04:00"], "s"),
    ([None], pa.timestamp("us"), [None], "day"),
]


@pytest.mark.parametrize(("values", "kind", "text", "unit"), MOMENTS)
def test_dates_and_times_are_as_short_as_they_may_be(values, kind, text, unit):
    column, found = shortest(pa.array(values, kind), "day")
    assert (column.cast(pa.string()).to_pylist(), found) == (text, unit)


def test_a_column_gets_longer_where_it_must_and_never_shorter(tmp_path):
    parts = [pa.table({"at": pa.array([each], pa.timestamp("ns"))}) for each in (None, DAY, NOON, DAY)]
    raw = written(tmp_path / "out.csv", parts, Dialect())
    assert raw.decode().splitlines() == ["at", "", "1950-01-31", "1950-01-31 12:00:00", "1950-01-31 00:00:00"]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_stay_dates(tmp_path, kind):
    assert lines(tmp_path / "out.csv", {"a": pa.array([DAY.date(), None], kind), "b": [1, 2]}) == ["1950-01-31;1", ";2"]
