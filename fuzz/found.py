"""The defects that the fuzzers and the faults have found, and what was done about each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """A defect: what found it, what was wrong, and what was done."""

    by: str
    what: str
    done: str


FOUND = [
    Found(
        "tables",
        "Treatments that are integers from 2**53 on were read as floats: two treatments became one arm, silently. A "
        "treatment 1e300 became -2**63.",
        "refused, with the remedy: declare the treatment a category, and labels are compared as text",
    ),
    Found(
        "tables",
        "Timestamps in seconds that are too far away for microseconds wrapped around, silently.",
        "refused by name",
    ),
    Found(
        "tables",
        "A new row's typed booleans were taken for numbers 0 and 1 in a column fitted on numbers; as text they were "
        "refused.",
        "refused in every format",
    ),
    Found(
        "tables",
        "Numbers around 1e300 overflowed in squares: the user saw scikit-learn's text on missing values, or a "
        "warning on an overflow.",
        "numbers beyond 1e100 are refused, in covariates and outcomes",
    ),
    Found("tables", "Unsigned integers from 2**63 on were an error of pyarrow.", "read as numbers"),
    Found(
        "tables",
        "Two columns of one name in a frame were an error of narwhals, of two lines.",
        "one line that names the column",
    ),
    Found(
        "tables",
        "A NUL character in a column's name ended the process inside polars.",
        "refused before polars is asked for its rows",
    ),
    Found(
        "tables",
        "Views of text (polars writes them) and half-precision floats in a Parquet table that is read by batches were "
        "errors of pyarrow.",
        "read like text and numbers",
    ),
    Found(
        "tables",
        "Messages repeated cells, labels and lists of columns of any length.",
        "values are cut at 80 characters, lists at 20 names",
    ),
    Found(
        "commands",
        "A word of 5,000 characters came back whole in the message.",
        "words of messages are cut at 300 characters",
    ),
    Found(
        "faults",
        "Ctrl-C in the first half second, while commands are imported or made, was a traceback.",
        "one line, from the first line of confide's own code on",
    ),
    Found(
        "models",
        "A forged model with lost parts was loaded, and `confide predict` ended in a traceback.",
        "one line that names the file; likewise `select` and `report`",
    ),
    Found("models", "A refusal quoted the address of an object in memory.", "left out"),
]
