"""CSV files as text: separators, decimal commas and encodings, recognised or declared."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from confide.data.formats import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import ExitStack

    # A file's columns, its rows in batches, and the format that a CSV file made from it gets.
    Parts = tuple[pa.Schema, Iterator[pa.RecordBatch], "Dialect"]

READ_BYTES = 1 << 22
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Numbers as they are written where a comma is the decimal point: 1.234,5 or 1234,5.
WITH_DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file: separator, decimal point and encoding.

    Attributes
    ----------
    separator : str or None
        The character between fields; None: comma, semicolon, tab or bar, whichever the header has.
    decimal : "." or ","
        The decimal point. With a comma, points between groups of three digits are left out.
    encoding : str or None
        The text's encoding; None: UTF-8, or, of a file that is read, UTF-16 if it begins with that byte order mark. It
        is for files that are not UTF-8: one that begins with UTF-8's mark, or, if this encoding has one byte per sign,
        is valid UTF-8 with some sign beyond ASCII, is read as UTF-8, and so is written what is made from it.
    recognised : str or None
        The separator that the header of a file has shown. It may be the decimal point too: numbers are then in quotes.
    """

    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    recognised: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"the separator must be one character, such as ';', got {self.separator!r}.")
        if self.decimal not in (".", ","):
            raise ValueError(f"the decimal point must be '.' or ',', got {self.decimal!r}.")
        if self.decimal == self.separator:
            raise ValueError("the decimal point and the separator cannot both be ','.")
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
            except (LookupError, UnicodeError) as error:
                raise ValueError(
                    f"the encoding {self.encoding!r} is unknown, or not one of text; try utf-8, latin-1 or utf-16."
                ) from error

    @property
    def sign(self) -> str:
        """The character between fields; unless given or recognised, a comma, or a semicolon beside decimal commas."""
        return self.separator or self.recognised or (";" if self.decimal == "," else ",")

    def holding(self, texts: Iterable[str]) -> Dialect:
        """Return this format, but in UTF-8 if its encoding does not have some sign of the texts."""
        try:
            "".join(texts).encode(self.encoding or "utf-8")
        except UnicodeEncodeError:
            return replace(self, encoding=None)
        return self

    def values(self, table: pa.Table) -> pa.Table:
        """Return a table of text with numbers in the usual notation, with a decimal point."""
        if self.decimal == ".":
            return table
        return pa.table([_with_decimal_point(column) for column in table.columns], names=table.column_names)


def _with_decimal_point(text: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(text)
    plain = pc.replace_substring(pc.replace_substring(trimmed, ".", ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(trimmed, WITH_DECIMAL_COMMA), plain, text)


PLAIN = Dialect()


def csv_parts(path: str, file: Any, stack: ExitStack, dialect: Dialect) -> Parts:
    """Return a CSV file with all columns as text, whatever their values look like."""
    wide = file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = dialect.encoding or ("utf-16" if wide else None)
    if encoding is not None:
        raw = file.read()
        if _is_utf8_after_all(raw, encoding):
            dialect = replace(dialect, encoding=None)
        else:
            raw = raw.decode(encoding).encode()
        file = io.BufferedReader(io.BytesIO(raw))
    head: list[bytes] = []
    names: list[str] = []
    seen = dialect
    while not names and (line := _line(file)):
        head.append(line)
        text = b"".join(head).decode("utf-8-sig")
        seen = dialect if dialect.separator else replace(dialect, recognised=_separator(text))
        fields = list(csv.reader(io.StringIO(text, newline=""), delimiter=seen.sign))
        quoted = text.count('"') % 2  # a name may have a line break in quotes
        names = [] if quoted else next(filter(None, fields), [])
    if not names:
        raise csv.Error("there is no header with column names.")
    schema = pa.schema([(name, pa.string()) for name in names])
    rest = _rest(path, file, b"".join(head), encoded=encoding is not None)
    if rest is None:
        return schema, iter(()), seen
    reader = pa_csv.open_csv(
        rest,
        read_options=pa_csv.ReadOptions(column_names=names, block_size=READ_BYTES),
        # An empty line is the missing value of a single column, and nothing beside several.
        parse_options=pa_csv.ParseOptions(
            delimiter=seen.sign, newlines_in_values=True, ignore_empty_lines=len(names) > 1
        ),
        convert_options=pa_csv.ConvertOptions(column_types=schema),
    )
    return schema, iter(stack.enter_context(reader)), seen


def _is_utf8_after_all(raw: bytes, encoding: str) -> bool:
    """Return whether a file is UTF-8 although another encoding was given, which would read every byte as a sign."""
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        return False
    if raw.startswith(codecs.BOM_UTF8):
        return True
    one_byte_per_sign = len(bytes(range(256)).decode(encoding, "replace")) == 256
    if raw.isascii() or not one_byte_per_sign:
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _line(file: Any) -> bytes:
    """Return a line and its end, which may be a line feed, a carriage return or both."""
    line = b""
    while part := file.peek(1):
        end = min((place for place in map(part.find, (b"\n", b"\r")) if place >= 0), default=len(part) - 1)
        line += file.read(end + 1)
        if line.endswith(b"\r") and file.peek(1)[:1] == b"\n":
            line += file.read(1)
        if line.endswith((b"\n", b"\r")):
            break
    return line


def _separator(names: str) -> str | None:
    """Return the separator of the header: the usual sign that is most frequent outside quotes; None if none is."""
    bare = re.sub(r'"[^"]*"', "", names)
    counts = {sign: bare.count(sign) for sign in SEPARATORS if sign in bare}
    if not counts:
        return None
    likely = max(counts, key=counts.__getitem__)
    if any(2 * count > counts[likely] for sign, count in counts.items() if sign != likely):
        found = " and ".join(SEPARATORS[sign] for sign in counts)
        raise csv.Error(f"its header has {found}: give the separator, such as --sep '{likely}'.")
    return likely


def _rest(path: str, file: Any, head: bytes, *, encoded: bool) -> Any:
    """Return the part after the header, in a form that Arrow opens; None if there is none.

    Arrow reads ahead in its own threads, which must not need a Python interpreter that is ending: so it opens files
    itself.
    """
    if not file.peek(1):
        return None
    if encoded:
        return pa.BufferReader(file.read())
    if path == STANDARD:
        return file
    stream = pa.input_stream(path, compression="gzip" if path.lower().endswith(".gz") else None)
    stream.read(len(head))
    return stream
