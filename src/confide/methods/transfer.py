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
    base_on : {"observational", "trial"}
        What the base model learns from. With "trial" it learns from the trial's fit rows, and only the
        others calibrate.
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
        return {"trial": 2} if check_base_on(self.base_on) == "trial" else self._needs

    def _fit(self, arm: Arm) -> None:
        if check_base_on(self.base_on) == "trial":
            fit, calibration = arm.split(arm.trial)
        else:
            fit, calibration = arm.observational, arm.trial
        self.base_ = self._learn(fit, arm)
        self.calibration_: Calibration = self._calibrate(calibration)
