"""What is kept by treatment label, in a form that a file can hold."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar


class Labelled:
    """State whose dicts by label are lists of pairs: the keys of a file are text, labels are anything.

    A class names those of its attributes in ``_by_label``. Copies, pickles and saved models go through here; what was
    cached is left behind, and calculated again when it is asked for.
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
