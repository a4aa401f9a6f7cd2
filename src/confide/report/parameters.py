"""How an arm's parameters differ from those that its method's record describes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.base.parameters import alike
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name

if TYPE_CHECKING:
    from confide.methods.base import ArmEstimator

# What every record leaves open: the level, the seed, the base model, and what is known of the outcome.
OPEN = frozenset({"alpha", "random_state", "base", "outcome_range", "outcome_values"})
# Values that are written in full; of any other only the class is shown, which is the same in each process.
PLAIN = (str, int, float, type(None))


def changed_parameters(arm: ArmEstimator) -> str:
    """Return the parameters that differ from the method's own, such as ``base_on='grounded'``; empty if none does."""
    if arm.method_name not in METHODS:
        return ""
    usual = method_by_name(arm.method_name).get_params(deep=False)
    changed = {
        name: value
        for name, value in arm._in_force().get_params(deep=False).items()
        if name not in OPEN and not alike(value, usual[name])
    }
    return ", ".join(f"{name}={_shown(value)}" for name, value in changed.items())


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))})"
    return repr(value) if isinstance(value, PLAIN) else type(value).__name__
