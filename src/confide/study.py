"""Tables in: two tables become one study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from confide.checks import check_lengths, check_outcome, check_trial, examples, suggest
from confide.tables import is_empty, is_frame, is_number, is_text, read_array, read_frame, read_table, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, init=False)
class Study:
    """Observational and trial rows in one place, checked; ``X, y, treatment, trial = study`` unpacks it.

    Attributes
    ----------
    X : frame or (n, d) array
        Covariates, of the caller's kind.
    y : (n,) array
        Outcomes, finite.
    treatment : (n,) array
        Treatment labels.
    trial : (n,) boolean array
        True for rows of the randomised trial.
    """

    X: Any
    y: NDArray[np.float64]
    treatment: NDArray[Any]
    trial: NDArray[np.bool_]

    def __init__(self, X: Any, y: Any, treatment: Any, trial: Any) -> None:
        X = read_frame(X).to_native() if is_frame(X) else read_array(X)
        y, treatment, trial = check_outcome(y), check_labels(treatment), check_trial(trial)
        check_lengths(X=X, y=y, treatment=treatment, trial=trial)
        if not trial.any():
            raise ValueError(
                f"none of the {len(trial)} rows is from the trial. The promise rests on randomised rows: "
                "mark them True in trial."
            )
        for name, value in (("X", X), ("y", y), ("treatment", treatment), ("trial", trial)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.y)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.treatment, self.trial))


def stack(
    observational: Any,
    trial: Any,
    treatment: str = "t",
    outcome: str = "y",
    covariates: Sequence[str] | None = None,
) -> Study:
    """Return one study from an observational and a trial table.

    Parameters
    ----------
    observational, trial : frames
        Any data frames that narwhals reads: pandas, polars, pyarrow and others, one kind or two. Columns are
        matched by name. No unit may stand in both tables.
    treatment, outcome : str
        Names of the treatment and outcome columns.
    covariates : sequence of str, default None
        Names of the covariate columns. None: all other columns that both tables have, identifiers too; a
        column that only one table has is left out with a warning.

    Returns
    -------
    Study
        Its X is a frame of the observational table's kind.
    """
    for name, table in (("observational", observational), ("trial", trial)):
        if not is_frame(table):
            raise ValueError(
                f"the {name} table must be a data frame, got {type(table).__name__}. "
                "Read a file first; with arrays, call Study(X, y, treatment, trial)."
            )
    tables = {"observational": read_table(observational), "trial": read_table(trial)}
    roles = [str(treatment), str(outcome)]
    if treatment == outcome:
        raise ValueError(f"treatment and outcome must be two columns, got {treatment!r} for both.")
    names = _covariates(tables, roles, covariates)
    for name, table in tables.items():
        missing = [column for column in [*names, *roles] if column not in table.column_names]
        if missing:
            raise ValueError(
                f"the {name} table has no column {examples(missing)}; {suggest(missing[0], table.column_names)}"
            )
    first, second = tables.values()
    joined = pa.table({name: _join(name, first[name], second[name]) for name in names})
    outcomes = _join(roles[1], first[roles[1]], second[roles[1]])
    if not (is_number(outcomes.type) or pa.types.is_boolean(outcomes.type)):
        raise ValueError(
            f"the outcome must be numeric, but column {outcome!r} is {outcomes.type}. Encode it as numbers."
        )
    for name, table in tables.items():
        _check_no_missing_outcome(name, roles[1], table[roles[1]])
    kind = read_frame(observational).implementation
    return Study(
        nw.from_arrow(joined, backend=kind).to_native(),
        outcomes.cast(pa.float64(), safe=False).to_numpy(),
        _labels(roles[0], first[roles[0]], second[roles[0]]),
        np.repeat([False, True], [len(first), len(second)]),
    )


def _check_no_missing_outcome(table: str, name: str, column: pa.ChunkedArray) -> None:
    """Raise where outcomes are missing, and say in which table and rows."""
    missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy())
    if len(missing):
        raise ValueError(
            f"the {table} table has no outcome {name!r} in {len(missing)} of {len(column)} rows (such as row "
            f"{missing[0] + 1}). Leave these rows out; if people of the trial are missing because of their outcome, no "
            "promise holds for the others."
        )


def _covariates(tables: dict[str, pa.Table], roles: list[str], covariates: Any) -> list[str]:
    """Return the names of the covariates; without a choice those that both tables have."""
    if covariates is not None:
        names = [covariates] if isinstance(covariates, str) else [str(name) for name in covariates]
        taken = [name for name in roles if name in names]
        if taken:
            raise ValueError(f"{taken[0]!r} cannot be a covariate and a treatment or outcome at once.")
    else:
        columns = {name: [c for c in table.column_names if c not in roles] for name, table in tables.items()}
        names = [name for name in columns["observational"] if name in columns["trial"]]
        for table, found in columns.items():
            lonely = [name for name in found if name not in names]
            if lonely:
                warnings.warn(
                    f"left out, because only the {table} table has them: {examples(lonely)}. "
                    "Name the covariates to silence this.",
                    stacklevel=3,
                )
    if not names:
        listed = "; ".join(f"the {name} table has {examples(table.column_names)}" for name, table in tables.items())
        raise ValueError(f"there are no covariates: {listed}.")
    return names


def _join(name: str, first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return one column from two, of the kind that both can take: numbers as floats, categories as text."""
    columns = [first, second]
    known = [column for column in columns if not is_empty(column)]
    kinds = {column.type for column in known}
    if all(is_text(kind) or pa.types.is_dictionary(kind) for kind in kinds):
        columns = [pa.chunked_array([texts(name, column)]) for column in columns]
        return pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    if len(kinds) == 1:
        kind = kinds.pop()
    elif all(pa.types.is_integer(kind) for kind in kinds):
        kind = pa.int64()
    elif all(is_number(kind) for kind in kinds):
        kind = pa.float64()
    elif all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in kinds) and len(_zones(kinds)) == 1:
        kind = pa.timestamp("us", tz=_zones(kinds).pop())
    else:
        raise ValueError(
            f"column {name!r} is {first.type} in the observational table and {second.type} in the trial table; "
            "make them the same kind."
        )
    chunks = [chunk for column in columns for chunk in _cast(name, column, kind).chunks]
    return pa.chunked_array(chunks, kind)


def _cast(name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if is_empty(column):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} cannot be read as {kind}: {error}.") from error


def _zones(kinds: set[pa.DataType]) -> set[str | None]:
    """Return the time zones of dates and timestamps; None for those without."""
    return {kind.tz if pa.types.is_timestamp(kind) else None for kind in kinds}


def _labels(name: str, first: pa.ChunkedArray, second: pa.ChunkedArray) -> NDArray[Any]:
    """Return treatment labels; categories as their own values, whole numbers that came as floats as integers."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in (first, second)
    ]
    for table, column in zip(("observational", "trial"), plain, strict=True):
        if column.null_count:
            row = np.flatnonzero(column.is_null().to_numpy())[0] + 1
            raise ValueError(
                f"the treatment column {name!r} has {column.null_count} missing values in the {table} table (such as "
                f"in row {row}). Leave these rows out."
            )
    labels = _join(name, *plain)
    if is_text(labels.type):
        return np.array(labels.to_pylist())
    values = np.asarray(labels.to_numpy())
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.round(values)).all():
        return values.astype(int)
    return values


def check_labels(treatment: Any) -> NDArray[Any]:
    """Return treatment labels as a vector of one kind of values, none of them missing."""
    labels = np.asarray(treatment)
    if labels.ndim != 1:
        raise ValueError(f"treatment must be one-dimensional, got shape {labels.shape}.")
    if labels.dtype == object:
        listed = labels.tolist()
        bad = np.array([not isinstance(label, str | bool | int | float) or label != label for label in listed])  # noqa: PLR0124
    else:
        listed = []
        bad = ~np.isfinite(labels) if labels.dtype.kind == "f" else np.isin(labels.dtype.kind, list("mMcV"))
        bad = np.broadcast_to(bad, labels.shape)
    if bad.any():
        raise ValueError(
            f"treatment labels must be text, numbers or booleans: {bad.sum()} are missing or something else "
            f"(rows {examples(np.flatnonzero(bad))}). Drop or recode those rows."
        )
    if labels.dtype == object:
        if len({isinstance(label, str) for label in listed}) > 1:
            raise ValueError("treatment labels mix text and numbers; make them of one kind.")
        labels = np.asarray(listed)
    return labels
