"""The rows' own columns as the page stores them: as text, identifiers first, as many as fit."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data import kinds
from confide.report.embed import as_json, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

# Text that means a missing value.
MISSING = frozenset(kinds.MISSING.to_pylist())
# A number that both Python and the page's JavaScript can read: only Python reads 2021_01 and other alphabets' digits.
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# The most bytes of the page that these columns may take together.
MOST_BYTES = 700_000


def fitting(table: pa.Table, covariates: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the columns that fit, identifiers before covariates, and the names of those left out."""
    read = set(covariates)
    order = [name for name in table.column_names if name not in read]
    order += [name for name in table.column_names if name in read]
    kept, left_out, size = [], [], 0
    for name in order:
        values = as_text(name, table[name])
        column = {"name": name, "covariate": name in read, "numeric": is_numeric(values), **_smallest(values)}
        bytes_more = len(as_json(column).encode("utf-8", "replace"))
        if size + bytes_more > MOST_BYTES:
            left_out.append(name)
            continue
        kept.append(column)
        size += bytes_more
    return kept, left_out


def as_text(name: str, column: pa.ChunkedArray) -> list[str | None]:
    """Return the values as text, None for missing ones. Text stays as it is; what Arrow cannot convert, Python does."""
    if kinds.is_category(column.type):
        column = column.cast(column.type.value_type)
    try:
        values: list[str | None] = (column if kinds.is_text(column.type) else kinds.texts(name, column)).to_pylist()
    except ValueError:
        values = [None if value is None else str(value) for value in column.to_pylist()]
    return values


def is_numeric(values: list[str | None]) -> bool:
    """Return whether all text that is not missing can be read as a number, in Python and in the page."""
    known = {value for value in values if value is not None and value not in MISSING}
    return bool(known) and all(NUMBER.fullmatch(value) and isfinite(float(value)) for value in known)


def _smallest(values: list[str | None]) -> dict[str, Any]:
    """Return a column of text as a list, or, if shorter, as its distinct values and each row's index into them."""
    different = list(dict.fromkeys(values))
    if len(different) > min(len(values) / 2, np.iinfo(np.uint16).max):
        return {"values": values}
    places = {value: place for place, value in enumerate(different)}
    return {"different": different, "places": packed([places[value] for value in values], "<u2")}
