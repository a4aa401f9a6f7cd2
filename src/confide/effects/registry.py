"""The effects by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.base.validation import suggest
from confide.effects.bonferroni import Bonferroni
from confide.effects.nested import Nested

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.effects.base import Effect


EFFECTS: dict[str, Callable[[], Effect]] = {
    "bonferroni": Bonferroni,
    "nested-exact": lambda: Nested(exact=True),
    "nested-inexact": lambda: Nested(exact=False),
}


def check_effect(effect: Any) -> Effect:
    """Return the unfitted effect of that name."""
    if not isinstance(effect, str) or effect not in EFFECTS:
        raise ValueError(f"effect {effect!r} is unknown; {suggest(effect, EFFECTS)}")
    return EFFECTS[effect]()
