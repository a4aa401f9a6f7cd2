"""Texts that differ by case, spaces or forms of Unicode only: seldom meant to be different."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

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


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())
