"""New rows as the arms take them: read and predicted once, however many questions follow."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from confide.diagnostics.strange_values import unknown_categories
from confide.exceptions import PopulationWarning

if TYPE_CHECKING:
    from confide.methods.new_rows import NewRows
    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Table


def asked_rows(
    model: CounterfactualIntervals, X: Table | Mapping[Label, NewRows], labels: Iterable[Label], stacklevel: int
) -> Mapping[Label, NewRows]:
    """Return the rows for each of these arms; rows that the arms have taken already are returned as they are.

    Warns, so many calls above, if rows that are read here look unlike the trial's.
    """
    if isinstance(X, Mapping):
        return X
    people = model.read(X)
    if unlike := model.population_.unlike(people.X, unknown_categories(model.encoder_, X)):
        warnings.warn(unlike, PopulationWarning, stacklevel=stacklevel + 1)
    return {label: rows.predicted() for label, rows in model._new_rows(people, labels).items()}
