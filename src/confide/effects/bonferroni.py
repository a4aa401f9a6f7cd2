"""The difference of two arms' intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from confide.effects.base import Effect, difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from confide.conformal.intervals import Intervals
    from confide.data.splits import Rows
    from confide.methods.base import ArmEstimator


class Bonferroni(Effect):
    """The difference of two arms' intervals: (C₁ᴸ - C₀ᴿ, C₁ᴿ - C₀ᴸ).

    Promise: coverage ≥ 1 - 2·arm_alpha where each arm's interval covers ≥ 1 - arm_alpha, by the union bound.
    """

    _by_label: ClassVar = ("arms_",)

    def fit(
        self,
        arms: Mapping[Any, ArmEstimator],
        rows: Mapping[Any, tuple[Rows, Rows]],  # noqa: ARG002
        arm_alpha: Any,
        seed: int,  # noqa: ARG002
    ) -> Self:
        """Recalibrate the fitted arms at ``arm_alpha``."""
        self.arms_ = {label: arm.at(arm_alpha) for label, arm in arms.items()}
        return self

    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return the difference of the arms' intervals."""
        return difference(self.arms_[treated].predict_interval(X), self.arms_[control].predict_interval(X))

    def arms_at_level(self) -> Mapping[Any, ArmEstimator] | None:
        """Return the arms at the level that the effect uses."""
        return self.arms_

    def shortages(self) -> dict[Any, str]:
        """Return the shortages of the arms."""
        found = {label: arm.shortage() for label, arm in self.arms_.items()}
        return {label: text for label, text in found.items() if text}
