"""The base class of intervals for individual effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from confide.base.state import Labelled
from confide.conformal.intervals import Intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from confide.data.splits import Rows
    from confide.methods.base import ArmEstimator


class Effect(Labelled, ABC):
    """Base class: turns intervals of two arms into an interval for Y(treated) - Y(control)."""

    @abstractmethod
    def fit(
        self, arms: Mapping[Any, ArmEstimator], rows: Mapping[Any, tuple[Rows, Rows]], arm_alpha: Any, seed: int
    ) -> Self:
        """Fit on the fitted arms, and on each arm's (observational, trial) rows."""

    @abstractmethod
    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return intervals for Y(treated) - Y(control)."""

    def arms_at_level(self) -> Mapping[Any, ArmEstimator] | None:
        """Return the arms at the effect's level, if the effect is the difference of their intervals; else None."""
        return None

    def calibrates_on_trial(self, place: int) -> bool:  # noqa: ARG002
        """Return whether trial rows of the arm at that position among the labels calibrate the effect itself."""
        return False

    @abstractmethod
    def shortages(self) -> dict[Any, str]:
        """Return, by treatment, why all effect intervals are infinite; empty if they are not."""


def difference(treated: Intervals, control: Intervals) -> Intervals:
    """Return (treated lower - control upper, treated upper - control lower)."""
    return Intervals(treated.lower - control.upper, treated.upper - control.lower)
