"""Tables in files: CSV, Parquet and Arrow, whole or in batches, and two of them as a study."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.arrow import without_views
from confide.data.csv_files import PLAIN, READ_BYTES, Dialect, csv_parts
from confide.data.formats import STANDARD, format_of, naming_the_file
from confide.data.large_table import LargeTable
from confide.data.many_files import check_names, is_of_batches, names_in, open_dataset, paths_of
from confide.data.named import check_named, crossed, refuse, unknown_groups
from confide.data.stacking import stack
from confide.data.values import warn_of_identifiers
from confide.data.writing import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from confide.data.csv_files import Parts
    from confide.data.study import Study

# Number of rows that are read, predicted and written at a time.
BATCH_ROWS = 65_536
# A trial with more than so many times the rows of the observational table may be that table.
LARGER = 2


@dataclass(frozen=True)
class Batch:
    """Some rows of a file: as they are copied to an output, and as a model reads them.

    The two differ for CSV files with a decimal comma: what is copied keeps the original text. ``start`` is the number
    of rows before these, ``dialect`` the format of the file, which a CSV file made from it gets too.
    """

    carried: pa.Table
    read: pa.Table
    start: int
    dialect: Dialect = PLAIN


def read_file(path: str, dialect: Dialect = PLAIN) -> pa.Table:
    """Return the whole table; every column of a CSV file is text."""
    return pa.concat_tables([batch.read for batch in read_batches(path, dialect, may_be_empty=False)])


def read_study(
    observational: str | None,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: Sequence[str] = (),
    new: str | None = None,
    *,
    categories: Sequence[str] = (),
    dialect: Dialect = PLAIN,
    covariates: Sequence[str] | None = None,
    assignment: str | None = None,
    cluster: str | None = None,
    target: str | None = None,
    groups: Sequence[str] = (),
    by: Sequence[str] = (),
    fitted_on: str | None = None,
    large: Callable[..., LargeTable] = LargeTable,
    **kept: Any,
) -> Study:
    """Return the study of two files, or of the trial's alone; the other may be a pattern or a folder of Parquet files.

    Identifiers are not covariates. If the file of new rows is given and can be read twice, it must have the covariates:
    this is checked before a model is fitted. ``categories`` are columns that are categories although their values look
    like numbers; ``covariates`` are the only columns that are used, all by default. ``assignment`` and ``cluster`` are
    columns of the trial, ``target`` is a file or "observational", as in `stack`. ``groups`` will make groups, and the
    names in each of ``by``; ``fitted_on`` is the model whose covariates these are: all names that are no columns are
    told at once. An observational table that is read by batches is a ``large``, whose parameters are ``kept``.
    """
    table, found = None, {}
    if observational is not None:
        _check_two_files(observational, trial)
        table = _read_observational(observational, dialect, large, kept)
        found[observational] = table.column_names
    randomised = read_file(trial, dialect)
    found[trial] = randomised.column_names
    ahead = _names_ahead(new, dialect)
    check_named(
        found,
        treatment,
        outcome,
        covariates,
        marks={role: column for role, column in (("assignment", assignment), ("cluster", cluster)) if column},
        categories=categories,
        identifiers=identifiers,
        elsewhere=ahead,
        groups=_groups(groups, by, set().union(*found.values())),
        fitted_on=fitted_on,
    )
    first, second = _without(table, identifiers), _without(randomised, identifiers)
    of_people = [name for name in identifiers if _may_name_people(randomised, name)]
    if table is not None:
        _warn_of_people_in_both(table, randomised, of_people)
    if cluster is None:
        _warn_of_people_twice(trial, randomised, of_people)
    if covariates is None and isinstance(first, LargeTable):
        # Of tables in memory `stack` tells.
        head = first.head()
        roles = {treatment, outcome, assignment, cluster}
        both = [name for name in second.column_names if name in head.column_names and name not in roles]
        warn_of_identifiers(both, [head, second], stacklevel=3)
    study = stack(
        first,
        second,
        treatment,
        outcome,
        covariates,
        assignment=assignment,
        cluster=cluster,
        target=target if target in (None, "observational") else read_file(target, dialect),
        categories=categories,
        names=(observational or "", trial),
    )
    refuse(unknown_groups(_groups(groups, by, study.X.column_names), study.X.column_names))
    if observational is not None:
        _warn_of_exchanged_files(observational, trial, study)
    labels = np.unique(study.treatment)
    if len(labels) < 2:
        raise ValueError(
            f"the treatment column {treatment!r} has one value, {examples(labels)}: there is nothing to compare it "
            "with. Give rows of two treatments."
        )
    if ahead:
        check_columns(str(new), ahead, study.X.column_names)
    return study


def _without(table: Any, columns: Sequence[str]) -> Any:
    """Return a table, if there is one, without some of the columns that it may have."""
    return None if table is None else table.drop_columns([name for name in columns if name in table.column_names])


def _groups(groups: Sequence[str], by: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return the columns, or comparisons, that make groups, without those that are crossed in one text."""
    return [*groups, *(name for text in by for name in crossed(text, columns))]


def _names_ahead(new: str | None, dialect: Dialect) -> set[str]:
    """Return the columns of the new rows, if they can be read twice, which a pipe cannot."""
    if new is None:
        return set()
    if Path(new).is_file():
        return set(column_names(new, dialect))
    return set(names_in(open_dataset(new))) if is_of_batches(new) else set()


def _check_two_files(observational: str, trial: str) -> None:
    """Raise if the trial's file is the observational one too, or one of its files."""
    why = "no promise holds if the trial's people are in the observational table too"
    if is_of_batches(observational) and Path(trial).resolve() in {
        Path(each).resolve() for each in paths_of(observational)
    }:
        raise ValueError(
            f"{trial} is one of the files of {observational}: {why}. Give another pattern, or move the trial."
        )
    if all(Path(each).is_file() for each in (observational, trial)) and Path(trial).samefile(observational):
        raise ValueError(
            f"{trial} is given as both tables: {why}. Give the rows that were not randomised as the other."
        )


def _read_observational(
    path: str, dialect: Dialect, large: Callable[..., LargeTable], kept: dict[str, Any]
) -> pa.Table | LargeTable:
    """Return the observational table, whole or to be read by batches."""
    elsewhere = large is not LargeTable
    if is_of_batches(path):
        # Who reads it elsewhere has another current folder.
        return large(open_dataset(os.path.abspath(path) if elsewhere else path), **kept)  # noqa: PTH100  (a pattern)
    if elsewhere:
        raise ValueError(f"a cluster reads Parquet files, got {path}. Convert it, or leave --dask out.")
    asked = [name for name in ("rows", "memory") if name in kept]
    if asked:
        raise ValueError(
            f"a bound on {' and '.join(asked)} needs Parquet files, which are read by batches, got {path}. Convert it."
        )
    return read_file(path, dialect)


def _warn_of_exchanged_files(observational: str, trial: str, study: Study) -> None:
    """Warn if the trial is by far the larger table: it may be the other one."""
    randomised = int(study.trial.sum())
    others = len(study) - randomised + (0 if study.beyond is None else study.beyond.rows)
    if randomised > LARGER * others:
        warnings.warn(
            f"the trial {trial} has {randomised:,} rows, and the observational table {observational} {others:,}. No "
            "promise holds if they are exchanged: --trial is the table in which treatment was assigned at random.",
            stacklevel=4,
        )


def _may_name_people(table: pa.Table, name: str) -> bool:
    """Return whether an identifier may name people: dates, times and fractions are only left out of the covariates.

    Numbers that all look like 101.2 may be the second person of household 101.
    """
    if name not in table.column_names:
        return True
    written = _as_written(table[name]).drop_null().unique()

    def like(pattern: str, of: Callable[..., pa.Scalar]) -> bool:
        return bool(of(pc.match_substring_regex(written, pattern)).as_py())

    fractions = like(kinds.NUMBER, pc.all) and like(r"\.\d*[1-9]", pc.any)
    fractions = fractions and not like(r"^\d+\.[1-9]\d?$", pc.all)
    return not (fractions or any(like(pattern, pc.all) for pattern in (kinds.DATE, kinds.INSTANT, kinds.TIME)))


def _warn_of_people_in_both(observational: pa.Table | LargeTable, trial: pa.Table, identifiers: Sequence[str]) -> None:
    """Warn about people who are in both tables."""
    for name in identifiers:
        if not all(name in table.column_names for table in (observational, trial)):
            continue
        found = _as_written(trial[name]).drop_null().unique()
        if isinstance(observational, LargeTable):
            both, rows = observational.matching(name, found)
            names_people = rows <= 2 * both
        else:
            values = _as_written(observational[name]).drop_null().unique()
            both, names_people = pc.sum(pc.is_in(values, found)).as_py(), len(values) > len(observational) / 2
        if both and names_people and len(found) > len(trial) / 2:
            warnings.warn(
                f"{both} values of {name!r} are in both files. No promise holds if these are the same people: "
                "take those who were randomised out of the observational file, and those who were not out of the "
                "trial's.",
                stacklevel=4,
            )


def _warn_of_people_twice(trial: str, table: pa.Table, identifiers: Sequence[str]) -> None:
    """Warn about people who have several rows in the trial; an identifier with few values does not name people."""
    for name in (name for name in identifiers if name in table.column_names):
        counts = pc.value_counts(_as_written(table[name]).drop_null())
        several = pc.sum(pc.greater(counts.field("counts"), 1)).as_py()
        if several and 2 * len(counts) >= len(table):
            warnings.warn(
                f"{several} values of {name!r} are in several rows of {trial}. If these are the same people, their "
                f"rows are not independent: keep one row of each, or give --cluster {name} instead of --id.",
                stacklevel=4,
            )


def _as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as text, with leading zeros."""
    return kinds.plain(column).cast(TEXT)


def column_names(path: str, dialect: Dialect = PLAIN) -> list[str]:
    """Return the names of a file's columns."""
    batches = read_batches(path, dialect)
    names: list[str] = next(batches).read.column_names
    batches.close()
    return names


def check_columns(path: str, found: Collection[str], wanted: Sequence[str]) -> None:
    """Raise unless a file has the wanted columns."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{path} has no column {examples(missing)}; {suggest(missing[0], sorted(found))}")


def read_batches(path: str, dialect: Dialect = PLAIN, *, may_be_empty: bool = True) -> Generator[Batch]:
    """Yield the rows of a file in order, at most `BATCH_ROWS` at a time; at least one batch, which may be empty.

    A CSV file's columns are text, whatever they look like: `confide.data.kinds` decides what they hold.
    """
    kind = format_of(path)
    with naming_the_file(path, "read"), _opened(path) as file, ExitStack() as stack:
        schema, parts, seen = READERS[kind](path, file, stack, dialect)
        first, before = next(parts, None), 0
        for part in (schema.empty_table(),) if first is None else chain([first], parts):
            table = without_views(pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part)
            for start in range(0, max(len(table), 1), BATCH_ROWS):
                rows = _checked(path, table.slice(start, BATCH_ROWS), may_be_empty=may_be_empty or before > 0)
                yield Batch(rows, dialect.values(rows) if kind == "csv" else rows, before, seen)
                before += len(rows)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file to read bytes; standard input is read as a stream for CSV only."""
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        yield file


def _open_arrow(file: Any) -> Any:
    """Return a reader of an Arrow file or stream."""
    return pa.ipc.open_file(file) if file.peek(6)[:6] == b"ARROW1" else pa.ipc.open_stream(file)


def _arrow_parts(_path: str, file: Any, stack: ExitStack, dialect: Dialect) -> Parts:
    reader = stack.enter_context(_open_arrow(file))
    seen = replace(dialect, encoding=None)  # its text may have signs that the encoding of CSV files does not have
    if hasattr(reader, "num_record_batches"):
        return reader.schema, (reader.get_batch(index) for index in range(reader.num_record_batches)), seen
    return reader.schema, iter(reader), seen


def _parquet_parts(_path: str, file: Any, stack: ExitStack, dialect: Dialect) -> Parts:
    parquet = stack.enter_context(pq.ParquetFile(file, buffer_size=READ_BYTES))
    return parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS), replace(dialect, encoding=None)


READERS: dict[str, Callable[[str, Any, ExitStack, Dialect], Parts]] = {
    "csv": csv_parts,
    "parquet": _parquet_parts,
    "arrow": _arrow_parts,
}


def _checked(path: str, table: pa.Table, *, may_be_empty: bool = False) -> pa.Table:
    """Return the table; raise if it has no rows, or two columns of one name."""
    check_names(path, table.column_names)
    if not (len(table) or may_be_empty):
        raise ValueError(f"{path} has no rows.")
    return table
