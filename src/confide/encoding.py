"""Covariates to numbers, fitted once for all arms.

Numbers, booleans and dates become one column each, text and categories one column a category. Missing numbers
are replaced by the median, and marked by a column of their own where some were missing when fitted. A category
that was not seen when fitted belongs to none of the columns, or to the shared one of the rare categories.

Only covariates are looked at, never outcomes. Categories and medians come from all rows: a new row whose
category nobody has is encoded otherwise than a calibration row that is alone in its category.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from confide.checks import examples, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# The most frequent categories of a column get a column each, the others share one.
MAX_CATEGORIES = 50
MICROSECONDS_A_DAY = 86_400_000_000
# What measures time becomes a count of microseconds, by way of the type beside it.
TEMPORAL = {
    pa.types.is_date: pa.timestamp("us"),
    pa.types.is_timestamp: pa.timestamp("us"),
    pa.types.is_duration: pa.duration("us"),
    pa.types.is_time: pa.time64("us"),
}


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame that narwhals reads."""
    return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame | nw.LazyFrame)


def read_frame(X: Any) -> nw.DataFrame[Any]:
    """Return X as an eager narwhals frame; a lazy frame is collected."""
    frame = nw.from_native(X)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def read_array(X: Any) -> NDArray[Any]:
    """Return X as a two-dimensional array of any kind of values; missing ones are allowed."""
    array: NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False)
    return array


@dataclass(frozen=True)
class NumberColumn:
    """A number, boolean, date or duration: the value itself, and whether it was missing."""

    name: str
    median: float
    marked: bool

    @classmethod
    def learn(cls, name: str, column: pa.ChunkedArray) -> NumberColumn:
        """Learn the median, and whether a value is missing."""
        values = _numbers(name, column)
        missing = np.isnan(values)
        median = 0.0 if missing.all() else float(np.median(values[~missing]))
        return cls(name, median, bool(missing.any()))

    @property
    def names(self) -> list[str]:
        """A name for each encoded column."""
        return [self.name] + [f"{self.name} is missing"] * self.marked

    def encode(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the encoded columns, one row a value."""
        values = _numbers(self.name, column)
        missing = np.isnan(values)
        filled = np.where(missing, self.median, values)
        return np.column_stack([filled, missing] if self.marked else [filled])


@dataclass(frozen=True)
class CategoryColumn:
    """Text or categories: one 0/1 column a category, one for the rare ones, one for missing."""

    name: str
    categories: tuple[str, ...]
    rare: bool
    marked: bool

    @classmethod
    def learn(cls, name: str, column: pa.ChunkedArray) -> CategoryColumn:
        """Learn the most frequent categories."""
        texts = _texts(column)
        counts = {count["values"]: count["counts"] for count in pc.value_counts(texts).to_pylist()}
        marked = counts.pop(None, 0) > 0
        by_frequency = sorted(counts, key=lambda category: (-counts[category], category))
        return cls(name, tuple(sorted(by_frequency[:MAX_CATEGORIES])), len(counts) > MAX_CATEGORIES, marked)

    @property
    def names(self) -> list[str]:
        """A name for each encoded column."""
        listed = [f"{self.name} = {category}" for category in self.categories]
        return listed + [f"{self.name} is rare"] * self.rare + [f"{self.name} is missing"] * self.marked

    def encode(self, column: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the encoded columns, one row a value."""
        texts = _texts(column)
        known = len(self.categories)
        codes = pc.index_in(texts, value_set=pa.array(self.categories, pa.string()), skip_nulls=True)
        codes = codes.fill_null(known).to_numpy()
        missing = texts.is_null().to_numpy(zero_copy_only=False)
        encoded = np.zeros((len(codes), known + self.rare + self.marked))
        present = np.flatnonzero(codes < known)
        encoded[present, codes[present]] = 1
        if self.rare:
            encoded[(codes == known) & ~missing, known] = 1
        if self.marked:
            encoded[missing, -1] = 1
        return encoded


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, dates, text and categories into a matrix of floats.

    Columns are matched by name, in any order, and columns that were not there when fitted are ignored. An
    array's columns are matched by position.

    Attributes
    ----------
    columns_ : list
        How each column is encoded.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Learn categories and medians."""
        table = _table(X)
        if not table.num_columns:
            raise ValueError("there are no covariates: give at least one column.")
        if not table.num_rows:
            raise ValueError("there are no rows to learn the encoding from.")
        self.by_name_ = is_frame(X)
        self.columns_ = [_learn_column(name, table.column(name)) for name in table.column_names]
        self.n_features_in_ = len(self.columns_)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the encoded covariates, one row a row of X."""
        check_is_fitted(self)
        if self.by_name_ and not is_frame(X):
            raise ValueError("the model was fitted on a table with named columns: give a table, not an array.")
        table = _table(X)
        if not self.by_name_:
            if table.num_columns != len(self.columns_):
                raise ValueError(
                    f"X has {table.num_columns} features, but TableEncoder is expecting "
                    f"{len(self.columns_)} features as input."
                )
            table = table.rename_columns([column.name for column in self.columns_])
        missing = [column.name for column in self.columns_ if column.name not in table.column_names]
        if missing:
            raise ValueError(f"columns missing: {examples(missing)}; {suggest(missing[0], table.column_names)}")
        return np.column_stack([column.encode(table.column(column.name)) for column in self.columns_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return a name for each column of the matrix."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _table(X: Any) -> pa.Table:
    """Return a frame or an array as an Arrow table."""
    if is_frame(X):
        try:
            return read_frame(X).to_arrow()
        except pa.ArrowException as error:
            raise ValueError(f"a covariate mixes kinds of values: {error}. Make each column of one kind.") from error
    array = read_array(X)
    return pa.table({f"x{index}": _array_column(array[:, index]) for index in range(array.shape[1])})


def _array_column(values: NDArray[Any]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except pa.ArrowException as error:
        raise ValueError(f"a covariate mixes kinds of values: {error}. Make each column of one kind.") from error


def _learn_column(name: str, column: pa.ChunkedArray) -> NumberColumn | CategoryColumn:
    kind = _value_type(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return CategoryColumn.learn(name, column)
    return NumberColumn.learn(name, column)


def _value_type(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of the values, seen through a dictionary of categories."""
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Return the values as text."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.string()).combine_chunks()


def _numbers(name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the values as floats, dates and durations as days; NaN where missing."""
    kind = _value_type(column)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    microseconds = next((unit for is_kind, unit in TEMPORAL.items() if is_kind(kind)), None)
    try:
        plain = column.cast(kind)
        if microseconds is not None:
            plain = plain.cast(microseconds, safe=False).cast(pa.int64())
        values: NDArray[np.float64] = plain.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} holds values that are not numbers: {error}.") from error
    if microseconds is not None:
        values = values / MICROSECONDS_A_DAY
    if np.isinf(values).any():
        raise ValueError(f"column {name!r} holds infinite values; mark them as missing, or cut them to a bound.")
    return values


def frame_columns(frame: nw.DataFrame[Any], names: Sequence[str], table: str) -> nw.DataFrame[Any]:
    """Return the named columns, or a ValueError that says which table lacks which and what is near."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"the {table} table has no column {examples(missing)}; {suggest(missing[0], frame.columns)}")
    return frame.select(names)
