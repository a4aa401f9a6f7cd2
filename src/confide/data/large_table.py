"""A large table that is read by batches: what its columns hold by one pass over all rows, and a sample of them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from confide.data import kinds
from confide.data.arrow import without_views
from confide.data.many_files import names_in, unified
from confide.data.parts import parts_of
from confide.data.rest import Reading, Rest, rest_of_parts
from confide.data.sampling import chosen_rows
from confide.data.values import Look, Values, counted, joined

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from confide.typing import Label

# With rows="all", a share of the rows is kept in memory and not learnt from, with a most and a least number.
ALL = "all"
HELD_OUT_SHARE = 10
MOST_HELD_OUT = 100_000
LEAST_HELD_OUT = 1_000
# What is needed beside the rows: Python, its libraries, the trial and the batches; and the least that can be set.
FIXED_BYTES = 600_000_000
LEAST_BYTES = 1_000_000_000
# How many times the table's columns, and the encoded ones, are held as floats while the default learns from them. A row
# of ten columns that are encoded as 46 took 435 bytes, one of eight numbers 160 (docs/scale.md).
TABLE_COPIES = 2
ENCODED_COPIES = 1
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True)
class TableByBatches(ABC):
    """A table that is too long for the memory, wherever it is.

    Parameters
    ----------
    rows : int or "all", default None
        Most rows that models learn from; "all": all rows, by batches, with ``base="lightgbm"``. None: as many as the
        memory allows.
    memory : str or int, default "8GB"
        Memory to keep to, in bytes or as text.
    random_state : int, default 0
        Seed of the sample.
    without : tuple of str
        Columns that are not read.
    """

    rows: int | str | None = field(default=None, kw_only=True)
    memory: str | int = field(default="8GB", kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    without: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        rows = self.rows
        known = rows is None or rows == ALL
        if not known and (not isinstance(rows, Integral) or isinstance(rows, bool) or rows < 1):
            raise ValueError(
                f"rows, the most that models learn from, must be a whole number of at least 1 or 'all', got {rows!r}."
            )
        parse_memory(self.memory)

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return [name for name in self._names() if name not in self.without]

    def drop_columns(self, names: Collection[str]) -> Self:
        """Return the table without some columns."""
        return replace(self, without=(*self.without, *names))

    def most_rows(self, columns: int, encoded: int) -> int:
        """Return how many rows may be kept in memory, given the numbers of covariates and of encoded columns."""
        floats = TABLE_COPIES * columns + ENCODED_COPIES * encoded
        within = max(1, (parse_memory(self.memory) - FIXED_BYTES) // (8 * max(floats, 1)))
        return min(within, int(self.rows)) if isinstance(self.rows, Integral) else within

    def _sampled(self, total: int, most: int) -> NDArray[np.int64]:
        """Return the places of the rows that are kept, of so many rows and at most so many."""
        if not total:
            raise ValueError("the observational table has no rows.")
        if self.rows == ALL:
            most = min(most, MOST_HELD_OUT, max(total // HELD_OUT_SHARE, LEAST_HELD_OUT))
        return chosen_rows(total, most, self.random_state)

    @abstractmethod
    def _names(self) -> list[str]:
        """Return the names of all columns."""

    @abstractmethod
    def head(self) -> pa.Table:
        """Return the first rows of the first part, with its columns."""

    @abstractmethod
    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the type of each column; raise if a part lacks one, or types do not go together."""

    @abstractmethod
    def scan(self, look: Look, most: int) -> Scan:
        """Return what the columns hold by one pass over all rows, and a uniform sample of at most so many of them."""

    @abstractmethod
    def matching(self, name: str, values: pa.Array) -> tuple[int, int]:
        """Return how many of the values, which are text, stand in a column, and in how many rows they do."""

    @abstractmethod
    def rest(self, scan: Scan, reading: Reading) -> Rest:
        """Return the rows beyond the sample of a scan, to be learnt from by batches."""


@dataclass(frozen=True)
class LargeTable(TableByBatches):
    """An observational table that is read by batches, for `stack`; a `pyarrow.dataset.Dataset` alone is one too.

    Every row is read once, to decide what columns hold, to count categories and to find what is wrong. Models learn
    from all rows if they fit into the memory, and else from a uniform sample: every subset of its size is equally
    likely, whatever the files and batches are. No promise depends on what the observational table is learnt from.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The table.
    rows : int or "all", default None
        Most rows that models learn from. None: as many as the memory allows. "all": LightGBM learns from all rows by
        batches, however many there are, but for a tenth of them, at most 100,000, which are kept in memory: its errors
        on those give the size of errors. It needs ``base="lightgbm"``.
    memory : str or int, default "8GB"
        Memory to keep to, in bytes or as text. It bounds the number of rows by what models of the default method need
        for them; other methods and base models may need more. With ``rows="all"`` it bounds the rows that are learnt
        from at a time.
    random_state : int, default 0
        Seed of the sample.
    without : tuple of str
        Columns that are not read.
    """

    dataset: ds.Dataset

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, ds.Dataset):
            raise ValueError(  # noqa: TRY004  (whatever is wrong with an argument is a ValueError here)
                f"the table must be a pyarrow.dataset.Dataset, got {type(self.dataset).__name__}. Use "
                "LargeTable(pyarrow.dataset.dataset(path), ...)."
            )
        super().__post_init__()

    def _names(self) -> list[str]:
        return names_in(self.dataset)

    def head(self) -> pa.Table:
        """Return the first rows of the first file, with its columns."""
        batches = (batch for part in parts_of(self.dataset) for batch in part.batches())
        return next((pa.Table.from_batches([batch]) for batch in batches), pa.table({}))

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the type of each column; raise if a file lacks one, or types do not go together."""
        schema = unified(self.dataset, columns).schema
        return {name: schema.field(name).type for name in columns}

    def scan(self, look: Look, most: int) -> Scan:
        """Return what the columns hold by one pass over all rows, and a uniform sample of at most so many of them."""
        dataset = unified(self.dataset, look.columns)
        total = dataset.count_rows()
        chosen = self._sampled(total, most)
        schema = without_views(dataset.schema.empty_table()).schema
        values = look.none(schema)
        kept, before = [], 0
        for part in parts_of(dataset):
            start = 0
            for batch in part.batches():
                values = joined(values, look.at(batch, part.where, start))
                first, last = np.searchsorted(chosen, [before, before + len(batch)])
                every = last - first == len(batch)  # as in a table that is kept whole, without a copy
                kept.append(batch if every else batch.take(pa.array(chosen[first:last] - before)))
                before += len(batch)
                start += len(batch)
        return Scan(total, pa.Table.from_batches(kept, schema), values, chosen, self.random_state)

    def matching(self, name: str, values: pa.Array) -> tuple[int, int]:
        """Return how many of the values, which are text, stand in a column, and in how many rows they do."""
        found, rows = values.slice(0, 0), 0
        for part in parts_of(unified(self.dataset, [name])):
            for batch in part.batches():
                column = kinds.plain(pa.chunked_array([batch.column(name)])).cast(values.type)
                shared = column.filter(pc.is_in(column, values))
                rows += len(shared)
                found = pa.chunked_array([found, *shared.chunks]).unique()
        return len(found), rows

    def rest(self, scan: Scan, reading: Reading) -> Rest:
        """Return the rows beyond the sample of a scan, to be learnt from by batches."""
        dataset = unified(self.dataset, list(reading.columns))
        pieces = [piece for part in parts_of(dataset) for piece in part.pieces()]
        rows = scan.rows - len(scan.sample)
        return Rest(rest_of_parts(pieces, scan.chosen), rows, reading, parse_memory(self.memory) - FIXED_BYTES)


@dataclass(frozen=True)
class Scan:
    """What one pass over a large table found.

    Attributes
    ----------
    rows : int
        Number of rows of the table.
    sample : pyarrow.Table
        The rows that are kept, in the table's order.
    values : dict
        What stands in each column, of all rows.
    """

    rows: int
    sample: pa.Table
    values: dict[str, Values]
    chosen: NDArray[np.int64]
    seed: int

    def cut(self, most: int) -> Scan:
        """Return the scan with a uniform sample of at most so many rows."""
        if most >= len(self.sample):
            return self
        chosen = chosen_rows(self.rows, most, self.seed)
        places = np.searchsorted(self.chosen, chosen)  # smaller samples are parts of larger ones
        return replace(self, sample=self.sample.take(pa.array(places)), chosen=chosen)


@dataclass(frozen=True)
class Beyond:
    """What a study knows of the observational rows that are not in it, because it has a sample of the table.

    They calibrate nothing, so that the encoder may learn from all of them.

    Attributes
    ----------
    rows : int
        Their number.
    kinds : dict
        The kind of each covariate, decided by all rows.
    categories : dict
        For each covariate that is categories, the number of these rows that hold each; None: missing.
    treatments : dict
        The number of these rows that received each treatment.
    rest : Rest or None
        The rows themselves, if models learn from them by batches.
    """

    rows: int
    kinds: dict[str, str]
    categories: dict[str, dict[str | None, int]]
    treatments: dict[Label, int]
    rest: Rest | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, scan: Scan, held: Mapping[str, str], treatments: Mapping[Label, int], rest: Rest | None = None
    ) -> Beyond | None:
        """Return what is beyond the sample of a scan; None: nothing, because it has all rows.

        ``held`` is what each covariate holds, ``treatments`` the number of rows beyond the sample of each treatment.
        """
        rows = scan.rows - len(scan.sample)
        if not rows:
            return None
        found = {}
        for name in (name for name, kind in held.items() if kind == kinds.CATEGORIES):
            left = Counter(scan.values[name].texts(name))
            left.subtract(counted(scan.sample[name]).texts(name))
            found[name] = dict(+left)
        return cls(rows, dict(held), found, dict(treatments), rest)


def parse_memory(memory: str | int) -> int:
    """Return a size of memory, such as "8GB", in bytes; raise if it is none, or too small for anything."""
    text = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B?)\s*", str(memory).upper())
    unit = None if text is None else text[2] if text[2] in UNITS else f"{text[2]}B"
    if isinstance(memory, bool) or text is None or unit not in UNITS:
        raise ValueError(f"memory must be a size such as '8GB' or '500MB', got {memory!r}.")
    size = int(float(text[1]) * UNITS[unit])
    if size < LEAST_BYTES:
        raise ValueError(f"memory must be at least {LEAST_BYTES // 10**6}MB, got {memory!r}.")
    return size
