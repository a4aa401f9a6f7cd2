"""What treatments are called: in other notations, alike but for case, spaces or forms of Unicode, or in one table."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from fuzz.attacks._bench import (
    every,
    file_of,
    refused,
    same,
    table,
)

if TYPE_CHECKING:
    from fuzz.attacks._bench import Cases


def treatment_called_none() -> str:
    """A treatment called none."""
    return refused(_treatments("none"), says=["'t'", "'none'", "another word"])


def labels_as_numbers() -> str:
    """Treatments 0 and 1 in one file, 0.0 and 1.0 in the other."""
    given = {
        "obs.csv": file_of(table("obs", t=lambda cell: str(int(cell == "placebo")))),
        "trial.csv": file_of(table("trial", t=lambda cell: f"{int(cell == 'placebo')}.0")),
    }
    same(given, names={"drug": "0", "placebo": "1"})
    return "1 and 1.0 are one treatment: the answer under the plain names."


def labels_as_booleans() -> str:
    """Treatments 0 and 1 in one file, False and True in the other."""
    given = {
        "obs.csv": file_of(table("obs", t=lambda cell: str(int(cell == "placebo")))),
        "trial.csv": file_of(table("trial", t=lambda cell: str(cell == "placebo"))),
    }
    same(given, names={"drug": "False", "placebo": "True"})
    return "1 and True are one treatment here, and the output says which name it took."


def labels_with_zeros() -> str:
    """Treatments 1 and 2 in one file, 01 and 02 in the other."""
    label = {"drug": 1, "placebo": 2}
    given = {
        "obs.csv": file_of(table("obs", t=lambda cell: str(label[cell]))),
        "trial.csv": file_of(table("trial", t=lambda cell: f"0{label[cell]}")),
    }
    return refused(given, says=["'t'", "not of one kind"])


def labels_by_case() -> str:
    """Drug in one file, drug in the other."""
    return refused({"obs.csv": file_of(table("obs", t=str.title))}, says=["'Drug' and 'drug'", "write them alike"])


def labels_with_spaces() -> str:
    """Spaces around treatments and categories in one file."""
    same({"obs.csv": file_of(table("obs", t=lambda cell: f" {cell} ", town=lambda cell: f"\t{cell} "))})
    return "Spaces around a value are none of it: the answer of the clean files."


def labels_in_two_forms() -> str:
    """A treatment with é as one sign in one file and as two in the other."""
    given = {
        "obs.csv": file_of(table("obs", t=lambda cell: cell.replace("o", "é"))),
        "trial.csv": file_of(table("trial", t=lambda cell: unicodedata.normalize("NFD", cell.replace("o", "é")))),
    }
    same(given, names={"placebo": "placebé"})
    return "One treatment: the answer under the plain name."


def treatment_of_one_table() -> str:
    """A third treatment that only the observational file has."""
    return refused({"obs.csv": file_of(every("obs", "t", 5, lambda _: "surgery"))}, says=["surgery", "trial row"])


def invisible_signs() -> str:
    """A zero-width space in every treatment of one file."""
    given = {"obs.csv": file_of(table("obs", t=lambda cell: f"{cell}\u200b"))}
    return refused(given, says=["treatment"])


def _treatments(name: str) -> dict[str, bytes]:
    return {
        f"{each}.csv": file_of(table(each, t=lambda cell: name if cell == "drug" else cell))
        for each in ("obs", "trial")
    }


CASES: Cases = {
    "a treatment called none": treatment_called_none,
    "treatments 1 and 1.0": labels_as_numbers,
    "treatments 1 and True": labels_as_booleans,
    "treatments 1 and 01": labels_with_zeros,
    "treatments that differ by case": labels_by_case,
    "spaces around treatments and categories": labels_with_spaces,
    "treatments in two forms of Unicode": labels_in_two_forms,
    "a treatment that the trial does not have": treatment_of_one_table,
    "zero-width spaces in treatments": invisible_signs,
}
