"""The new rows with their predictions: as many as fit into a page, a sample of more, and counts over all."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.data.arrow import is_frame, read_array, read_table
from confide.data.files import Batch
from confide.diagnostics.covariate_shift import Look, lots_of
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.methods.new_rows import NewRows
from confide.predict.answer import beside
from confide.predict.batches import Answered, Part, answer_batches, answer_part, covariates
from confide.report.choosing import Choosing
from confide.weights.groups import NONE_UNSEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from confide.model import CounterfactualIntervals
    from confide.report.choosing import Choice, Listed
    from confide.typing import Booleans, Label, Table

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Individuals:
    """New rows and a model's predictions for them; of more than `MOST_ROWS` a random sample, in the table's order.

    Attributes
    ----------
    carried : pyarrow.Table
        Their own columns.
    covariates : list of str
        The columns that the model reads; the others identify rows.
    X : pyarrow.Table or array
        Their covariates as the model reads them.
    rows : dict
        The same rows for each treatment, encoded, with its base model's predictions.
    answers : pyarrow.Table
        The model's predictions for the same rows.
    places : array of integers
        The place of each in the table, from 0.
    counted : Answered
        Counts over all rows.
    unlike : tuple of str
        How the rows, all of them, differ from the trial's: in their covariates, and by groups that it does not have.
    listed : list of Listed
        Whom to choose among all rows, by rate; empty if nobody asked, or it is refused.
    rate : float or None
        The rate that was asked for.
    refused : str
        Why nobody can be chosen; empty if nobody asked, or people can.
    """

    carried: pa.Table
    covariates: list[str]
    X: Table
    rows: dict[Label, NewRows]
    answers: pa.Table
    places: NDArray[np.intp]
    counted: Answered
    unlike: tuple[str, ...]
    listed: list[Listed] = field(default_factory=list)
    rate: float | None = None
    refused: str = ""

    @classmethod
    def of_batches(
        cls,
        model: CounterfactualIntervals,
        batches: Iterable[Batch],
        control: Label | None = None,
        source: str = "the table of new rows",
        report_progress: Callable[[int], None] = lambda _: None,
        choice: Choice | None = None,
        stacklevel: int = 2,
    ) -> Individuals:
        """Predict for rows that come in batches; ``report_progress`` is called with the number of rows of each batch.

        ``choice`` says whom to choose among all of them. Warns with a `PopulationWarning` if the rows look unlike the
        trial's, and with an `InfiniteIntervalWarning` if some belong to groups that the trial does not have, or to none
        that is known: ``stacklevel`` says at whose line, as in `warnings.warn`.
        """
        gathered = Gathered(model, covariates(model), control, choice)
        for part in answer_batches(model, batches, control, source):
            beside(part.batch.carried.schema, model, control)
            gathered.add(part)
            report_progress(len(part.answer.table))
        return gathered.individuals(stacklevel + 1)

    @classmethod
    def of_table(
        cls, model: CounterfactualIntervals, X: Table, control: Label | None = None, choice: Choice | None = None
    ) -> Individuals:
        """Predict for a data frame, whose other columns are carried through, or for an array.

        ``choice`` and warnings are as in `of_batches`, these at the line of the caller's caller.
        """
        if is_frame(X):
            table = read_table(X)
            return cls.of_batches(model, [Batch(table, table, 0)], control, choice=choice, stacklevel=4)
        array = read_array(X)
        names = [f"column {number}" for number in range(array.shape[1])]
        table = pa.table([pa.array(column.tolist(), from_pandas=True) for column in array.T], names=names)
        gathered = Gathered(model, names, control, choice)
        gathered.add(answer_part(model, Batch(table, table, 0), array, model.read(X), control))
        found = gathered.individuals(4)
        return replace(found, X=array[found.places])

    def sampled(self, most: int) -> NDArray[np.intp]:
        """Return which of these rows are in a random sample of at most so many, in order."""
        if most >= len(self.places):
            return np.arange(len(self.places))
        return np.sort(np.argpartition(lots_of(self.places), most)[:most])

    def only(self, some: NDArray[np.intp]) -> Individuals:
        """Return some of these rows, by number; what is said of all rows stays."""
        return replace(
            self,
            carried=self.carried.take(some),
            X=self.X.take(some) if isinstance(self.X, pa.Table) else self.X[some],
            rows={label: rows[some] for label, rows in self.rows.items()},
            answers=self.answers.take(some),
            places=self.places[some],
            listed=[replace(each, selected=each.selected[some], p_values=each.p_values[some]) for each in self.listed],
        )


@dataclass(frozen=True)
class _Kept:
    """Rows of one batch that are kept: tables of their own columns, covariates and answers, and the rows of each arm.

    ``numerators`` are those of their p-values, if somebody asked whom to choose.
    """

    places: NDArray[np.intp]
    tables: tuple[pa.Table, pa.Table, pa.Table]
    rows: dict[Label, NewRows]
    numerators: NDArray[np.intp] | None

    def only(self, mask: Booleans) -> _Kept:
        if mask.all():
            return self
        return _Kept(
            self.places[mask],
            tuple(table.filter(pa.array(mask)) for table in self.tables),
            {label: rows[mask] for label, rows in self.rows.items()},
            None if self.numerators is None else self.numerators[mask],
        )


class Gathered:
    """Rows with their predictions, as they come batch by batch: all are counted, and at most `MOST_ROWS` are kept.

    Each row has a pseudo-random number that depends on its place only, and the rows with the smallest are kept: a
    uniform sample of all rows, the same however the table is cut into batches.
    """

    def __init__(
        self,
        model: CounterfactualIntervals,
        names: list[str],
        control: Label | None = None,
        choice: Choice | None = None,
    ) -> None:
        self.model = model
        self.names = names
        self.look = Look.at_nothing(model.population_)
        self.choosing = None if choice is None else Choosing.of(model, choice, control)
        self.counted: list[Answered] = []
        self.kept: list[_Kept] = []
        self.seen = 0
        self.unseen = NONE_UNSEEN

    def add(self, part: Part) -> None:
        """Take the next rows."""
        self.counted.append(part.counted)
        self.look = self.look.joined(part.look)
        self.unseen += part.unseen
        rows = part.answer.rows
        numerators = None if self.choosing is None else self.choosing.add(rows)
        places = np.arange(self.seen, self.seen + len(part.answer.table))
        self.seen += len(places)
        tables = part.batch.carried, part.batch.read.select(self.names), part.answer.table
        self.kept.append(_Kept(places, tables, rows, numerators))
        self._thin()

    def _thin(self) -> None:
        """Keep the rows with the smallest numbers, if there are too many."""
        lots = [lots_of(each.places) for each in self.kept]
        if sum(map(len, lots)) <= MOST_ROWS:
            return
        last = np.partition(np.concatenate(lots), MOST_ROWS - 1)[MOST_ROWS - 1]
        thinned = [each.only(mine <= last) for each, mine in zip(self.kept, lots, strict=True)]
        self.kept = [each for each in thinned if len(each.places)]

    def individuals(self, stacklevel: int | None) -> Individuals:
        """Return the rows so far; warn at that level, unless that was done elsewhere (None), if they look unlike."""
        if not self.seen:
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
        carried, read, found = (
            pa.concat_tables(part) for part in zip(*(each.tables for each in self.kept), strict=True)
        )
        kept = Individuals(
            carried,
            self.names,
            read,
            {label: NewRows.joined([each.rows[label] for each in self.kept]) for label in self.model.arms_},
            found,
            np.concatenate([each.places for each in self.kept]),
            counted,
            tuple(unlike.values()),
        )
        if self.choosing is None:
            return kept
        numerators = [each.numerators for each in self.kept if each.numerators is not None]
        listed = self.choosing.listed(np.concatenate(numerators) if numerators else None)
        return replace(kept, listed=listed, rate=float(self.choosing.choice.fdr), refused=self.choosing.refused)
