"""Writers of tables to files, batch by batch; a file appears complete or not at all."""

from __future__ import annotations

import gzip
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from confide.base.atomic import atomic_write
from confide.data import kinds
from confide.data.formats import STANDARD, format_of, naming_the_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # A file's columns, and its rows in batches.
    Parts = tuple[pa.Schema, Iterator[pa.RecordBatch]]

TEXT = pa.large_string()


class Sink(Protocol):
    """A file that takes a table batch by batch."""

    def write_table(self, table: pa.Table) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write the end of the file."""


@contextmanager
def writing(path: str, schema: pa.Schema) -> Iterator[Sink]:
    """Yield a sink for the rows of a file, which appears under its name only when all is written."""
    kind = format_of(path)
    with naming_the_file(path, "written"), ExitStack() as stack:
        file: Any = sys.stdout.buffer if path == STANDARD else stack.enter_context(atomic_write(path))
        if path.lower().endswith(".gz"):
            # No file name and no time stamp inside: the same rows give the same bytes.
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
        """Do nothing: a CSV file has no end mark."""

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
    if not (kinds.is_number(plain.type) or pa.types.is_boolean(plain.type)):
        special = pc.match_substring_regex(fields, '[",\r\n]')
        if pc.any(special).as_py():
            mark = pa.scalar('"', TEXT)
            quoted = pc.binary_join_element_wise(
                mark, pc.replace_substring(fields, '"', '""'), mark, pa.scalar("", TEXT)
            )
            fields = pc.if_else(special, quoted, fields)
    return fields.fill_null("")
