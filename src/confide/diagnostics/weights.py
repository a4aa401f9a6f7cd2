"""The weights of calibration rows, and their effective sample size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide.base.notebook import Records, ShownRecord
from confide.conformal.quantile import effective_sample_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal.quantile import Calibration
    from confide.methods.base import ArmEstimator
    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Labels


# Weights with a relative difference below this count as equal: they are differences of a cumulative sum.
ALIKE = 1e-9


@dataclass(frozen=True)
class Weights(ShownRecord):
    """Weights of the rows that calibrate one arm, in one stage of its method.

    Attributes
    ----------
    treatment : label
        The arm.
    stage : {"calibration", "first stage"}
        Whether these are the rows of the last quantile, or of the first stage in two-stage methods.
    shares : (k,) array
        Share of each row in the total weight, heaviest first; empty if no row calibrates, all 0 if none has weight.
    """

    treatment: Labels
    stage: str
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, treatment: Labels, stage: str, calibration: Calibration) -> Weights:
        """Return the weights of a calibration."""
        weights = np.sort(np.diff(calibration.cumulative))[::-1]
        return cls(treatment, stage, weights / weights.sum() if weights.any() else weights)

    @property
    def effective_size(self) -> float:
        """Effective sample size n_eff of the weights; 0 if there are none."""
        return effective_sample_size(self.shares) if self.shares.any() else 0.0

    @property
    def largest_share(self) -> float:
        """Share of the heaviest row; 0 if there is none."""
        return float(self.shares[0]) if len(self.shares) else 0.0

    @property
    def alike(self) -> bool:
        """Whether all rows have the same weight."""
        return bool(len(self.shares) and self.shares[0] - self.shares[-1] <= ALIKE * self.shares[0])


def calibration_weights(model: CounterfactualIntervals) -> list[Weights]:
    """Return the weights of the rows that calibrate a fitted model, arm by arm.

    A two-stage method has two records per arm: its first stage's, and its last quantile's.
    """
    check_is_fitted(model)
    return Records(weights for label, arm in model.arms_.items() for weights in arm_weights(label, arm))


def arm_weights(label: Label, arm: ArmEstimator) -> list[Weights]:
    """Return the weights of an arm's last quantile, preceded by the first stage's in two-stage methods."""
    first_stage = getattr(arm, "first_stage_", None)
    before = [] if first_stage is None else [Weights.of(label, "first stage", first_stage)]
    return [*before, Weights.of(label, "calibration", arm.calibration_)]
