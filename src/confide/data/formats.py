"""The format of a file by its extension, and errors that name the file."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator


STANDARD = "-"
EXTENSIONS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
SPREADSHEETS = (".xlsx", ".xls", ".ods")


def is_table(path: str) -> bool:
    """Return whether the extension is that of a table."""
    return Path(path.lower().removesuffix(".gz")).suffix in EXTENSIONS


def format_of(path: str) -> str:
    """Return "csv", "parquet" or "arrow", by the extension; standard input and output are CSV."""
    if path == STANDARD:
        return "csv"
    name = path.lower().removesuffix(".gz")
    kind = EXTENSIONS.get(Path(name).suffix)
    if kind is None or (kind != "csv" and name != path.lower()):
        remedy = " Spreadsheet programs read and write .csv." if Path(name).suffix in SPREADSHEETS else ""
        raise ValueError(f"{path}: the extension must be one of {', '.join(EXTENSIONS)} (or .csv.gz).{remedy}")
    return kind


@contextmanager
def naming_the_file(path: str, what: str) -> Iterator[None]:
    """Add the file's name to errors raised in the block."""
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
    if isinstance(error, UnicodeEncodeError):
        sign, encoding = error.object[error.start], error.encoding.upper()
        return ValueError(
            f"{path} cannot be written in {encoding}, which does not have {sign!r}. Write .parquet or .arrow instead."
        )
    if "UTF8" in str(error) or isinstance(error, UnicodeError):
        encoding = getattr(error, "encoding", "utf-8").upper()
        return ValueError(
            f"{path} is not written in {encoding}. Save it as UTF-8, or give its encoding: --encoding latin-1."
        )
    kind = EXTENSIONS.get(Path(path.lower().removesuffix(".gz")).suffix, "csv" if path == STANDARD else "parquet")
    return ValueError(f"{path} cannot be {what} as {kind}: {str(error).strip().rstrip('.')}.")
