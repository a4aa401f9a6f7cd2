"""Pickling of attributes that are dicts by treatment label."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar


class Labelled:
    """A base class whose dicts by label are saved as lists of pairs: a file's keys are text, labels can be anything.

    A subclass lists these attributes in ``_by_label``. Copies, pickles and saved models use this. Cached values are not
    saved, and are computed again when they are needed.
    """

    _by_label: ClassVar[tuple[str, ...]]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__() or {})  # type: ignore[call-overload]
        return {
            name: list(value.items()) if name in self._by_label else value
            for name, value in state.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: dict(value) if name in self._by_label else value for name, value in state.items()})
