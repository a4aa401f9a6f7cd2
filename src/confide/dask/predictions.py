"""Predictions on a cluster: for a Dask data frame, and for Parquet files of any number."""

from __future__ import annotations

import os
import secrets
import shutil
import warnings
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from dask import delayed

from confide.base.threads import one_thread
from confide.base.validation import examples
from confide.data.arrow import read_table
from confide.data.files import Batch, check_columns
from confide.data.many_files import names_in, open_dataset, unified
from confide.data.parts import FilePart, parts_of
from confide.data.writing import writing
from confide.diagnostics.covariate_shift import Look
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.predict.answer import answer, answer_columns, beside
from confide.predict.batches import Answered, answer_part, covariates, tell_probabilities
from confide.weights.groups import NONE_UNSEEN, Unseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.dask.cluster import Cluster
    from confide.model import CounterfactualIntervals
    from confide.typing import Label

ANSWERING = "answering new rows"


def predict(model: CounterfactualIntervals, ddf: Any, control: Label | None = None) -> Any:
    """Return a Dask data frame: its own columns, then those of `confide predict`, computed where the rows are.

    It is lazy, as data frames of Dask are: ``to_parquet`` writes it, ``compute`` brings it here. Rows that look unlike
    the trial's are not pointed out; `confide predict --dask` does it for files.

    Parameters
    ----------
    model : CounterfactualIntervals
        A fitted model.
    ddf : dask.dataframe.DataFrame
        New rows, with all covariates.
    control : label, default None
        The treatment that effects are against; None: the model's own.
    """
    names = [str(name) for name in ddf.columns]
    check_columns("the data frame", names, covariates(model))
    added = answer_columns(model, control)
    twice = [name for name in names if name in added]
    if twice:
        raise ValueError(f"the input has columns that the answers need: {examples(twice)}. Rename them.")
    meta = pd.concat([ddf._meta, pd.DataFrame({name: np.empty(0) for name in added}, index=ddf._meta.index)], axis=1)
    return ddf.map_partitions(answered_frame, delayed(model, pure=False), control, meta=meta)


def answered_frame(frame: Any, model: CounterfactualIntervals, control: Label | None) -> Any:
    """Return a partition with its answers."""
    table = read_table(frame)
    names = covariates(model)
    check_columns("a partition of the new rows", table.column_names, names)
    with one_thread():
        found = answer(model, model.read(table.select(names), model.assignment_in(table)), control).table
    answers = {name: found[name].to_numpy() for name in found.column_names}
    return pd.concat([frame, pd.DataFrame(answers, index=frame.index)], axis=1)


def answer_files(
    cluster: Cluster,
    model: CounterfactualIntervals,
    source: str,
    out: str,
    *,
    control: Label | None = None,
    report_progress: Callable[[int], None] = lambda _: None,
) -> Answered:
    """Write a folder of Parquet files with the source's own columns and the predictions; return the counts.

    Workers read the source's files and write into the folder, so all must see both under the same paths. The folder
    appears under its name when all files are in it. Warnings are those of `confide.predict.batches.answer_file`.
    """
    dataset = open_dataset(os.path.abspath(source))  # noqa: PTH100  (it may be a pattern)
    names = names_in(dataset)
    check_columns(source, names, covariates(model))
    tell_probabilities(model, names)
    dataset = unified(dataset, names)
    beside(dataset.schema, model, control)
    folder = Path(out).resolve()
    check_folder(out)
    temporary = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(8)}.tmp")
    temporary.mkdir()
    try:
        pieces = [piece for part in parts_of(dataset) for piece in part.pieces()]
        starts = np.cumsum([0, *(rows for _, rows in pieces)]).tolist()
        paths = [str(temporary / f"part-{place:05d}.parquet") for place in range(len(pieces))]
        shared = [delayed(model, pure=False)] * len(pieces)
        parts = [piece for piece, _ in pieces]
        same = [control] * len(pieces)
        found = cluster.map(ANSWERING, answer_part_of_file, parts, shared, paths, starts[:-1], same)
        wanted = set(paths)
        for each in temporary.iterdir():  # what a worker that was lost has left
            if str(each) not in wanted:
                each.unlink()
        if folder.exists():
            folder.rmdir()
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    total: Answered = reduce(add, (counted for counted, _, _ in found))
    report_progress(total.rows)
    look = reduce(Look.joined, (look for _, look, _ in found), Look.at_nothing(model.population_))
    if unlike := model.population_.judge(look):
        warnings.warn(unlike, PopulationWarning, stacklevel=2)
    unseen = reduce(add, (strange for _, _, strange in found), NONE_UNSEEN)
    if model.groups_ is not None and (strange := model.groups_.unseen(unseen, total.rows)):
        warnings.warn(strange, InfiniteIntervalWarning, stacklevel=2)
    return total


def check_folder(out: str) -> None:
    """Raise unless a folder of that name can be made."""
    folder = Path(out).resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(f"{out} exists: answers of a cluster are a folder of Parquet files; name a new one.")
    if not folder.parent.is_dir():
        raise ValueError(f"{out} cannot be written: the folder that it is to be in does not exist.")


def answer_part_of_file(
    part: FilePart, model: CounterfactualIntervals, path: str, start: int, control: Label | None
) -> tuple[Answered, Look, Unseen]:
    """Write the answers for a part of a file; return the counts, and what is needed to judge the rows."""
    schema, names = beside(part.schema, model, control), covariates(model)
    counted = Answered.of(schema.empty_table(), model, control)
    look, unseen, before = Look.at_nothing(model.population_), NONE_UNSEEN, start
    with writing(path, schema) as sink:
        for rows in part.batches():
            table = pa.Table.from_batches([rows])
            asked = table.select(names)
            people = model.read(asked, model.assignment_in(table))
            each = answer_part(model, Batch(table, table, before), asked, people, control)
            sink.write_table(pa.table([*table.columns, *each.answer.table.columns], schema=schema))
            counted += each.counted
            look = look.joined(each.look)
            unseen += each.unseen
            before += len(table)
    return counted, look, unseen
