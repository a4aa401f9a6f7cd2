"""Which columns files have: names that are odd, alike or there twice, another order, further ones, and an index."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from fuzz.attacks._bench import (
    check_same,
    file_of,
    files,
    folder,
    noted,
    ran,
    read_answers,
    refused,
    same,
    table,
    words,
)

if TYPE_CHECKING:
    from fuzz.attacks._bench import Cases


def line_break_in_a_name() -> str:
    """A column's name with a line break, in all files."""
    with folder({f"{name}.csv": file_of(_renamed(name, "x", "x\n(cm)")) for name in ("obs", "trial", "new")}):
        ran(words(), 0)
        check_same(read_answers())
    return "The answer of the clean files."


def two_columns_of_one_name() -> str:
    """The header has x twice."""
    content = files()["obs.csv"].replace(b"who,x,n,", b"who,x,x,")
    return refused({"obs.csv": content}, says=["obs.csv", "x"])


def order_of_columns() -> str:
    """The columns are in another order in each file."""
    turned = {name: dict(reversed(table(name).items())) for name in ("trial", "new")}
    same({f"{name}.csv": file_of(columns) for name, columns in turned.items()})
    return "Columns are found by name."


def further_columns() -> str:
    """Each file has a further column of its own."""
    done = same(
        {
            f"{name}.csv": file_of({f"note_{name}": ["a"] * len(table(name)["x"]), **table(name)})
            for name in ("obs", "trial", "new")
        }
    )
    return noted(done, "left out", "note_obs")


def index_columns() -> str:
    """Every file has the index that pandas writes, without a name."""
    given = {
        f"{name}.csv": file_of({"": [str(place) for place in range(len(table(name)["x"]))], **table(name)})
        for name in ("obs", "trial", "new")
    }
    with folder(given):
        done = ran(words(), 0)
    seen = noted(done, "different value in every row", "--id")
    same(given, "--id", "")
    return f"{seen} With --id '' the answer is that of the clean files."


def unnamed_index() -> str:
    """The index came back from pandas as "Unnamed: 0"."""
    given = {
        f"{name}.csv": file_of({"Unnamed: 0": [str(n) for n in range(len(table(name)["x"]))], **table(name)})
        for name in ("obs", "trial", "new")
    }
    with folder(given):
        seen = noted(ran(words(), 0), "'Unnamed: 0'", "--id")
    same(given, "--id", "Unnamed: 0")
    return f"{seen} With --id the answer is that of the clean files."


def names_in_two_forms() -> str:
    """The name of a column has é as one sign in one file and as two in the others."""
    given = {f"{name}.csv": file_of(_renamed(name, "x", "é")) for name in ("obs", "new")}
    given["trial.csv"] = file_of(_renamed("trial", "x", unicodedata.normalize("NFD", "é")))
    with folder(given):
        return noted(ran(words(), 0), "left out", "differ")


def names_with_spaces() -> str:
    """The names in the trial have spaces around them."""
    given = {"trial.csv": file_of({f" {name} ": cells for name, cells in table("trial").items()})}
    return refused(given, says=["'t' (treatment, not in trial.csv)"])


def _renamed(name: str, old: str, new: str) -> dict[str, list[str]]:
    return {new if column == old else column: cells for column, cells in table(name).items()}


CASES: Cases = {
    "a line break in a column's name": line_break_in_a_name,
    "two columns of one name": two_columns_of_one_name,
    "another order of columns in each file": order_of_columns,
    "a further column in each file": further_columns,
    "an index without a name": index_columns,
    "an index called Unnamed: 0": unnamed_index,
    "a column's name in two forms of Unicode": names_in_two_forms,
    "column names with spaces around them": names_with_spaces,
}
