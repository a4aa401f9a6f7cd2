"""Encoding of covariates as numbers.

Numbers, booleans and dates become one column each, NaN where missing: a fixed function of the value. Categories become
one column per frequent category, and one that marks missing values. In a column with many categories the rarer ones
share columns by a hash of their names, which does not depend on any row. A category that was not seen in training has
no column of its own.

The frequent categories are learnt from rows, and a row that was learnt from is encoded differently from a new one. So
`CounterfactualIntervals` learns them from rows that are not used for calibration. The kind of a column may be decided
from all rows (`confide.data.kinds`), because no single row changes it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from confide.base.cache import make_once, same
from confide.base.threads import threads_for
from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.arrow import is_frame, read_array, read_table, take_rows, wide
from confide.data.twins import twins
from confide.exceptions import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from confide.data.large_table import Beyond
    from confide.typing import Table

# The most frequent categories of a column get a column each; if there are more, the others share this many columns.
MAX_CATEGORIES = 50
SHARED_COLUMNS = 50


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, booleans, dates or durations, encoded as the value itself.

    Attributes
    ----------
    kind : str
        The kind of values, as `confide.data.kinds` names it.
    """

    name: str
    kind: str

    @property
    def temporal(self) -> bool:
        """Whether the values are dates, times or durations."""
        return self.kind not in (kinds.NUMBERS, kinds.BOOLEANS)

    @property
    def names(self) -> list[str]:
        """The name of the encoded column."""
        return [self.name]

    def encode(self, column: pa.ChunkedArray, into: NDArray[np.float64]) -> None:
        """Write the values into a matrix of one column."""
        into[:, 0] = kinds.numbers(self.name, column, self.kind)


@dataclass(frozen=True)
class CategoryColumn:
    """A column of text or categories: one 0/1 column per frequent category, some for all others, one for missing.

    Attributes
    ----------
    categories : tuple of str
        The categories with a column of their own.
    shared : int
        Number of columns that the other categories share; 0 if there were no others.
    marked : bool
        Whether a column marks missing values.
    """

    name: str
    categories: tuple[str, ...]
    marked: bool
    shared: int = 0

    @classmethod
    def learn(
        cls, name: str, column: pa.ChunkedArray, also: Mapping[str | None, int] = MappingProxyType({})
    ) -> CategoryColumn:
        """Learn the most frequent categories, from a column and the counts of further rows."""
        counts = Counter(also)
        for found in pc.value_counts(kinds.texts(name, column)).to_pylist():
            counts[found["values"]] += found["counts"]
        return cls.of_counts(name, counts)

    @classmethod
    def of_counts(cls, name: str, counts: Mapping[str | None, int]) -> CategoryColumn:
        """Learn the most frequent categories from the number of rows that hold each; None: missing."""
        marked = counts.get(None, 0) > 0
        known = [category for category in counts if category is not None]
        by_frequency = sorted(known, key=lambda category: (-counts[category], category))
        shared = SHARED_COLUMNS if len(by_frequency) > MAX_CATEGORIES else 0
        return cls(name, tuple(sorted(by_frequency[:MAX_CATEGORIES])), marked, shared)

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        own = [f"{self.name} = {category}" for category in self.categories]
        others = [f"{self.name} = others {number + 1}" for number in range(self.shared)]
        return [*own, *others, *[f"{self.name} is missing"] * self.marked]

    def encode(self, column: pa.ChunkedArray, into: NDArray[np.float64]) -> None:
        """Write 1 into a matrix of zeros where a value belongs to the column's category."""
        values = kinds.categories(self.name, column)
        own = {category: place for place, category in enumerate(self.categories)}
        places = np.array([self._place(category, own) for category in values.dictionary.to_pylist()], dtype=np.intp)
        missing = values.is_null().to_numpy(zero_copy_only=False)
        present = np.flatnonzero(~missing)
        chosen = places[np.asarray(values.indices.drop_null())] if len(present) else places[:0]
        into[present[chosen >= 0], chosen[chosen >= 0]] = 1
        if self.marked:
            into[missing, -1] = 1

    def _place(self, category: str, own: Mapping[str, int]) -> int:
        """Return the column of a category, -1 for none; it depends on the category's name only."""
        if category in own or not self.shared:
            return own.get(category, -1)
        return len(own) + zlib.crc32(category.encode()) % self.shared


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, booleans, dates, text and categories into a matrix of floats.

    Columns are matched by name, in any order; columns that were not there in ``fit`` are ignored. An array's
    columns are matched by position.

    Parameters
    ----------
    kinds : dict, default None
        The kind of each column (`confide.data.kinds`), decided beforehand. None: decided by the rows given to ``fit``.

    Attributes
    ----------
    columns_ : list
        How each column is encoded.
    feature_names_in_ : array
        Names of the columns, where there are any.
    """

    def __init__(self, kinds: Mapping[str, str] | None = None) -> None:
        self.kinds = kinds

    def fit(
        self,
        X: Table,
        y: ArrayLike | None = None,  # noqa: ARG002  (scikit-learn's signature)
        *,
        rows: NDArray[np.bool_] | None = None,
        beyond: Beyond | None = None,
    ) -> Self:
        """Learn the columns, and the categories of all rows or of those of a mask.

        They are learnt also from rows beyond X, if what those hold is known.
        """
        table = as_table(X, least=0 if self.kinds else 1)
        chosen = None if rows is None else pa.array(rows)
        if not table.num_columns:
            raise ValueError("there are no covariates: give at least one column.")
        if not (table.num_rows or self.kinds):
            raise ValueError("there are no rows to learn the encoding from.")
        self.by_name_ = is_frame(X)
        found = kinds_of(table) if self.kinds is None else self.kinds
        self.columns_ = [
            CategoryColumn.learn(
                name,
                table.column(name) if chosen is None else table.column(name).filter(chosen),
                {} if beyond is None else beyond.categories[name],
            )
            if found[name] == kinds.CATEGORIES
            else NumberColumn(name, found[name])
            for name in table.column_names
        ]
        self.n_features_in_ = len(self.columns_)
        if self.by_name_:
            self.feature_names_in_ = np.array(table.column_names, dtype=object)
        return self

    def transform(self, X: Table) -> NDArray[np.float64]:
        """Return the encoded covariates, one row per row of X."""
        table = self.named(X)
        ends = np.cumsum([len(column.names) for column in self.columns_])
        encoded = np.zeros((len(table), ends[-1]))
        for column, into in zip(self.columns_, np.split(encoded, ends[:-1], axis=1), strict=True):
            column.encode(table.column(column.name), into)
        return encoded

    def named(self, X: Table) -> pa.Table:
        """Return X as a table with the columns by their names in `columns_`; raise if one is missing."""
        check_is_fitted(self)
        if self.by_name_ and not is_frame(X):
            raise ValueError("the model was fitted on a table with named columns: give a table, not an array.")
        table = as_table(X, least=0)
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
        return table

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the matrix's columns."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.names], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def near_misses(encoder: Any, rows: pa.Table) -> str:
    """Return what to say if rows have categories that differ by case or spaces from those of a fitted encoder."""
    for column in getattr(encoder, "columns_", []):
        if isinstance(column, CategoryColumn) and column.name in rows.column_names:
            known = set(column.categories)
            new = set(kinds.categories(column.name, rows[column.name]).dictionary.to_pylist()) - known - {None}
            pairs = [each for each in twins([*known, *new]) if known & {*each} and new & {*each}]
            if pairs:
                shown = examples([" and ".join(map(repr, each)) for each in pairs], 3)
                return (
                    f"column {column.name!r} of the new rows has categories that differ by case or spaces only from "
                    f"those that the model knows: {shown}. They are treated as unknown; write them alike if they are "
                    "the same."
                )
    return ""


def as_table(X: Table, least: int = 1) -> pa.Table:
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


def kinds_of(X: Table) -> dict[str, str]:
    """Return the kind of each column of a frame or an array, decided by all its rows."""
    table = X if isinstance(X, pa.Table) else as_table(X)
    return {name: kinds.decide(name, {"": table.column(name)}) for name in table.column_names}


def fitted_encoder(encoder: Any, X: Table, learns: NDArray[np.bool_], beyond: Beyond | None = None) -> Any:
    """Return an encoder fitted on the rows of the mask; the kind of each column is decided by all rows.

    Parameters
    ----------
    encoder : "auto" or transformer
        "auto": `TableEncoder`; another one is cloned.
    X : frame or array
        Covariates.
    learns : (n,) boolean array
        The rows that it learns from.
    beyond : Beyond or None
        What is known of further rows, which calibrate nothing: "auto" learns from them too.
    """
    if encoder != "auto" and not (hasattr(encoder, "fit") and hasattr(encoder, "transform")):
        raise ValueError(f"encoder must be 'auto' or a scikit-learn transformer, got {encoder!r}.")
    with threads_for(X):
        if encoder != "auto":
            if not learns.any():
                raise RefusalError(
                    f"0 of {len(learns)} rows are left for the encoder to learn from, and it needs at least 1: all "
                    "others calibrate, or are of a cluster that does. Use encoder='auto', or give more rows."
                )
            return clone(encoder).fit(wide(take_rows(X, learns)))
        held = make_once(kinds_of, X) if beyond is None else beyond.kinds
        return same(TableEncoder(held).fit(X, rows=learns, beyond=beyond))


def encoded_by(encoder: Any, X: Table, *, own: bool) -> NDArray[np.float64]:
    """Return covariates as numbers by a fitted encoder; an error says so if it is the caller's own."""
    try:
        with threads_for(X):
            return dense(encoder.transform(wide(X) if own else X))
    except ValueError as error:
        if not own:
            raise
        raise ValueError(
            f"the encoder does not accept these rows: {error} It is fitted on rows that do not calibrate, and must "
            "accept unseen values, as OneHotEncoder(handle_unknown='ignore') does."
        ) from error


def encoded_table(encoder: TableEncoder, X: Table) -> NDArray[np.float64]:
    """Return covariates as numbers, a new matrix, by the encoder of tables."""
    return encoded_by(encoder, X, own=False)


class EncodedRows:
    """Covariates as numbers, encoded where they are asked for, so that no more rows than needed are in memory at once.

    ``rows[places]`` and ``rows[mask]`` are matrices, and so is ``np.asarray(rows)``.

    Parameters
    ----------
    encoder : fitted transformer
        The encoder.
    X : frame or array
        Covariates.
    own : bool
        Whether the encoder is the caller's own.
    places : array of integers, default None
        The rows of X that are meant; None: all.
    """

    def __init__(self, encoder: Any, X: Table, *, own: bool, places: NDArray[np.intp] | None = None) -> None:
        self.encoder, self.X, self.own = encoder, X, own
        self.places = np.arange(len(X)) if places is None else places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        places = self.places[rows]
        if not len(places) and len(self.X):  # not every transformer takes no rows
            return encoded_by(self.encoder, take_rows(self.X, np.zeros(1, dtype=np.intp)), own=self.own)[:0]
        places.setflags(write=False)
        matrix: NDArray[np.float64] = make_once(_encoded, self.encoder, self.X, places, self.own)
        return matrix

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[np.arange(len(self))], dtype=dtype)

    def part(self, rows: NDArray[Any]) -> EncodedRows:
        """Return some of the rows, not encoded yet."""
        return EncodedRows(self.encoder, self.X, own=self.own, places=self.places[rows])


def _encoded(encoder: Any, X: Table, places: NDArray[np.intp], own: bool) -> NDArray[np.float64]:
    return encoded_by(encoder, take_rows(X, places), own=own)


def numbers_in(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column of numbers, however they are written."""
    column = table.column(name)
    return kinds.numbers(name, column, kinds.decide(name, {"": column}), finite=False)


def encoded_names(encoder: Any, columns: int) -> list[str]:
    """Return the names of so many encoded columns, or "column 0" and so on if the encoder has none."""
    if hasattr(encoder, "get_feature_names_out"):
        return [str(name) for name in encoder.get_feature_names_out()]
    return [f"column {index}" for index in range(columns)]


def dense(matrix: Any) -> NDArray[np.float64]:
    """Return a transformer's output, sparse or not, as a matrix of floats."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
