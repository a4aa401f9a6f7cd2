"""Groups of people by columns of the covariates, or by comparisons with a number such as ``age > 70``.

New rows are ranked among trial rows of their own group.
"""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.encoding import as_table
from confide.data.named import COMPARED, COMPARISON, compared_column, refuse, unknown_groups
from confide.exceptions import InfiniteIntervalWarning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from confide.typing import Table

# More cells than this are refused: each needs trial rows of its own.
MOST_CELLS = 20
# What each sign of a comparison means, and its contrary.
SIGNS: dict[str, Any] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
# The value of a cell whose column is missing.
MISSING = "missing"


@dataclass(frozen=True)
class Unseen:
    """Rows without a group that the trial has.

    Attributes
    ----------
    rows : int
        Number of rows that belong to groups that the trial does not have.
    missing : mapping
        Columns that are missing in further rows, and never in the trial: in how many rows, and the first one's number.
    """

    rows: int
    missing: Mapping[str, tuple[int, int]]

    def __add__(self, other: Unseen) -> Unseen:
        """Return the rows of both batches together."""
        missing = dict(self.missing)
        for column, (rows, first) in other.missing.items():
            before, earliest = missing.get(column, (0, first))
            missing[column] = before + rows, min(earliest, first)
        return Unseen(self.rows + other.rows, missing)


NONE_UNSEEN = Unseen(0, {})


@dataclass(frozen=True)
class Groups:
    """Cells of one or several columns, as the trial has them.

    Attributes
    ----------
    columns : tuple of str
        The columns, or comparisons of columns with numbers, which are crossed.
    kinds : tuple of str
        What the columns hold (`confide.data.kinds`).
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
            The columns, or comparisons such as ``"age > 70"``, which make two groups.
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
        if not names:
            there_are = f"{suggest('', table.column_names)}{COMPARED}"
            raise ValueError(f"groups must be covariates, got an empty list; {there_are}")
        refuse(unknown_groups(names, table.column_names))
        held = tuple(kinds_of[compared_column(name, table.column_names)] for name in names)
        cells = sorted(set(_cells(table.filter(trial), names, held)[0]), key=_in_order)
        if len(cells) > MOST_CELLS:
            raise ValueError(
                f"{examples(names)} {'makes' if len(names) == 1 else 'make'} {len(cells)} groups of the trial's rows, "
                f"and at most {MOST_CELLS} are allowed: each needs trial rows of its own. Name fewer columns, or "
                "compare numbers with one of them, such as 'age > 70'."
            )
        return cls(names, held, tuple(cells))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""
        return tuple(", ".join(map(_named, self.columns, cell)) for cell in self.cells)

    def codes(self, X: Table) -> NDArray[np.intp]:
        """Return the number of each row's cell; -1 for one that the trial does not have."""
        table = as_table(X)
        missing = [name for name in self.columns if compared_column(name, table.column_names) not in table.column_names]
        if missing:
            raise ValueError(f"the group column {missing[0]!r} is missing; {suggest(missing[0], table.column_names)}")
        place = {cell: number for number, cell in enumerate(self.cells)}
        cells, which = _cells(table, self.columns, self.kinds)
        return np.array([place.get(cell, -1) for cell in cells], dtype=np.intp)[which]

    def codes_of_new(self, X: Table, stacklevel: int) -> NDArray[np.intp]:
        """Return `codes` of new rows; warn, so many calls above, of rows without a cell."""
        codes = self.codes(X)
        if said := self.unseen(self.without(X, codes), len(codes)):
            warnings.warn(said, InfiniteIntervalWarning, stacklevel=stacklevel + 1)
        return codes

    def without(self, X: Table, codes: NDArray[np.intp], start: int = 0) -> Unseen:
        """Return the rows without a cell, whose `codes` are -1; ``start`` is the number of rows before these."""
        places = np.flatnonzero(codes < 0)
        if not len(places):
            return NONE_UNSEEN
        table = as_table(X).take(places)
        missing, unknown = {}, np.zeros(len(places), dtype=bool)
        for number, (name, kind) in enumerate(zip(self.columns, self.kinds, strict=True)):
            if any(cell[number] == MISSING for cell in self.cells):  # the trial has such a group
                continue
            column = compared_column(name, table.column_names)
            gaps = _gaps(table, column, kind)
            if gaps.any():
                missing[column] = int(gaps.sum()), start + int(places[gaps.argmax()]) + 1
                unknown |= gaps
        return Unseen(int((~unknown).sum()), missing)

    def unseen(self, found: Unseen, rows: int) -> str | None:
        """Return what is to be said of rows without a cell; None if there are none."""
        said = []
        if found.rows:
            said.append(
                f"{found.rows:,} of {rows:,} rows belong to groups of {', '.join(self.columns)} that the trial does "
                "not have: their intervals are infinite."
            )
        for column, (count, first) in found.missing.items():
            which, whose = ("row", "its group is") if count == 1 else ("the first is row", "their groups are")
            said.append(
                f"{column} is missing in {count:,} of {rows:,} rows ({which} {first:,}), so that {whose} unknown: "
                f"{'its' if count == 1 else 'their'} intervals are infinite."
            )
        return " ".join(said) or None


def _cells(
    table: pa.Table, names: Sequence[str], held: Sequence[str]
) -> tuple[list[tuple[str, ...]], NDArray[np.intp]]:
    """Return the different values of some columns, as texts that are the same for the same value, and each row's."""
    columns = [_texts(table, name, kind) for name, kind in zip(names, held, strict=True)]
    shape = [max(1, len(told)) for told, _ in columns]
    crossed, which = np.unique(np.ravel_multi_index([place for _, place in columns], shape), return_inverse=True)
    places = zip(*(each.tolist() for each in np.unravel_index(crossed, shape)), strict=True)
    return [tuple(told[place] for (told, _), place in zip(columns, row, strict=True)) for row in places], which


def _gaps(table: pa.Table, column: str, kind: str) -> NDArray[np.bool_]:
    """Return which values of a column are missing."""
    if kind == kinds.CATEGORIES:
        return np.asarray(kinds.texts(column, table[column]).is_null(), dtype=bool)
    return np.isnan(kinds.numbers(column, table[column], kind))


def _named(column: str, value: str) -> str:
    """Return the name of a group: "town = Öst", "age > 70", "age <= 70" or "age = missing"."""
    found = COMPARISON.fullmatch(column) if value in ("yes", "no", MISSING) else None
    if found is None or value == MISSING:
        return f"{column if found is None else found['column']} = {value}"
    sign = found["sign"] if value == "yes" else CONTRARY[found["sign"]]
    return f"{found['column']} {sign} {found['number']}"


def _in_order(cell: tuple[str, ...]) -> list[tuple[float, str]]:
    """Return a key that puts numbers in their order, before other values."""
    return [(float(value), "") if _is_number(value) else (np.inf, value) for value in cell]


def _is_number(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _texts(table: pa.Table, name: str, kind: str) -> tuple[list[str], NDArray[np.intp]]:
    """Return the texts of a column's different values, or whether a comparison of them holds, and each row's place."""
    column = compared_column(name, table.column_names)
    if kind == kinds.CATEGORIES:
        if column != name:
            raise ValueError(f"{name!r} compares {column!r} with a number, and it holds categories. Name the column.")
        coded = kinds.texts(name, table[name]).dictionary_encode(null_encoding="encode")
        return [MISSING if value is None else value for value in coded.dictionary.to_pylist()], np.asarray(
            coded.indices
        )
    values, places = np.unique(kinds.numbers(column, table[column], kind), return_inverse=True)
    if column != name:
        found: Any = COMPARISON.fullmatch(name)
        told = np.where(SIGNS[found["sign"]](values, float(found["number"])), "yes", "no").tolist()
    else:
        words = {0.0: "no", 1.0: "yes"} if kind == kinds.BOOLEANS else {}
        told = [words.get(value, f"{value:.15g}") for value in values.tolist()]
    return [MISSING if value != value else text for value, text in zip(values.tolist(), told, strict=True)], places  # noqa: PLR0124
