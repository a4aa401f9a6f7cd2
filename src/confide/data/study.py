"""The study: an observational and a trial table, checked and stacked."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from confide.base.validation import check_lengths, check_outcome, check_trial, examples, suggest
from confide.data import kinds
from confide.data.arrow import is_frame, read_array, read_frame, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Labels, Table


@dataclass(frozen=True, init=False)
class Study:
    """Observational and trial rows together, checked; ``X, y, treatment, trial = study`` unpacks it.

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

    X: Table
    y: NDArray[np.float64]
    treatment: NDArray[Any]
    trial: NDArray[np.bool_]

    def __init__(self, X: Table, y: ArrayLike, treatment: Labels, trial: ArrayLike) -> None:
        X = read_frame(X).to_native() if is_frame(X) else read_array(X)
        y, treatment, trial = check_outcome(y), check_labels(treatment), check_trial(trial)
        check_lengths(X=X, y=y, treatment=treatment, trial=trial)
        _check_alike(treatment)
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


def as_study(X: Table | Study, y: Any, treatment: Labels, trial: Any) -> Study:
    """Return what `fit` was given as a study: a study and nothing else, or its four parts."""
    given = {"y": y, "treatment": treatment, "trial": trial}
    if not isinstance(X, Study):
        missing = [name for name, value in given.items() if value is None]
        if missing and missing != ["y"]:  # a missing outcome has a message of its own
            raise ValueError(f"fit needs {' and '.join(missing)}: call fit(study), or fit(X, y, treatment, trial).")
        return Study(X, y, treatment, trial)
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise ValueError(f"the study has its own {' and '.join(twice)}: call fit(study), and nothing else.")
    return X


def stack(
    observational: Table | None,
    trial: Table,
    treatment: str = "t",
    outcome: str = "y",
    covariates: Sequence[str] | None = None,
    *,
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
    covariates = _covariates(tables, roles, covariates)
    for name, table in tables.items():
        missing = [column for column in [*covariates, *roles] if column not in table.column_names]
        if missing:
            raise ValueError(f"{name} has no column {examples(missing)}; {suggest(missing[0], table.column_names)}")
    declared = _declared(categories, [*covariates, roles[0]])
    joined = pa.table({name: _join(name, _columns(tables, name), category=name in declared) for name in covariates})
    return Study(
        nw.from_arrow(joined, backend=read_frame(next(iter(given.values()))).implementation).to_native(),
        _outcomes(roles[1], _columns(tables, roles[1])),
        _labels(roles[0], _columns(tables, roles[0]), category=roles[0] in declared),
        np.repeat([name == names[1] for name in tables], [len(table) for table in tables.values()]),
    )


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
            raise ValueError(f"{taken[0]!r} cannot be a covariate and a treatment or outcome at once.")
    else:
        columns = {name: [c for c in table.column_names if c not in roles] for name, table in tables.items()}
        first, *others = columns.values()
        names = [name for name in first if all(name in other for other in others)]
        for table, found in columns.items():
            lonely = [name for name in found if name not in names]
            if lonely:
                everything = [name for other in columns if other != table for name in tables[other].column_names]
                twins = [f"{name!r} beside {twin!r}" for name in lonely for twin in everything if _alike(name, twin)]
                hint = f" Names that differ by case or spaces only: {examples(twins)}." if twins else ""
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
    twins = _twins(values.drop_null().unique().to_pylist())
    if twins:
        shown = examples([" and ".join(map(repr, each)) for each in twins], 3)
        warnings.warn(
            f"column {name!r} has categories that differ by case or spaces only: {shown}. They are treated "
            "as different; write them alike if they are the same.",
            stacklevel=4,
        )


def _twins(values: Sequence[str]) -> list[list[str]]:
    """Return groups of texts that differ by case or spaces only."""
    groups: dict[str, list[str]] = {}
    for value in sorted(values):
        groups.setdefault(_folded(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def _alike(one: str, other: str) -> bool:
    return one != other and _folded(one) == _folded(other)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


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


def _check_alike(treatment: NDArray[Any]) -> None:
    """Raise if treatment labels differ by case or spaces only: each would become an arm of its own."""
    twins = _twins(np.unique(treatment).tolist()) if treatment.dtype.kind == "U" else []
    if twins:
        raise ValueError(
            f"the treatments {' and '.join(map(repr, twins[0]))} differ by case or spaces only; write them alike."
        )


def check_labels(treatment: Labels) -> NDArray[Any]:
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
