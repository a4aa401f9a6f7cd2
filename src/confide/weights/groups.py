"""Groups of people by columns of the covariates: new rows are ranked among trial rows of their own group."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.encoding import as_table
from confide.exceptions import InfiniteIntervalWarning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from confide.typing import Table

# More cells than this are refused: each needs trial rows of its own.
MOST_CELLS = 20


@dataclass(frozen=True)
class Groups:
    """Cells of one or several columns, as the trial has them.

    Attributes
    ----------
    columns : tuple of str
        The columns, which are crossed.
    kinds : tuple of str
        What they hold (`confide.data.kinds`).
    cells : tuple of tuples of str
        The values of each cell; a cell's number is its place.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Any, X: Table, trial: NDArray[np.bool_], kinds_of: Mapping[str, str]) -> Groups:
        """Return the groups that the columns make of the trial's rows.

        Parameters
        ----------
        columns : str or sequence of str, or of positions in an array
            The columns.
        X : frame or array
            Covariates of all rows.
        trial : (n,) boolean array
            The trial's rows.
        kinds_of : mapping
            What each column holds.
        """
        listed = [columns] if isinstance(columns, str) or not np.iterable(columns) else list(columns)
        table = as_table(X)
        names = tuple(f"x{each}" if isinstance(each, Integral) else str(each) for each in listed)
        unknown = [name for name in names if name not in table.column_names]
        if unknown or not names:
            shown = repr(unknown[0]) if unknown else "an empty list"
            raise ValueError(f"groups must be covariates, got {shown}; {suggest(shown, table.column_names)}")
        held = tuple(kinds_of[name] for name in names)
        cells = sorted(set(_values(table.filter(trial), names, held)), key=_in_order)
        if len(cells) > MOST_CELLS:
            raise ValueError(
                f"groups={examples(names)} make {len(cells)} groups of the trial's rows, and at most {MOST_CELLS} are "
                "allowed: each needs trial rows of its own. Cut numbers into classes, or name fewer columns."
            )
        return cls(names, held, tuple(cells))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""
        return tuple(
            ", ".join(f"{column} = {value}" for column, value in zip(self.columns, cell, strict=True))
            for cell in self.cells
        )

    def codes(self, X: Table) -> NDArray[np.intp]:
        """Return the number of each row's cell; -1 for one that the trial does not have."""
        table = as_table(X)
        missing = [name for name in self.columns if name not in table.column_names]
        if missing:
            raise ValueError(f"the group column {missing[0]!r} is missing; {suggest(missing[0], table.column_names)}")
        place = {cell: number for number, cell in enumerate(self.cells)}
        return np.array([place.get(cell, -1) for cell in _values(table, self.columns, self.kinds)], dtype=np.intp)

    def codes_of_new(self, X: Table, stacklevel: int) -> NDArray[np.intp]:
        """Return `codes` of new rows; warn, so many calls above, of rows without a cell."""
        codes = self.codes(X)
        if said := self.unseen(int((codes < 0).sum()), len(codes)):
            warnings.warn(said, InfiniteIntervalWarning, stacklevel=stacklevel + 1)
        return codes

    def unseen(self, without: int, rows: int) -> str | None:
        """Return a sentence on rows without a cell; None if there are none."""
        if not without:
            return None
        return (
            f"{without:,} of {rows:,} rows belong to groups of {', '.join(self.columns)} that the trial does not have: "
            "their intervals are infinite."
        )


def _values(table: pa.Table, names: Sequence[str], held: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each row's values of some columns, as texts that are the same for the same value."""
    columns = [_texts(table.column(name), name, kind) for name, kind in zip(names, held, strict=True)]
    return list(zip(*columns, strict=True))


def _in_order(cell: tuple[str, ...]) -> list[tuple[float, str]]:
    """Return a key that puts numbers in their order, before other values."""
    return [(float(value), "") if _is_number(value) else (np.inf, value) for value in cell]


def _is_number(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _texts(column: pa.ChunkedArray, name: str, kind: str) -> list[str]:
    if kind == kinds.CATEGORIES:
        return ["missing" if value is None else value for value in kinds.texts(name, column).to_pylist()]
    values = kinds.numbers(name, column, kind).tolist()
    words = {0.0: "no", 1.0: "yes"} if kind == kinds.BOOLEANS else {}
    return ["missing" if value != value else words.get(value, f"{value:.15g}") for value in values]  # noqa: PLR0124
