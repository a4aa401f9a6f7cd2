"""Dates, times and durations counted in microseconds."""

from __future__ import annotations

import pyarrow as pa


def unit_of(kind: pa.DataType) -> pa.DataType:
    """Return the type of microseconds that holds values of a temporal type, instants in UTC."""
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return pa.time64("us") if pa.types.is_time(kind) else pa.timestamp("us", getattr(kind, "tz", None))


def in_microseconds(name: str, column: pa.ChunkedArray, unit: pa.DataType) -> pa.ChunkedArray:
    """Return a temporal column in microseconds; finer parts are cut off, and what is too far away is an error."""
    try:
        return column.cast(unit, safe=getattr(column.type, "unit", None) != "ns")
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"column {name!r} holds times too far away to be counted in microseconds, which reach 290,000 years. "
            "Correct them, or leave them empty."
        ) from error
