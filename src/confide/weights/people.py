"""New people: their covariates as numbers, and what tells for whom an answer must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import examples
from confide.data.encoding import numbers_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from confide.typing import Floats, Label


# Probabilities that were rounded when they were written may be more than 1 together, by so much.
ROUNDING = 1e-3


@dataclass(frozen=True)
class People:
    """New rows as a model reads them.

    Attributes
    ----------
    X : (n, d) array
        Encoded covariates.
    group : (n,) array of integers or None
        The number of each row's group; -1 for a group without trial rows. None: there are no groups.
    assignment : mapping of label to (n,) array
        The probabilities of treatments, as the trial would assign them, where they are known.
    """

    X: Floats
    group: NDArray[np.intp] | None
    assignment: Mapping[Label, Floats]

    def __len__(self) -> int:
        return len(self.X)


def columns_of_probabilities(column: str, labels: Sequence[Label]) -> dict[Label, str]:
    """Return the names of new rows' probabilities, by treatment: the trial's column, "_" and the treatment."""
    return {label: f"{column}_{label}" for label in labels}


def told_of_probabilities(
    names: Sequence[str], column: str | None, labels: Sequence[Label], covariates: Sequence[str]
) -> str:
    """Return from which columns new rows' probabilities are read, or which look so and are not; else nothing.

    Parameters
    ----------
    names : sequence of str
        All columns of the new rows.
    column : str or None
        The trial's column of probabilities.
    labels : sequence of labels
        The treatments.
    covariates : sequence of str
        Columns that are read as covariates.
    """
    if column is None:
        return ""
    wanted = list(columns_of_probabilities(column, labels).values())
    read = [name for name in wanted if name in names]
    alike = [name for name in names if _is_named_after(name, column) and name not in (*wanted, *covariates)]
    told = f"probabilities of treatments are read from {examples(read, 20)} of the new rows." if read else ""
    if not alike or set(wanted) <= set(names):
        return told
    one = len(alike) == 1
    unread = (
        f"{examples(alike)} of the new rows {'is' if one else 'are'} not read: probabilities of treatments would be in "
        f"{examples(wanted, 20)}; rename {'it' if one else 'them'} if {'it is one' if one else 'they are such'}."
    )
    stands_in = " Without them the trial's smallest probabilities stand in, and intervals are wider than needed."
    return f"{told} {unread}" if read else f"{unread}{stands_in}"


def _is_named_after(name: str, column: str) -> bool:
    """Return whether a name is a column's, or begins with it as a word; capitals do not matter."""
    rest = name.casefold().removeprefix(column.casefold())
    return len(rest) < len(name.casefold()) and not rest[:1].isalnum()


def probabilities_in(table: pa.Table, column: str | None, labels: Sequence[Label]) -> dict[Label, Floats]:
    """Return the probabilities of treatments in a table of new rows, if it has columns for them.

    Parameters
    ----------
    table : pa.Table
        The new rows.
    column : str or None
        The trial's column of probabilities. Those of new rows are named after it, "_" and the treatment.
    labels : sequence of labels
        The treatments. Of two, one column is enough.
    """
    if column is None:
        return {}
    columns = columns_of_probabilities(column, labels)
    found = {label: numbers_in(table, name) for label, name in columns.items() if name in table.column_names}
    missing = {label: name for label, name in columns.items() if label not in found}
    if found and len(missing) == 1 and len(columns) == 2:
        return {**found, next(iter(missing)): 1 - next(iter(found.values()))}
    if found and missing:
        others = [name for name in table.column_names if _is_named_after(name, column) and name not in columns.values()]
        among = f" (beside {examples(others)})" if others else ""
        raise ValueError(
            f"new rows have {examples([columns[label] for label in found])} and no column "
            f"{examples(missing.values())}{among}: give the probabilities of all {len(columns)} treatments, or none."
        )
    return found


def probabilities_of_both(assignment: Any, pair: tuple[Label, Label], arms: Sequence[Label]) -> dict[Label, Any]:
    """Return what was given as the probabilities of an effect's two arms, by label.

    Parameters
    ----------
    assignment : array, mapping or None
        Probabilities of the first of the pair, if there are two arms; or a mapping from labels to them.
    pair : (label, label)
        The effect's arms.
    arms : sequence of labels
        All arms.
    """
    if assignment is None:
        return {}
    if isinstance(assignment, Mapping):  # a pandas Series has keys too
        strange = [label for label in assignment if label not in arms]
        if strange:
            raise ValueError(
                f"assignment has probabilities of {examples(map(repr, strange))}, which is no treatment; "
                f"there are: {examples(map(repr, arms), 20)}."
            )
        return dict(assignment)
    if len(arms) != 2:
        raise ValueError(
            f"with {len(arms)} treatments, assignment must be a mapping from {examples(pair)} to their probabilities."
        )
    first = np.asarray(assignment, dtype=np.float64)
    return {pair[0]: first, pair[1]: 1 - first}


def used_probabilities(assignment: Mapping[Label, Any], carries: Sequence[str]) -> dict[Label, Any]:
    """Return new rows' probabilities of treatments; raise if the study did not carry any."""
    if assignment and "assignment" not in carries:
        raise ValueError(
            "assignment was given for new rows, but the model was fitted without it: the trial's treatments had "
            "the same probability for everybody. Leave it out, or fit with assignment=."
        )
    _check_total(assignment)
    return dict(assignment)


def _check_total(assignment: Mapping[Label, Any]) -> None:
    """Raise if the probabilities of a row's treatments are more than 1 together; each alone is checked by its arm."""
    try:
        total = np.sum([np.asarray(each, dtype=np.float64) for each in assignment.values()], axis=0)
    except (TypeError, ValueError):  # no numbers, or of several lengths
        return
    if len(assignment) > 1 and (total > 1 + ROUNDING).any():
        raise ValueError(
            f"the probabilities of treatments {examples(map(repr, assignment))} are {np.max(total):g} together for one "
            "row, and cannot be more than 1. Each is the probability of that treatment."
        )
