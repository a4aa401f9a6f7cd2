"""New people: their covariates as numbers, and what tells for whom an answer must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import examples
from confide.data.encoding import numbers_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from confide.typing import Floats, Label


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
    columns = {label: f"{column}_{label}" for label in labels}
    found = {label: numbers_in(table, name) for label, name in columns.items() if name in table.column_names}
    missing = {label: name for label, name in columns.items() if label not in found}
    if found and len(missing) == 1 and len(columns) == 2:
        return {**found, next(iter(missing)): 1 - next(iter(found.values()))}
    if found and missing:
        raise ValueError(
            f"new rows have {examples([columns[label] for label in found])} and no column "
            f"{examples(missing.values())}: give the probabilities of all {len(columns)} treatments, or none."
        )
    return found


def probabilities_of_both(assignment: Any, pair: tuple[Label, Label], arms: int) -> dict[Label, Any]:
    """Return what was given as the probabilities of an effect's two arms, by label.

    Parameters
    ----------
    assignment : array, mapping or None
        Probabilities of the first of the pair, if there are two arms; or a mapping from labels to them.
    pair : (label, label)
        The effect's arms.
    arms : int
        How many arms there are.
    """
    if assignment is None or hasattr(assignment, "keys"):
        return dict(assignment or {})
    if arms != 2:
        raise ValueError(
            f"with {arms} treatments, assignment must be a mapping from {examples(pair)} to their probabilities."
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
    return dict(assignment)
