"""Data inside a page: exact numbers, and text that cannot become markup."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Inside a script element these could end it or begin a comment; some parsers take the last two for line ends.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever text it contains."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, escaped in UNSAFE.items():
        text = text.replace(sign, escaped)
    return text


def packed(values: ArrayLike, kind: str = "<f8") -> str:
    """Return numbers as base64 of their bytes, so that the page has exactly the same ones, NaN and ∞ included."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


class Pool:
    """Columns of floats, each stored once, however often it is used."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, values: NDArray[np.float64]) -> int:
        """Return the index of a column; a new column is added."""
        column = packed(values)
        if column not in self._places:
            self._places[column] = len(self.columns)
            self.columns.append(column)
        return self._places[column]
