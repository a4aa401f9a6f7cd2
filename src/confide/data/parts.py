"""The parts of a table that is read by batches: files, or the groups of rows in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from confide.data.arrow import without_views
from confide.data.formats import naming_the_file
from confide.data.many_files import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Number of rows that are read at a time, and of such batches that are read ahead.
BATCH_ROWS = 65_536
READ_AHEAD = 2
# Groups of rows that follow each other are one piece up to so many rows.
PIECE_ROWS = 1_000_000
# Columns are read in pieces of a mebibyte, and not whole row groups ahead. Pieces smaller than the head of a page
# are an error of older versions of pyarrow.
_LEAN = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=2**20, pre_buffer=False)


class Part(ABC):
    """Rows of a table that follow each other.

    Attributes
    ----------
    where : str
        What messages call the file or the part.
    start : int
        Number of rows before these that are called so too.
    """

    where: str
    start: int

    @abstractmethod
    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, with these columns, by default all."""


@dataclass(frozen=True)
class FilePart(Part):
    """A fragment of a dataset, its columns in the types of a schema."""

    fragment: Any
    schema: pa.Schema
    where: str
    start: int = 0

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order; an error names the file."""
        with naming_the_file(self.where, "read"):
            for batch in self.fragment.to_batches(
                schema=self.schema,
                columns=columns,
                batch_size=BATCH_ROWS,
                batch_readahead=READ_AHEAD,
                fragment_readahead=1,
                fragment_scan_options=_LEAN if isinstance(self.fragment, ds.ParquetFileFragment) else None,
            ):
                yield without_views(batch)

    def pieces(self) -> Iterator[tuple[FilePart, int]]:
        """Yield parts that can be read apart from each other, and the number of rows of each."""
        if not isinstance(self.fragment, ds.ParquetFileFragment):
            yield self, self.fragment.count_rows()
            return
        with naming_the_file(self.where, "read"):
            sizes = [(group.id, group.num_rows) for group in self.fragment.row_groups]
        start = self.start
        while sizes:
            chosen: list[int] = []
            rows = 0
            while sizes and (not chosen or rows + sizes[0][1] <= PIECE_ROWS):
                group, more = sizes.pop(0)
                chosen.append(group)
                rows += more
            yield FilePart(self.fragment.subset(row_group_ids=chosen), self.schema, self.where, start), rows
            start += rows


def parts_of(dataset: ds.Dataset) -> list[FilePart]:
    """Return the parts of a dataset, one per file."""
    return [
        FilePart(fragment, dataset.schema, name_of(fragment, place))
        for place, fragment in enumerate(dataset.get_fragments())
    ]
