"""Covariates to numbers, fitted once for all arms.

Numbers, booleans and dates (text like 2024-01-31 too) become one column each, NaN where missing; text and
categories become one column a category, and one that marks the missing. A category that was not there when fitted
belongs to no column.

The encoder may see all rows, calibration rows too, because only *which* columns there are depends on them, and
every learner ignores columns that do not vary over the rows it is fitted on (`confide.learners.SeenColumns`). A
category that only calibration rows have is so treated as a new row's unseen one. Medians of missing numbers are
the learners' own. (Above `MAX_CATEGORIES` categories, which of them have a column depends on all rows' counts.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from confide.checks import examples, suggest
from confide.tables import booleans, dates, is_empty, is_frame, is_text, kind_of, numbers, read_array, read_table, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The most frequent categories of a column get a column each.
MAX_CATEGORIES = 50


@dataclass(frozen=True)
class NumberColumn:
    """A number, boolean, date or duration: the value itself.

    Attributes
    ----------
    kind : str
        What `confide.tables.kind_of` says of the column that it was fitted on.
    """

    name: str
    kind: str

    @property
    def temporal(self) -> bool:
        """Whether the values are dates, times or durations."""
        return self.kind not in ("numbers", "booleans")

    @property
    def names(self) -> list[str]:
        """The name of the encoded column."""
        return [self.name]

    def encode(self, column: pa.ChunkedArray, into: NDArray[np.float64]) -> None:
        """Write the values into a matrix of one column."""
        if is_text(column.type) and not is_empty(column):
            column = self._read(column)
        now = kind_of(column)
        as_good = {"numbers", "booleans", "text"}  # what `numbers` reads, or refuses by its value
        if not is_empty(column) and now != self.kind and not {now, self.kind} <= as_good:
            raise ValueError(f"column {self.name!r} held {self.kind} when fitted and holds {now} now; convert it.")
        into[:, 0] = numbers(self.name, column)

    def _read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return text as what it was when fitted: a file of text has no other kinds."""
        if self.temporal:
            return column if (written := dates(column)) is None else written
        return booleans(self.name, column) if self.kind == "booleans" else column


@dataclass(frozen=True)
class CategoryColumn:
    """Text or categories: one 0/1 column a category, and one for missing."""

    name: str
    categories: tuple[str, ...]
    marked: bool

    @classmethod
    def learn(cls, name: str, column: pa.ChunkedArray) -> CategoryColumn:
        """Learn the most frequent categories."""
        counts = {count["values"]: count["counts"] for count in pc.value_counts(texts(name, column)).to_pylist()}
        marked = counts.pop(None, 0) > 0
        by_frequency = sorted(counts, key=lambda category: (-counts[category], category))
        return cls(name, tuple(sorted(by_frequency[:MAX_CATEGORIES])), marked)

    @property
    def names(self) -> list[str]:
        """A name for each encoded column."""
        return [f"{self.name} = {category}" for category in self.categories] + [f"{self.name} is missing"] * self.marked

    def encode(self, column: pa.ChunkedArray, into: NDArray[np.float64]) -> None:
        """Write 1 into a matrix of zeros where a value is of the column's category."""
        values = texts(self.name, column)
        known = len(self.categories)
        codes = pc.index_in(values, value_set=pa.array(self.categories, pa.string()), skip_nulls=True)
        codes = codes.fill_null(known).to_numpy()
        present = np.flatnonzero(codes < known)
        into[present, codes[present]] = 1
        if self.marked:
            into[values.is_null().to_numpy(zero_copy_only=False), -1] = 1


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, dates, text and categories into a matrix of floats.

    Columns are matched by name, in any order, and columns that were not there when fitted are ignored. An
    array's columns are matched by position.

    Attributes
    ----------
    columns_ : list
        How each column is encoded.
    feature_names_in_ : array
        Names of the columns, where there are any.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Learn which columns and categories there are."""
        table = _table(X)
        if not table.num_columns:
            raise ValueError("there are no covariates: give at least one column.")
        if not table.num_rows:
            raise ValueError("there are no rows to learn the encoding from.")
        self.by_name_ = is_frame(X)
        self.columns_ = [_learn_column(name, table.column(name)) for name in table.column_names]
        self.n_features_in_ = len(self.columns_)
        if self.by_name_:
            self.feature_names_in_ = np.array(table.column_names, dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the encoded covariates, one row a row of X."""
        check_is_fitted(self)
        if self.by_name_ and not is_frame(X):
            raise ValueError("the model was fitted on a table with named columns: give a table, not an array.")
        table = _table(X, least=0)
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
        ends = np.cumsum([len(column.names) for column in self.columns_])
        encoded = np.zeros((len(table), ends[-1]))
        for column, into in zip(self.columns_, np.split(encoded, ends[:-1], axis=1), strict=True):
            column.encode(table.column(column.name), into)
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return a name for each column of the matrix."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _table(X: Any, least: int = 1) -> pa.Table:
    """Return a frame or an array as an Arrow table."""
    if is_frame(X):
        return read_table(X)
    array = read_array(X, least)
    return pa.table({f"x{index}": _array_column(array[:, index]) for index in range(array.shape[1])})


def _array_column(values: NDArray[Any]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ValueError(f"a column mixes kinds of values: {error}. Make each column of one kind.") from error


def _learn_column(name: str, column: pa.ChunkedArray) -> NumberColumn | CategoryColumn:
    if (written := dates(column)) is not None:
        return NumberColumn(name, kind_of(written))
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        return CategoryColumn.learn(name, column)
    numbers(name, column)  # a column that is neither is refused here, not when predicting
    return NumberColumn(name, kind_of(column))
