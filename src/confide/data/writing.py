"""Writers of tables to files, batch by batch; a file appears complete or not at all."""

from __future__ import annotations

import codecs
import gzip
import re
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from confide.base.atomic import atomic_write
from confide.data import kinds
from confide.data.csv_files import PLAIN, SEPARATORS, Dialect
from confide.data.formats import STANDARD, format_of, naming_the_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = pa.large_string()
# The usual separators, which no number has but as its decimal point.
USUAL = frozenset(SEPARATORS)
# Units of dates and times, the coarsest first.
UNITS = ("day", "s", "ms", "us", "ns")


class Sink(Protocol):
    """A file that takes a table batch by batch."""

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write the end of the file."""


@contextmanager
def writing(path: str, schema: pa.Schema, dialect: Dialect = PLAIN) -> Iterator[Sink]:
    """Yield a sink for the rows of a file, which appears under its name only when all is written.

    ``dialect`` is the format of a CSV file; others have no such thing.
    """
    kind = format_of(path)
    with naming_the_file(path, "written"), ExitStack() as stack:
        file: Any = sys.stdout.buffer if path == STANDARD else stack.enter_context(atomic_write(path))
        if path.lower().endswith(".gz"):
            # No file name and no time stamp inside: the same rows give the same bytes.
            file = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        sink = CsvSink(file, schema, dialect) if kind == "csv" else SINKS[kind](file, schema)
        try:
            yield sink
        finally:
            sink.close()
        file.flush()


class CsvSink:
    """A CSV file in a format: a field is quoted where it must be, and empty where it is missing or NaN.

    Dates and times are as short as their values allow: a column of whole days has no times, one of whole seconds no
    fractions. This is decided by the rows that are written together, and never gets shorter again further down.
    """

    def __init__(self, file: BinaryIO, schema: pa.Schema, dialect: Dialect) -> None:
        """Write the names of the columns; the text is UTF-8 if the format's encoding cannot hold them."""
        self.file = file
        self.dialect = dialect.holding(schema.names)
        self.encoder = _encoder(self.dialect.encoding)
        self.units = dict.fromkeys(schema.names, UNITS[0])
        self._write([_fields(pa.array([name], TEXT), self.dialect) for name in schema.names])

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""
        if not len(table):
            return
        columns = []
        for name, chunks in zip(table.column_names, table.columns, strict=True):
            column = _plain(chunks)
            if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
                column, self.units[name] = shortest(column, self.units[name])
            columns.append(_fields(column, self.dialect))
        self._write(columns)

    def close(self) -> None:
        """Write what the encoding needs at the end; a CSV file itself has no end mark."""
        if self.encoder is not None:
            self.file.write(self.encoder.encode("", final=True))

    def _write(self, fields: list[pa.Array]) -> None:
        lines = pc.binary_join_element_wise(*fields, pa.scalar(self.dialect.sign, TEXT))
        every = pa.LargeListArray.from_arrays([0, len(lines)], lines)
        text = pc.binary_join(every, pa.scalar("\n", TEXT))[0].as_buffer()
        if self.encoder is None:
            self.file.write(text)
            self.file.write(b"\n")
        else:
            self.file.write(self.encoder.encode(f"{str(text, 'utf-8')}\n"))


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


# Those of typed tables; text in a CSV file needs a format too.
SINKS: dict[str, Callable[[Any, pa.Schema], Sink]] = {"parquet": pq.ParquetWriter, "arrow": ArrowSink}


def _encoder(encoding: str | None) -> codecs.IncrementalEncoder | None:
    """Return what encodes text piece by piece; None if the text stays in UTF-8."""
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return None
    return codecs.getincrementalencoder(encoding)()


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, categories as their values."""
    whole = column.combine_chunks()
    return whole.dictionary_decode() if isinstance(whole, pa.DictionaryArray) else whole


def shortest(column: pa.Array, least: str) -> tuple[pa.Array, str]:
    """Return dates or times in the coarsest unit that keeps all values, but none coarser than ``least``; and the unit.

    Only a timestamp without a zone is ever a day.
    """
    of_day, zone = pa.types.is_time(column.type), getattr(column.type, "tz", None)
    for unit in UNITS[UNITS.index(least) :]:
        if unit == "day":
            if not of_day and zone is None and column.equals(days := column.cast(pa.date32()).cast(column.type)):
                return days.cast(pa.date32()), unit
            continue
        if unit == column.type.unit:
            return column, unit
        try:
            kind = (pa.time32 if unit in ("s", "ms") else pa.time64)(unit) if of_day else pa.timestamp(unit, zone)
            return column.cast(kind), unit
        except pa.ArrowInvalid:  # it would lose a fraction
            continue
    return column, column.type.unit


def _fields(column: pa.Array, dialect: Dialect) -> pa.Array:
    """Return the values as the fields of a CSV file."""
    fields = column.cast(TEXT)
    numeric = kinds.is_number(column.type)
    if pa.types.is_floating(column.type):
        fields = pc.if_else(pc.equal(fields, "nan"), pa.scalar(None, TEXT), fields)
    if numeric and dialect.decimal != ".":
        fields = pc.replace_substring(fields, ".", dialect.decimal)
    if numeric and dialect.sign in USUAL - {dialect.decimal}:
        return fields.fill_null("")  # no number has the separator
    special = pc.match_substring_regex(fields, f'["\r\n{re.escape(dialect.sign)}]')
    if pc.any(special).as_py():
        mark = pa.scalar('"', TEXT)
        quoted = pc.binary_join_element_wise(mark, pc.replace_substring(fields, '"', '""'), mark, pa.scalar("", TEXT))
        fields = pc.if_else(special, quoted, fields)
    return fields.fill_null("")
