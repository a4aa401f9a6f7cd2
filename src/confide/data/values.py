"""What stands in the columns of a table that is read by batches, and what is wrong with it; it can be added up."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.base.validation import check_size, examples
from confide.data import kinds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

# A column of text or categories may have so many different values.
MOST_VALUES = 1_000_000
# Among so many different numbers, so few different words look like words for a missing value.
FEW_WORDS = 3
MANY_NUMBERS = 10
# A column with no value twice in this many rows looks like an identifier.
MANY_ROWS = 20


@dataclass(frozen=True)
class Values:
    """The different values of a column, or some of them, and how many cells hold each.

    Text is stripped of spaces, and null where it means missing.
    """

    values: pa.ChunkedArray
    counts: NDArray[np.int64]

    @classmethod
    def none(cls, kind: pa.DataType) -> Values:
        """Return the values of no cells."""
        empty = kinds.plain(pa.chunked_array([], kind))
        return cls(empty, np.zeros(0, np.int64))

    def joined_with(self, name: str, other: Values) -> Values:
        """Return the values of both; raise if there are too many."""
        if not len(other.values):
            return self
        values = pa.chunked_array([*self.values.chunks, *other.values.chunks], self.values.type)
        table = pa.table({"value": values, "count": np.concatenate([self.counts, other.counts])})
        joined = table.group_by("value", use_threads=False).aggregate([("count", "sum")])
        if len(joined) > MOST_VALUES:
            raise ValueError(
                f"column {name!r} has more than {MOST_VALUES:,} different values as text or categories. If it "
                f"identifies rows, leave it out: --id {name}, or name the covariates. If numbers or dates are stored "
                "as text, store them as such."
            )
        return Values(joined["value"], joined["count_sum"].to_numpy())

    def texts(self, name: str) -> dict[str | None, int]:
        """Return how many cells hold each category, by its standard text; None: missing."""
        found: Counter[str | None] = Counter()
        for text, count in zip(kinds.texts(name, self.values).to_pylist(), self.counts.tolist(), strict=True):
            found[text] += count
        return dict(found)


@dataclass(frozen=True)
class Look:
    """What a pass over rows looks at.

    Attributes
    ----------
    columns : sequence of str
        The columns that are read.
    counted : collection of str
        Those whose values are counted, because they are text or categories.
    complete : mapping of str to str
        Those in which no value may be missing, and what they are, for the message.
    """

    columns: Sequence[str]
    counted: Collection[str]
    complete: Mapping[str, str]

    def none(self, schema: pa.Schema) -> dict[str, Values]:
        """Return what no rows hold."""
        return {name: Values.none(schema.field(name).type) for name in self.columns}

    def at(self, batch: pa.RecordBatch, where: str, start: int) -> dict[str, Values]:
        """Return what some rows hold; raise for what is wrong. ``start`` is the number of rows before them."""
        found = {}
        for name in self.columns:
            column = pa.chunked_array([batch.column(name)])
            if name in self.complete:
                _check_complete(self.complete[name], name, column, where, start)
            if name not in self.counted:
                _check_finite(name, column, where)
            found[name] = counted(column) if name in self.counted else _some(column)
        return found


def joined(first: Mapping[str, Values], second: Mapping[str, Values]) -> dict[str, Values]:
    """Return what the columns of both hold; raise if there are too many values."""
    return {name: values.joined_with(name, second[name]) for name, values in first.items()}


def _check_complete(what: str, name: str, column: pa.ChunkedArray, where: str, start: int) -> None:
    """Raise if a value is missing."""
    missing = np.flatnonzero(kinds.plain(column).is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"{where} has no {what} {name!r} in some rows (such as row {start + missing[0] + 1}). "
            f"{remedy_for_missing(column)}"
        )


def remedy_for_missing(column: pa.ChunkedArray) -> str:
    """Return, for a message, what to do about missing values; words that are read so come first."""
    remedy = "Leave these rows out."
    if kinds.is_category(column.type):
        column = column.cast(column.type.value_type)
    if not kinds.is_text(column.type):
        return remedy
    words = pc.utf8_trim_whitespace(column.cast(pa.large_string())).unique()
    found = sorted(filter(None, words.filter(pc.is_in(words, kinds.MISSING)).to_pylist()))
    if not found:
        return remedy
    are, another = ("is", "another word for it") if len(found) == 1 else ("are", "other words for them")
    read = f"Here {examples(map(repr, found))} {are} read as missing: write {another} if a value is meant."
    return f"{read} {remedy[:-1]} if not."


def warn_of_identifiers(names: Sequence[str], tables: Sequence[pa.Table], stacklevel: int) -> None:
    """Warn, so many calls above, of covariates that look like identifiers in each of the tables, the trial last."""
    for name in names:
        if all(_names_rows(table[name]) for table in reversed(tables)):
            warnings.warn(
                f"column {name!r} has a different value in every row and is used as a covariate; if it only identifies "
                "the rows, give it as --id (in Python: drop the column).",
                stacklevel=stacklevel + 1,
            )


def _names_rows(column: pa.ChunkedArray) -> bool:
    """Return whether the column holds text or integers, with no value twice."""
    if not (kinds.is_text(column.type) or pa.types.is_integer(column.type)):
        return False
    if len(column) < MANY_ROWS or pc.count_distinct(column, "all").as_py() < len(column):
        return False
    written = kinds.plain(column).cast(pa.large_string())
    measured = pc.match_substring_regex(written, r"^[+-]?\d*[.,]\d|^[+-]?\d+[eE]|^\d{4}-\d{2}-\d{2}")
    return not pc.any(measured).as_py()


def words_among_numbers(name: str, columns: Mapping[str, pa.ChunkedArray]) -> str:
    """Return what to say if a column of text is mostly many numbers, and else a few words; "" otherwise.

    Such a column holds categories, one for each number, which is seldom meant.
    """
    for where, column in columns.items():
        if not kinds.is_text(column.type):
            continue
        different = counted(kinds.plain(column).drop_null())
        text, times = different.values, different.counts
        fits = kinds.is_number_text(text)
        cells, numbers = int(times.sum()), int(times[fits].sum())
        words = sorted(text.filter(pa.array(~fits)).to_pylist())
        many = len(text) - len(words) >= MANY_NUMBERS and 2 * numbers > cells
        if many and 0 < len(words) <= FEW_WORDS:
            return (
                f"column {name!r} is taken as categories, although {numbers} of {cells} cells in {where} are "
                f"numbers: the others are {examples(map(repr, words))}. If that means missing, leave these cells "
                f"empty; if categories are meant, declare the column one ({kinds.declare(name)})."
            )
    return ""


def may_be_probabilities(name: str, column: pa.ChunkedArray) -> bool:
    """Return whether a column has a number strictly between 0 and 1 in every row."""
    try:
        kind = kinds.decide(name, {"": column})
        values = kinds.numbers(name, column, kind, finite=False) if kind == kinds.NUMBERS else np.empty(0)
    except ValueError:  # cells of several kinds
        return False
    return bool(len(values) and ((values > 0) & (values < 1)).all())


def _check_finite(name: str, column: pa.ChunkedArray, where: str) -> None:
    """Raise if a number is infinite or too large."""
    if not pa.types.is_floating(column.type):
        return
    values = column.cast(pa.float64())
    if pc.any(pc.is_inf(values)).as_py():
        raise ValueError(
            f"column {name!r} holds infinite values in {where}; mark them as missing, or cut them to a bound."
        )
    ends = [each for each in pc.min_max(values).as_py().values() if each is not None]
    check_size(f"column {name!r} of {where}", np.array(ends, dtype=np.float64))


def counted(column: pa.ChunkedArray) -> Values:
    """Return the values of a column and their counts."""
    counts = pc.value_counts(column)
    return Values(kinds.plain(pa.chunked_array([counts.field("values")])), counts.field("counts").to_numpy())


def _some(column: pa.ChunkedArray) -> Values:
    """Return at most two of a typed column's values: enough to decide its kind as all of them would."""
    known = column.filter(pc.invert(column.is_null(nan_is_null=True)))
    some = known.slice(0, 1)
    if kinds.is_number(known.type):  # among 0 and 1, any other number tells that they are no booleans
        flags = pc.is_in(known.cast(pa.float64(), safe=False), pa.array([0.0, 1.0]))
        some = pa.chunked_array([*some.chunks, *known.filter(pc.invert(flags)).slice(0, 1).chunks], known.type)
    return Values(some, np.ones(len(some), dtype=np.int64))
