"""The rows of one arm, by source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data.splits import Rows, split

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Arm:
    """The rows of one treatment, by source, with the calibration shares and the seeds.

    ``population`` are the covariates of the whole observational table, ``others`` the observational rows of all other
    arms; covariates of both may not be encoded yet (`confide.data.encoding.EncodedRows`). None: not given.
    """

    trial: Rows
    observational: Rows
    population: Any
    others: Rows | None
    shares: tuple[float, float]
    split_seed: int
    base_seed: int
    ratio_seed: int

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """The outcomes of both sources."""
        return np.concatenate([self.observational.y, self.trial.y])

    def of_any_arm(self) -> Rows:
        """Return the observational rows of this arm; of all other arms if it has none, and if those were given."""
        if len(self.observational) or self.others is None:
            return self.observational
        return replace(self.others, X=np.asarray(self.others.X, dtype=np.float64))

    def split_observational(self) -> tuple[Rows, Rows]:
        """Return the observational fit rows and calibration rows."""
        return split(self.observational, self.shares[0], self.split_seed)

    def split_trial(self) -> tuple[Rows, Rows]:
        """Return the trial's fit rows and calibration rows."""
        return split(self.trial, self.shares[1], self.split_seed)
