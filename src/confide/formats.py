"""Tables in files, and a study from two of them: CSV, Parquet and Arrow by extension, whole or in batches.

``-`` is standard input or output.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import warnings
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from confide.checks import examples, suggest
from confide.files import atomic_write
from confide.study import Study, stack
from confide.tables import is_number, is_text, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence

    # A file's columns, and its rows part by part.
    Parts = tuple[pa.Schema, Iterator[pa.RecordBatch]]

STANDARD = "-"
EXTENSIONS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
# Rows that are read, answered and written at a time.
BATCH_ROWS = 65_536
READ_BYTES = 1 << 22
# Values that are all different in so many rows look like names of the rows.
MANY_ROWS = 20
TEXT = pa.large_string()
LINE_BREAKS = pa_csv.ParseOptions(newlines_in_values=True)
# What pyarrow takes for a missing value in a CSV file.
MISSING = pa.array(pa_csv.ConvertOptions().null_values)


@dataclass(frozen=True)
class Batch:
    """Some rows of a file: as they are carried through to an output, and as a model reads them.

    They differ for CSV files, where what is carried through stays the text that it was. ``start`` is the number of rows
    before these.
    """

    carried: pa.Table
    read: pa.Table
    start: int


class Sink(Protocol):
    """What a table is written to, batch by batch."""

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what belongs at the end."""


def kind_of(path: str) -> str:
    """Return "csv", "parquet" or "arrow", by the extension; standard input and output are CSV."""
    if path == STANDARD:
        return "csv"
    name = path.lower().removesuffix(".gz")
    kind = EXTENSIONS.get(Path(name).suffix)
    if kind is None or (kind != "csv" and name != path.lower()):
        raise ValueError(f"{path}: the extension must be one of {', '.join(EXTENSIONS)} (or .csv.gz).")
    return kind


def read_file(path: str, as_text: Iterable[str] = ()) -> pa.Table:
    """Return the whole table, the kinds of a CSV file's columns found out from their values but for those named."""
    kind = kind_of(path)
    with _told(path, "read"), _opened(path) as file:
        if kind == "csv":
            types = dict.fromkeys(as_text, pa.string())
            options = pa_csv.ConvertOptions(strings_can_be_null=True, column_types=types)
            table = pa_csv.read_csv(_native(path, file), parse_options=LINE_BREAKS, convert_options=options)
            foreign = [field.name for field in table.schema if pa.types.is_binary(field.type)]
            if foreign:
                raise csv.Error(f"column {examples(foreign)} is no UTF-8 text; save the file as UTF-8.")
            _check_separator(table.column_names)
        elif kind == "parquet":
            table = pq.read_table(file)
        else:
            table = _open_arrow(file).read_all()
    return _checked(path, table)


def read_study(
    observational: str,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: Sequence[str] = (),
    new: str | None = None,
) -> Study:
    """Return the study of two files.

    Columns that identify are no covariates. Where the file of new rows is given and can be read twice, it must have the
    covariates: so that this is known before a model is fitted.
    """
    tables = _same_kinds([(path, read_file(path, identifiers)) for path in (observational, trial)])
    # A pipe can be read only once.
    ahead = set(column_names(new)) if new is not None and Path(new).is_file() else set()
    named = set().union(ahead, *(table.column_names for table in tables))
    for name in identifiers:
        if name not in named:
            raise ValueError(f"no file has the identifier {name!r}; {suggest(name, sorted(named))}")
    first, second = (
        table.drop_columns([name for name in identifiers if name in table.column_names]) for table in tables
    )
    _warn_of_identifiers(tables, identifiers, [treatment, outcome])
    study = stack(first, second, treatment=treatment, outcome=outcome)
    labels = np.unique(study.treatment)
    if len(labels) < 2:
        raise ValueError(
            f"the treatment column {treatment!r} has one value, {examples(labels)}: there is nothing to compare it "
            "with. Give rows of two treatments."
        )
    if ahead:
        check_columns(str(new), ahead, study.X.column_names)
    return study


def _same_kinds(tables: Sequence[tuple[str, pa.Table]]) -> list[pa.Table]:
    """Return the tables; a column that only one of two CSV files needs text for is text in both."""
    (_, first), (_, second) = tables
    if {kind_of(path) for path, _ in tables} == {"csv"}:
        for name in set(first.column_names) & set(second.column_names):
            if is_text(first[name].type) != is_text(second[name].type):
                first, second = (
                    table.set_column(table.column_names.index(name), name, texts(name, table[name]))
                    for table in (first, second)
                )
    return [first, second]


def _warn_of_identifiers(tables: Sequence[pa.Table], identifiers: Sequence[str], roles: Sequence[str]) -> None:
    """Warn of people who stand in both tables, and of covariates that look like identifiers."""
    for name in identifiers:
        if all(name in table.column_names for table in tables):
            first, second = (pc.unique(texts(name, table[name]).drop_null()) for table in tables)
            names_people = all(len(found) > len(t) / 2 for found, t in zip((first, second), tables, strict=True))
            both = pc.sum(pc.is_in(first, second)).as_py()
            if both and names_people:
                warnings.warn(
                    f"{both} values of {name!r} stand in both files. No promise holds if these are the same people: "
                    "take them out of the observational file.",
                    stacklevel=4,
                )
    first, second = tables
    for name in first.column_names:
        covariate = name in second.column_names and name not in [*identifiers, *roles]
        if covariate and all(_names_rows(table[name]) for table in tables):
            warnings.warn(
                f"column {name!r} is another value in every row and taken for a covariate; if it only names the rows, "
                "give it as --id.",
                stacklevel=4,
            )


def _names_rows(column: pa.ChunkedArray) -> bool:
    """Return whether the column holds text or whole numbers, different in every row."""
    nominal = is_text(column.type) or pa.types.is_integer(column.type)
    return nominal and len(column) >= MANY_ROWS and pc.count_distinct(column, "all").as_py() == len(column)


def column_names(path: str) -> list[str]:
    """Return the names of a file's columns."""
    batches = read_batches(path)
    names: list[str] = next(batches).read.column_names
    batches.close()
    return names


def check_columns(path: str, found: Collection[str], wanted: Sequence[str]) -> None:
    """Raise unless a file has the columns that are wanted."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{path} has no column {examples(missing)}; {suggest(missing[0], sorted(found))}")


def read_batches(path: str) -> Generator[Batch]:
    """Yield the rows of a file in order, at most `BATCH_ROWS` at a time; at least one batch, be it empty."""
    kind = kind_of(path)
    with _told(path, "read"), _opened(path) as file, ExitStack() as stack:
        schema, parts = READERS[kind](path, file, stack)
        first, before = next(parts, None), 0
        for part in (schema.empty_table(),) if first is None else chain([first], parts):
            table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
            for start in range(0, max(len(table), 1), BATCH_ROWS):
                rows = _checked(path, table.slice(start, BATCH_ROWS), may_be_empty=True)
                yield Batch(rows, _without_missing(rows) if kind == "csv" else rows, before)
                before += len(rows)


@contextmanager
def writing(path: str, schema: pa.Schema) -> Iterator[Sink]:
    """Yield what takes the rows of a file, which stands under its name only when all is written."""
    kind = kind_of(path)
    with _told(path, "written"), ExitStack() as stack:
        file: Any = sys.stdout.buffer if path == STANDARD else stack.enter_context(atomic_write(path))
        if path.lower().endswith(".gz"):
            # No name and no time inside: the same rows give the same bytes.
            file = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        sink = SINKS[kind](file, schema)
        try:
            yield sink
        finally:
            sink.close()
        file.flush()


class CsvSink:
    """A CSV file: a field is quoted where it must be, and empty where it is missing."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        """Write the names of the columns."""
        self.file = file
        self._write([pa.array([name]) for name in schema.names])

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""
        if len(table):
            self._write(table.combine_chunks().columns)

    def close(self) -> None:
        """Do nothing: there is no end to write."""

    def _write(self, columns: list[Any]) -> None:
        lines = pc.binary_join_element_wise(*(_fields(column) for column in columns), pa.scalar(",", TEXT))
        every = pa.LargeListArray.from_arrays([0, len(lines)], lines)
        self.file.write(pc.binary_join(every, pa.scalar("\n", TEXT))[0].as_buffer())
        self.file.write(b"\n")


class ArrowSink:
    """An Arrow file. Categories are written as their values, since a file's batches must share their categories."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        """Write the names of the columns."""
        fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema]
        self.schema = pa.schema(fields, schema.metadata)
        self.writer = pa.ipc.new_file(file, self.schema)

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""
        self.writer.write_table(table.cast(self.schema))

    def close(self) -> None:
        """Write the end."""
        self.writer.close()


SINKS: dict[str, Callable[[Any, pa.Schema], Sink]] = {"csv": CsvSink, "parquet": pq.ParquetWriter, "arrow": ArrowSink}


def _fields(column: Any) -> Any:
    """Return the values as the fields of a CSV file."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    fields = plain.cast(TEXT)
    if not (is_number(plain.type) or pa.types.is_boolean(plain.type)):
        special = pc.match_substring_regex(fields, '[",\r\n]')
        if pc.any(special).as_py():
            mark = pa.scalar('"', TEXT)
            quoted = pc.binary_join_element_wise(
                mark, pc.replace_substring(fields, '"', '""'), mark, pa.scalar("", TEXT)
            )
            fields = pc.if_else(special, quoted, fields)
    return fields.fill_null("")


@contextmanager
def _told(path: str, what: str) -> Iterator[None]:
    """Say in which file something is amiss."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error, csv.Error) as error:
        raise _amiss(path, what, error) from error
    except OSError as error:
        if error.errno is None:  # Arrow's own
            raise _amiss(path, what, error) from error
        if error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


def _amiss(path: str, what: str, error: Exception) -> ValueError:
    hint = " Save the file as UTF-8." if "UTF8" in str(error) else ""
    return ValueError(f"{path} cannot be {what} as {kind_of(path)}: {error}{hint}")


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file to read bytes; of standard input only CSV comes in a stream."""
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        yield file


def _open_arrow(file: Any) -> Any:
    """Return a reader of an Arrow file or stream."""
    return pa.ipc.open_file(file) if file.peek(6)[:6] == b"ARROW1" else pa.ipc.open_stream(file)


def _arrow_parts(_path: str, file: Any, stack: ExitStack) -> Parts:
    reader = stack.enter_context(_open_arrow(file))
    if hasattr(reader, "num_record_batches"):
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))
    return reader.schema, iter(reader)


def _parquet_parts(_path: str, file: Any, stack: ExitStack) -> Parts:
    parquet = stack.enter_context(pq.ParquetFile(file, buffer_size=READ_BYTES))
    return parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS)


def _csv_parts(path: str, file: Any, stack: ExitStack) -> Parts:
    """Return a CSV file as text, whatever its values look like."""
    lines = (line.decode("utf-8-sig") for line in iter(file.readline, b""))
    names = next(filter(None, csv.reader(lines)), [])
    if not names:
        raise csv.Error("not even a line of column names is there.")
    _check_separator(names)
    schema = pa.schema([(name, pa.string()) for name in names])
    if not file.peek(1):
        return schema, iter(())
    return schema, iter(
        stack.enter_context(
            pa_csv.open_csv(
                _native(path, file),
                read_options=pa_csv.ReadOptions(column_names=names, block_size=READ_BYTES),
                # An empty line is the missing value of a single column, and nothing beside several.
                parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) > 1),
                convert_options=pa_csv.ConvertOptions(column_types=schema),
            )
        )
    )


def _native(path: str, file: Any) -> Any:
    """Return what is left of a file as Arrow opens it: it reads ahead, and must not need an interpreter that ends."""
    if path == STANDARD:
        return file
    stream = pa.input_stream(path)
    stream.read(file.tell())
    return stream


READERS: dict[str, Callable[[str, Any, ExitStack], Parts]] = {
    "csv": _csv_parts,
    "parquet": _parquet_parts,
    "arrow": _arrow_parts,
}


def _check_separator(names: Sequence[str]) -> None:
    """Raise where the one column's name holds what other programs put between columns."""
    for separator, told in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(names) == 1 and separator in names[0]:
            raise csv.Error(f"its columns are separated by {told}; save it with commas.")


def _without_missing(table: pa.Table) -> pa.Table:
    """Return text with null where a CSV file says that a value is missing."""
    columns = [pc.if_else(pc.is_in(column, MISSING), pa.scalar(None, pa.string()), column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _checked(path: str, table: pa.Table, *, may_be_empty: bool = False) -> pa.Table:
    """Return the table; raise if it has no rows, or two columns of one name."""
    names = table.column_names
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"{path} has two columns named {examples(twice)}; rename one of them.")
    if not (len(table) or may_be_empty):
        raise ValueError(f"{path} has no rows.")
    return table
