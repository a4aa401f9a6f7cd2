"""Data inside a page: numbers exactly, and text that cannot become markup."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Inside a script element these could end it or begin a comment; the last two end a line for some readers.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def as_json(value: Any) -> str:
    """Return JSON that may stand inside a script element, whatever text it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, escaped in UNSAFE.items():
        text = text.replace(sign, escaped)
    return text


def packed(values: ArrayLike, kind: str = "<f8") -> str:
    """Return numbers as base64 of their bytes, so that the page has the very same ones; NaN and ∞ included."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


class Pool:
    """Columns of floats, each kept once however often it is asked for."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, values: NDArray[np.float64]) -> int:
        """Return the place of a column, which is added where it is new."""
        column = packed(values)
        if column not in self._places:
            self._places[column] = len(self.columns)
            self.columns.append(column)
        return self._places[column]
