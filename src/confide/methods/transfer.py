"""`transfer`: a base model from the observational data, calibrated on the trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from confide.base.rounding import ROUNDING, predictions_off, slack
from confide.conformal.centred import CentredCalibration
from confide.conformal.intervals import Intervals, IntervalSets
from confide.methods.base import ArmEstimator
from confide.models.base_model import BASE_ON, check_base_on
from confide.models.scores import AbsoluteResidual, Shifted
from confide.ratio import ClassifierRatio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal import Calibration
    from confide.methods.arm import Arm


class Transfer(ArmEstimator):
    """Base model on all observational rows, calibrated on all trial rows.

    The base model may be confounded: calibration needs only that trial rows and new rows are exchangeable.
    Promise: coverage ≥ 1-α, whatever the confounding, marginally over calibration and new rows.

    Parameters
    ----------
    base, score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`.
    base_on : {"observational", "centred", "trial", "weighted", "grounded"}
        What the base model is trained on. "centred": observational rows, minus its mean error on the trial. The new row
        counts in that mean, so that all trial rows calibrate, without a hold-out set (`confide.conformal.centred`);
        absolute residuals only; without observational rows it does what `naive` does, with a warning. "trial": the
        trial's fit rows. "weighted": both, weighted by a density ratio (`ClassifierRatio`). "grounded": observational
        rows, corrected by a ridge regression on the trial's fit rows. With these three only the other trial rows
        calibrate.
    """

    _needs: ClassVar = {"trial": 1, "observational": 1}
    _calibrates_on: ClassVar = "trial"
    _shares_offset: ClassVar = True

    def __init__(
        self,
        *,
        base: Any = None,
        score: Any = "absolute",
        calibration: float | tuple[float, float] = 0.5,
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
        alone = {"observational": self._needs, "centred": {"trial": 1}, "trial": {"trial": 2}}
        base_on = check_base_on(self.base_on, ("observational", "centred", *BASE_ON[1:]))
        return alone.get(base_on, {"trial": 2, "observational": 1})

    def _learns_from(self, observational: int) -> tuple[str, ...]:
        if self.base_on == "trial" or not observational:
            return ("trial fit",)
        return ("observational",) if self.base_on in ("observational", "centred") else ("observational", "trial fit")

    def _fit(self, arm: Arm) -> None:
        self.centred_: CentredCalibration | None = None
        if self.base_on == "centred":
            self._fit_centred(arm)
            return
        fit, calibration = arm.trial, arm.trial
        if self.base_on != "observational":
            fit, calibration = arm.split_trial()
        if self.base_on == "weighted":
            self.ratio_ = self._learn_ratio(ClassifierRatio(), fit.joined(), arm.observational.joined(), arm)
        self.base_ = self._learn_on(self.base_on, arm.observational, fit, arm)
        self.calibration_: Calibration = self._calibrate(calibration)

    def _fit_centred(self, arm: Arm) -> None:
        if type(self.score_) is not AbsoluteResidual:
            raise ValueError(
                f"base_on='centred' takes absolute residuals, got score={self.score!r}. Use score='absolute', or "
                "base_on='grounded'."
            )
        if not len(arm.observational):
            self._fit_on_trial_alone(arm)
            return
        self.base_ = self._learn(arm.observational, arm)
        prediction = self._predict_base(arm.trial.X)
        bias = float((arm.trial.y - prediction).mean())
        self.base_ = Shifted(self.base_, bias)
        centred = self._predict_base(arm.trial.X)
        off = predictions_off(self.base_.predict, arm.trial.X, centred) + ROUNDING * np.abs(prediction).max()
        rounding = slack(self.score_.score, centred, off, arm.trial.y)
        self.centred_ = CentredCalibration.of(arm.trial.y - centred, rounding)
        self.calibration_ = self.centred_.above

    def _sets(self, X: NDArray[np.float64]) -> IntervalSets:
        if self.centred_ is None:
            return super()._sets(X)
        return IntervalSets.of(self._clip(self._centred_interval(self._predict_base(X))))

    def _centred_interval(self, prediction: NDArray[np.float64]) -> Intervals:
        below, above = (self.score_.interval(prediction, np.asarray(offset)) for offset in self.offsets())
        return Intervals(below.lower, above.upper)

    def offsets(self) -> tuple[float, float]:
        """Return how far intervals reach below and above the base model's prediction."""
        if self.centred_ is None:
            return super().offsets()
        below, above = self.centred_.quantiles(self.alpha)
        return float(below), float(above)

    def _is_member(
        self, X: NDArray[np.float64], y: NDArray[np.float64], prediction: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        if self.centred_ is None:
            return super()._is_member(X, y, prediction)
        return self._centred_interval(prediction).contains(y)
