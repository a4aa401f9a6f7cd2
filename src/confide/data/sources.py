"""The tables of a study while it is stacked; of a large one a sample, and what all its rows hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from confide.data import kinds
from confide.data.encoding import CategoryColumn
from confide.data.large_table import ALL, Scan
from confide.data.rest import Reading, Rest
from confide.data.values import Look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confide.data.large_table import TableByBatches


@dataclass(frozen=True)
class Sources:
    """The tables of a study, the trial last; of a large one the sample that is kept, and what all its rows hold."""

    tables: dict[str, pa.Table]
    scan: Scan | None = None

    @property
    def rows(self) -> int:
        """Number of rows of all tables together."""
        return sum(map(len, self.tables.values()))

    def columns(self, name: str) -> dict[str, pa.ChunkedArray]:
        """Return a column of each table."""
        return {where: table[name] for where, table in self.tables.items() if name in table.column_names}

    def values(self, name: str) -> dict[str, pa.ChunkedArray]:
        """Return a column of each table; of a large one each value of all its rows, once."""
        columns = self.columns(name)
        return columns if self.scan is None else {**columns, next(iter(columns)): self.scan.values[name].values}

    def kind(self, name: str, *, category: bool = False, labels: bool = False) -> str:
        """Return the kind of a column, decided by all rows; that of labels by their values and not by their type."""
        columns, values = self.columns(name), self.values(name)
        if labels:
            values = {where: kinds.plain(column) for where, column in values.items()}
        elif any(kinds.is_category(column.type) for column in columns.values()):
            return kinds.CATEGORIES
        counts = {} if self.scan is None else {next(iter(columns)): self.scan.values[name].counts}
        return kinds.decide(name, values, category=category, counts=counts)


def scanned(
    large: TableByBatches,
    trial: pa.Table,
    covariates: Sequence[str],
    roles: Sequence[str],
    declared: set[str],
    shared: Sequence[str],
) -> Scan:
    """Return what one pass over a large table finds, with as many rows as fit if a column is encoded as one."""
    columns = list(dict.fromkeys([*covariates, *roles, *shared]))
    types = large.types(columns)
    counted = {roles[0], *shared, *declared} | {
        name
        for name in columns
        if kinds.is_text(types[name])
        or kinds.is_category(types[name])
        or (name in covariates and kinds.decide(name, {"": trial[name]}) == kinds.CATEGORIES)
    }
    for name in (name for name in columns if name not in counted):
        kinds.Written.at(name, pa.chunked_array([], types[name]))  # raises for types that are no kind of value
    complete = {roles[0]: "treatment", roles[1]: "outcome"}
    return large.scan(Look(columns, counted, complete), large.most_rows(len(covariates), len(covariates)))


def cut_to_memory(large: TableByBatches, sources: Sources, held: Mapping[str, str]) -> Sources:
    """Return the tables with as many rows of the large one as fit, given how covariates are encoded."""
    (name, _), trial = sources.tables.items()
    scan = sources.scan
    assert scan is not None  # noqa: S101  (there is a large table)
    width = sum(
        len(CategoryColumn.of_counts(name, scan.values[name].texts(name)).names) if kind == kinds.CATEGORIES else 1
        for name, kind in held.items()
    )
    scan = scan.cut(large.most_rows(len(held), width))
    if large.rows is None and len(scan.sample) < scan.rows:
        warnings.warn(
            f"{name} has {scan.rows:,} rows; models learn from a uniform sample of {len(scan.sample):,} of them, to "
            f"keep within {large.memory} of memory. Promises do not depend on it. Give the number of rows, or more "
            "memory, to change it.",
            stacklevel=3,
        )
    return Sources(dict([(name, scan.sample), trial]), scan)


def rest_of(
    large: TableByBatches | None, sources: Sources, covariates: Sequence[str], roles: Sequence[str], declared: set[str]
) -> Rest | None:
    """Return the rows beyond the sample, if models are to learn from all of them."""
    if large is None or sources.scan is None or large.rows != ALL:
        return None
    treatment, outcome = roles
    treated = sources.kind(treatment, category=treatment in declared, labels=True)
    reading = Reading(tuple(covariates), (treatment, treated), (outcome, sources.kind(outcome)))
    return large.rest(sources.scan, reading)
