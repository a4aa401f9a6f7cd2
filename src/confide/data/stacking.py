"""Stacking: one study from an observational and a trial table."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from confide.base.validation import examples, number_of
from confide.data import kinds
from confide.data.arrow import is_frame, read_frame, read_table
from confide.data.large_table import Beyond, LargeTable, TableByBatches
from confide.data.named import check_named
from confide.data.roles import check_marks, check_there, chosen_covariates, declared_categories, listed_names
from confide.data.sources import Sources, cut_to_memory, rest_of, scanned
from confide.data.study import Study
from confide.data.twins import twins
from confide.data.values import (
    counted,
    may_be_probabilities,
    remedy_for_missing,
    warn_of_identifiers,
    words_among_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from confide.typing import Label, Table


def stack(
    observational: Table | TableByBatches | None,
    trial: Table,
    treatment: str = "t",
    outcome: str = "y",
    covariates: Sequence[str] | None = None,
    *,
    assignment: str | None = None,
    cluster: str | None = None,
    target: Table | str | None = None,
    categories: Sequence[str] = (),
    names: tuple[str, str] = ("the observational table", "the trial table"),
) -> Study:
    """Return one study from an observational and a trial table, or from a trial alone.

    What each column holds is decided from both tables together, before any value is changed (`confide.data.kinds`):
    text that is written like numbers, dates or booleans is read as such, whatever kind of frame it came in. Where cells
    do not fit or the tables disagree, an error names them.

    Parameters
    ----------
    observational, trial : frames
        Any data frames that narwhals reads: pandas, polars, pyarrow and others, one kind or two. Columns are
        matched by name. No unit may stand in both tables. Without an observational table (None) there are methods that
        use the trial alone. A large observational table may be a `pyarrow.dataset.Dataset`, or one with a bound on rows
        or memory (`confide.LargeTable`): it is read by batches, and the study has a uniform sample of it if it does not
        fit.
    treatment, outcome : str
        Names of the treatment and outcome columns.
    covariates : sequence of str, default None
        Names of the covariate columns. None: all other columns that both tables have, identifiers too; a
        column that only one table has is left out with a warning.
    assignment : str, default None
        Column of the trial with the probability of the treatment that each person received, where it was not the same
        for all. Never a covariate.
    cluster : str, default None
        Column of the trial with what its people share: a school, a site, a household. Never a covariate.
    target : frame or "observational", default None
        Covariates of the people that one asks about; "observational": all people of the observational table. None:
        people like the trial's.
    categories : sequence of str
        Columns that are categories although their values look like numbers or dates. Categorical columns of a frame
        are categories without being named here.
    names : (str, str)
        What messages call the two tables.

    Returns
    -------
    Study
        Its X is a frame of the observational table's kind (the trial's without one), categories as categorical columns.
    """
    if isinstance(observational, ds.Dataset):
        observational = LargeTable(observational)
    large = observational if isinstance(observational, TableByBatches) else None
    given = {name: table for name, table in zip(names, (observational, trial), strict=True) if table is not None}
    for name, table in given.items():
        if not is_frame(table) and table is not large:
            raise ValueError(
                f"{name} must be a data frame, got {type(table).__name__}. "
                "Read a file first; with arrays, call Study(X, y, treatment, trial)."
            )
    if trial is None:
        raise ValueError(f"{names[1]} must be a data frame, got None. The promise rests on randomised rows.")
    roles = [str(treatment), str(outcome)]
    if treatment == outcome:
        raise ValueError(f"treatment and outcome must be two columns, got {treatment!r} for both.")
    marks = {name: str(column) for name, column in (("assignment", assignment), ("cluster", cluster)) if column}
    tables = {name: read_table(table) for name, table in given.items() if table is not large}
    found = {name: large.column_names if table is large else tables[name].column_names for name, table in given.items()}
    asked = None if covariates is None else listed_names(covariates)
    check_named(found, roles[0], roles[1], asked, marks=marks, categories=listed_names(categories))
    check_marks(marks, roles)
    of_trial = tables[names[1]]
    unclear = asked is None and "assignment" not in marks
    alone = [name for name in of_trial.column_names if unclear and name not in found[next(iter(found))]]
    chances = [name for name in alone if may_be_probabilities(name, of_trial[name])]
    chosen, covariates = covariates, chosen_covariates(found, [*roles, *marks.values()], covariates, chances)
    if chosen is None and len(tables) == 2:
        warn_of_identifiers(covariates, list(tables.values()), stacklevel=2)
    declared = declared_categories(categories, [*covariates, roles[0]])
    if large is None:
        sources = Sources(tables)
    else:
        shared = [column for role, column in marks.items() if role == "cluster" and column in found[names[0]]]
        scan = scanned(large, tables[names[1]], covariates, roles, declared, shared)
        sources = Sources({names[0]: scan.sample, **tables}, scan)
    _check_clusters(marks.get("cluster"), sources, names[1])
    held = {name: sources.kind(name, category=name in declared) for name in covariates}
    undeclared = [name for name, kind in held.items() if kind == kinds.CATEGORIES and name not in declared]
    for odd in filter(None, (words_among_numbers(name, sources.columns(name)) for name in undeclared)):
        warnings.warn(odd, stacklevel=2)
    if large is not None:
        sources = cut_to_memory(large, sources, held)
    joined = pa.table({name: _join(name, sources, kind) for name, kind in held.items()})
    before = sources.rows - len(tables[names[1]])
    return Study(
        joined if large is not None else _of_kind(next(iter(given.values())), joined),
        _outcomes(roles[1], sources),
        _labels(roles[0], sources, category=roles[0] in declared),
        np.arange(sources.rows) >= before,
        target=_read_target(target, covariates),
        assignment_column=marks.get("assignment"),
        outcome_column=roles[1],
        beyond=None
        if sources.scan is None
        else Beyond.of(
            sources.scan,
            held,
            _beyond_by_treatment(roles[0], sources, category=roles[0] in declared),
            rest_of(large, sources, covariates, roles, declared),
        ),
        **{role: _mark(role, column, tables[names[1]][column], before) for role, column in marks.items()},
    )


def _of_kind(given: Table, joined: pa.Table) -> Any:
    """Return a table as a frame of the kind of a given one."""
    return nw.from_arrow(joined, backend=read_frame(given).implementation).to_native()


def _check_clusters(name: str | None, sources: Sources, trial: str) -> None:
    """Raise if a cluster of the trial is in another table too."""
    if name is None:
        return
    seen = {
        where: set(kinds.texts(name, kinds.plain(each)).to_pylist()) for where, each in sources.values(name).items()
    }
    found = seen.pop(trial)
    for other, labels in seen.items():
        if both := sorted(str(label) for label in (labels & found) - {None}):
            raise ValueError(
                f"clusters of the trial are in {other} too ({examples(both)}): a model that learnt from them knows the "
                "trial's people better than those of a new cluster. Take these rows out of it."
            )


def _mark(role: str, name: str, column: pa.ChunkedArray, before: int) -> list[Any]:
    """Return a column of the trial, after nothing for the rows before it."""
    if role == "assignment":
        kind = kinds.decide(name, {"": column})
        if kind not in (kinds.NUMBERS, kinds.BOOLEANS):
            raise ValueError(f"the assignment column {name!r} must hold probabilities, and holds {kind}.")
        values = kinds.numbers(name, column, kind, finite=False)
        bad = np.flatnonzero(~((values > 0) & (values <= 1)))
        if len(bad):
            raise ValueError(
                f"the assignment column {name!r} must hold the probability of the treatment that each person received, "
                f"above 0 and at most 1: {len(bad)} of {len(values)} are not, such as {values[bad[0]]:g} (row "
                f"{bad[0] + 1}). Take it from the trial's design, and divide percentages by 100."
            )
        return [*[np.nan] * before, *values.tolist()]
    return [*[None] * before, *kinds.texts(name, kinds.plain(column)).to_pylist()]


def _read_target(target: Table | str | None, covariates: Sequence[str]) -> Any:
    """Return the target's covariates."""
    if target is None or isinstance(target, str):
        return target
    if not is_frame(target):
        raise ValueError(f"target must be a data frame of covariates or 'observational', got {type(target).__name__}.")
    frame = read_frame(target)
    check_there(covariates, {"the target": frame.columns})
    return frame.select(list(covariates)).to_native()


def _outcomes(name: str, sources: Sources) -> NDArray[np.float64]:
    """Return the outcomes of all tables as floats; none may be missing."""
    columns, kind = sources.columns(name), sources.kind(name)
    if kind not in (kinds.NUMBERS, kinds.BOOLEANS):
        raise ValueError(f"the outcome must be numeric, but column {name!r} holds {kind}. Encode it as numbers.")
    for table, column in columns.items():
        _check_no_missing_outcome(table, name, column)
    return np.concatenate([kinds.numbers(name, column, kind, finite=False) for column in columns.values()])


def _check_no_missing_outcome(table: str, name: str, column: pa.ChunkedArray) -> None:
    """Raise if outcomes are missing, with their table and rows."""
    missing = np.flatnonzero(kinds.plain(column).is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"{table} has no outcome {name!r} in {len(missing)} of {len(column)} rows (such as row "
            f"{missing[0] + 1}). Leave these rows out; if people of the trial are missing because of their outcome, no "
            "promise holds for the others."
        )


def _join(name: str, sources: Sources, kind: str) -> pa.ChunkedArray:
    """Return one column of all tables, stacked, as values of its one kind."""
    parts = list(sources.columns(name).values())
    if kind == kinds.CATEGORIES:
        _warn_of_twins(name, sources)
        encoded = pa.chunked_array([kinds.categories(name, part) for part in parts])
        return pa.chunked_array([encoded.unify_dictionaries().combine_chunks()])
    if kind == kinds.BOOLEANS:
        read = [kinds.booleans(name, part) for part in parts]
    elif kind != kinds.NUMBERS:
        read = [kinds.temporal(name, part, kind) for part in parts]
    elif all(pa.types.is_integer(part.type) and not pa.types.is_uint64(part.type) for part in parts):
        whole = parts[0].type if len({part.type for part in parts}) == 1 else pa.int64()
        read = [part.cast(whole) for part in parts]
    else:
        # What comes in single precision stays so: it is half the memory of a large table.
        precision = np.float32 if all(pa.types.is_float32(part.type) for part in parts) else np.float64
        values = (kinds.numbers(name, part).astype(precision, copy=False) for part in parts)
        read = [pa.chunked_array([pa.array(each, from_pandas=True)]) for each in values]
    return pa.chunked_array([chunk for part in read for chunk in part.chunks], read[0].type)


def _warn_of_twins(name: str, sources: Sources) -> None:
    """Warn of categories that differ by case, spaces or forms of Unicode only."""
    values = pa.chunked_array([kinds.texts(name, column) for column in sources.values(name).values()])
    found = twins(values.drop_null().unique().to_pylist())
    if found:
        shown = examples([" and ".join(map(repr, each)) for each in found], 3)
        warnings.warn(
            f"column {name!r} has categories that differ by case, spaces or forms of Unicode only: {shown}. They are "
            "treated as different; write them alike if they are the same.",
            stacklevel=4,
        )


def _labels(name: str, sources: Sources, *, category: bool) -> NDArray[Any]:
    """Return treatment labels: numbers and booleans as such, whole numbers as integers, all else as text.

    Categories of numbers are numbers here.
    """
    columns = {table: kinds.plain(column) for table, column in sources.columns(name).items()}
    for table, column in columns.items():
        missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
        if len(missing):
            raise ValueError(
                f"the treatment column {name!r} has {number_of(len(missing), 'missing value')} in {table} (such as in "
                f"row {missing[0] + 1}). {remedy_for_missing(sources.columns(name)[table])}"
            )
    return _read_labels(name, list(columns.values()), sources.kind(name, category=category, labels=True))


def _read_labels(name: str, columns: list[pa.ChunkedArray], kind: str) -> NDArray[Any]:
    """Return the treatment labels of columns without gaps, given what they hold."""
    if kind not in (kinds.NUMBERS, kinds.BOOLEANS):
        texts = [kinds.categories(name, column) for column in columns]
        return np.concatenate([np.array(each.dictionary.to_pylist())[each.indices.to_numpy()] for each in texts])
    values = np.concatenate([kinds.numbers(name, column, kind, finite=False) for column in columns])
    if kind == kinds.BOOLEANS:
        return values.astype(bool)
    large = values[np.isfinite(values) & (np.abs(values) >= kinds.LARGEST_WHOLE)]
    if len(large):
        raise ValueError(
            f"the treatment column {name!r} holds {large[0]:.0f}, and numbers from 2**53 on cannot be told apart. "
            f"Declare it a category ({kinds.declare(name)})."
        )
    return values.astype(int) if np.isfinite(values).all() and (values == np.round(values)).all() else values


def _beyond_by_treatment(name: str, sources: Sources, *, category: bool) -> dict[Label, int]:
    """Return how many rows of a large table beyond the sample received each treatment."""
    assert sources.scan is not None  # noqa: S101  (there is a large table)
    kind = sources.kind(name, category=category, labels=True)
    found: Counter[Label] = Counter()
    for values, sign in ((sources.scan.values[name], 1), (counted(sources.scan.sample[name]), -1)):
        labels = _read_labels(name, [values.values], kind).tolist()
        for label, count in zip(labels, values.counts.tolist(), strict=True):
            found[label] += sign * count
    return dict(+found)
