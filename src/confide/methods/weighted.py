"""The base class of methods whose last quantile is weighted by a density ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.intervals import count_rows, shortage
from confide.conformal.quantile import effective_sample_size
from confide.methods.base import ArmEstimator

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Weighted(ArmEstimator):
    """Base class of methods whose last quantile is weighted by ``ratio_``."""

    def _test_weight(self, X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> NDArray[np.float64]:
        return self._weigh(X, y)

    def shortage(self) -> str | None:
        """Return why new rows of average weight have infinite intervals; None if they have not."""
        weights = np.diff(self.calibration_.cumulative)
        if np.isfinite(self.calibration_.quantile(self.alpha, weights.mean())):
            return None
        size = effective_sample_size(weights)
        rows = f"{count_rows(len(weights))}, worth {size:.1f} of equal weight"
        consequence = f"For new rows of average weight intervals are {self._reach()}"
        return shortage(self.alpha, rows, self._calibrates_on, consequence)


def weighs_outcome(ratio: Any) -> bool:
    """Return whether the ratio changes with y: if not, one weight per row serves all its candidates."""
    return "y" in getattr(ratio, "on", "xy")
