"""A large table that is read by batches: what its columns hold by one pass over all rows, and a sample of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from confide.data import kinds
from confide.data.formats import naming_the_file
from confide.data.many_files import name_of, names_in, unified
from confide.data.sampling import chosen_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

# Number of rows that are read at a time, and of such batches that are read ahead.
BATCH_ROWS = 65_536
READ_AHEAD = 2
# A column of text or categories may have so many different values.
MOST_VALUES = 1_000_000
# What is needed beside the rows: Python, its libraries, the trial and the batches; and the least that can be set.
FIXED_BYTES = 600_000_000
LEAST_BYTES = 1_000_000_000
# How many times the table's columns, and the encoded ones, are held as floats while the default learns from them. A row
# of ten columns that are encoded as 46 took 435 bytes, one of eight numbers 160 (docs/scale.md).
TABLE_COPIES = 2
ENCODED_COPIES = 1
# Columns are read in pieces, and not whole row groups ahead.
_LEAN = ds.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@dataclass(frozen=True)
class LargeTable:
    """An observational table that is read by batches, for `stack`; a `pyarrow.dataset.Dataset` alone is one too.

    Every row is read once, to decide what columns hold, to count categories and to find what is wrong. Models learn
    from all rows if they fit into the memory, and else from a uniform sample: every subset of its size is equally
    likely, whatever the files and batches are. No promise depends on what the observational table is learnt from.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The table.
    rows : int, default None
        Most rows that models learn from. None: as many as the memory allows.
    memory : str or int, default "8GB"
        Memory to keep to, in bytes or as text. It bounds the number of rows by what models of the default method need
        for them; other methods and base models may need more.
    random_state : int, default 0
        Seed of the sample.
    without : tuple of str
        Columns that are not read.
    """

    dataset: ds.Dataset
    rows: int | None = None
    memory: str | int = "8GB"
    random_state: int = 0
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = self.rows
        if rows is not None and (not isinstance(rows, Integral) or isinstance(rows, bool) or rows < 1):
            raise ValueError(
                f"rows, the most that models learn from, must be a whole number of at least 1, got {rows!r}."
            )
        parse_memory(self.memory)

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return [name for name in names_in(self.dataset) if name not in self.without]

    def drop_columns(self, names: Collection[str]) -> LargeTable:
        """Return the table without some columns."""
        return replace(self, without=(*self.without, *names))

    def head(self) -> pa.Table:
        """Return the first rows of the first file, with its columns."""
        return next((pa.Table.from_batches([batch]) for _, _, batch in _batches(self.dataset)), pa.table({}))

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the type of each column; raise if a file lacks one, or types do not go together."""
        schema = unified(self.dataset, columns).schema
        return {name: schema.field(name).type for name in columns}

    def most_rows(self, columns: int, encoded: int) -> int:
        """Return how many rows models may learn from, given the numbers of covariates and of encoded columns."""
        floats = TABLE_COPIES * columns + ENCODED_COPIES * encoded
        within = max(1, (parse_memory(self.memory) - FIXED_BYTES) // (8 * max(floats, 1)))
        return within if self.rows is None else min(within, int(self.rows))

    def scan(self, columns: Sequence[str], counted: Collection[str], complete: Mapping[str, str], most: int) -> Scan:
        """Return what the columns hold by one pass over all rows, and a uniform sample of at most so many of them.

        Parameters
        ----------
        columns : sequence of str
            The columns that are read.
        counted : collection of str
            Those whose values are counted, because they are text or categories.
        complete : mapping of str to str
            Those in which no value may be missing, and what they are, for the message.
        most : int
            Size of the sample.
        """
        dataset = unified(self.dataset, columns)
        total = dataset.count_rows()
        if not total:
            raise ValueError("the observational table has no rows.")
        chosen = chosen_rows(total, most, self.random_state)
        values = {name: Values.none(dataset.schema.field(name).type) for name in columns}
        kept, before = [], 0
        for where, start, batch in _batches(dataset):
            for name in columns:
                column = pa.chunked_array([batch.column(name)])
                if name in complete:
                    _check_complete(complete[name], name, column, where, start)
                if name not in counted:
                    _check_finite(name, column, where)
                values[name] = values[name].joined_with(name, _counted(column) if name in counted else _some(column))
            first, last = np.searchsorted(chosen, [before, before + len(batch)])
            kept.append(batch.take(pa.array(chosen[first:last] - before)))
            before += len(batch)
        return Scan(total, pa.Table.from_batches(kept, dataset.schema), values, chosen, self.random_state)

    def matching(self, name: str, values: pa.Array) -> tuple[int, int]:
        """Return how many of the values, which are text, stand in a column, and in how many rows they do."""
        found, rows = values.slice(0, 0), 0
        for _, _, batch in _batches(unified(self.dataset, [name])):
            column = kinds.plain(pa.chunked_array([batch.column(name)])).cast(values.type)
            shared = column.filter(pc.is_in(column, values))
            rows += len(shared)
            found = pa.chunked_array([found, *shared.chunks]).unique()
        return len(found), rows


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
    """

    rows: int
    kinds: dict[str, str]
    categories: dict[str, dict[str | None, int]]

    @classmethod
    def of(cls, scan: Scan, held: Mapping[str, str]) -> Beyond | None:
        """Return what is beyond the sample of a scan; None: nothing, because it has all rows."""
        rows = scan.rows - len(scan.sample)
        if not rows:
            return None
        found = {}
        for name in (name for name, kind in held.items() if kind == kinds.CATEGORIES):
            rest = Counter(scan.values[name].texts(name))
            rest.subtract(_counted(scan.sample[name]).texts(name))
            found[name] = dict(+rest)
        return cls(rows, dict(held), found)


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


def _batches(dataset: ds.Dataset) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """Yield the rows in order, with the file they stand in, and the number of rows before them in it."""
    for place, fragment in enumerate(dataset.get_fragments()):
        where, start = name_of(fragment, place), 0
        with naming_the_file(where, "read"):
            for batch in fragment.to_batches(
                schema=dataset.schema,
                batch_size=BATCH_ROWS,
                batch_readahead=READ_AHEAD,
                fragment_readahead=1,
                fragment_scan_options=_LEAN if isinstance(fragment, ds.ParquetFileFragment) else None,
            ):
                yield where, start, batch
                start += len(batch)


def _check_complete(what: str, name: str, column: pa.ChunkedArray, where: str, start: int) -> None:
    """Raise if a value is missing."""
    missing = np.flatnonzero(kinds.plain(column).is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"{where} has no {what} {name!r} in some rows (such as row {start + missing[0] + 1}). Leave these rows out."
        )


def _check_finite(name: str, column: pa.ChunkedArray, where: str) -> None:
    """Raise if a number is infinite."""
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        raise ValueError(
            f"column {name!r} holds infinite values in {where}; mark them as missing, or cut them to a bound."
        )


def _counted(column: pa.ChunkedArray) -> Values:
    """Return the values of a column and their counts."""
    counts = pc.value_counts(column)
    return Values(kinds.plain(pa.chunked_array([counts.field("values")])), counts.field("counts").to_numpy())


def _some(column: pa.ChunkedArray) -> Values:
    """Return at most two of a typed column's values: enough to decide its kind as all of them would."""
    known = column.filter(pc.invert(column.is_null(nan_is_null=True)))
    some = known.slice(0, 1)
    if kinds.is_number(known.type):  # among 0 and 1, any other number tells that they are no booleans
        flags = pc.is_in(known, pa.array([0, 1]).cast(known.type))
        some = pa.chunked_array([*some.chunks, *known.filter(pc.invert(flags)).slice(0, 1).chunks], known.type)
    return Values(some, np.ones(len(some), dtype=np.int64))
