"""Predictions for files of any length, batch by batch, in bounded memory."""

from __future__ import annotations

import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.base.threads import cores, keep_to_one_thread, one_thread
from confide.data.csv_files import PLAIN, Dialect
from confide.data.encoding import CategoryColumn, NumberColumn, near_misses
from confide.data.files import Batch, check_columns, read_batches
from confide.data.formats import format_of
from confide.data.kinds import numbers
from confide.data.writing import writing
from confide.diagnostics.covariate_shift import Look
from confide.diagnostics.strange_values import unknown_categories
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.io.allowed_types import parts
from confide.predict.answer import Answer, answer, beside, contrasts, count_signs
from confide.weights.groups import NONE_UNSEEN, Unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future

    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Table
    from confide.weights.people import People

# Largest number of batches in parallel; each takes memory.
MOST_THREADS = 8
# Libraries whose models can predict in several threads at once.
THREAD_SAFE = {"builtins", "confide", "numpy", "scipy", "sklearn", "fractions", "numbers", "decimal"}


@dataclass(frozen=True)
class Answered:
    """The number of predicted rows, and on which side of 0 their effects' intervals are.

    Attributes
    ----------
    rows : int
        Number of rows of the file.
    infinite : int
        Number of rows with an infinite interval for the outcome under some treatment.
    infinite_effects : int
        Number of rows with an infinite interval for some effect.
    signs : dict
        For each pair (treated, control), how many effects' intervals are "above" 0, "below" 0, and "neither".
    """

    rows: int
    infinite: int
    infinite_effects: int
    signs: dict[tuple[str, str], dict[str, int]]

    @classmethod
    def of(cls, found: pa.Table, model: CounterfactualIntervals, control: Label | None) -> Answered:
        """Return the counts of some rows."""
        pairs = contrasts(model, control)
        signs = {}
        for treated, against in pairs:
            name = f"effect_{treated}_vs_{against}"
            lower, upper = found[f"{name}_lower"].to_numpy(), found[f"{name}_upper"].to_numpy()
            signs[str(treated), str(against)] = count_signs(lower, upper)
        ends = ("lower", "upper") if model.side_ == "both" else (model.side_,)
        outcomes = _count_infinite(found, [f"y_{label}" for label in model.arms_], ends)
        effects = _count_infinite(found, [f"effect_{treated}_vs_{against}" for treated, against in pairs], ends)
        return cls(len(found), outcomes, effects, signs)

    def __add__(self, other: Answered) -> Answered:
        """Return the counts of both parts together."""
        signs = {
            pair: {side: count + other.signs[pair][side] for side, count in counts.items()}
            for pair, counts in self.signs.items()
        }
        return Answered(
            self.rows + other.rows,
            self.infinite + other.infinite,
            self.infinite_effects + other.infinite_effects,
            signs,
        )


def _count_infinite(found: pa.Table, names: list[str], ends: Sequence[str]) -> int:
    """Return how many rows have an infinite end, of those that are asked for, in one of these intervals."""
    wide = np.zeros(len(found), dtype=bool)
    for name in names:
        for end in ends:
            wide |= np.isinf(found[f"{name}_{end}"].to_numpy())
    return int(wide.sum())


@dataclass(frozen=True)
class Part:
    """Some rows with their predictions, the counts of these, and the summary for the test of covariate shift.

    ``unseen`` are the rows without a group that the trial has.
    """

    batch: Batch
    answer: Answer
    counted: Answered
    look: Look
    unseen: Unseen


def answer_batches(
    model: CounterfactualIntervals,
    batches: Iterable[Batch],
    control: Label | None = None,
    source: str = "the table of new rows",
) -> Generator[Part]:
    """Yield the predictions for rows that come in batches, in order, while the next ones are being computed.

    Covariates are found by name. A warning says which columns are read as probabilities of treatments. Several batches
    are predicted in parallel, each by one thread, if all parts of the model are confide's or scikit-learn's; with
    another base model, which may not be thread-safe, one after the other.
    """
    names = covariates(model)

    def answered(batch: Batch) -> Part:
        check_columns(source, batch.read.column_names, names)
        rows = batch.read.select(names)
        return answer_part(model, batch, rows, model.read(rows, model.assignment_in(batch.read)), control)

    yield from _in_order(answered, _telling(model, batches), _threads(model))


def tell_probabilities(model: CounterfactualIntervals, columns: Sequence[str]) -> None:
    """Say in a warning which of these columns are read as probabilities of treatments, or look so and are not."""
    if told := model.told_of_assignment(columns, covariates(model)):
        warnings.warn(told, stacklevel=2)


def _telling(model: CounterfactualIntervals, batches: Iterable[Batch]) -> Generator[Batch]:
    """Yield the batches; of the first one, say what is read as probabilities."""
    for place, batch in enumerate(batches):
        if not place:
            tell_probabilities(model, batch.read.column_names)
        yield batch


def answer_part(
    model: CounterfactualIntervals, batch: Batch, rows: Table, people: People, control: Label | None = None
) -> Part:
    """Return the predictions for one batch, of whose covariates, ``rows``, the model has read ``people``."""
    found = answer(model, people, control)
    counted = Answered.of(found.table, model, control)
    unseen = NONE_UNSEEN
    if model.groups_ is not None and people.group is not None:
        unseen = model.groups_.without(rows, people.group, batch.start)
    look = model.population_.look(people.X, batch.start)
    look = replace(look, unknown=unknown_categories(model.encoder_, rows))
    return Part(batch, found, counted, look, unseen)


def answer_file(
    model: CounterfactualIntervals,
    source: str,
    out: str,
    *,
    control: Label | None = None,
    dialect: Dialect = PLAIN,
    report_progress: Callable[[int], None] = lambda _: None,
    keep: Callable[[Part], None] = lambda _: None,
) -> Answered:
    """Write the source's own columns and the predictions (`answer_batches`), rows in the order of the source.

    Effects are those of every treatment against ``control``, the model's own by default.

    From a CSV file, read by ``dialect``, to another the own columns keep their text, and the output has the file's
    separator, decimal point and encoding; in a Parquet or Arrow file made from one, numeric covariates become numbers.
    After each batch ``report_progress`` is called with the number of rows, and ``keep`` with the rows and their
    predictions.

    Warns once for the whole file, with a `PopulationWarning`, if its rows look unlike the trial's, have numbers far
    beyond every row that the model was fitted on, or categories that it does not know; and with an
    `InfiniteIntervalWarning`, if some belong to groups that the trial does not have, or to none that is known.
    Categories of the first batch that differ by case or spaces only from known ones are told before anything is
    answered.
    """
    carry = carrying(source, out)
    counted, look, unseen = [], Look.at_nothing(model.population_), NONE_UNSEEN
    with closing(read_batches(source, dialect)) as batches:
        first = next(batches)
        check_columns(source, first.read.column_names, covariates(model))
        # A file that is written otherwise is so from its beginning.
        for name in covariates(model):
            if odd := near_misses(model.encoder_, first.read.select([name])):
                warnings.warn(odd, stacklevel=2)
        schema = beside(carry(model, first).schema, model, control)
        done = answer_batches(model, chain([first], batches), control, source)
        with writing(out, schema, first.dialect) as sink, closing(done):
            for part in done:
                found = part.answer.table
                sink.write_table(pa.table([*carry(model, part.batch).columns, *found.columns], schema=schema))
                counted.append(part.counted)
                look = look.joined(part.look)
                unseen += part.unseen
                keep(part)
                report_progress(len(found))
    total = reduce(add, counted)
    if unlike := model.population_.judge(look):
        warnings.warn(unlike, PopulationWarning, stacklevel=2)
    if model.groups_ is not None and (strange := model.groups_.unseen(unseen, total.rows)):
        warnings.warn(strange, InfiniteIntervalWarning, stacklevel=2)
    return total


def _threads(model: CounterfactualIntervals) -> int:
    """Return how many batches may be predicted in parallel."""
    libraries = {type(part).__module__.partition(".")[0] for part in parts(model)}
    return min(cores(), MOST_THREADS) if libraries <= THREAD_SAFE else 1


def _in_order(work: Callable[[Batch], Part], batches: Iterable[Batch], threads: int) -> Generator[Part]:
    """Yield the results of the batches in order, while the next ones are being computed."""
    pending: deque[Future[Part]] = deque()
    # The batches share the cores: inside one of them nothing runs in parallel.
    with one_thread(), ThreadPoolExecutor(threads, initializer=keep_to_one_thread) as hands:
        for batch in batches:
            pending.append(hands.submit(work, batch))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def covariates(model: CounterfactualIntervals) -> list[str]:
    """Return the names of the columns that the model reads."""
    names = getattr(model.encoder_, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted on an array without column names; fit it on tables to answer files.")
    return [str(name) for name in names]


def categories(model: CounterfactualIntervals) -> list[str]:
    """Return the names of the columns that the model reads as categories, if its encoder is confide's own."""
    columns = getattr(model.encoder_, "columns_", [])
    return [column.name for column in columns if isinstance(column, CategoryColumn)]


def carrying(source: str, out: str) -> Callable[[CounterfactualIntervals, Batch], pa.Table]:
    """Return how a batch's own columns are copied from one file to another."""
    return _with_numbers if format_of(source) == "csv" != format_of(out) else _as_they_are


def _as_they_are(_: CounterfactualIntervals, batch: Batch) -> pa.Table:
    """Return the rows as they are copied to the output."""
    return batch.carried


def _with_numbers(model: CounterfactualIntervals, batch: Batch) -> pa.Table:
    """Return the rows as they are copied to the output, with numeric covariates as numbers."""
    table = batch.carried
    for column in getattr(model.encoder_, "columns_", []):
        if isinstance(column, NumberColumn) and column.kind == "numbers":
            values = pa.array(numbers(column.name, batch.read[column.name]), from_pandas=True)
            table = table.set_column(table.column_names.index(column.name), column.name, values)
    return table
