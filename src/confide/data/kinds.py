"""The kind of values in a column: decided once from all tables together, then read the same way from every format.

A *kind* is decided before any value is changed, from the types of typed columns and the cells of text. Text is read by
its content: numbers that came as text (as every column of a CSV file does) are numbers in every format. A declared
category, or a categorical column of a frame, is a category whatever its values look like.

No single row turns one kind into another: if nearly all cells are of one kind, the others raise an error that names
them. Reading is a fixed function of a cell and the column's kind, so a calibration row and a new row are read alike.

The module is long because deciding and reading must agree cell by cell: both use the same patterns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.base.validation import check_size, examples, short
from confide.data.times import in_microseconds, unit_of
from confide.data.twins import composed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

NUMBERS = "numbers"
BOOLEANS = "booleans"
DATES = "dates"
INSTANTS = "instants of a time zone"
TIMES = "times of day"
DURATIONS = "durations"
CATEGORIES = "categories"

MICROSECONDS_A_DAY = 86_400_000_000
# Text that means a missing value, in files and frames alike: what pyarrow and pandas read as missing in CSV files.
MISSING = pa.array(
    [
        *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None", "none", "NaT"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ],
    pa.large_string(),
)
# Booleans may be written as the numbers 0 and 1; numbers are never written as booleans.
READ_AS = {BOOLEANS: NUMBERS}
# If at least this share of a column's cells is of one kind, the other cells are errors, not categories.
NEARLY_ALL = 0.9
# Messages show so many cells.
SHOWN = 3
# Messages offer a category for at most so many different values, with at least so many cells each on average.
FEW_VALUES = 50
CELLS_A_VALUE = 2
# Whole floats up to this value are written like integers.
LARGEST_WHOLE = 2.0**53

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"
CODE = r"^[+-]?0\d"  # 007 is a code, not a number: a number would lose the zeros
COMMA_NUMBER = r"^[+-]?(\d+,\d+|\d{1,3}(,\d{3})+(\.\d*)?)$"
BOOLEAN = r"^(?i:true|false)$"
DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}(:?\d{2}(:?\d{2}(\.\d+)?)?)?)?$"
INSTANT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}(:?\d{2}(:?\d{2}(\.\d+)?)?)? ?(Z|[+-]\d{2}:?(\d{2})?)$"
TIME = r"^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
PATTERNS = {NUMBERS: NUMBER, BOOLEANS: BOOLEAN, DATES: DATE, INSTANTS: INSTANT, TIMES: TIME}
DECIMAL_COMMA = "--decimal ',' says that commas are decimal points; or write 1234.5"
WRITTEN_LIKE = {DATES: "2024-01-31", INSTANTS: "2024-01-31T10:30:00Z", TIMES: "10:30"}
OTHER_DATE = r"^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?([T ,].*)?$"


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this type are text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of this type are numbers."""
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def is_category(kind: pa.DataType) -> bool:
    """Return whether a column of this type was declared a category."""
    return bool(pa.types.is_dictionary(kind))


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with null for text that means missing, text stripped of spaces, and categories as values."""
    if is_category(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return column
    text = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    return pc.if_else(pc.is_in(text, MISSING), pa.scalar(None, text.type), text)


def is_empty(column: pa.ChunkedArray) -> bool:
    """Return whether all values are missing, so that the column has no kind."""
    if is_text(column.type):
        column = pa.chunked_array([column.unique()])  # each value is looked at once
    return bool(plain(column).is_null(nan_is_null=True).to_numpy().all())


@dataclass(frozen=True)
class Written:
    """The kind of one table's column, by its cells.

    Attributes
    ----------
    kind : str
        The kind of all cells, or of nearly all; "categories" if no kind has that many.
    cells : int
        Number of cells that are not missing.
    odd : int
        Number of cells that are not of the kind.
    shown : list of str
        Some of those, with the row or the number of times.
    few : bool
        Whether there are cells not of the kind, and few different values in all, as categories have.
    """

    kind: str
    cells: int
    odd: int = 0
    shown: list[str] = field(default_factory=list)
    few: bool = False

    @classmethod
    def at(cls, name: str, column: pa.ChunkedArray, counts: NDArray[np.int64] | None = None) -> Written:
        """Return the kind of a column's cells: by its type, or by its content if it is text."""
        if is_text(column.type):
            if counts is None:  # each value is looked at once, unless there are cells whose row must be told
                seen = pc.value_counts(column)
                values = pa.chunked_array([seen.field("values")])
                found = _look_at_text(name, plain(values), seen.field("counts").to_numpy())
                if not found.odd:
                    return found
            return _look_at_text(name, plain(column), counts)
        return cls(_kind_of_type(name, column), len(column))


def decide(
    name: str,
    tables: Mapping[str, pa.ChunkedArray],
    *,
    category: bool = False,
    counts: Mapping[str, NDArray[np.int64]] | None = None,
) -> str:
    """Return the kind of a column of one or several tables; the keys are the tables' names for messages.

    Raises a ValueError if cells do not fit, or if the tables disagree so that no reading of them is safe.
    ``category`` declares a category. For tables in ``counts`` the column has each value once, and the counts are the
    numbers of cells that hold it.
    """
    if category or any(is_category(column.type) for column in tables.values()):
        return CATEGORIES
    counts = counts or {}
    seen = {
        where: Written.at(name, column, counts.get(where)) for where, column in tables.items() if not is_empty(column)
    }
    for where, found in seen.items():
        if found.odd:
            raise ValueError(_odd_cells(name, where, found))
    kinds = {found.kind for found in seen.values()}
    if not kinds:
        return NUMBERS
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {NUMBERS, BOOLEANS} and all(_only_0_and_1(name, tables[where]) for where in seen):
        return BOOLEANS
    if CATEGORIES in kinds and _share_values(name, {where: tables[where] for where in seen}, seen, counts):
        return CATEGORIES
    shown = "; ".join(
        f"{_in(where)}{found.kind} (such as {_shown(name, tables[where])})".strip() for where, found in seen.items()
    )
    raise ValueError(
        f"column {name!r} is not of one kind: {shown}. Write it alike in all tables, or declare it a category "
        f"({declare(name)})."
    )


def numbers(name: str, column: pa.ChunkedArray, kind: str = NUMBERS, *, finite: bool = True) -> NDArray[np.float64]:
    """Return the values of a column of any kind but categories as floats, NaN where missing.

    Booleans are 0 and 1, dates and durations days. Text is read as the kind says. With ``finite``, infinite values are
    an error.
    """
    column = plain(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    typed = column
    if is_text(column.type):
        typed = _read_text(name, column, kind)
    elif not is_empty(column) and (now := _kind_of_type(name, column)) not in (kind, READ_AS.get(kind)):
        raise ValueError(f"column {name!r} held {kind} when fitted and holds {now} now; convert it.")
    try:
        if pa.types.is_temporal(typed.type):
            counts = in_microseconds(name, typed, unit_of(typed.type)).cast(pa.int64())
            values = counts.cast(pa.float64(), safe=False).to_numpy() / MICROSECONDS_A_DAY
        else:
            values = np.asarray(typed.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} holds values that are not numbers: {error}.") from error
    if finite and np.isinf(values).any():
        raise ValueError(f"column {name!r} holds infinite values; mark them as missing, or cut them to a bound.")
    if finite:
        check_size(f"column {name!r}", values)
    if kind == BOOLEANS and not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise ValueError(f"column {name!r} held booleans when fitted and holds other numbers than 0 and 1 now.")
    return np.asarray(values, dtype=np.float64)


def categories(name: str, column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the values as text, each in one standard form.

    Text is stripped of spaces and in one form of Unicode (é is one sign); 2.0 becomes 2, 2.50 becomes 2.5 and True
    becomes true. Leading zeros stay: 01 is not 1.
    """
    try:
        encoded = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(encoded, pa.ChunkedArray):  # columns without a chunk, or with too many values for one
            encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], encoded.type)
        if pa.types.is_null(encoded.type):
            encoded = encoded.cast(pa.large_string())
        if not is_category(encoded.type):
            encoded = encoded.dictionary_encode()
        written = _written(encoded.dictionary)
    except (pa.ArrowException, NotImplementedError) as error:
        raise ValueError(f"column {name!r} holds values that are not text: {error}.") from error
    # Different values may have the same text now, and some mean missing.
    codes = written.dictionary_encode()
    return pa.DictionaryArray.from_arrays(pc.take(codes.indices, encoded.indices), codes.dictionary)


def texts(name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return the values of `categories` as plain text."""
    return categories(name, column).cast(pa.large_string())


def temporal(name: str, column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Return dates, times or durations in the one type of their kind, from any type or text."""
    column = plain(column)
    if is_text(column.type):
        column = _read_text(name, column, kind)
    target = {
        DATES: pa.timestamp("us"),
        INSTANTS: pa.timestamp("us", "UTC"),
        TIMES: pa.time64("us"),
        DURATIONS: pa.duration("us"),
    }[kind]
    return in_microseconds(name, column, target)


def booleans(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return booleans, read from true and false or from 1 and 0."""
    values = numbers(name, column, BOOLEANS)
    return pa.chunked_array([pa.array(values == 1, pa.bool_(), mask=np.isnan(values))])


def _written(values: pa.Array) -> pa.Array:
    """Return distinct values as text in their standard form."""
    if pa.types.is_floating(values.type):
        whole = pc.and_(pc.equal(values, pc.round(values)), pc.less_equal(pc.abs(values), LARGEST_WHOLE))
        short = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        integers = pc.if_else(whole, short, pa.scalar(None, values.type)).cast(pa.int64()).cast(pa.large_string())
        return pc.coalesce(integers, short.cast(pa.large_string()))
    text = composed(plain(values.cast(pa.large_string())))
    text = pc.replace_substring_regex(text, r"^([+-]?\d+)\.0*$", r"\1")
    text = pc.replace_substring_regex(text, r"^([+-]?\d+\.\d*[1-9])0+$", r"\1")
    return pc.if_else(pc.match_substring_regex(text, BOOLEAN), pc.utf8_lower(text), text)


def _look_at_text(name: str, text: pa.ChunkedArray, counts: NDArray[np.int64] | None) -> Written:
    """Return the kind of nearly all cells, and the cells that are not of it."""
    known = ~text.is_null().to_numpy()
    times = known.astype(np.int64) if counts is None else counts * known
    cells = int(times.sum())
    if not cells:
        return Written(CATEGORIES, 0)
    for kind, pattern in PATTERNS.items():
        odd = known & ~(is_number_text(text) if kind == NUMBERS else _matches(text, pattern))
        if times[odd].sum() <= (1 - NEARLY_ALL) * cells:
            shown = [
                f"{short(repr(text[place].as_py()))} "
                f"({f'row {place + 1}' if counts is None else f'{times[place]} times'})"
                for place in np.flatnonzero(odd)[: SHOWN + 1].tolist()
            ]
            return Written(kind, cells, int(times[odd].sum()), shown, bool(shown) and _are_few(text, cells))
    for what, pattern, remedy in (
        ("numbers with commas", COMMA_NUMBER, DECIMAL_COMMA),
        ("dates in a notation that is not known", OTHER_DATE, f"write them like 2024-01-31; {_left_out(name)}"),
    ):
        like = _matches(text, pattern)
        if like.any() and times[like | is_number_text(text)].sum() >= NEARLY_ALL * cells:
            first = short(repr(text[int(np.flatnonzero(like)[0])].as_py()))
            more = f"; or declare it a category ({declare(name)})" if _are_few(text, cells) else ""
            raise ValueError(f"column {name!r} holds {what}, such as {first}: {remedy}{more}.")
    return Written(CATEGORIES, cells)


def _are_few(text: pa.ChunkedArray, cells: int) -> bool:
    """Return whether so many cells have few different values, as categories have."""
    return int(pc.count_distinct(text).as_py()) <= min(FEW_VALUES, cells / CELLS_A_VALUE)


def _matches(text: pa.ChunkedArray, pattern: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(text, pattern).fill_null(False).to_numpy())


def is_number_text(text: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which cells are numbers; those with leading zeros are codes."""
    try:
        text.cast(pa.float64())  # the quick way, if all of them are numbers
        numeric = np.asarray(text.is_valid().to_numpy())
    except pa.ArrowException:
        numeric = _matches(text, NUMBER)
    return numeric & ~_matches(text, CODE)


def _read_text(name: str, text: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Return text as values of the kind; raise with the first cell that is not of it."""
    if kind not in (NUMBERS, BOOLEANS):
        return _read_temporal(name, text, kind)
    fits = is_number_text(text) if kind == NUMBERS else _matches(text, BOOLEAN) | _matches(text, "^[01]$")
    odd = np.flatnonzero(~text.is_null().to_numpy() & ~fits)
    if len(odd):
        first = text.slice(int(odd[0]), 1)
        comma = kind == NUMBERS and _matches(first, COMMA_NUMBER).all()
        remedy = f"In CSV files {DECIMAL_COMMA}." if comma else "Correct the cell, or leave it empty."
        cell = short(repr(first[0].as_py()))
        raise ValueError(f"column {name!r} holds {kind}, and {cell} is not one of them. {remedy}")
    return text.cast(pa.float64() if kind == NUMBERS else pa.bool_())


def _read_temporal(name: str, text: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if kind not in WRITTEN_LIKE:
        raise ValueError(f"column {name!r} held {kind} when fitted and holds text now; convert it.")
    try:
        return _cast_temporal(text, kind)
    except pa.ArrowException as error:
        cell = next(cell for cell in text.unique() if not _is_temporal(cell, kind)).as_py()
        raise ValueError(
            f"column {name!r} holds {kind}, and {short(repr(cell))} is not one of them. Write it like "
            f"{WRITTEN_LIKE[kind]}, or leave the cell empty."
        ) from error


def _cast_temporal(text: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if kind == TIMES:
        first_day = pc.binary_join_element_wise(pa.scalar("1970-01-01", text.type), text, pa.scalar(" ", text.type))
        return first_day.cast(pa.timestamp("us")).cast(pa.time64("us"))
    zone = "UTC" if kind == INSTANTS else None
    try:
        return text.cast(pa.timestamp("us", zone))
    except pa.ArrowException:
        return text.cast(pa.timestamp("ns", zone))


def _is_temporal(cell: pa.Scalar, kind: str) -> bool:
    try:
        _cast_temporal(pa.chunked_array([pa.array([cell])]), kind)
    except pa.ArrowException:
        return False
    return True


def _kind_of_type(name: str, column: pa.ChunkedArray) -> str:
    """Return the kind of a typed column."""
    tests = {
        BOOLEANS: pa.types.is_boolean,
        TIMES: pa.types.is_time,
        DURATIONS: pa.types.is_duration,
        INSTANTS: lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
        DATES: lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
        NUMBERS: lambda kind: is_number(kind) or pa.types.is_null(kind),
    }
    for found, test in tests.items():
        if test(column.type):
            return found
    raise ValueError(f"column {name!r} holds values that are not numbers, dates or text but {column.type}; convert it.")


def _only_0_and_1(name: str, column: pa.ChunkedArray) -> bool:
    values = numbers(name, column, BOOLEANS if Written.at(name, column).kind == BOOLEANS else NUMBERS)
    return bool(np.isin(values[~np.isnan(values)], (0, 1)).all())


def _share_values(
    name: str,
    tables: Mapping[str, pa.ChunkedArray],
    seen: Mapping[str, Written],
    counts: Mapping[str, NDArray[np.int64]],
) -> bool:
    """Return whether the tables without categories hold mostly values that the tables with categories have too."""
    known = pa.concat_arrays([texts(name, tables[where]) for where in tables if seen[where].kind == CATEGORIES])
    for where in tables:
        if seen[where].kind == CATEGORIES:
            continue
        values = texts(name, tables[where])
        there = values.is_valid().to_numpy(zero_copy_only=False)
        shared = there & pc.is_in(values, known.unique()).to_numpy(zero_copy_only=False)
        times = counts.get(where, np.ones(len(values), dtype=np.int64))
        if times[shared].sum() < times[there].sum() / 2:
            return False
    return True


def _odd_cells(name: str, where: str, found: Written) -> str:
    shown = examples(found.shown, SHOWN)
    remedy = "Correct the cell, or leave it empty" if found.odd == 1 else "Correct the cells, or leave them empty"
    of_table = f" of {where}" if where else ""
    more = f"; or declare the column a category ({declare(name)})" if found.few else ""
    return (
        f"column {name!r}{of_table} holds {found.kind} but for {found.odd} of {found.cells} cells: {shown}. "
        f"{remedy}; {_left_out(name)}{more}."
    )


def _shown(name: str, column: pa.ChunkedArray) -> str:
    return examples([repr(value) for value in texts(name, column).drop_null().unique().to_pylist()], 3)


def _in(where: str) -> str:
    return f"in {where} " if where else ""


def declare(name: str) -> str:
    """Return how a column is declared a category."""
    return f"--category {_word(name)}, stack(categories=[{name!r}]), or a categorical column in a frame"


def _left_out(name: str) -> str:
    """Return, for a message, how a column is left out, if it is a covariate."""
    return f"or leave a covariate out (--id {_word(name)}, --covariates without it, or drop the column of a frame)"


def _word(name: str) -> str:
    return name if name.isprintable() else repr(name)  # an error is one line, whatever a column is called
