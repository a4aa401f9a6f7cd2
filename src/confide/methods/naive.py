"""`naive`: split conformal prediction on the trial alone (Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from confide.methods.base import ArmEstimator
from confide.methods.promise import KEPT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.conformal import Calibration
    from confide.methods.arm import Arm
    from confide.methods.promise import Promise
    from confide.models.scores import Score
    from confide.typing import Level, RandomState, Regressor


class Naive(ArmEstimator):
    """Base model on the trial's fit rows, calibrated on its other rows; observational rows are not used.

    Promise: coverage ≥ 1-α (Eq. 7 of the paper), marginally over calibration and new rows.

    Parameters
    ----------
    base : regressor or name, default None
        Any scikit-learn regressor, or a name in `confide.models.base_model.BASES`; None is "auto",
        `confide.models.auto.AutoRegressor`.
    conformity_score : {"absolute", "cqr", "normalised"} or score
        Nonconformity: the absolute residual, conformalised quantiles, or the residual in units of its usual
        size. A custom score has the methods of `confide.models.scores.Score`.
    calibration : float or (float, float)
        Share of the trial rows that calibrate; a pair gives the shares of observational and of trial rows.
    alpha : float, default None
        Miscoverage level; None: 0.1. `fit` freezes it as ``alpha_``; `with_alpha` gives another.
    outcome_range : (float, float), default None
        Declared bounds of the outcome: intervals are intersected with them, outcomes outside are an error.
    outcome_values : sequence of float, default None
        The values that a discrete outcome can take: sets are then subsets of them, intervals their hulls.
    random_state : int, RandomState instance or None
        Decides everything random.
    """

    _needs: ClassVar = {"trial": 2}
    _calibrates_on: ClassVar = "trial"
    _shares_offset: ClassVar = True

    def __init__(
        self,
        *,
        base: Regressor | str | None = None,
        conformity_score: Score | str = "absolute",
        calibration: float | tuple[float, float] = 0.5,
        alpha: Level | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Sequence[float] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state

    def _name(self) -> str:
        return "naive"

    def _promise(self) -> Promise:
        return KEPT

    def _ranks_trial_rows(self) -> bool:
        return True

    def _learns_from(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        return ("trial fit",)

    def _fit(self, arm: Arm) -> None:
        fit, calibration = arm.split_trial()
        self.base_ = self._learn(fit, arm)
        self.calibration_: Calibration = self._calibrate(calibration)
