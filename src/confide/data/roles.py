"""Which column of a study's tables has which role: names that are given, checked, and covariates that are found."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from confide.base.validation import examples, suggest
from confide.data.named import refuse, unknown_categories
from confide.data.twins import alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def check_marks(marks: dict[str, str], roles: list[str]) -> None:
    """Raise if a column of the trial has two roles."""
    for role, column in marks.items():
        if column in roles or list(marks.values()).count(column) > 1:
            raise ValueError(f"{role} must be a column of its own, got {column!r}, which has another role.")


def check_there(wanted: Sequence[str], found: Mapping[str, list[str]]) -> None:
    """Raise if a table does not have a column."""
    for name, columns in found.items():
        missing = [column for column in wanted if column not in columns]
        if missing:
            raise ValueError(f"{name} has no column {examples(missing)}; {suggest(missing[0], columns)}")


def declared_categories(categories: Sequence[str], columns: list[str]) -> set[str]:
    """Return the columns that were declared categories; raise if there is no column of that name."""
    declared = set(listed_names(categories))
    refuse(unknown_categories(declared, columns))
    return declared


def listed_names(names: Any) -> list[str]:
    """Return one name, or several, as a list of texts."""
    return [names] if isinstance(names, str) else [str(name) for name in names]


def chosen_covariates(
    tables: dict[str, list[str]], roles: list[str], covariates: Any, chances: Sequence[str] = ()
) -> list[str]:
    """Return the names of the covariates: those chosen, or else those that both tables have.

    ``chances`` are columns that may be probabilities of treatments, if one table alone has them.
    """
    if covariates is not None:
        names = listed_names(covariates)
        taken = [name for name in roles if name in names]
        if taken:
            raise ValueError(f"{taken[0]!r} cannot be a covariate: it has another role.")
    else:
        columns = {name: [c for c in found if c not in roles] for name, found in tables.items()}
        first, *others = columns.values()
        names = [name for name in first if all(name in other for other in others)]
        for table, found in columns.items():
            lonely = [name for name in found if name not in names]
            if lonely:
                everything = [name for other in columns if other != table for name in tables[other]]
                elsewhere = [other for other in columns if other != table and set(columns[other]) - set(names)]
                rename = "".join(f" Rename those that {other} has under another name." for other in elsewhere)
                pairs = [f"{name!r} beside {twin!r}" for name in lonely for twin in everything if alike(name, twin)]
                hint = (
                    f" Names that differ by case, spaces or forms of Unicode only: {examples(pairs)}." if pairs else ""
                )
                warnings.warn(
                    f"left out, because only {table} has them: {examples(lonely)}.{rename}{hint}"
                    f"{_if_probability([name for name in lonely if name in chances])} "
                    "Name the covariates to silence this.",
                    stacklevel=3,
                )
    if not names:
        listed = "; ".join(f"{name} has {examples(found)}" for name, found in tables.items())
        raise ValueError(f"there are no covariates: {listed}.")
    return names


def _if_probability(names: list[str]) -> str:
    """Return what to do if one of these columns is the assignment probability; nothing if there are none."""
    if not names:
        return ""
    which = names[0] if len(names) == 1 else f"one of {examples(names)}"
    return f" If {which} is the probability of the treatment received, state it (assignment=, --assignment {names[0]})."
