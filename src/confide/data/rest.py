"""The rows of a large table beyond the sample that is in memory, for models that learn by batches."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.data import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from confide.data.parts import Part
    from confide.typing import Floats, Label

# A model learns from one share per so many rows, and from at most so many shares, unless memory asks for more.
SHARE_ROWS = 4_000_000
MOST_SHARES = 16
# Bytes per row, and per row and encoded column, while a model learns from a share: bins twice, outcomes, gradients.
ROW_BYTES = 48
CELL_BYTES = 2


@dataclass(frozen=True)
class Reading:
    """What rows of a table are read as: the covariates, and the treatment and the outcome with their kinds."""

    covariates: tuple[str, ...]
    treatment: tuple[str, str]
    outcome: tuple[str, str]

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return [*self.covariates, self.treatment[0], self.outcome[0]]

    def outcomes(self, table: pa.Table) -> Floats:
        """Return the outcomes of rows."""
        name, kind = self.outcome
        return kinds.numbers(name, table[name], kind, finite=False)

    def received(self, table: pa.Table, label: Label) -> NDArray[np.bool_]:
        """Return which rows received a treatment."""
        name, kind = self.treatment
        column = kinds.plain(table[name])
        if kind in (kinds.NUMBERS, kinds.BOOLEANS):
            return np.asarray(kinds.numbers(name, column, kind, finite=False) == float(label))
        same = pc.equal(kinds.texts(name, column), str(label)).fill_null(False)
        return np.asarray(same.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class RestOfPart:
    """The rows of a part but those at some places, which are in the sample."""

    part: Part
    sampled: NDArray[np.int64]

    def of_arm(self, reading: Reading, label: Label, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of the rows that received a treatment."""
        asked = list(dict.fromkeys([*columns, reading.treatment[0]]))
        before = 0
        for batch in self.part.batches(asked):
            table = pa.Table.from_batches([batch])
            mine = reading.received(table, label)
            first, last = np.searchsorted(self.sampled, [before, before + len(batch)])
            mine[self.sampled[first:last] - before] = False
            before += len(batch)
            yield table.filter(pa.array(mine))


@dataclass(frozen=True, eq=False)
class Rest:
    """All rows of a large table but those of the sample.

    Attributes
    ----------
    parts : list of RestOfPart
        The rows.
    rows : int
        Their number.
    reading : Reading
        What they are read as.
    memory : int
        Bytes that a model may need at a time.
    """

    parts: list[RestOfPart]
    rows: int
    reading: Reading
    memory: int

    def shares(self, columns: int) -> list[list[RestOfPart]]:
        """Return the parts in shares, each of which fits into the memory when it has so many encoded columns.

        Parts that follow each other go to different shares, so that a table that is sorted gives shares that are alike.
        Nothing here depends on how many machines there are.
        """
        need = self.rows * (ROW_BYTES + CELL_BYTES * columns)
        count = max(min(self.rows // SHARE_ROWS, MOST_SHARES), ceil(need / max(self.memory, 1)), 1)
        return [self.parts[first::count] for first in range(min(count, len(self.parts)))]

    def map(self, function: Callable[..., Any], shares: list[list[RestOfPart]], *more: Any) -> list[Any]:
        """Return what a function says of each share, given further arguments; here one share after the other."""
        return [function(share, *more) for share in shares]


def rest_of_parts(parts: Sequence[tuple[Part, int]], sample: NDArray[np.int64]) -> list[RestOfPart]:
    """Return parts of these numbers of rows without the rows of a sample, which is given by places in the table."""
    found, start = [], 0
    for part, rows in parts:
        first, last = np.searchsorted(sample, [start, start + rows])
        found.append(RestOfPart(part, sample[first:last] - start))
        start += rows
    return found
