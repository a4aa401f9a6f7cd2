"""The base class of intervals for individual effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from confide.base.state import Labelled
from confide.conformal.intervals import Intervals
from confide.conformal.quantile import check_alpha
from confide.methods.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.data.splits import Rows
    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.typing import Label, Level


class Effect(Labelled, ABC):
    """Base class: turns intervals of two arms into an interval for Y(treated) - Y(control)."""

    @abstractmethod
    def fit(
        self,
        arms: Mapping[Label, ArmEstimator],
        rows: Mapping[Label, tuple[Rows, Rows]],
        arm_alpha: Level,
        seed: int,
        side: str = "both",
    ) -> Self:
        """Fit on the fitted arms, the control first, and on each arm's (observational, trial) rows.

        ``side`` says which ends intervals of effects have.
        """

    @abstractmethod
    def predict_interval(self, rows: Mapping[Label, NewRows], treated: Label, control: Label) -> Intervals:
        """Return intervals for Y(treated) - Y(control) at new rows, which are given for each arm."""

    @abstractmethod
    def promise(self, arm: Promise, arm_alpha: Level) -> Promise:
        """Return the promise of an effect's interval, given that of the arms; no more than is proved."""

    def arms_at_level(self) -> Mapping[Label, ArmEstimator] | None:
        """Return the arms at the effect's level, if the effect is the difference of their intervals; else None."""
        return None

    def calibrates_on_trial(self, place: int) -> bool:  # noqa: ARG002
        """Return whether trial rows of the arm at that position, the control first, calibrate the effect itself."""
        return False

    @abstractmethod
    def shortages(self) -> dict[Label, str]:
        """Return, by treatment, why all effect intervals are infinite; empty if they are not."""


def difference(treated: Intervals, control: Intervals) -> Intervals:
    """Return (treated lower - control upper, treated upper - control lower)."""
    return Intervals(treated.lower - control.upper, treated.upper - control.lower)


def two_steps(arm: Promise, arm_alpha: Level) -> Promise:
    """Return the promise of two steps at one level, by the union bound: it needs arms that keep their level."""
    if not arm.keeps_level:
        return Promise(misses=(), reason="in numbers: it would need arms that keep their level, and they do not")
    if 2 * check_alpha(arm_alpha, "arm_alpha") >= 1:
        steps = f"each of its two steps is taken at {float(arm_alpha):g}, and together they may miss always"
        return Promise(misses=(), reason=f"in numbers: {steps}")
    return replace(arm, misses=(arm_alpha, arm_alpha))


def opposite(side: str) -> str:
    """Return the other side, which the control's end of an effect is on."""
    return {"lower": "upper", "upper": "lower"}.get(side, side)
