"""`transfer`: a base model from the observational data, calibrated on the trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from confide.learners import check_base_on
from confide.methods._arm import Arm, ArmEstimator

if TYPE_CHECKING:
    from confide.conformal import Calibration


class Transfer(ArmEstimator):
    """Base model on all observational rows, calibrated on all trial rows.

    The base model may be as confounded as it likes: calibration asks only that trial rows and new rows are
    exchangeable. Promise: coverage ≥ 1-α, whatever the confounding, marginally over calibration and new rows.

    Parameters
    ----------
    base, score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`.
    base_on : {"observational", "trial", "grounded"}
        What the base model learns from. "trial": the trial's fit rows. "grounded": observational rows, corrected
        by a ridge regression on the trial's fit rows. With these two only the other trial rows calibrate.
    """

    _needs: ClassVar = {"trial": 1, "observational": 1}
    _calibrates_on: ClassVar = "trial"

    def __init__(
        self,
        *,
        base: Any = None,
        score: Any = "absolute",
        calibration: float = 0.5,
        alpha: float = 0.1,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Any = None,
        random_state: Any = None,
        base_on: str = "observational",
    ) -> None:
        self.base = base
        self.score = score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.base_on = base_on

    def _needed(self) -> dict[str, int]:
        needed = {"observational": self._needs, "trial": {"trial": 2}, "grounded": {"trial": 2, "observational": 1}}
        return needed[check_base_on(self.base_on)]

    def _fit(self, arm: Arm) -> None:
        fit, calibration = arm.trial, arm.trial
        if self.base_on != "observational":
            fit, calibration = arm.split(arm.trial)
        self.base_ = self._learn_on(self.base_on, arm.observational, fit, arm)
        self.calibration_: Calibration = self._calibrate(calibration)
