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
from confide.data.arrow import is_frame, read_array, read_frame, read_table, take_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Labels, Table


@dataclass(frozen=True, init=False)
class Study:
    """Observational and trial rows together, checked; ``X, y, treatment, trial = study`` unpacks it.

    A study that carries more than these four, for whom answers hold, refuses to be unpacked: it would be lost.

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
    assignment : (n,) array or None
        The probability of the treatment received, for the trial's rows; NaN for others.
    cluster : (n,) array of integers or None
        The cluster of each of the trial's rows; -1 for others.
    target : frame, array, "observational" or None
        Covariates of the people that one asks about; None: people like the trial's.
    assignment_column : str or None
        The name that ``assignment`` had in a table. New rows may have columns of that name, "_" and a treatment.
    """

    X: Table
    y: NDArray[np.float64]
    treatment: NDArray[Any]
    trial: NDArray[np.bool_]
    assignment: NDArray[np.float64] | None
    cluster: NDArray[np.intp] | None
    target: Any
    assignment_column: str | None

    def __init__(
        self,
        X: Table,
        y: ArrayLike,
        treatment: Labels,
        trial: ArrayLike,
        *,
        assignment: ArrayLike | None = None,
        cluster: Labels = None,
        target: Table | str | None = None,
        assignment_column: str | None = None,
    ) -> None:
        X = read_frame(X).to_native() if is_frame(X) else read_array(X)
        y, treatment, trial = check_outcome(y), check_labels(treatment), check_trial(trial)
        check_lengths(X=X, y=y, treatment=treatment, trial=trial)
        _check_alike(treatment)
        if not trial.any():
            raise ValueError(
                f"none of the {len(trial)} rows is from the trial. The promise rests on randomised rows: "
                "mark them True in trial."
            )
        values = {"X": X, "y": y, "treatment": treatment, "trial": trial}
        values["assignment"] = None if assignment is None else _assignment(assignment, trial, treatment)
        values["cluster"] = None if cluster is None else _clusters(cluster, trial)
        values["target"] = _target(target, trial)
        values["assignment_column"] = assignment_column
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.y)

    def __iter__(self) -> Iterator[Any]:
        if self.carries:
            raise ValueError(
                f"this study carries {' and '.join(self.carries)}, which would be lost: call fit(study), or give them "
                "to fit beside X, y, treatment and trial."
            )
        return iter((self.X, self.y, self.treatment, self.trial))

    def take(self, rows: NDArray[np.intp]) -> Study:
        """Return the study with some of its rows; the target stays, but an observational one is those rows' own."""
        return Study(
            take_rows(self.X, rows),
            self.y[rows],
            self.treatment[rows],
            self.trial[rows],
            assignment=None if self.assignment is None else self.assignment[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
            target=self.target,
            assignment_column=self.assignment_column,
        )

    @property
    def carries(self) -> list[str]:
        """What the study carries beyond the four."""
        return [name for name in ("assignment", "cluster", "target") if getattr(self, name) is not None]

    @property
    def arms(self) -> list[Any]:
        """The treatment labels, in order."""
        labels: list[Any] = np.unique(self.treatment).tolist()
        return labels

    @property
    def assigned_differently(self) -> bool:
        """Whether the probability of some treatment is known to differ between people of the trial."""
        if self.assignment is None:
            return False
        found = [np.unique(np.round(self.received(label), 12)) for label in self.arms]
        differ = any(len(each) > 1 for each in found)
        return differ or (len(found) == 2 and all(map(len, found)) and abs(found[0][0] + found[1][0] - 1) > 1e-9)

    @property
    def clusters_divided(self) -> bool:
        """Whether some cluster has trial rows of several treatments."""
        if self.cluster is None:
            return False
        by_arm = [set(self.cluster[self.trial & (self.treatment == label)].tolist()) for label in self.arms]
        return len(set.union(*by_arm)) < sum(map(len, by_arm))

    def received(self, label: Any) -> NDArray[np.float64]:
        """Return the probabilities of the treatment that an arm's trial rows received."""
        assert self.assignment is not None  # noqa: S101  (asked for only where it is known)
        return np.asarray(self.assignment[self.trial & (self.treatment == label)])


def _assignment(assignment: ArrayLike, trial: NDArray[np.bool_], treatment: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probabilities of the treatment received, NaN outside the trial; raise if one is none."""
    try:
        values = np.array(assignment, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"assignment must be numbers, the probability of the treatment received: {error}.") from error
    check_lengths(trial=trial, assignment=np.atleast_1d(values))
    bad = np.flatnonzero(trial & ~((values > 0) & (values <= 1)))
    if len(bad):
        raise ValueError(
            "assignment must be the probability of the treatment that a trial row received, above 0 and at most 1: "
            f"{len(bad)} of {trial.sum()} are not, such as {values[bad[0]]} (rows {examples(bad)})."
        )
    certain = np.flatnonzero(trial & (values == 1))
    if len(certain) and len(np.unique(treatment[trial])) > 1:
        raise ValueError(
            f"{len(certain)} trial rows had a probability of 1 (rows {examples(certain)}): such people could not have "
            "received another treatment, and nothing is known about it for them. Leave them out, also of what you ask."
        )
    values[~trial] = np.nan
    return values


def _clusters(cluster: Labels, trial: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of each trial row's cluster, -1 outside the trial; raise if one is missing."""
    labels = np.asarray(cluster, dtype=object)
    check_lengths(trial=trial, cluster=np.atleast_1d(labels))
    missing = np.flatnonzero(trial & np.array([_is_missing(label) for label in labels.ravel().tolist()]))
    if len(missing):
        raise ValueError(
            f"the cluster of {len(missing)} of {trial.sum()} trial rows is missing (rows {examples(missing)}). Give "
            "each row its cluster, or a cluster of its own."
        )
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[trial] = np.unique([str(label) for label in labels[trial]], return_inverse=True)[1]
    return codes


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN or a missing value of pandas."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def _target(target: Any, trial: NDArray[np.bool_]) -> Any:
    """Return the covariates of the people asked about, checked."""
    if target is None or not isinstance(target, str):
        return target if target is None or is_frame(target) else read_array(target)
    if target != "observational":
        raise ValueError(f"target must be a table of covariates or 'observational', got {target!r}.")
    if trial.all():
        raise ValueError("target='observational' needs observational rows, and there are none.")
    return target


def as_study(X: Table | Study, y: Any, treatment: Labels, trial: Any, **more: Any) -> Study:
    """Return what `fit` was given as a study: a study and nothing else, or its parts."""
    given = {"y": y, "treatment": treatment, "trial": trial}
    if not isinstance(X, Study):
        missing = [name for name, value in given.items() if value is None]
        if missing and missing != ["y"]:  # a missing outcome has a message of its own
            raise ValueError(f"fit needs {' and '.join(missing)}: call fit(study), or fit(X, y, treatment, trial).")
        return Study(X, y, treatment, trial, **more)
    twice = [name for name, value in {**given, **more}.items() if value is not None]
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
