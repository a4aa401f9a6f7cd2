"""Stacking: one study from an observational and a trial table."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.arrow import is_frame, read_frame, read_table
from confide.data.study import Study
from confide.data.twins import alike, twins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from confide.typing import Table


def stack(
    observational: Table | None,
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
        use the trial alone.
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
    given = {name: table for name, table in zip(names, (observational, trial), strict=True) if table is not None}
    for name, table in given.items():
        if not is_frame(table):
            raise ValueError(
                f"{name} must be a data frame, got {type(table).__name__}. "
                "Read a file first; with arrays, call Study(X, y, treatment, trial)."
            )
    if trial is None:
        raise ValueError(f"{names[1]} must be a data frame, got None. The promise rests on randomised rows.")
    tables = {name: read_table(table) for name, table in given.items()}
    roles = [str(treatment), str(outcome)]
    if treatment == outcome:
        raise ValueError(f"treatment and outcome must be two columns, got {treatment!r} for both.")
    marks = {name: str(column) for name, column in (("assignment", assignment), ("cluster", cluster)) if column}
    _check_marks(marks, roles, tables, names[1])
    covariates = _covariates(tables, [*roles, *marks.values()], covariates)
    for name, table in tables.items():
        missing = [column for column in [*covariates, *roles] if column not in table.column_names]
        if missing:
            raise ValueError(f"{name} has no column {examples(missing)}; {suggest(missing[0], table.column_names)}")
    declared = _declared(categories, [*covariates, roles[0]])
    joined = pa.table({name: _join(name, _columns(tables, name), category=name in declared) for name in covariates})
    before = sum(len(table) for table in tables.values()) - len(tables[names[1]])
    return Study(
        nw.from_arrow(joined, backend=read_frame(next(iter(given.values()))).implementation).to_native(),
        _outcomes(roles[1], _columns(tables, roles[1])),
        _labels(roles[0], _columns(tables, roles[0]), category=roles[0] in declared),
        np.repeat([name == names[1] for name in tables], [len(table) for table in tables.values()]),
        target=_read_target(target, covariates),
        assignment_column=marks.get("assignment"),
        **{role: _mark(role, column, tables[names[1]][column], before) for role, column in marks.items()},
    )


def _check_marks(marks: dict[str, str], roles: list[str], tables: dict[str, pa.Table], name: str) -> None:
    """Raise if a column of the trial has two roles, or does not exist, or if a cluster is in both tables."""
    trial = tables[name]
    for role, column in marks.items():
        if column in roles or list(marks.values()).count(column) > 1:
            raise ValueError(f"{role} must be a column of its own, got {column!r}, which has another role.")
        if column not in trial.column_names:
            raise ValueError(f"{name} has no column {column!r} ({role}); {suggest(column, trial.column_names)}")
    shared = marks.get("cluster")
    for other, table in tables.items():
        if shared is None or other == name or shared not in table.column_names:
            continue
        seen, found = (set(kinds.texts(shared, kinds.plain(each[shared])).to_pylist()) for each in (table, trial))
        if both := sorted(str(label) for label in (seen & found) - {None}):
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
        return [*[np.nan] * before, *kinds.numbers(name, column, kind, finite=False).tolist()]
    return [*[None] * before, *kinds.texts(name, kinds.plain(column)).to_pylist()]


def _read_target(target: Table | str | None, covariates: Sequence[str]) -> Any:
    """Return the target's covariates."""
    if target is None or isinstance(target, str):
        return target
    if not is_frame(target):
        raise ValueError(f"target must be a data frame of covariates or 'observational', got {type(target).__name__}.")
    frame = read_frame(target)
    missing = [name for name in covariates if name not in frame.columns]
    if missing:
        raise ValueError(f"the target has no column {examples(missing)}; {suggest(missing[0], frame.columns)}")
    return frame.select(list(covariates)).to_native()


def _columns(tables: dict[str, pa.Table], name: str) -> dict[str, pa.ChunkedArray]:
    return {where: table[name] for where, table in tables.items()}


def _declared(categories: Sequence[str], columns: list[str]) -> set[str]:
    """Return the columns that were declared categories; raise if there is no column of that name."""
    declared = {categories} if isinstance(categories, str) else {str(name) for name in categories}
    for name in sorted(declared - set(columns)):
        raise ValueError(f"{name!r} is declared a category and is no covariate or treatment; {suggest(name, columns)}")
    return declared


def _outcomes(name: str, columns: dict[str, pa.ChunkedArray]) -> NDArray[np.float64]:
    """Return the outcomes of all tables as floats; none may be missing."""
    kind = kinds.decide(name, columns)
    if kind not in (kinds.NUMBERS, kinds.BOOLEANS):
        raise ValueError(f"the outcome must be numeric, but column {name!r} holds {kind}. Encode it as numbers.")
    for table, column in columns.items():
        _check_no_missing_outcome(table, name, kinds.plain(column))
    return np.concatenate([kinds.numbers(name, column, kind, finite=False) for column in columns.values()])


def _check_no_missing_outcome(table: str, name: str, column: pa.ChunkedArray) -> None:
    """Raise if outcomes are missing, with their table and rows."""
    missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"{table} has no outcome {name!r} in {len(missing)} of {len(column)} rows (such as row "
            f"{missing[0] + 1}). Leave these rows out; if people of the trial are missing because of their outcome, no "
            "promise holds for the others."
        )


def _covariates(tables: dict[str, pa.Table], roles: list[str], covariates: Any) -> list[str]:
    """Return the names of the covariates: those chosen, or else those that both tables have."""
    if covariates is not None:
        names = [covariates] if isinstance(covariates, str) else [str(name) for name in covariates]
        taken = [name for name in roles if name in names]
        if taken:
            raise ValueError(f"{taken[0]!r} cannot be a covariate: it has another role.")
    else:
        columns = {name: [c for c in table.column_names if c not in roles] for name, table in tables.items()}
        first, *others = columns.values()
        names = [name for name in first if all(name in other for other in others)]
        for table, found in columns.items():
            lonely = [name for name in found if name not in names]
            if lonely:
                everything = [name for other in columns if other != table for name in tables[other].column_names]
                pairs = [f"{name!r} beside {twin!r}" for name in lonely for twin in everything if alike(name, twin)]
                hint = f" Names that differ by case or spaces only: {examples(pairs)}." if pairs else ""
                warnings.warn(
                    f"left out, because only {table} has them: {examples(lonely)}.{hint} "
                    "Name the covariates to silence this.",
                    stacklevel=3,
                )
    if not names:
        listed = "; ".join(f"{name} has {examples(table.column_names)}" for name, table in tables.items())
        raise ValueError(f"there are no covariates: {listed}.")
    return names


def _join(name: str, columns: dict[str, pa.ChunkedArray], *, category: bool) -> pa.ChunkedArray:
    """Return one column of all tables, stacked, as values of its one kind."""
    kind = kinds.decide(name, columns, category=category)
    parts = list(columns.values())
    if kind == kinds.CATEGORIES:
        values = pa.chunked_array([kinds.texts(name, part) for part in parts])
        _warn_of_twins(name, values)
        return pa.chunked_array([values.combine_chunks().dictionary_encode()])
    if kind == kinds.BOOLEANS:
        read = [kinds.booleans(name, part) for part in parts]
    elif kind != kinds.NUMBERS:
        read = [kinds.temporal(name, part, kind) for part in parts]
    elif all(pa.types.is_integer(part.type) for part in parts):
        read = [part.cast(pa.int64()) for part in parts]
    else:
        read = [pa.chunked_array([pa.array(kinds.numbers(name, part), from_pandas=True)]) for part in parts]
    return pa.chunked_array([chunk for part in read for chunk in part.chunks], read[0].type)


def _warn_of_twins(name: str, values: pa.ChunkedArray) -> None:
    """Warn of categories that differ by case or spaces only."""
    found = twins(values.drop_null().unique().to_pylist())
    if found:
        shown = examples([" and ".join(map(repr, each)) for each in found], 3)
        warnings.warn(
            f"column {name!r} has categories that differ by case or spaces only: {shown}. They are treated "
            "as different; write them alike if they are the same.",
            stacklevel=4,
        )


def _labels(name: str, columns: dict[str, pa.ChunkedArray], *, category: bool) -> NDArray[Any]:
    """Return treatment labels: numbers and booleans as such, whole numbers as integers, all else as text.

    Categories of numbers are numbers here.
    """
    columns = {table: kinds.plain(column) for table, column in columns.items()}
    for table, column in columns.items():
        missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
        if len(missing):
            raise ValueError(
                f"the treatment column {name!r} has {len(missing)} missing values in {table} (such as in row "
                f"{missing[0] + 1}). Leave these rows out."
            )
    kind = kinds.decide(name, columns, category=category)
    if kind not in (kinds.NUMBERS, kinds.BOOLEANS):
        return np.array([label for column in columns.values() for label in kinds.texts(name, column).to_pylist()])
    values = np.concatenate([kinds.numbers(name, column, kind, finite=False) for column in columns.values()])
    if kind == kinds.BOOLEANS:
        return values.astype(bool)
    return values.astype(int) if np.isfinite(values).all() and (values == np.round(values)).all() else values
