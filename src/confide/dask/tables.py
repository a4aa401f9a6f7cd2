"""Large tables on a cluster: Parquet files that its workers read, and Dask data frames."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from dask import delayed

from confide.base.validation import examples
from confide.data import kinds
from confide.data.arrow import read_table
from confide.data.large_table import FIXED_BYTES, LargeTable, Scan, TableByBatches, parse_memory
from confide.data.many_files import promoted, unified
from confide.data.parts import BATCH_ROWS, Part, parts_of
from confide.data.rest import Reading, Rest, RestOfPart, rest_of_parts
from confide.data.values import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from confide.dask.cluster import Cluster
    from confide.data.values import Look, Values

READING = "reading the observational table"
LEARNING = "learning from all rows"


@dataclass(frozen=True)
class FramePart(Part):
    """A partition of a Dask data frame, its columns in the types of a schema."""

    frame: Any
    schema: pa.Schema
    where: str
    start: int = 0

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, with these columns, by default all of the schema."""
        names = self.schema.names if columns is None else columns
        table = read_table(self.frame[names])
        schema = pa.schema([self.schema.field(name) for name in names])
        yield from table.cast(schema).to_batches(max_chunksize=BATCH_ROWS)


@dataclass(frozen=True, eq=False)
class ClusterRest(Rest):
    """The rows of a table on a cluster but those of the sample; each share is learnt from by one worker."""

    cluster: Cluster

    def __getstate__(self) -> dict[str, Any]:
        """Return what the rows are, for a hash of them, and not where they are learnt from."""
        return {name: value for name, value in vars(self).items() if name != "cluster"}

    def map(self, function: Callable[..., Any], shares: list[list[RestOfPart]], *more: Any) -> list[Any]:
        """Return what a function says of each share; shares are parallel."""
        part = delayed(RestOfPart, pure=False)
        handles = [[part(each.part, each.sampled) for each in share] for share in shares]
        return self.cluster.map(LEARNING, function, handles, *([each] * len(shares) for each in more))


class _OnCluster(TableByBatches):
    """What tables on a cluster share: a pass is a task per part."""

    cluster: Cluster

    @abstractmethod
    def _parts(self, columns: Sequence[str]) -> tuple[list[tuple[Any, int]], pa.Schema]:
        """Return the parts, or delayed ones, with their numbers of rows, and the type of each column."""

    def scan(self, look: Look, most: int) -> Scan:
        """Return what the columns hold by one pass over all rows, and a uniform sample of at most so many of them.

        Both are what one machine finds: the sample depends on the seed and on the number of rows alone, and what parts
        hold is added up in their order.
        """
        parts, schema = self._parts(look.columns)
        total = sum(rows for _, rows in parts)
        chosen = self._sampled(total, most)
        places = [each.sampled for each in rest_of_parts(parts, chosen)]
        looks = [look] * len(parts)
        found = self.cluster.map(READING, look_and_pick, [part for part, _ in parts], looks, places)
        values = look.none(schema)
        for held, _ in found:
            values = joined(values, held)
        sample = pa.concat_tables([schema.empty_table(), *(some for _, some in found)])
        return Scan(total, sample, values, chosen, self.random_state)

    def matching(self, name: str, values: pa.Array) -> tuple[int, int]:
        """Return how many of the values, which are text, stand in a column, and in how many rows they do."""
        parts, _ = self._parts([name])
        each = [[one] * len(parts) for one in (name, values)]
        found = self.cluster.map(READING, match, [part for part, _ in parts], *each)
        shared = pa.chunked_array([some for some, _ in found], values.type).unique()
        return len(shared), sum(rows for _, rows in found)

    def rest(self, scan: Scan, reading: Reading) -> Rest:
        """Return the rows beyond the sample of a scan, to be learnt from by batches."""
        parts, _ = self._parts(reading.columns)
        memory = parse_memory(self.memory) - FIXED_BYTES
        return ClusterRest(
            rest_of_parts(parts, scan.chosen), scan.rows - len(scan.sample), reading, memory, self.cluster
        )


@dataclass(frozen=True)
class FilesOnCluster(_OnCluster, LargeTable):
    """A table in Parquet files that all workers can read; what is in their footers is read here."""

    cluster: Cluster = field(kw_only=True)

    def _parts(self, columns: Sequence[str]) -> tuple[list[tuple[Any, int]], pa.Schema]:
        dataset = unified(self.dataset, list(columns))
        return [piece for part in parts_of(dataset) for piece in part.pieces()], dataset.schema


@dataclass(frozen=True)
class FrameOnCluster(_OnCluster):
    """A Dask data frame.

    Parameters
    ----------
    frames : tuple of delayed
        Its partitions.
    names : tuple of str
        Its columns.
    """

    frames: tuple[Any, ...]
    names: tuple[str, ...]
    cluster: Cluster = field(kw_only=True)
    # What partitions are, by the columns that were asked for.
    known: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False, repr=False, kw_only=True)

    def _names(self) -> list[str]:
        return list(self.names)

    def head(self) -> pa.Table:
        """Return the first rows of the first partition."""
        return self.cluster.map(READING, first_rows, self.frames[:1])[0]

    def types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the type of each column; raise if a partition lacks one, or types do not go together."""
        _, schema = self._parts(columns)
        return {name: schema.field(name).type for name in columns}

    def _parts(self, columns: Sequence[str]) -> tuple[list[tuple[Any, int]], pa.Schema]:
        key = tuple(columns)
        if key not in self.known:
            self.known[key] = self._described(list(columns))
        found: tuple[list[tuple[Any, int]], pa.Schema] = self.known[key]
        return found

    def _described(self, columns: list[str]) -> tuple[list[tuple[Any, int]], pa.Schema]:
        """Return the partitions with their numbers of rows, and one type per column, by a pass over their types."""
        found = self.cluster.map(READING, describe, self.frames, *self._named(columns))
        fields: dict[str, pa.Field] = {}
        first: dict[str, str] = {}
        for (_, schema), where in zip(found, self._named(columns)[1], strict=True):
            for name in columns:
                known = fields.setdefault(name, schema.field(name))
                fields[name] = promoted(known, schema.field(name), first.setdefault(name, where), where)
        schema = pa.schema([fields[name] for name in columns])
        part = delayed(FramePart, pure=False)
        parts = [part(frame, schema, where) for frame, where in zip(self.frames, self._named(columns)[1], strict=True)]
        return [(each, rows) for each, (rows, _) in zip(parts, found, strict=True)], schema

    def _named(self, columns: list[str]) -> tuple[list[list[str]], list[str]]:
        """Return the columns once per partition, and what messages call each partition."""
        return [columns] * len(self.frames), [f"partition {place}" for place in range(len(self.frames))]


def look_and_pick(part: Part, look: Look, places: NDArray[np.int64]) -> tuple[dict[str, Values], pa.Table]:
    """Return what a part's rows hold, and its rows at some places."""
    values, kept, before = None, [], 0
    for batch in part.batches(list(look.columns)):
        found = look.at(batch, part.where, part.start + before)
        values = joined(look.none(batch.schema) if values is None else values, found)
        first, last = np.searchsorted(places, [before, before + len(batch)])
        kept.append(batch.take(pa.array(places[first:last] - before)))
        before += len(batch)
    schema = part.schema if values is None else kept[0].schema  # type: ignore[attr-defined]
    return look.none(schema) if values is None else values, pa.Table.from_batches(kept, schema)


def match(part: Part, name: str, values: pa.Array) -> tuple[pa.Array, int]:
    """Return which of the values stand in a part's column, and in how many rows."""
    found, rows = values.slice(0, 0), 0
    for batch in part.batches([name]):
        column = kinds.plain(pa.chunked_array([batch.column(name)])).cast(values.type)
        shared = column.filter(pc.is_in(column, values))
        rows += len(shared)
        found = pa.chunked_array([found, *shared.chunks]).unique()
    return found, rows


def describe(frame: Any, columns: list[str], where: str) -> tuple[int, pa.Schema]:
    """Return the number of rows of a partition, and the types of its columns; raise if it lacks one."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{where} of the observational table has no column {examples(missing)}, which other partitions have. Add "
            "it, or name the covariates without it."
        )
    return len(frame), read_table(frame[columns]).schema


def first_rows(frame: Any) -> pa.Table:
    """Return the first rows of a partition."""
    return read_table(frame.head(BATCH_ROWS))
