"""The new rows with their predictions: as many as fit into a page, and counts over all."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import pyarrow as pa

from confide.data.arrow import is_frame, read_array, read_table
from confide.data.files import Batch
from confide.diagnostics.covariate_shift import Look
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.methods.new_rows import NewRows
from confide.predict.answer import beside
from confide.predict.batches import Answered, Part, answer_batches, answer_part, covariates
from confide.weights.groups import NONE_UNSEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Table

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
    X : pyarrow.Table or array
        Their covariates as the model reads them.
    rows : dict
        The same rows for each treatment, encoded, with its base model's predictions.
    answers : pyarrow.Table
        The model's predictions for the same rows.
    counted : Answered
        Counts over all rows.
    unlike : tuple of str
        How the rows, all of them, differ from the trial's: in their covariates, and by groups that it does not have.
    """

    carried: pa.Table
    covariates: list[str]
    X: Table
    rows: dict[Label, NewRows]
    answers: pa.Table
    counted: Answered
    unlike: tuple[str, ...]

    @classmethod
    def of_batches(
        cls,
        model: CounterfactualIntervals,
        batches: Iterable[Batch],
        control: Label | None = None,
        source: str = "the table of new rows",
        report_progress: Callable[[int], None] = lambda _: None,
        stacklevel: int = 2,
    ) -> Individuals:
        """Predict for rows that come in batches; ``report_progress`` is called with the number of rows of each batch.

        Warns with a `PopulationWarning` if the rows look unlike the trial's, and with an `InfiniteIntervalWarning` if
        some belong to groups that the trial does not have, or to none that is known: ``stacklevel`` says at whose line,
        as in `warnings.warn`.
        """
        gathered = Gathered(model, covariates(model))
        for part in answer_batches(model, batches, control, source):
            beside(part.batch.carried.schema, model, control)
            gathered.add(part)
            report_progress(len(part.answer.table))
        return gathered.individuals(stacklevel + 1)

    @classmethod
    def of_table(cls, model: CounterfactualIntervals, X: Table, control: Label | None = None) -> Individuals:
        """Predict for a data frame, whose other columns are carried through, or for an array.

        Warns as `of_batches` does, at the line of the caller's caller.
        """
        if is_frame(X):
            table = read_table(X)
            return cls.of_batches(model, [Batch(table, table, 0)], control, stacklevel=4)
        array = read_array(X)
        names = [f"column {number}" for number in range(array.shape[1])]
        table = pa.table([pa.array(column.tolist(), from_pandas=True) for column in array.T], names=names)
        gathered = Gathered(model, names)
        gathered.add(answer_part(model, Batch(table, table, 0), array, model.read(X), control))
        return replace(gathered.individuals(4), X=array[:MOST_ROWS])


class Gathered:
    """Rows with their predictions, as they come batch by batch: the first `MOST_ROWS` are kept, all are counted."""

    def __init__(self, model: CounterfactualIntervals, names: list[str]) -> None:
        self.model = model
        self.names = names
        self.look = Look.at_nothing(model.population_)
        self.counted: list[Answered] = []
        self.kept: list[tuple[pa.Table, pa.Table, pa.Table, dict[Label, NewRows]]] = []
        self.held = 0
        self.unseen = NONE_UNSEEN

    def add(self, part: Part) -> None:
        """Take the next rows."""
        self.counted.append(part.counted)
        self.look = self.look.joined(part.look)
        self.unseen += part.unseen
        rows = min(len(part.answer.table), MOST_ROWS - self.held)
        if rows:
            new_rows = {label: each[:rows] for label, each in part.answer.rows.items()}
            tables = (part.batch.carried, part.batch.read.select(self.names), part.answer.table)
            self.kept.append((*(table.slice(0, rows) for table in tables), new_rows))
        self.held += rows

    def individuals(self, stacklevel: int | None) -> Individuals:
        """Return all rows so far; warn at that level, unless that was done elsewhere (None), if they look unlike."""
        if not self.held:
            raise ValueError("there are no rows to answer for; give at least one.")
        counted = reduce(add, self.counted)
        groups = self.model.groups_
        said = {
            PopulationWarning: self.model.population_.judge(self.look),
            InfiniteIntervalWarning: None if groups is None else groups.unseen(self.unseen, counted.rows),
        }
        unlike = {category: text for category, text in said.items() if text is not None}
        if stacklevel is not None:
            for category, text in unlike.items():
                warnings.warn(text, category, stacklevel=stacklevel)
        carried, read, found, new_rows = zip(*self.kept, strict=True)
        return Individuals(
            pa.concat_tables(carried),
            self.names,
            pa.concat_tables(read),
            {label: NewRows.joined([each[label] for each in new_rows]) for label in self.model.arms_},
            pa.concat_tables(found),
            counted,
            tuple(unlike.values()),
        )
