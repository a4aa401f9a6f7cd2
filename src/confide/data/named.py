"""Names that a user gives for columns: comparisons, groups that are crossed, and one error for all that are unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.base.validation import examples, near, short, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

# A comparison of a column with a number.
COMPARISON = re.compile(
    r"(?P<column>.*\S)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
)
COMPARED = " One that holds numbers can be compared with a number, as in 'age > 70'."
# So many unknown names are listed.
MOST_LISTED = 20


@dataclass(frozen=True)
class Unknown:
    """A name that is no column.

    Attributes
    ----------
    name, role : str
        The name, and what it was given for.
    alone : str
        The error if no other name is unknown, up to what was probably meant.
    known : collection of str
        The names that there are.
    lacking : str
        The table that lacks it, if another one has it.
    hint : str
        What follows the error if no other name is unknown.
    """

    name: str
    role: str
    alone: str
    known: Collection[str]
    lacking: str = ""
    hint: str = ""

    @property
    def listed(self) -> str:
        """The name among others: its role, the table that lacks it, and what was probably meant."""
        meant = near(self.name, self.known)
        where = f", not in {self.lacking}" if self.lacking else ""
        return f"{short(self.name)!r} ({self.role}{where}{f'; did you mean {examples(meant)}?' if meant else ''})"


def refuse(found: Iterable[Unknown]) -> None:
    """Raise one error that names every unknown name; none if there is none."""
    unknown: dict[str, Unknown] = {}
    for each in found:
        unknown.setdefault(each.name, each)
    if not unknown:
        return
    listed = list(unknown.values())
    if len(listed) == 1:
        (only,) = listed
        raise ValueError(f"{only.alone}; {suggest(only.name, only.known)}{only.hint}")
    more = ", …" if len(listed) > MOST_LISTED else ""
    strange = next((each for each in listed if not near(each.name, each.known)), None)
    there_are = "" if strange is None else f" There are: {examples(strange.known, MOST_LISTED)}."
    shown = ", ".join(each.listed for each in listed[:MOST_LISTED])
    raise ValueError(f"{len(listed)} names are no columns: {shown}{more}.{there_are}")


def check_named(
    tables: Mapping[str, Sequence[str]],
    treatment: str,
    outcome: str,
    covariates: Sequence[str] | None,
    *,
    marks: Mapping[str, str],
    categories: Collection[str] = (),
    identifiers: Sequence[str] = (),
    elsewhere: Collection[str] = (),
    groups: Sequence[str] = (),
    fitted_on: str | None = None,
) -> None:
    """Raise one error for all names that are columns of no table, or not of each table that must have them.

    Parameters
    ----------
    tables : mapping
        The columns of each table, the trial last.
    treatment, outcome, covariates
        Columns of all tables.
    marks : mapping
        Columns of the trial, by their role.
    categories, groups
        Columns of some table; a group may be a comparison.
    identifiers, elsewhere
        Columns of some table, or of another file, which has these.
    fitted_on : str, default None
        The model whose covariates these are.
    """
    trial = list(tables)[-1]
    there = {table: dict.fromkeys(columns) for table, columns in tables.items()}  # looked up fast, in order
    anywhere = {name: None for columns in there.values() for name in columns}
    given = [treatment, outcome, *marks.values(), *identifiers]
    shared = [name for name in anywhere if all(name in columns for columns in there.values()) and name not in given]
    usable = shared if covariates is None or not all(name in anywhere for name in covariates) else covariates
    role, tail = "covariate", ""
    if fitted_on is not None:
        role, tail = f"covariate of {fitted_on}", f", which {fitted_on} was fitted on"
    files = sorted({*anywhere, *elsewhere})
    refuse(
        [
            *_lacking([treatment], "treatment", there),
            *_lacking([outcome], "outcome", there),
            *_lacking([name for name in covariates or () if name not in given], role, there, tail),
            *(
                Unknown(name, mark, f"{trial} has no column {name!r} ({mark})", there[trial])
                for mark, name in marks.items()
                if name not in there[trial]
            ),
            *(
                Unknown(name, "identifier", f"no file has the identifier {name!r}", files)
                for name in identifiers
                if name not in files
            ),
            *unknown_categories([name for name in categories if name not in anywhere], [*usable, treatment]),
            *unknown_groups([name for name in groups if compared_column(name, anywhere) not in anywhere], usable),
        ]
    )


def _lacking(
    names: Sequence[str], role: str, tables: Mapping[str, Collection[str]], tail: str = ""
) -> Iterator[Unknown]:
    """Yield the names that a table does not have."""
    for name in names:
        without = [table for table, columns in tables.items() if name not in columns]
        if without:
            table = without[0]
            somewhere = "" if len(without) == len(tables) else table
            yield Unknown(name, role, f"{table} has no column {short(name)}{tail}", tables[table], somewhere)


def unknown_categories(names: Iterable[str], columns: Collection[str]) -> list[Unknown]:
    """Return the names that are declared categories and are none of the columns."""
    return [
        Unknown(name, "category", f"{name!r} is declared a category and is no covariate or treatment", columns)
        for name in sorted(names)
        if name not in columns
    ]


def unknown_groups(names: Iterable[str], columns: Collection[str]) -> list[Unknown]:
    """Return the names that are to make groups and are neither one of the columns nor a comparison of one."""
    return [
        Unknown(column, "group", f"groups must be covariates, got {name!r}", columns, hint=COMPARED)
        for name in names
        if (column := compared_column(name, columns)) not in columns
    ]


def compared_column(name: str, columns: Collection[str]) -> str:
    """Return the column that is compared with a number; a name that is a column is that column as it stands."""
    found = None if name in columns else COMPARISON.fullmatch(name)
    return name if found is None else found["column"]


def crossed(text: str, columns: Collection[str]) -> list[str]:
    """Return the names between commas, unless the whole text is a column, or a comparison of one."""
    if "," not in text or compared_column(text, columns) in columns:
        return [text]
    return [name.strip() for name in text.split(",")]
