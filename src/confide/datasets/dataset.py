"""The record that every loader returns, and helpers of loaders."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from confide.data.writing import writing

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """Three tables with the same columns; no unit is in two of them.

    Attributes
    ----------
    observational : pyarrow.Table
        Rows whose treatment, or whose presence in the table, may depend on the outcome.
    trial : pyarrow.Table
        Rows of the randomised trial.
    test : pyarrow.Table
        Rows from the trial's population, held out to measure coverage.
    treatment : str or None
        Name of the treatment column; None if the data have no treatment.
    outcome : str
        Name of the outcome column. The columns that are neither are covariates.
    notes : tuple of str
        Sentences that a reader of results should know about these tables; usually empty.
    """

    observational: pa.Table
    trial: pa.Table
    test: pa.Table
    treatment: str | None
    outcome: str
    notes: tuple[str, ...] = ()

    def write(self, folder: str, identifier: str) -> dict[str, int]:
        """Write the parts as CSV files with an identifier per row; return their numbers of rows by path.

        They are ``observational.csv``, ``trial.csv``, and ``new.csv``: the test part without treatment and outcome.
        """
        asked = [name for name in (self.treatment, self.outcome) if name is not None]
        parts = {"observational": self.observational, "trial": self.trial, "new": self.test.drop_columns(asked)}
        Path(folder).mkdir(parents=True, exist_ok=True)
        written = {}
        for name, table in parts.items():
            numbered = pa.array([f"{name[0]}{number:04d}" for number in range(1, len(table) + 1)])
            named = table.add_column(0, identifier, numbered)
            path = str(Path(folder) / f"{name}.csv")
            with writing(path, named.schema) as sink:
                sink.write_table(named)
            written[path] = len(named)
        return written


def bundled(name: str) -> pa.Table:
    """Return a table that comes with the package; an empty field is a missing value."""
    raw = (files("confide.datasets") / "data" / f"{name}.csv.gz").read_bytes()
    with pa.input_stream(pa.BufferReader(raw), compression="gzip") as stream:
        return csv.read_csv(stream, convert_options=csv.ConvertOptions(strings_can_be_null=True))


def rows(table: pa.Table, chosen: NDArray[np.integer[Any]]) -> pa.Table:
    """Return the chosen rows, in the order of the choice."""
    return table.take(pa.array(chosen))


def check_trial_size(trial_size: Any, least: int, most: int, available: str) -> int:
    """Return the size as an integer; raise unless it leaves enough rows in all parts."""
    whole = isinstance(trial_size, int | np.integer) and not isinstance(trial_size, bool)
    if not (whole and least <= trial_size <= most):
        raise ValueError(
            f"trial_size must be a whole number from {least} to {most}, got {trial_size!r}: fewer rows may leave "
            f"an arm empty, and of {available} enough must remain for the other parts. Choose one in between."
        )
    return int(trial_size)
