"""Tables in files, and a study from two of them: CSV, Parquet and Arrow by extension, whole or in batches.

``-`` is standard input or output.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
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

from confide import kinds
from confide.checks import examples, suggest
from confide.files import atomic_write
from confide.study import Study, stack

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

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
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Numbers as they are written where a comma is the decimal point: 1.234,5 or 1234,5.
WITH_DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    separator : str or None
        What stands between fields; None: comma, semicolon, tab or bar, whichever the line of names has.
    decimal : "." or ","
        The decimal point. With a comma, points between groups of three digits are left out.
    encoding : str or None
        The text's encoding; None: UTF-8, or UTF-16 where the file begins with its mark.
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"the separator must be one character, such as ';', got {self.separator!r}.")
        if self.decimal not in (".", ","):
            raise ValueError(f"the decimal point must be '.' or ',', got {self.decimal!r}.")
        if self.decimal == self.separator:
            raise ValueError("the decimal point and the separator cannot both be ','.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError as error:
                raise ValueError(f"the encoding {self.encoding!r} is unknown; try utf-8, latin-1 or utf-16.") from error

    def values(self, table: pa.Table) -> pa.Table:
        """Return a table of text with numbers as they are written everywhere else."""
        if self.decimal == ".":
            return table
        return pa.table([_with_decimal_point(column) for column in table.columns], names=table.column_names)


def _with_decimal_point(text: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(text)
    plain = pc.replace_substring(pc.replace_substring(trimmed, ".", ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(trimmed, WITH_DECIMAL_COMMA), plain, text)


PLAIN = Dialect()


@dataclass(frozen=True)
class Batch:
    """Some rows of a file: as they are carried through to an output, and as a model reads them.

    They differ for CSV files whose decimal point is a comma: what is carried through stays the text that it was.
    ``start`` is the number of rows before these.
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


def read_file(path: str, dialect: Dialect = PLAIN) -> pa.Table:
    """Return the whole table; of a CSV file every column is text."""
    return pa.concat_tables([batch.read for batch in read_batches(path, dialect, may_be_empty=False)])


def read_study(
    observational: str,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: Sequence[str] = (),
    new: str | None = None,
    *,
    categories: Sequence[str] = (),
    dialect: Dialect = PLAIN,
) -> Study:
    """Return the study of two files.

    Columns that identify are no covariates. Where the file of new rows is given and can be read twice, it must have the
    covariates: so that this is known before a model is fitted. ``categories`` are columns that are categories although
    their values look like numbers.
    """
    tables = [read_file(path, dialect) for path in (observational, trial)]
    # A pipe can be read only once.
    ahead = set(column_names(new, dialect)) if new is not None and Path(new).is_file() else set()
    named = set().union(ahead, *(table.column_names for table in tables))
    for name in identifiers:
        if name not in named:
            raise ValueError(f"no file has the identifier {name!r}; {suggest(name, sorted(named))}")
    first, second = (
        table.drop_columns([name for name in identifiers if name in table.column_names]) for table in tables
    )
    _warn_of_identifiers(tables, identifiers, [treatment, outcome])
    study = stack(
        first, second, treatment=treatment, outcome=outcome, categories=categories, names=(observational, trial)
    )
    labels = np.unique(study.treatment)
    if len(labels) < 2:
        raise ValueError(
            f"the treatment column {treatment!r} has one value, {examples(labels)}: there is nothing to compare it "
            "with. Give rows of two treatments."
        )
    if ahead:
        check_columns(str(new), ahead, study.X.column_names)
    return study


def _warn_of_identifiers(tables: Sequence[pa.Table], identifiers: Sequence[str], roles: Sequence[str]) -> None:
    """Warn of people who stand in both tables, and of covariates that look like identifiers."""
    for name in identifiers:
        if all(name in table.column_names for table in tables):
            first, second = (_as_written(table[name]).drop_null().unique() for table in tables)
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


def _as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as text, leading zeros and all."""
    return kinds.plain(column).cast(TEXT)


def _names_rows(column: pa.ChunkedArray) -> bool:
    """Return whether the column holds text or whole numbers, different in every row."""
    if len(column) < MANY_ROWS or pc.count_distinct(column, "all").as_py() < len(column):
        return False
    if not (kinds.is_text(column.type) or pa.types.is_integer(column.type)):
        return False
    measured = pc.match_substring_regex(_as_written(column), r"^[+-]?\d*[.,]\d|^[+-]?\d+[eE]|^\d{4}-\d{2}-\d{2}")
    return not pc.any(measured).as_py()


def column_names(path: str, dialect: Dialect = PLAIN) -> list[str]:
    """Return the names of a file's columns."""
    batches = read_batches(path, dialect)
    names: list[str] = next(batches).read.column_names
    batches.close()
    return names


def check_columns(path: str, found: Collection[str], wanted: Sequence[str]) -> None:
    """Raise unless a file has the columns that are wanted."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{path} has no column {examples(missing)}; {suggest(missing[0], sorted(found))}")


def read_batches(path: str, dialect: Dialect = PLAIN, *, may_be_empty: bool = True) -> Generator[Batch]:
    """Yield the rows of a file in order, at most `BATCH_ROWS` at a time; at least one batch, be it empty.

    A CSV file's columns are text, whatever they look like: what they hold is for `confide.kinds` to say.
    """
    kind = kind_of(path)
    with _told(path, "read"), _opened(path) as file, ExitStack() as stack:
        schema, parts = READERS[kind](path, file, stack, dialect)
        first, before = next(parts, None), 0
        for part in (schema.empty_table(),) if first is None else chain([first], parts):
            table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
            for start in range(0, max(len(table), 1), BATCH_ROWS):
                rows = _checked(path, table.slice(start, BATCH_ROWS), may_be_empty=may_be_empty or before > 0)
                yield Batch(rows, dialect.values(rows) if kind == "csv" else rows, before)
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
    if not (kinds.is_number(plain.type) or pa.types.is_boolean(plain.type)):
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
    except (pa.ArrowException, UnicodeError, EOFError, gzip.BadGzipFile, zlib.error, csv.Error) as error:
        raise _amiss(path, what, error) from error
    except OSError as error:
        if error.errno is None:  # Arrow's own
            raise _amiss(path, what, error) from error
        if error.filename is not None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


def _amiss(path: str, what: str, error: Exception) -> ValueError:
    text = "UTF8" in str(error) or isinstance(error, UnicodeError)
    hint = " Save the file as UTF-8, or say what it is: --encoding latin-1." if text else ""
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


def _arrow_parts(_path: str, file: Any, stack: ExitStack, _: Dialect) -> Parts:
    reader = stack.enter_context(_open_arrow(file))
    if hasattr(reader, "num_record_batches"):
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches))
    return reader.schema, iter(reader)


def _parquet_parts(_path: str, file: Any, stack: ExitStack, _: Dialect) -> Parts:
    parquet = stack.enter_context(pq.ParquetFile(file, buffer_size=READ_BYTES))
    return parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS)


def _csv_parts(path: str, file: Any, stack: ExitStack, dialect: Dialect) -> Parts:
    """Return a CSV file as text, whatever its values look like."""
    wide = file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = dialect.encoding or ("utf-16" if wide else None)
    if encoding is not None:
        file = io.BytesIO(file.read().decode(encoding).encode())
    head: list[bytes] = []
    names: list[str] = []
    separator = dialect.separator
    while not names and (line := file.readline()):
        head.append(line)
        text = b"".join(head).decode("utf-8-sig")
        separator = dialect.separator or _separator(text)
        fields = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        quoted = text.count('"') % 2  # a name may have a line break in quotes
        names = [] if quoted else next(filter(None, fields), [])
    if not names or separator is None:
        raise csv.Error("not even a line of column names is there.")
    schema = pa.schema([(name, pa.string()) for name in names])
    rest = _rest(path, file, b"".join(head), encoded=encoding is not None)
    if rest is None:
        return schema, iter(())
    return schema, iter(
        stack.enter_context(
            pa_csv.open_csv(
                rest,
                read_options=pa_csv.ReadOptions(column_names=names, block_size=READ_BYTES),
                # An empty line is the missing value of a single column, and nothing beside several.
                parse_options=pa_csv.ParseOptions(
                    delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(names) > 1
                ),
                convert_options=pa_csv.ConvertOptions(column_types=schema),
            )
        )
    )


def _separator(names: str) -> str:
    """Return what stands between the names of the columns: the usual sign that is most frequent outside quotes."""
    bare = re.sub(r'"[^"]*"', "", names)
    counts = {sign: bare.count(sign) for sign in SEPARATORS if sign in bare}
    if not counts:
        return ","
    likely = max(counts, key=counts.__getitem__)
    if any(2 * count > counts[likely] for sign, count in counts.items() if sign != likely):
        told = " and ".join(SEPARATORS[sign] for sign in counts)
        raise csv.Error(f"its line of names has {told}: say what stands between columns, such as --sep '{likely}'.")
    return likely


def _rest(path: str, file: Any, head: bytes, *, encoded: bool) -> Any:
    """Return what follows the line of names as Arrow opens it; None for nothing.

    Arrow reads ahead, and must not need an interpreter that ends: so it opens files itself.
    """
    if encoded:
        return pa.BufferReader(file.read()) if len(head) < len(file.getbuffer()) else None
    if not file.peek(1):
        return None
    if path == STANDARD:
        return file
    stream = pa.input_stream(path)
    stream.read(len(head))
    return stream


READERS: dict[str, Callable[[str, Any, ExitStack, Dialect], Parts]] = {
    "csv": _csv_parts,
    "parquet": _parquet_parts,
    "arrow": _arrow_parts,
}


def _checked(path: str, table: pa.Table, *, may_be_empty: bool = False) -> pa.Table:
    """Return the table; raise if it has no rows, or two columns of one name."""
    names = table.column_names
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"{path} has two columns named {examples(twice)}; rename one of them.")
    if not (len(table) or may_be_empty):
        raise ValueError(f"{path} has no rows.")
    return table
