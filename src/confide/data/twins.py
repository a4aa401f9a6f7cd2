"""Texts that differ by case, spaces or forms of Unicode only: seldom meant to be different."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence


def twins(values: Sequence[str]) -> list[list[str]]:
    """Return groups of texts that differ by case, spaces or forms of Unicode only."""
    groups: dict[str, list[str]] = {}
    for value in sorted(values):
        groups.setdefault(_folded(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def alike(one: str, other: str) -> bool:
    """Return whether two different texts differ by case, spaces or forms of Unicode only."""
    return one != other and _folded(one) == _folded(other)


def composed(values: pa.Array) -> pa.Array:
    """Return text in one form of Unicode, NFC; the function that pyarrow 17 has for it does not compose."""
    if pc.all(pc.string_is_ascii(values)).as_py() is not False:
        return values
    texts = values.to_pylist()
    return pa.array([None if text is None else unicodedata.normalize("NFC", text) for text in texts], values.type)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())
