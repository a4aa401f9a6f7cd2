"""Comparison of parameters: estimators are alike if their classes and all their parameters are."""

from __future__ import annotations

from numbers import Real
from typing import Any


def alike(one: Any, other: Any) -> bool:
    """Return whether two values of a parameter are the same: estimators by class and parameters, others by repr."""
    if type(one) is not type(other):
        return _is_number(one) and _is_number(other) and bool(one == other)
    if not hasattr(one, "get_params") or isinstance(one, type):
        return repr(one) == repr(other)
    mine, theirs = (each.get_params(deep=False) for each in (one, other))
    return mine.keys() == theirs.keys() and all(alike(value, theirs[name]) for name, value in mine.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
