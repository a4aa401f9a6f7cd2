"""What stands in the cells: words for missing values, codes, booleans, dates; and kinds that differ by file."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fuzz.attacks._bench import (
    check_same,
    clean,
    every,
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
    from fuzz.attacks._bench import Cases, Columns


def category_called_none() -> str:
    """A category called none, which is read as missing."""
    same(files(town=lambda cell: "none" if cell == "Nord" else cell))
    return "Read as missing, which has a column of its own: the answer under the plain name."


def words_for_missing() -> str:
    """NA, null, None, n/a, NaN and nothing at all in a column of numbers."""
    spellings = ("NA", "null", "None", "n/a", "NaN", "#N/A", "<NA>", "nan", "NULL", "")

    def given(spelling: str) -> dict[str, bytes]:
        return {f"{name}.csv": file_of(every(name, "x", 9, lambda _: spelling)) for name in ("obs", "trial", "new")}

    with folder(given("")):
        ran(words(), 0)
        wanted = read_answers()
    for spelling in spellings[:5]:
        with folder(given(spelling)):
            ran(words(), 0)
            check_same(read_answers(), wanted)
    return f"Five of the {len(spellings)} spellings give the same answers as empty cells."


def dashes() -> str:
    """A dash in every tenth cell of a column of numbers."""
    return refused({"obs.csv": file_of(every("obs", "x", 12, lambda _: "-"))}, says=["'x'", "'-'", "leave them empty"])


def many_dashes() -> str:
    """A dash in every fourth cell of a column of numbers: too many to be a mistake."""
    given = {f"{name}.csv": file_of(every(name, "x", 4, lambda _: "-")) for name in ("obs", "trial", "new")}
    with folder(given):
        return noted(ran(words(), 0), "'x'", "'-'", "empty")


def many_dashes_in_outcomes() -> str:
    """A dash in every fourth outcome."""
    return refused({"trial.csv": file_of(every("trial", "y", 4, lambda _: "-"))}, says=["'y'", "'-'"])


def sentinel() -> str:
    """-999 for missing in one column: a number, as far as anybody can tell."""
    given = {f"{name}.csv": file_of(every(name, "x", 9, lambda _: "-999")) for name in ("obs", "trial", "new")}
    with folder(given):
        ran(words(), 0)
        found = read_answers()
    assert all(np.isfinite(each).all() for each in found.values())
    return "Taken as a number and answered; no program can know. The promise holds, the intervals are wider."


def whole_numbers_as_floats() -> str:
    """Whole numbers, written 3 here, 3.0 there and 3.00 in the new rows."""
    same({"trial.csv": file_of(table("trial", n="{}.0".format)), "new.csv": file_of(table("new", n="{}.00".format))})
    return "The same numbers: the answer of the clean files."


def numbers_with_signs() -> str:
    """Numbers with a plus sign, in scientific notation, with spaces around them."""
    same({"trial.csv": file_of(table("trial", x=lambda cell: f" {float(cell):+.6e} "))})
    return "The same numbers: the answer of the clean files."


def codes() -> str:
    """Codes with leading zeros: 007 is not 7."""
    code = {"Nord": "001", "Süd": "01", "Café": "1"}
    same(files(town=code.__getitem__))
    return "Three codes are three categories, as the three names are."


def codes_that_lost_their_zeros() -> str:
    """Codes with leading zeros in the trial, without in the observational file, as a spreadsheet leaves them."""
    code = {"Nord": "001", "Süd": "002", "Café": "003"}
    given = files(town=code.__getitem__)
    given["obs.csv"] = file_of(table("obs", town=lambda cell: str(int(code[cell]))))
    return refused(given, says=["'town'", "not of one kind"])


def codes_declared() -> str:
    """Codes that look like numbers, declared a category."""
    code = {"Nord": "10", "Süd": "20", "Café": "30"}
    same(files(town=code.__getitem__), "--category", "town")
    return "With --category the answer under the plain names."


def numbers_against_words() -> str:
    """A column is numbers in one file and words in the other."""
    return refused({"trial.csv": file_of(table("trial", n=lambda cell: f"level {cell}"))}, says=["'n'", "one kind"])


def numbers_against_words_in_new_rows() -> str:
    """A column was numbers when fitted, and is words in the new rows."""
    return refused({"new.csv": file_of(table("new", n=lambda cell: f"level {cell}"))}, says=["'n'", "level"])


def booleans_in_other_notations() -> str:
    """True and false in one file, 1 and 0 in the second, True and FALSE in the third."""
    given = {
        "trial.csv": file_of(table("trial", flag=lambda cell: str(int(cell == "true")))),
        "new.csv": file_of(table("new", flag=lambda cell: "True" if cell == "true" else "FALSE")),
    }
    same(given)
    return "The same booleans: the answer of the clean files."


def yes_and_no() -> str:
    """Yes and no in one file, true and false in the others."""
    given = {"trial.csv": file_of(table("trial", flag=lambda cell: "yes" if cell == "true" else "no"))}
    return refused(given, says=["'flag'", "not of one kind"])


def yes_and_no_in_new_rows() -> str:
    """True and false when fitted, yes and no in the new rows."""
    given = {"new.csv": file_of(table("new", flag=lambda cell: "yes" if cell == "true" else "no"))}
    return refused(given, says=["'flag'"])


def dates_with_a_time() -> str:
    """Dates in one file, the same with midnight in the others."""
    given = {
        "trial.csv": file_of(table("trial", day=lambda cell: f"{cell} 00:00:00")),
        "new.csv": file_of(table("new", day=lambda cell: f"{cell}T00:00")),
    }
    same(given)
    return "The same days: the answer of the clean files."


def dates_of_another_country() -> str:
    """31.01.2024 in one file."""
    given = {"obs.csv": file_of(table("obs", day=lambda cell: ".".join(reversed(cell.split("-")))))}
    return refused(given, says=["'day'", "2024-01-31"])


def dates_as_serial_numbers() -> str:
    """Days as the numbers of a spreadsheet in one file, dates in the others."""
    serial = np.datetime64("1899-12-30")
    given = {
        "trial.csv": file_of(table("trial", day=lambda cell: str(int((np.datetime64(cell) - serial).astype(int)))))
    }
    return refused(given, says=["'day'", "not of one kind"])


def impossible_date() -> str:
    """February 30 in a new row."""
    given = {"new.csv": file_of(every("new", "day", 6, lambda _: "2024-02-30"))}
    return refused(given, says=["'day'", "dates"])


def zones() -> str:
    """Instants of several time zones, each the same moment as in the clean files."""
    utc = {f"{name}.csv": file_of(table(name, day=lambda cell: f"{cell}T12:00:00Z")) for name in _names()}
    with folder(utc):
        ran(words(), 0)
        wanted = read_answers()
    mixed = {f"{name}.csv": file_of(_moments(name)) for name in _names()}
    with folder(mixed):
        ran(words(), 0)
        check_same(read_answers(), wanted)
    return "12:00Z, 14:00+02:00 and 07:00-0500 are one moment: the answer in UTC."


def zones_in_one_file() -> str:
    """Instants of a time zone in one file, times without one in the others."""
    given = {"trial.csv": file_of(table("trial", day=lambda cell: f"{cell}T00:00:00+01:00"))}
    return refused(given, says=["'day'", "not of one kind"])


def categories_in_two_forms() -> str:
    """Café with é as one sign in one file and as two in the other; likewise in the new rows."""
    for name in ("obs", "new"):
        same({f"{name}.csv": file_of(table(name, town=lambda cell: unicodedata.normalize("NFD", cell)))})
    return "One category: the answer of the clean files."


def unseen_category() -> str:
    """A town in the new rows that neither table has."""
    given = {"new.csv": file_of(table("new", town=lambda _: "Atlantis"))}
    with folder(given):
        ran(words(), 0)
        found = read_answers()
    widths = {name: found[f"{name}_upper"] - found[f"{name}_lower"] for name in ("y_drug", "y_placebo")}
    known = {name: clean()[f"{name}_upper"] - clean()[f"{name}_lower"] for name in widths}
    assert all(np.allclose(widths[name], known[name]) for name in widths)
    return "Answered as a town without a column of its own; widths are the same, since transfer has one width."


def people_in_both() -> str:
    """The same people in both tables."""
    given = {"obs.csv": file_of({**table("obs"), "who": [*table("trial")["who"], *table("obs")["who"][:20]]})}
    with folder(given):
        return noted(ran(words(), 0), "60 values of 'who' are in both files")


def identifier_that_leaks() -> str:
    """An identifier that nobody declares, in which the order of the outcome is hidden."""

    def ranked(name: str) -> Columns:
        columns = table(name)
        by = columns.get("y", columns["x"])
        order = np.argsort(np.argsort([float(each) for each in by]))
        return {**columns, "case": [f"K{each:04d}" for each in order]}

    given = {f"{name}.csv": file_of(ranked(name)) for name in _names()}
    with folder(given):
        return noted(ran(words(), 0), "'case'", "different value in every row")


def formulas() -> str:
    """Cells that a spreadsheet would run."""
    odd = {"Nord": "=cmd|' /C calc'!A0", "Süd": "@SUM(1+1)", "Café": "+1-1"}
    given = files(town=odd.__getitem__)
    with folder(given):
        ran(words(), 0)
        check_same(read_answers())
        assert "=cmd|' /C calc'!A0" in Path("out.csv").read_text(encoding="utf-8")
    return "Nothing is evaluated, the answer is that of the clean files, and cells go to the output as they came."


def digits_of_other_scripts() -> str:
    """Arabic digits in a column of numbers."""
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    given = {"trial.csv": file_of(table("trial", n=lambda cell: cell.translate(arabic)))}
    return refused(given, says=["'n'", "not of one kind"])


def minus_signs() -> str:
    """The minus sign of typesetters before negative numbers."""
    given = {"trial.csv": file_of(table("trial", x=lambda cell: cell.replace("-", "−")))}
    return refused(given, says=["'x'"])


def percents() -> str:
    """Numbers with a per cent sign in one file."""
    return refused({"trial.csv": file_of(table("trial", n=lambda cell: f"{cell}%"))}, says=["'n'", "not of one kind"])


def hard_spaces() -> str:
    """Numbers and treatments with no-break spaces around them."""
    same({"trial.csv": file_of(table("trial", n=lambda cell: f"\u00a0{cell}", t=lambda cell: f"{cell}\u00a0"))})
    return "No-break spaces are spaces: the answer of the clean files."


def _moments(name: str) -> Columns:
    """Return a table whose days are noon in UTC, written in three zones."""
    ends = ("T12:00:00Z", "T14:00:00+02:00", "T07:00:00-0500")
    columns = table(name)
    columns["day"] = [f"{cell}{ends[place % 3]}" for place, cell in enumerate(columns["day"])]
    return columns


def _names() -> tuple[str, str, str]:
    return "obs", "trial", "new"


CASES: Cases = {
    "a category called none": category_called_none,
    "five spellings of missing": words_for_missing,
    "a dash in some cells of numbers": dashes,
    "a dash in a quarter of the cells of numbers": many_dashes,
    "a dash in a quarter of the outcomes": many_dashes_in_outcomes,
    "-999 for missing": sentinel,
    "whole numbers as 3, 3.0 and 3.00": whole_numbers_as_floats,
    "numbers with signs, exponents and spaces": numbers_with_signs,
    "codes 001, 01 and 1": codes,
    "codes that lost their zeros in one file": codes_that_lost_their_zeros,
    "codes like numbers, declared a category": codes_declared,
    "numbers in one file, words in the other": numbers_against_words,
    "numbers when fitted, words in new rows": numbers_against_words_in_new_rows,
    "booleans in three notations": booleans_in_other_notations,
    "yes and no in one file": yes_and_no,
    "yes and no in the new rows": yes_and_no_in_new_rows,
    "dates with and without midnight": dates_with_a_time,
    "dates of another country": dates_of_another_country,
    "dates as serial numbers of a spreadsheet": dates_as_serial_numbers,
    "a date that does not exist": impossible_date,
    "one moment in three time zones": zones,
    "time zones in one file of three": zones_in_one_file,
    "categories in two forms of Unicode": categories_in_two_forms,
    "a category that was never seen": unseen_category,
    "the same people in both tables": people_in_both,
    "an identifier that gives the outcome away": identifier_that_leaks,
    "cells that a spreadsheet would run": formulas,
    "Arabic digits": digits_of_other_scripts,
    "the minus sign of typesetters": minus_signs,
    "per cent signs in one file": percents,
    "no-break spaces": hard_spaces,
}
