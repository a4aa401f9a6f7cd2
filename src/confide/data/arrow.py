"""Data frames of any kind as Arrow tables, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_array

from confide.base.validation import examples, short, unmasked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from confide.typing import Floats, Table


# Numbers that `wide` makes whole numbers of 64 bits with a sign, and those that it makes floats of 64 bits.
WHOLE = (nw.Int8, nw.Int16, nw.Int32, nw.UInt8, nw.UInt16, nw.UInt32)
REAL = (nw.UInt64, nw.Float32, *([nw.Float16] if hasattr(nw, "Float16") else []))  # it is from narwhals 2.23 on


def is_frame(X: Table) -> bool:
    """Return whether X is a data frame that narwhals reads; raise if two of its columns have one name."""
    try:
        return isinstance(nw.from_native(X, pass_through=True), nw.DataFrame | nw.LazyFrame)
    except nw.exceptions.DuplicateError as error:
        names = [str(name) for name in getattr(X, "column_names", getattr(X, "columns", []))]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"a table has two columns named {examples(twice)}; rename one of them.") from error


def read_frame(X: Table) -> nw.DataFrame[Any]:
    """Return X as an eager narwhals frame; a lazy frame is collected."""
    frame = nw.from_native(X)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def wide(X: Table) -> Any:
    """Return a frame or an array whose numbers have 64 bits and a sign, as the same type as X; all else as it is.

    A transformer of one's own then computes alike with a study and with new rows, whatever types they have.
    """
    if not is_frame(X):
        array = np.asarray(X)
        if array.dtype.kind not in "iuf":
            return X
        real = array.dtype.kind == "f" or array.dtype == np.uint64
        return array.astype(np.float64 if real else np.int64, copy=False)
    frame = read_frame(X)
    wider: dict[str, Any] = {name: nw.Int64 for name, kind in frame.schema.items() if kind in WHOLE}
    wider |= {name: nw.Float64 for name, kind in frame.schema.items() if kind in REAL}
    if not wider:
        return X
    return frame.with_columns(nw.col(name).cast(kind) for name, kind in wider.items()).to_native()


@dataclass(frozen=True)
class Origin:
    """The kind of the frame that a caller gave, and its index if that kind has one: results go back in it."""

    kind: Any
    index: Any = None

    def is_of(self, backend: str | None) -> bool:
        """Return whether this is the kind of the caller's frame; None is."""
        return backend is None or backend == self.kind.value

    def frame(self, columns: Mapping[str, Floats]) -> Any:
        """Return columns, one value per row of the caller's frame, as a frame of its kind."""
        native = nw.from_dict(dict(columns), backend=self.kind).to_native()
        if self.index is not None:
            native.index = self.index
        return native

    def take(self, rows: Any) -> Origin:
        """Return the origin of some of the rows."""
        return self if self.index is None else Origin(self.kind, self.index[rows])


def origin_of(X: Table) -> Origin | None:
    """Return the origin of covariates; None if they are no frame, or of a kind in which no frame can be made."""
    if not is_frame(X):
        return None
    frame = read_frame(X)
    kind = frame.implementation
    made = kind.is_pandas_like() or kind in (nw.Implementation.POLARS, nw.Implementation.PYARROW)
    return Origin(kind, nw.maybe_get_index(frame)) if made else None


def read_table(X: Table) -> pa.Table:
    """Return a frame as an Arrow table; raise if a column mixes types or two columns have the same name."""
    try:
        frame = read_frame(X)
        names = [str(name) for name in frame.columns]
        _check_no_nul(names)
        if list(frame.columns) != names and len(set(names)) == len(names):  # pandas warns of names that are no text
            frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
        table = frame.to_arrow()
    except UnicodeError as error:
        raise ValueError(
            f"a table holds text that is no Unicode: {error}. Read its file in the encoding that it has."
        ) from error
    except (pa.ArrowException, TypeError, OverflowError) as error:
        why = "; ".join(map(str, error.args))
        raise ValueError(f"a column mixes kinds of values: {why}. Make each column of one kind.") from error
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have the same name, as text: {examples(names)}; rename one of them.")
    # pandas appends its index if it is not the default one.
    return without_views(table.select(range(len(names))).rename_columns(names))


def _check_no_nul(names: list[str]) -> None:
    """Raise if a name has a NUL character, at which libraries of frames stop reading, or the process."""
    odd = [name for name in names if "\0" in name]
    if odd:
        raise ValueError(f"the column name {short(repr(odd[0]))} has a NUL character; rename it.")


def without_views(rows: Any) -> Any:
    """Return a table or a batch whose views of text are plain text: for views there are fewer functions."""
    types = [pa.large_string() if pa.types.is_string_view(each.type) else each.type for each in rows.schema]
    if types == rows.schema.types:
        return rows
    return rows.cast(pa.schema([each.with_type(kind) for each, kind in zip(rows.schema, types, strict=True)]))


def take_rows(X: Table, rows: NDArray[Any]) -> Any:
    """Return the rows of a frame or an array, by a mask or by position, as the same type as X."""
    if not is_frame(X):
        return np.asarray(X)[rows]
    chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
    return read_frame(X)[chosen].to_native()


def read_array(X: Table, least: int = 1) -> NDArray[Any]:
    """Return X as a two-dimensional array of any kind of values; missing ones are allowed."""
    if not isinstance(X, np.ndarray) and isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)  # numbers beside text stay numbers
    try:
        array: NDArray[Any] = check_array(unmasked(X), dtype=None, ensure_all_finite=False, ensure_min_samples=least)
    except ValueError as error:
        # scikit-learn shows the whole array.
        first, *others = str(error).splitlines()
        remedy = [line for line in others if line.startswith("Reshape")]
        raise ValueError(" ".join([f"{first.rstrip('.:')}.", *remedy])) from error
    return array
