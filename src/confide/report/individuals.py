"""The new rows with their predictions: as many as fit into a page, and counts over all."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from confide.data.arrow import is_frame, read_array, read_table
from confide.data.files import Batch, check_columns
from confide.diagnostics.covariate_shift import Look
from confide.exceptions import PopulationWarning
from confide.predict.answer import answers, beside
from confide.predict.batches import Answered, covariates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from confide.model import CounterfactualIntervals

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Individuals:
    """New rows and a model's predictions for them.

    Attributes
    ----------
    carried : pyarrow.Table
        Their own columns; the first `MOST_ROWS` rows.
    covariates : list of str
        The columns that the model reads; the others identify rows.
    encoded : (n, d) array
        The same rows, encoded for the arms.
    answers : pyarrow.Table
        The model's predictions for the same rows.
    counted : Answered
        Counts over all rows.
    unlike : str or None
        How the rows, all of them, differ from the trial's.
    """

    carried: pa.Table
    covariates: list[str]
    encoded: NDArray[np.float64]
    answers: pa.Table
    counted: Answered
    unlike: str | None

    @classmethod
    def of_batches(
        cls,
        model: CounterfactualIntervals,
        batches: Iterable[Batch],
        control: Any = None,
        source: str = "the table of new rows",
        report_progress: Callable[[int], None] = lambda _: None,
    ) -> Individuals:
        """Predict for rows that come in batches; ``report_progress`` is called with the number of rows of each batch.

        Warns with a `PopulationWarning` if the rows look unlike the trial's.
        """
        names = covariates(model)

        def encode(batch: Batch) -> NDArray[np.float64]:
            check_columns(source, batch.read.column_names, names)
            return model.encode(batch.read.select(names))

        return cls._gather(model, names, ((batch, encode(batch)) for batch in batches), control, report_progress)

    @classmethod
    def of_table(cls, model: CounterfactualIntervals, X: Any, control: Any = None) -> Individuals:
        """Predict for a data frame, whose other columns are carried through, or for an array."""
        if is_frame(X):
            table = read_table(X)
            return cls.of_batches(model, [Batch(table, table, 0)], control)
        array = read_array(X)
        names = [f"column {number}" for number in range(array.shape[1])]
        table = pa.table([pa.array(column.tolist(), from_pandas=True) for column in array.T], names=names)
        return cls._gather(model, names, [(Batch(table, table, 0), model.encode(X))], control)

    @classmethod
    def _gather(
        cls,
        model: CounterfactualIntervals,
        names: list[str],
        parts: Iterable[tuple[Batch, NDArray[np.float64]]],
        control: Any,
        report_progress: Callable[[int], None] = lambda _: None,
    ) -> Individuals:
        kept: list[tuple[pa.Table, NDArray[np.float64], pa.Table]] = []
        counted, look, held = [], Look.at_nothing(model.population_), 0
        for batch, encoded in parts:
            beside(batch.carried.schema, model, control)
            found = answers(model, encoded, control)
            counted.append(Answered.of(found, model, control))
            look = look.joined(model.population_.look(encoded, batch.start))
            rows = min(len(encoded), MOST_ROWS - held)
            if rows:
                kept.append((batch.carried.slice(0, rows), encoded[:rows], found.slice(0, rows)))
            held += rows
            report_progress(len(encoded))
        if not held:
            raise ValueError("there are no rows to answer for; give at least one.")
        if unlike := model.population_.judge(look):
            warnings.warn(unlike, PopulationWarning, stacklevel=4)
        carried, matrices, found_parts = zip(*kept, strict=True)
        return cls(
            pa.concat_tables(carried),
            names,
            np.concatenate(matrices),
            pa.concat_tables(found_parts),
            reduce(add, counted),
            unlike,
        )
