"""How a table can be written to a file: separators, line ends, encodings, rows of another length, other containers."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.attacks._bench import (
    arrow,
    check_same,
    clean,
    file_of,
    files,
    folder,
    notes,
    ran,
    read_answers,
    refused,
    refused_here,
    same,
    table,
    text_of,
    words,
)

if TYPE_CHECKING:
    from fuzz.attacks._bench import Cases

BOM = b"\xef\xbb\xbf"


def bom() -> str:
    """A byte order mark before the header."""
    same({name: BOM + content for name, content in files().items()})
    return "A byte order mark is no part of the first name: the answer of the clean files."


def bom_of_a_quoted_header() -> str:
    """A byte order mark, then a quoted header."""
    same({f"{name}.csv": BOM + file_of(table(name), quoted=True) for name in ("obs", "trial", "new")})
    return "The answer of the clean files."


def windows_lines() -> str:
    """Lines that end with CR LF."""
    same({f"{name}.csv": file_of(table(name), end="\r\n") for name in ("obs", "trial", "new")})
    return "The answer of the clean files."


def old_mac_lines() -> str:
    """Lines that end with CR alone, as old spreadsheets write them."""
    same({f"{name}.csv": file_of(table(name), end="\r") for name in ("obs", "trial", "new")})
    return "The answer of the clean files."


def old_mac_lines_of_new_rows() -> str:
    """Only the new rows have lines that end with CR."""
    same({"new.csv": file_of(table("new"), end="\r")})
    return "All six rows are answered."


def last_line_without_an_end() -> str:
    """The last line has no line end."""
    same({name: content.rstrip(b"\n") for name, content in files().items()})
    return "No row is lost."


def empty_lines() -> str:
    """Empty lines before the header, between the rows and at the end."""
    same({name: b"\n\n" + content.replace(b"\n", b"\n\n") + b"\n\n" for name, content in files().items()})
    return "Empty lines are no rows."


def semicolons_and_decimal_commas() -> str:
    """Semicolons and decimal commas, as a German spreadsheet writes them."""
    given = {}
    for name in ("obs", "trial", "new"):
        columns = table(name, x=_comma, y=_comma)
        given[f"{name}.csv"] = file_of(columns, ";")
    same(given, "--decimal", ",")
    line = refused(given, says=["decimal"])
    return f"The answer of the clean files with --decimal ','. Without it: {line}"


def decimal_commas_in_one_file() -> str:
    """The trial's outcomes have decimal commas, the observational ones points."""
    return refused({"trial.csv": file_of(table("trial", y=_comma), ";")}, says=["'y'", ","])


def thousands() -> str:
    """Numbers with a separator of thousands."""
    return refused(files(x=lambda cell: f"{1000 + float(cell):,.3f}"), says=["'x'", "commas"])


def tabs() -> str:
    """Tabs in files that are called .csv."""
    same({f"{name}.csv": file_of(table(name), "\t") for name in ("obs", "trial", "new")})
    return "Tabs are recognised."


def separators_differ_between_files() -> str:
    """A comma, a semicolon and a bar, one per file."""
    same({f"{name}.csv": file_of(table(name), sign) for name, sign in zip(("obs", "trial", "new"), ",;|", strict=True)})
    return "Each file's separator is recognised by itself."


def wrong_separator() -> str:
    """--sep names another sign than the file has."""
    return refused({}, "--sep", ";", says=["'who'", "who,x,n"])


def latin() -> str:
    """Latin-1, in which ü is no UTF-8."""
    given = {f"{name}.csv": text_of(table(name)).encode("latin-1") for name in ("obs", "trial", "new")}
    same(given, "--encoding", "latin-1")
    return f"Right with --encoding latin-1. Without it: {refused(given, says=['--encoding'])}"


def wide_text() -> str:
    """UTF-16 with its mark, in one file of three."""
    same({"trial.csv": text_of(table("trial")).encode("utf-16")})
    return "UTF-16 is recognised by its mark."


def zipped() -> str:
    """Gzip, with the extension in capitals."""
    given = {"OBS.CSV.GZ": gzip.compress(files()["obs.csv"]), "trial.csv.gz": gzip.compress(files()["trial.csv"])}
    same(given, "--observational", "OBS.CSV.GZ", "--trial", "trial.csv.gz")
    return "The answer of the clean files."


def cut_gzip() -> str:
    """A gzip file that was cut in the middle."""
    cut = gzip.compress(files()["obs.csv"])[:-40]
    return refused({"obs.csv.gz": cut}, "--observational", "obs.csv.gz", says=["obs.csv.gz"])


def gzip_without_its_name() -> str:
    """A gzip file that is called .csv."""
    return refused({"obs.csv": gzip.compress(files()["obs.csv"])}, says=["obs.csv"])


def parquet_that_is_text() -> str:
    """A CSV file that is called .parquet."""
    given = {"obs.parquet": files()["obs.csv"]}
    return refused(given, "--observational", "obs.parquet", says=["obs.parquet", "parquet"])


def quoted_line_breaks() -> str:
    """Quoted cells with line breaks, separators and quotes in a category."""
    odd = {"Nord": 'No\nrd "1", upper', "Süd": "Süd", "Café": "Ca\r\nfé;"}
    done = same(files(town=odd.__getitem__))
    assert not notes(done)
    return "Cells with line breaks and quotes are cells: the answer under the plain names."


def open_quote() -> str:
    """A quote that is opened and never closed."""
    content = files()["trial.csv"].replace(b"Nord", b'"Nord', 1)
    return refused({"trial.csv": content}, says=["trial.csv"])


def trailing_separators() -> str:
    """Every line ends with a separator, the header too."""
    given = {name: content.replace(b"\n", b",\n") for name, content in files().items()}
    done = same(given, "--id", "")
    return f"A column without a name, declared an identifier with --id '': as clean; notes: {notes(done) or 'none'}."


def trailing_separators_undeclared() -> str:
    """Every line ends with a separator, and nobody says so."""
    same({name: content.replace(b"\n", b",\n") for name, content in files().items()})
    return "The empty column without a name changes no answer."


def trailing_separators_of_rows() -> str:
    """The rows end with a separator, the header does not."""
    head, rest = files()["obs.csv"].split(b"\n", 1)
    return refused({"obs.csv": head + b"\n" + rest.replace(b"\n", b",\n")}, says=["obs.csv", "columns"])


def short_row() -> str:
    """A row in the middle has one cell less."""
    lines = files()["trial.csv"].split(b"\n")
    lines[20] = lines[20].rsplit(b",", 1)[0]
    return refused({"trial.csv": b"\n".join(lines)}, says=["trial.csv", "8", "7"])


def long_row_of_new_people() -> str:
    """A new row has one cell more."""
    lines = files()["new.csv"].split(b"\n")
    lines[3] += b",9"
    return refused({"new.csv": b"\n".join(lines)}, says=["new.csv"])


def long_cell() -> str:
    """A cell of a hundred thousand characters, as a category."""
    lines = files()["new.csv"].replace(b"Nord", b"x" * 100_000, 1)
    with folder({"new.csv": lines}):
        ran(words(), 0)
        found = read_answers()
        assert b"x" * 100_000 in Path("out.csv").read_bytes()
    assert all(np.isfinite(each).all() for each in found.values())
    return "Answered like a category that was never seen, and the cell is in the output as it was."


def empty_file() -> str:
    """A file without a byte."""
    return refused({"obs.csv": b""}, says=["obs.csv", "header"])


def header_alone() -> str:
    """An observational file that has a header and no row."""
    return refused({"obs.csv": files()["obs.csv"].split(b"\n", 1)[0] + b"\n"}, says=["obs.csv", "no rows"])


def no_new_rows() -> str:
    """A file of new rows with a header alone."""
    header = files()["new.csv"].split(b"\n", 1)[0] + b"\n"
    with folder({"new.csv": header}):
        done = ran(words(), 0)
        lines = Path("out.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    assert "0 rows answered" in done.out
    return "An output with the header alone, and the screen says that 0 rows were answered."


def parquet() -> str:
    """Parquet, with types, beside CSV without."""
    with folder():
        pq.write_table(arrow("obs"), "obs.parquet")
        pq.write_table(arrow("new"), "new.parquet")
        ran(words("--observational", "obs.parquet", "--predict", "new.parquet"), 0)
        check_same(read_answers())
    return "A typed file beside an untyped one: the answer of the clean files."


def parquet_folder() -> str:
    """A folder of Parquet files, one of them without a row."""
    with folder():
        Path("parts").mkdir()
        for place, (start, rows) in enumerate(((0, 30), (30, 0), (30, 50))):
            pq.write_table(arrow("obs").slice(start, rows), f"parts/{place}.parquet")
        ran(words("--observational", "parts"), 0)
        check_same(read_answers())
    return "The answer of the one file."


def parquet_folder_of_two_types() -> str:
    """A folder of Parquet files in which a column is an integer here and text there."""
    with folder():
        Path("parts").mkdir()
        pq.write_table(arrow("obs").slice(0, 40), "parts/a.parquet")
        other = arrow("obs").slice(40)
        place = other.column_names.index("n")
        pq.write_table(other.set_column(place, "n", other["n"].cast(pa.string())), "parts/b.parquet")
        return refused_here(words("--observational", "parts"), ["n"])


def one_row_per_call() -> str:
    """One new row per call, and all in one call."""
    lines = files()["new.csv"].splitlines(keepends=True)
    found = []
    with folder():
        ran(words("--save", "model.confide"), 0)
        for line in lines[1:]:
            Path("one.csv").write_bytes(lines[0] + line)
            ran(["predict", "model.confide", "one.csv", "--out", "one.out.csv"], 0)
            found.append(read_answers("one.out.csv"))
    check_same({name: np.concatenate([each[name] for each in found]) for name in clean()})
    return "Row by row the same answers as all at once."


def batches() -> str:
    """More rows than one batch, against the same rows in one batch of their own."""
    from confide.data import files as reading  # noqa: PLC0415

    many = {name: cells * 50 for name, cells in table("new").items()}
    usual = reading.BATCH_ROWS
    try:
        reading.BATCH_ROWS = 7
        with folder({"new.csv": file_of(many)}):
            ran(words(), 0)
            found = read_answers()
    finally:
        reading.BATCH_ROWS = usual
    check_same(found, {name: np.tile(each, 50) for name, each in clean().items()})
    return "300 rows in batches of 7 are answered like the six that they repeat, in their order."


def _comma(cell: str) -> str:
    return cell.replace(".", ",")


CASES: Cases = {
    "a byte order mark": bom,
    "a byte order mark before a quoted header": bom_of_a_quoted_header,
    "lines that end with CR LF": windows_lines,
    "lines that end with CR alone": old_mac_lines,
    "new rows whose lines end with CR alone": old_mac_lines_of_new_rows,
    "a last line without an end": last_line_without_an_end,
    "empty lines everywhere": empty_lines,
    "semicolons and decimal commas": semicolons_and_decimal_commas,
    "decimal commas in one file of three": decimal_commas_in_one_file,
    "separators of thousands": thousands,
    "tabs in a .csv": tabs,
    "a separator per file": separators_differ_between_files,
    "a separator that the file has not": wrong_separator,
    "Latin-1": latin,
    "UTF-16 in one file of three": wide_text,
    "gzip with an extension in capitals": zipped,
    "a gzip file that was cut": cut_gzip,
    "gzip that is called .csv": gzip_without_its_name,
    "CSV that is called .parquet": parquet_that_is_text,
    "quoted line breaks in categories": quoted_line_breaks,
    "a quote that is never closed": open_quote,
    "a separator at the end of every line, declared": trailing_separators,
    "a separator at the end of every line": trailing_separators_undeclared,
    "a separator at the end of every row, not of the header": trailing_separators_of_rows,
    "a row with a cell less": short_row,
    "a new row with a cell more": long_row_of_new_people,
    "a cell of a hundred thousand characters": long_cell,
    "an empty file": empty_file,
    "a header alone": header_alone,
    "a header alone for the new rows": no_new_rows,
    "Parquet beside CSV": parquet,
    "a folder of Parquet files, one empty": parquet_folder,
    "a folder of Parquet files of two types": parquet_folder_of_two_types,
    "one row per call": one_row_per_call,
    "rows in small batches": batches,
}
