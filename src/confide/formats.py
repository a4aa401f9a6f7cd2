"""Tables in files: CSV, Parquet and Arrow by extension, whole or in batches; ``-`` is standard input or output."""

from __future__ import annotations

import csv
import gzip
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from confide.checks import examples
from confide.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD = "-"
EXTENSIONS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
# Rows that are read, answered and written at a time.
BATCH_ROWS = 65_536
# What pyarrow takes for a missing value in a CSV file.
MISSING = pa.array(pa_csv.ConvertOptions().null_values)


@dataclass(frozen=True)
class Batch:
    """Some rows of a file: as they are carried through to an output, and as a model reads them.

    They differ for CSV files, where what is carried through stays the text that it was.
    """

    carried: pa.Table
    read: pa.Table


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


def read_file(path: str) -> pa.Table:
    """Return the whole table, the kinds of a CSV file's columns found out from their values."""
    kind = kind_of(path)
    with _told(path), _opened(path) as file:
        if kind == "csv":
            options = pa_csv.ConvertOptions(strings_can_be_null=True)
            table = pa_csv.read_csv(file, convert_options=options)
        elif kind == "parquet":
            table = pq.read_table(file)
        else:
            table = _open_arrow(file).read_all()
    return _checked(path, table)


def read_batches(path: str) -> Iterator[Batch]:
    """Yield the rows of a file in order, at most `BATCH_ROWS` at a time; at least one batch, be it empty."""
    kind = kind_of(path)
    with _told(path), _opened(path) as file:
        if kind == "csv":
            parts = _csv_tables(file)
        elif kind == "parquet":
            parquet = pq.ParquetFile(file)
            empty = parquet.schema_arrow.empty_table()
            parts = _at_least(empty, (pa.Table.from_batches([part]) for part in parquet.iter_batches(BATCH_ROWS)))
        else:
            reader = _open_arrow(file)
            parts = _at_least(reader.schema.empty_table(), (pa.Table.from_batches([part]) for part in _arrow_parts(reader)))
        for table in parts:
            for start in range(0, max(len(table), 1), BATCH_ROWS):
                part = _checked(path, table.slice(start, BATCH_ROWS), may_be_empty=True)
                yield Batch(part, _without_missing(part) if kind == "csv" else part)


@contextmanager
def writing(path: str, schema: pa.Schema) -> Iterator[Sink]:
    """Yield what takes the rows of a file, which stands under its name only when all is written."""
    kind = kind_of(path)
    with ExitStack() as stack, _told(path):
        file: Any = sys.stdout.buffer if path == STANDARD else stack.enter_context(atomic_write(path))
        if path.lower().endswith(".gz"):
            # No name and no time inside: the same rows give the same bytes.
            file = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        if kind == "csv":
            sink: Sink = pa_csv.CSVWriter(file, schema, write_options=pa_csv.WriteOptions(quoting_style="needed"))
        elif kind == "parquet":
            sink = pq.ParquetWriter(file, schema)
        else:
            sink = pa.ipc.new_file(file, schema)
        try:
            yield sink
        except BaseException:
            sink.close()  # into a file that is about to be removed
            raise
        sink.close()


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Say in which file something is amiss."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be read as {kind_of(path)}: {error}") from error
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(f"{path}: {error.strerror}") from error


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a file to read bytes; of standard input only CSV comes in a stream."""
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        yield file


def _open_arrow(file: BinaryIO) -> Any:
    """Return a reader of an Arrow file or stream."""
    start = file.peek(6)[:6] if hasattr(file, "peek") else b""
    return pa.ipc.open_file(file) if start == b"ARROW1" else pa.ipc.open_stream(file)


def _arrow_parts(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _csv_tables(file: BinaryIO) -> Iterator[pa.Table]:
    """Yield a CSV file as text, whatever its values look like."""
    header = file.readline().decode("utf-8-sig")
    names = next(csv.reader([header]), [])
    if not names:
        raise ValueError("it is empty: there is not even a line of column names.")
    schema = pa.schema([(name, pa.string()) for name in names])
    reader = pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(column_names=names),
        convert_options=pa_csv.ConvertOptions(column_types=schema),
    )
    yield from _at_least(schema.empty_table(), (pa.Table.from_batches([part]) for part in reader))


def _at_least(empty: pa.Table, parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the parts, or the empty table where there are none."""
    found = False
    for part in parts:
        found = True
        yield part
    if not found:
        yield empty


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
