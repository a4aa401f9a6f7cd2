"""Rows by the batch: a model's answers for files of any length, in memory that does not grow with them."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.answers import answers, beside, contrasts
from confide.encoding import NumberColumn
from confide.formats import Batch, check_columns, kind_of, read_batches, writing
from confide.population import Look, PopulationWarning
from confide.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from confide.counterfactual import CounterfactualIntervals


@dataclass(frozen=True)
class Answered:
    """How many rows were answered, and on which side of 0 their effects' intervals are.

    Attributes
    ----------
    rows : int
        Rows of the file.
    infinite : int
        Rows with an infinite interval for some treatment.
    signs : dict
        For each pair (treated, control), how many effects' intervals are above 0, below 0, and neither.
    """

    rows: int
    infinite: int
    signs: dict[tuple[str, str], tuple[int, int, int]]

    @classmethod
    def of(cls, model: CounterfactualIntervals, found: pa.Table) -> Answered:
        """Count what some rows were answered."""
        wide = np.zeros(len(found), dtype=bool)
        for label in model.arms_:
            for end in ("lower", "upper"):
                wide |= np.isinf(found[f"y_{label}_{end}"].to_numpy())
        signs = {}
        for treated, control in contrasts(model):
            name = f"effect_{treated}_vs_{control}"
            above, below = (found[f"{name}_lower"].to_numpy() > 0).sum(), (found[f"{name}_upper"].to_numpy() < 0).sum()
            signs[str(treated), str(control)] = int(above), int(below), int(len(found) - above - below)
        return cls(len(found), int(wide.sum()), signs)

    def __add__(self, other: Answered) -> Answered:
        """Return the counts of both parts together."""
        signs = {}
        for pair, counts in self.signs.items():
            above, below, neither = np.add(counts, other.signs[pair]).tolist()
            signs[pair] = above, below, neither
        return Answered(self.rows + other.rows, self.infinite + other.infinite, signs)


@dataclass(frozen=True)
class _Encoded:
    """Some rows as they are carried through, as the arms take them, and what is compared with the trial."""

    carried: pa.Table
    matrix: NDArray[np.float64]
    look: Look


def answer_file(
    model: CounterfactualIntervals, source: str, out: str, *, tell: Callable[[int], None] = lambda _: None
) -> Answered:
    """Write the source's own columns and the answers, rows in the order of the source.

    Covariates are found by name. In a CSV file the source's own columns stay the text that they were; in a Parquet or
    Arrow file made from one, covariates that are numbers become numbers. ``tell`` is called with the number of rows
    after each batch. While the model answers one batch, the next is read and the one before is written.

    Warns once, a `PopulationWarning`, if the rows of the file look unlike the trial's.
    """
    batches = _encoded_batches(model, source, out)
    first = next(batches)
    schema = beside(first.carried.schema, model)
    batch: _Encoded | None = first
    look, counted = first.look, []
    with writing(out, schema) as sink, ThreadPoolExecutor(2) as aside:
        written = aside.submit(lambda: None)
        while batch is not None:
            coming = aside.submit(next, batches, None)
            found = answers(model, batch.matrix)
            written.result()
            written = aside.submit(sink.write_table, pa.table([*batch.carried.columns, *found.columns], schema=schema))
            counted.append(Answered.of(model, found))
            tell(len(found))
            batch = coming.result()
            look = look if batch is None else look.joined(batch.look)
        written.result()
    if unlike := model.population_.judge(look):
        warnings.warn(unlike, PopulationWarning, stacklevel=2)
    return reduce(add, counted)


def covariates(model: CounterfactualIntervals) -> list[str]:
    """Return the names of the columns that the model reads."""
    names = getattr(model.encoder_, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted on an array without column names; fit it on tables to answer files.")
    return [str(name) for name in names]


def _encoded_batches(model: CounterfactualIntervals, source: str, out: str) -> Iterator[_Encoded]:
    """Yield the rows of a file in order, encoded, some at a time."""
    names = covariates(model)
    typed = kind_of(source) == "csv" != kind_of(out)
    for batch in read_batches(source):
        check_columns(source, batch.read.column_names, names)
        matrix = model.encode(batch.read.select(names))
        yield _Encoded(_with_numbers(model, batch) if typed else batch.carried, matrix, model.population_.look(matrix))


def _with_numbers(model: CounterfactualIntervals, batch: Batch) -> pa.Table:
    """Return the rows to carry through, with covariates that are numbers as numbers."""
    table = batch.carried
    for column in getattr(model.encoder_, "columns_", []):
        if isinstance(column, NumberColumn) and not column.temporal:
            values = pa.array(numbers(column.name, batch.read[column.name]), from_pandas=True)
            table = table.set_column(table.column_names.index(column.name), column.name, values)
    return table
