"""Tables in: two tables become one study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from confide.checks import check_lengths, check_outcome, check_trial, examples
from confide.encoding import frame_columns, is_frame, read_array, read_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


TEXTS = nw.String | nw.Categorical | nw.Enum


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
        y, treatment, trial = check_outcome(y), _check_treatment(treatment), check_trial(trial)
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
        Names of the covariate columns. None: all other columns that both tables have; a column that only one
        table has is left out with a warning.

    Returns
    -------
    Study
        Its X is a frame of the observational table's kind.
    """
    for name, table in (("observational", observational), ("trial", trial)):
        if not is_frame(table):
            raise ValueError(
                f"the {name} table must be a data frame, got {type(table).__name__}. "
                "With arrays, call Study(X, y, treatment, trial)."
            )
    first, second = read_frame(observational), read_frame(trial)
    if first.implementation is not second.implementation:
        second = nw.from_arrow(second.to_arrow(), backend=first.implementation)
    roles = [treatment, outcome]
    if treatment == outcome:
        raise ValueError(f"treatment and outcome must be two columns, got {treatment!r} for both.")
    names = _common_covariates(first, second, roles) if covariates is None else list(covariates)
    taken = [name for name in roles if name in names]
    if taken:
        raise ValueError(f"{taken[0]!r} cannot be a covariate and a treatment or outcome at once.")
    if not names:
        raise ValueError(
            f"there are no covariates: the observational table has {examples(first.columns)}; "
            f"the trial table has {examples(second.columns)}."
        )
    tables = [
        frame_columns(first, [*names, *roles], "observational"),
        frame_columns(second, [*names, *roles], "trial"),
    ]
    joined = nw.maybe_reset_index(nw.concat(_with_common_types(*tables), how="vertical"))
    return Study(
        joined.select(names).to_native(),
        _numeric(joined[outcome]),
        _plain(joined[treatment]),
        np.repeat([False, True], [len(first), len(second)]),
    )


def _common_covariates(first: nw.DataFrame[Any], second: nw.DataFrame[Any], roles: list[str]) -> list[str]:
    """Return the columns that both tables have, without treatment and outcome; warn of the others."""
    for one, other, name in ((first, second, "observational"), (second, first, "trial")):
        lonely = [column for column in one.columns if column not in other.columns and column not in roles]
        if lonely:
            warnings.warn(
                f"left out, because only the {name} table has them: {examples(lonely)}. "
                "Name the covariates to silence this.",
                stacklevel=3,
            )
    return [column for column in first.columns if column in second.columns and column not in roles]


def _with_common_types(first: nw.DataFrame[Any], second: nw.DataFrame[Any]) -> list[nw.DataFrame[Any]]:
    """Return both tables with each column of one type: numbers as floats, categories as text."""
    casts = {}
    for name in first.columns:
        one, other = first.schema[name], second.schema[name]
        if one == other and not isinstance(one, TEXTS):
            continue  # text has several layouts behind one name, and two tables' categories differ
        kind = _common_type(one, other)
        if kind is None:
            raise ValueError(
                f"column {name!r} is {one} in the observational table and {other} in the trial table; "
                "make them the same kind."
            )
        casts[name] = nw.col(name).cast(kind)
    return [table.with_columns(*casts.values()) for table in (first, second)]


def _common_type(one: nw.dtypes.DType, other: nw.dtypes.DType) -> Any:
    """Return the type that both columns can take, or None."""
    if one.is_numeric() and other.is_numeric():
        return nw.Int64 if one.is_integer() and other.is_integer() else nw.Float64
    if isinstance(one, TEXTS) and isinstance(other, TEXTS):
        return nw.String
    if one.is_temporal() and other.is_temporal():
        return nw.Datetime
    if isinstance(one, nw.Unknown):  # a column that is empty throughout
        return other
    return one if isinstance(other, nw.Unknown) else None


def _numeric(column: nw.Series[Any]) -> NDArray[np.float64]:
    """Return the outcome as floats; a missing one is NaN."""
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise ValueError(
            f"the outcome must be numeric, but column {column.name!r} is {column.dtype}. Encode it as numbers."
        )
    return np.asarray(column.cast(nw.Float64).to_numpy())


def _plain(column: nw.Series[Any]) -> NDArray[Any]:
    """Return treatment labels as an array of plain values; whole numbers that came as floats are integers."""
    missing = int(column.null_count())
    if missing:
        raise ValueError(f"the treatment column {column.name!r} has {missing} missing values. Drop those rows.")
    if column.dtype.is_float():
        values = np.asarray(column.to_numpy())
        return values.astype(int) if np.all(values == np.round(values)) else values
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_list())


def _check_treatment(treatment: Any) -> NDArray[Any]:
    """Return treatment labels as a vector without missing values."""
    labels = np.asarray(treatment)
    if labels.ndim != 1:
        raise ValueError(f"treatment must be one-dimensional, got shape {labels.shape}.")
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype == object:
        missing = np.array([label is None or label != label for label in labels])  # noqa: PLR0124  (NaN)
    if missing.any():
        raise ValueError(
            f"treatment has {missing.sum()} missing labels (rows {examples(np.flatnonzero(missing))}). Drop those rows."
        )
    if labels.dtype == object:
        labels = np.asarray(labels.tolist())
    return labels
