"""CSV files: text is carried through as it is, whatever their separator, encoding, quotes and line ends."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data import csv_files, files
from confide.data.csv_files import Dialect
from confide.data.files import read_batches, read_file
from tables import carried, write

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@given(names=st.lists(FIELDS.filter(bool), min_size=2, max_size=4, unique=True), data=st.data())
@pytest.mark.slow
def test_a_csv_file_is_carried_through_as_text(tmp_path_factory, names, data):
    """Whatever the fields are: what Python's reader reads before, it reads after."""
    rows = data.draw(st.lists(st.lists(FIELDS, min_size=len(names), max_size=len(names)), min_size=1, max_size=5))
    rows = [row for row in rows if any(row)] or [["x"] * len(names)]
    folder = tmp_path_factory.mktemp("csv")
    path = folder / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    write(folder / "out.csv", carried(path))
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [names, *rows]


def test_a_missing_value_of_a_single_column_is_a_row(tmp_path):
    (tmp_path / "in.csv").write_text("age\n1\n\n3\n")
    assert carried(tmp_path / "in.csv")["age"].to_pylist() == ["1", "", "3"]


def test_a_field_is_quoted_only_where_it_must_be(tmp_path):
    table = pa.table(
        {"a": ["007", "x,y", None, 'say "so"'], "b": [1.5, np.inf, None, -2.0], "c,d": [True, None, False, True]}
    )
    path = write(tmp_path / "out.csv", table)
    assert Path(path).read_text(encoding="utf-8").splitlines() == [
        'a,b,"c,d"',
        "007,1.5,true",
        '"x,y",inf,',
        ",,false",
        '"say ""so""",-2,true',
    ]


def test_floats_keep_their_bits_in_csv(tmp_path):
    values = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 1000)
    path = write(tmp_path / "out.csv", pa.table({"x": values}))
    assert [float(row) for row in Path(path).read_text().split()[1:]] == values.tolist()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_marks_and_line_ends_of_other_systems(tmp_path, line_end, mark):
    path = tmp_path / "in.csv"
    path.write_bytes((mark + line_end.join(['a,"b', 'c"', "1,é", "2,"]) + line_end).encode())
    table = carried(path)
    assert table.column_names[0] == "a"
    assert table.columns[0].to_pylist() == ["1", "2"]
    assert table.columns[1].to_pylist() == ["é", ""]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_that_end_with_a_carriage_return_alone(tmp_path, monkeypatch, encoding):
    raw = "a,b\r1,é\r2,".encode(encoding)
    (tmp_path / "in.csv").write_bytes(raw)
    assert carried(tmp_path / "in.csv").to_pydict() == {"a": ["1", "2"], "b": ["é", ""]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
    assert carried("-").to_pydict() == {"a": ["1", "2"], "b": ["é", ""]}


def test_rows_of_another_length_are_named(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n3\n")
    for read in (read_file, carried):
        with pytest.raises(ValueError, match="Expected 2 columns, got 1"):
            read(str(tmp_path / "in.csv"))


@pytest.mark.parametrize("read", [read_file, carried])
def test_line_breaks_in_fields_wherever_a_block_ends(tmp_path, monkeypatch, read):
    for module in (csv_files, files):
        monkeypatch.setattr(module, "READ_BYTES", 4096)
    rows = [f'{number},"a note\nof two lines, {number}"' for number in range(100_000 if read is read_file else 2000)]
    (tmp_path / "notes.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    table = read(str(tmp_path / "notes.csv"))
    assert len(table) == len(rows)
    assert table["b"].to_pylist()[-1] == f"a note\nof two lines, {len(rows) - 1}"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_recognised(tmp_path, separator):
    lines = [["a", '"b;|\t,"', "c"], ["1", "2,5", "x"], ["3", "", '"y;|\t"']]
    (tmp_path / "in.csv").write_text("\n".join(separator.join(line) for line in lines) + "\n")
    for read in (read_file, carried):
        table = read(str(tmp_path / "in.csv"))
        assert table.column_names == ["a", "b;|\t,", "c"]
        assert table.to_pylist()[1]["c"] == "y;|\t"


def test_a_separator_that_is_not_clear_is_asked_for(tmp_path):
    (tmp_path / "in.csv").write_text("weight, kg;height\n80,5;1,8\n")
    with pytest.raises(ValueError, match=r"header has commas and semicolons: give the separator.* --sep"):
        read_file(str(tmp_path / "in.csv"))
    table = read_file(str(tmp_path / "in.csv"), Dialect(separator=";", decimal=","))
    assert table.to_pylist() == [{"weight, kg": "80.5", "height": "1.8"}]


def test_decimal_commas_are_carried_through_as_they_were(tmp_path):
    (tmp_path / "in.csv").write_text("a;b\n1.234,5;x,y\n-1,5e3;1,2,3\n12;31.01.2024\nk.A.;\n")
    batch = next(read_batches(str(tmp_path / "in.csv"), Dialect(decimal=",")))
    assert batch.read["a"].to_pylist() == ["1234.5", "-1.5e3", "12", "k.A."]
    assert batch.read["b"].to_pylist() == ["x,y", "1,2,3", "31.01.2024", ""]
    assert batch.carried["a"].to_pylist() == ["1.234,5", "-1,5e3", "12", "k.A."]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_other_encodings_are_recognised_or_asked_for(tmp_path, encoding):
    (tmp_path / "in.csv").write_bytes("größe,ort\n1,Köln\n2,Zürich\n".encode(encoding))
    if encoding == "latin-1":
        for read in (read_file, carried):
            with pytest.raises(ValueError, match=r"in\.csv is not written in UTF-8\. Save it .* --encoding latin-1"):
                read(str(tmp_path / "in.csv"))
    table = read_file(str(tmp_path / "in.csv"), Dialect(encoding=encoding if encoding == "latin-1" else None))
    assert table.to_pylist() == [{"größe": "1", "ort": "Köln"}, {"größe": "2", "ort": "Zürich"}]


GERMAN = "größe,ort\n1,Köln\n2,Überwachung\n"


@pytest.mark.parametrize("given", ["latin-1", "cp1252", "ascii", "cp1251"])
@pytest.mark.parametrize("own", ["utf-8", "utf-8-sig"])
def test_a_file_that_is_utf8_is_read_so_whatever_encoding_was_given(tmp_path, given, own):
    """It is for the files that are not; what is made from this one is UTF-8 too."""
    (tmp_path / "in.csv").write_bytes(GERMAN.encode(own))
    batch = next(read_batches(str(tmp_path / "in.csv"), Dialect(encoding=given)))
    assert batch.read.to_pylist() == [{"größe": "1", "ort": "Köln"}, {"größe": "2", "ort": "Überwachung"}]
    assert batch.dialect.encoding is None


@pytest.mark.parametrize(
    ("raw", "given", "ort"),
    [
        (GERMAN.encode("cp1252"), "cp1252", "Köln"),
        ("größe,ort\n1,Bonn\n".encode("utf-16"), "utf-16", "Bonn"),
        (b"a,ort\n1,Bonn\n", "latin-1", "Bonn"),  # either would do: the output has the encoding that was given
        ("a,ort\n1,模通\n".encode("gbk"), "gbk", "模通"),  # happens to be valid UTF-8
        ("a,ort\n1,Köln\n".encode("utf-8-sig"), "utf-8-sig", "Köln"),  # the output gets the mark too
    ],
)
def test_the_encoding_that_was_given_is_kept(tmp_path, raw, given, ort):
    (tmp_path / "in.csv").write_bytes(raw)
    batch = next(read_batches(str(tmp_path / "in.csv"), Dialect(encoding=given)))
    assert (batch.read["ort"][0].as_py(), batch.dialect.encoding) == (ort, given)


def test_a_mark_of_utf8_is_no_part_of_the_first_name(tmp_path):
    """The file has no other sign beyond ASCII."""
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbfFallnr,x\n1,2\n")
    for encoding in ("latin-1", "gbk"):
        assert read_file(str(tmp_path / "in.csv"), Dialect(encoding=encoding)).column_names == ["Fallnr", "x"]


def test_an_encoding_that_is_not_that_of_the_file(tmp_path):
    (tmp_path / "in.csv").write_bytes("größe,ort\n1,Köln\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"in\.csv is not written in ASCII\. Save it as UTF-8, or give its encoding"):
        read_file(str(tmp_path / "in.csv"), Dialect(encoding="ascii"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ";;"}, "separator must be one character"),
        ({"decimal": "'"}, "decimal point must be '.' or ','"),
        ({"separator": ",", "decimal": ","}, "cannot both be ','"),
        ({"encoding": "utf-99"}, "encoding 'utf-99' is unknown"),
        ({"encoding": "rot13"}, "encoding 'rot13' is unknown, or not one of text"),
        ({"encoding": "undefined"}, "encoding 'undefined' is unknown, or not one of text"),
    ],
)
def test_bad_dialects(options, message):
    with pytest.raises(ValueError, match=message):
        Dialect(**options)
