"""The difference of two arms' intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from confide.effects.base import Effect, difference, opposite, two_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.conformal.intervals import Intervals
    from confide.data.splits import Rows
    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.typing import Label, Level


class Bonferroni(Effect):
    """The difference of two arms' intervals: (C₁ᴸ - C₀ᴿ, C₁ᴿ - C₀ᴸ).

    Promise: coverage ≥ 1 - 2·arm_alpha where each arm's interval covers ≥ 1 - arm_alpha, by the union bound.
    """

    _by_label: ClassVar = ("arms_",)

    def fit(
        self,
        arms: Mapping[Label, ArmEstimator],
        rows: Mapping[Label, tuple[Rows, Rows]],  # noqa: ARG002
        arm_alpha: Level,
        seed: int,  # noqa: ARG002
        side: str = "both",
    ) -> Self:
        """Recalibrate the fitted arms at ``arm_alpha``."""
        self.arms_ = {label: arm._at(arm_alpha) for label, arm in arms.items()}
        self.side_ = side
        return self

    def predict_interval(self, rows: Mapping[Label, NewRows], treated: Label, control: Label) -> Intervals:
        """Return the difference of the arms' intervals."""
        sides = {treated: self.side_, control: opposite(self.side_)}
        above, below = (
            self.arms_[label]._on_side(sides[label]).predict_interval(rows[label]) for label in (treated, control)
        )
        return difference(above, below)

    def promise(self, arm: Promise, arm_alpha: Level) -> Promise:
        """Return the promise of two arms together."""
        return two_steps(arm, arm_alpha)

    def arms_at_level(self) -> Mapping[Label, ArmEstimator] | None:
        """Return the arms at the level that the effect uses, if their intervals have both ends."""
        return self.arms_ if self.side_ == "both" else None

    def shortages(self) -> dict[Label, str]:
        """Return the shortages of the arms."""
        found = {label: arm._shortage() for label, arm in self.arms_.items()}
        return {label: text for label, text in found.items() if text}
