"""The study: rows of an observational and a trial table together, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import check_lengths, check_outcome, check_trial, examples, unmasked
from confide.data.arrow import is_frame, read_array, read_frame, take_rows
from confide.data.twins import twins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from confide.data.large_table import Beyond
    from confide.typing import Labels, Table


# So many are named where a study is shown.
SHOWN_COVARIATES = 40


@dataclass(frozen=True, init=False, repr=False)
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
    outcome_column : str or None
        The name that the outcome had in a table.
    beyond : Beyond or None
        What is known of further observational rows, if the study has a sample of a large table (`LargeTable`).
    """

    X: Table
    y: NDArray[np.float64]
    treatment: NDArray[Any]
    trial: NDArray[np.bool_]
    assignment: NDArray[np.float64] | None
    cluster: NDArray[np.intp] | None
    target: Any
    assignment_column: str | None
    outcome_column: str | None
    beyond: Beyond | None

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
        outcome_column: str | None = None,
        beyond: Beyond | None = None,
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
        values["outcome_column"] = outcome_column
        values["beyond"] = beyond
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        """Return what the study holds, in a line."""
        trial = int(self.trial.sum())
        more = "" if self.beyond is None else f" of {len(self) - trial + self.beyond.rows:,}"
        names = read_frame(self.X).columns if is_frame(self.X) else []
        parts = [
            f"{len(self) - trial:,}{more} observational and {trial:,} trial rows",
            f"treatments: {examples(self.arms)}",
            f"covariates: {examples(names, SHOWN_COVARIATES) or self.X.shape[1]}",
        ]
        return f"Study({'; '.join([*parts, *self.carries])})"

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
            outcome_column=self.outcome_column,
            beyond=self.beyond,
        )

    @property
    def carries(self) -> list[str]:
        """What the study carries beyond the four."""
        return [name for name in ("assignment", "cluster", "target") if getattr(self, name) is not None]

    @property
    def arms(self) -> list[Any]:
        """The treatment labels, in order."""
        labels: list[Any] = self.labels.tolist()
        return labels

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The treatment labels, in order, as an array."""
        return np.unique(self.treatment)

    @property
    def assigned_differently(self) -> bool:
        """Whether the probability of some treatment is known to differ between people of the trial."""
        if self.assignment is None:
            return False
        found = [np.unique(np.round(self.received(label), 12)) for label in self.arms]
        differ = any(len(each) > 1 for each in found)
        return differ or (len(found) > 1 and all(map(len, found)) and abs(sum(each[0] for each in found) - 1) > 1e-9)

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
    missing = np.flatnonzero(trial)[[_is_missing(label) for label in labels.ravel()[trial].tolist()]]
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


def check_study(study: Any) -> None:
    """Raise unless it is a study."""
    if not isinstance(study, Study):
        raise ValueError(  # noqa: TRY004  (whatever is wrong with an argument is a ValueError here)
            f"study must be a Study, from confide.stack or confide.Study, got {type(study).__name__}."
        )


def _check_alike(treatment: NDArray[Any]) -> None:
    """Raise if treatment labels differ by case, spaces or forms of Unicode only: each would become an arm."""
    found = twins(np.unique(treatment).tolist()) if treatment.dtype.kind == "U" else []
    if found:
        raise ValueError(
            f"the treatments {' and '.join(map(repr, found[0]))} differ by case, spaces or forms of Unicode only; "
            "write them alike."
        )


def check_labels(treatment: Labels) -> NDArray[Any]:
    """Return treatment labels as a vector of one kind of values, none of them missing."""
    labels = np.asarray(unmasked(treatment))
    if isinstance(treatment, list | tuple) and labels.dtype.kind == "U":
        labels = np.asarray(treatment, dtype=object)  # numbers beside text stay numbers, to be refused
    if labels.ndim != 1:
        raise ValueError(f"treatment must be one-dimensional, got shape {labels.shape}.")
    if labels.dtype == object:
        listed = labels.tolist()
        bad = np.array([not isinstance(label, str | bool | int | float) or label != label for label in listed])  # noqa: PLR0124
    else:
        listed = []
        bad = ~np.isfinite(labels) if labels.dtype.kind == "f" else np.isin(labels.dtype.kind, list("mMcSV"))
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
