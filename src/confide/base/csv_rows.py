"""Rows of tables as CSV files, and back."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from confide.base.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Row = dict[str, Any]


def write_rows(path: Path, rows: list[Row], columns: Sequence[str]) -> None:
    """Write the rows; missing values stay empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns) or list(rows[0]), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def read_rows(path: Path) -> list[Row]:
    """Return the rows, numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def number(text: str) -> Any:
    """Return the text as a number if it is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
