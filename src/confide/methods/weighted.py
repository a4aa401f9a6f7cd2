"""The base class of methods whose last quantile is weighted by a density ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.intervals import count_rows, shortage
from confide.conformal.quantile import effective_sample_size
from confide.methods.base import ArmEstimator
from confide.ratio.registry import looks_at

if TYPE_CHECKING:
    from confide.methods.new_rows import NewRows
    from confide.ratio import DensityRatio
    from confide.typing import Floats


class Weighted(ArmEstimator):
    """Base class of methods whose last quantile is weighted by ``ratio_``."""

    def _test_weight(self, rows: NewRows, y: Floats | float = np.nan) -> Floats:
        return self._weigh(rows.X, y)

    def _shortage(self) -> str | None:
        """Return why new rows of average weight have infinite intervals; None if they have not."""
        weights = np.diff(self.calibration_.cumulative)
        if np.isfinite(self.calibration_.quantile(self.alpha_, weights.mean())):
            return None
        size = effective_sample_size(weights)
        rows = f"{count_rows(len(weights))}, worth {size:.1f} of equal weight"
        consequence = f"For new rows of average weight intervals are {self._reach()}"
        return shortage(self.alpha_, rows, self._calibrates_on, consequence)


def weighs_outcome(ratio: DensityRatio) -> bool:
    """Return whether the ratio changes with y: if not, one weight per row serves all its candidates."""
    return "y" in looks_at(ratio)
