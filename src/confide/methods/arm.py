"""The rows of one arm, by source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.data.splits import Rows, split

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Arm:
    """The rows of one treatment, by source, with the calibration shares and the seeds.

    ``population`` are the covariates of the whole observational table, ``others`` the observational rows of all other
    arms.
    """

    trial: Rows
    observational: Rows
    population: NDArray[np.float64] | None
    others: Rows
    shares: tuple[float, float]
    split_seed: int
    base_seed: int
    ratio_seed: int

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """The outcomes of both sources."""
        return np.concatenate([self.observational.y, self.trial.y])

    def split_observational(self) -> tuple[Rows, Rows]:
        """Return the observational fit rows and calibration rows."""
        return split(self.observational, self.shares[0], self.split_seed)

    def split_trial(self) -> tuple[Rows, Rows]:
        """Return the trial's fit rows and calibration rows."""
        return split(self.trial, self.shares[1], self.split_seed)
