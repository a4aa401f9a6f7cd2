"""Data frames of any kind as Arrow tables, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils.validation import check_array

from confide.checks import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

MICROSECONDS_A_DAY = 86_400_000_000


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame that narwhals reads."""
    return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame | nw.LazyFrame)


def read_frame(X: Any) -> nw.DataFrame[Any]:
    """Return X as an eager narwhals frame; a lazy frame is collected."""
    frame = nw.from_native(X)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def read_table(X: Any) -> pa.Table:
    """Return a frame as an Arrow table whose columns have one kind of values and a name of their own each."""
    try:
        frame = read_frame(X)
        names = [str(name) for name in frame.columns]
        table = frame.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ValueError(f"a column mixes kinds of values: {error}. Make each column of one kind.") from error
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have the same name, as text: {examples(names)}; rename one of them.")
    # pandas appends its index where it is not a plain one.
    return table.select(range(len(names))).rename_columns(names)


def read_array(X: Any, least: int = 1) -> NDArray[Any]:
    """Return X as a two-dimensional array of any kind of values; missing ones are allowed."""
    if not isinstance(X, np.ndarray) and isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)  # numbers beside text stay numbers
    array: NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
    return array


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this type are text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_temporal(kind: pa.DataType) -> bool:
    """Return whether values of this type are dates, times or durations."""
    return bool(pa.types.is_temporal(kind))


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of this type are numbers."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def is_empty(column: pa.ChunkedArray) -> bool:
    """Return whether all values are missing, so that the column's type says nothing."""
    return bool(column.null_count == len(column))


def texts(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return the values as text; a whole number reads the same whether it came as an integer or a float."""
    try:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        if pa.types.is_floating(plain.type) and pc.all(pc.equal(plain, pc.round(plain))).as_py():
            plain = plain.cast(pa.int64())
        return plain.cast(pa.string()).combine_chunks()
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} holds values that are not text: {error}.") from error


def numbers(name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the values as floats, dates and durations as days; NaN where missing. Text is read as a number."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    try:
        if is_text(kind):
            values = pc.utf8_trim_whitespace(column).cast(pa.float64()).to_numpy()
        elif is_temporal(kind):
            values = _microseconds(column).cast(pa.float64(), safe=False).to_numpy() / MICROSECONDS_A_DAY
        else:
            values = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} holds values that are not numbers: {error}.") from error
    if np.isinf(values).any():
        raise ValueError(f"column {name!r} holds infinite values; mark them as missing, or cut them to a bound.")
    return np.asarray(values, dtype=np.float64)


def kind_of(column: pa.ChunkedArray) -> str:
    """Return what the values are, in a word or two."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return "booleans"
    if pa.types.is_time(kind):
        return "times of day"
    if pa.types.is_duration(kind):
        return "durations"
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return "instants of a time zone"
    if pa.types.is_temporal(kind):
        return "dates"
    return "text" if is_text(kind) or pa.types.is_dictionary(kind) else "numbers"


def booleans(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text like true, False or 1 as booleans."""
    try:
        return pc.utf8_trim_whitespace(column).cast(pa.bool_())
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} holds values that are not true or false: {error}.") from error


def dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return text as instants if all of it is written like 2024-01-31, with or without a time, or as times like 10:30.

    None if it is not.
    """
    if not is_text(column.type) or is_empty(column):
        return None
    text = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    for kind in (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")):
        try:
            return text.cast(kind)
        except pa.ArrowException:
            continue
    first_day = pc.binary_join_element_wise(pa.scalar("1970-01-01", text.type), text, pa.scalar(" ", text.type))
    try:
        return first_day.cast(pa.timestamp("us")).cast(pa.time64("us"))
    except pa.ArrowException:
        return None


def _microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a temporal column as counts of microseconds, instants in UTC."""
    kind = column.type
    if pa.types.is_duration(kind):
        unit = pa.duration("us")
    elif pa.types.is_time(kind):
        unit = pa.time64("us")
    else:
        unit = pa.timestamp("us", tz=kind.tz if pa.types.is_timestamp(kind) else None)
    return column.cast(unit, safe=False).cast(pa.int64())
