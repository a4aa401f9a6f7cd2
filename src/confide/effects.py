"""Intervals for the individual effect of one treatment against another, from intervals of both arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from confide.checks import suggest
from confide.intervals import Intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from confide.methods._arm import ArmEstimator


class Bonferroni:
    """The difference of two arms' intervals: (C₁ᴸ - C₀ᴿ, C₁ᴿ - C₀ᴸ).

    Promise: coverage ≥ 1 - 2·arm_alpha where each arm's interval covers ≥ 1 - arm_alpha, by the union bound.
    """

    def fit(self, arms: Mapping[Any, ArmEstimator], arm_alpha: Any) -> Self:
        """Recalibrate the fitted arms at ``arm_alpha``."""
        self.arms_ = {label: arm.at(arm_alpha) for label, arm in arms.items()}
        return self

    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return intervals for Y(treated) - Y(control)."""
        treated_lower, treated_upper = self.arms_[treated].predict_interval(X)
        control_lower, control_upper = self.arms_[control].predict_interval(X)
        return Intervals(treated_lower - control_upper, treated_upper - control_lower)


EFFECTS = {"bonferroni": Bonferroni}


def check_effect(effect: Any) -> Bonferroni:
    """Return the unfitted effect of that name."""
    if effect not in EFFECTS:
        raise ValueError(f"effect {effect!r} is unknown; {suggest(effect, EFFECTS)}")
    return EFFECTS[effect]()
