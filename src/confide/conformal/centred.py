"""Residuals around their own mean, the new one among them, in closed form.

A model's residuals e_1..e_m on rows that it has not seen may share a bias. Taking their mean out costs no rows if the
new residual e is part of that mean, c = (Σe_i + e)/(m+1): then the scores |e_i - c| and |e - c| are exchangeable where
the rows are, and full conformal prediction keeps its promise, ≥ 1-α and < 1-α + 1/(m+1) without ties. No candidate has
to be tried. With d_i = e_i - ē and u = e - ē ≥ 0,

    |e_i - c| < |e - c|   iff   -u·(m-1)/(m+1) < d_i < u,

so that u is in iff it is at most the quantile of the scores d_i (d_i ≥ 0) and -d_i·(m+1)/(m-1) (d_i < 0); and below the
mean likewise, mirrored. The set is one interval of residuals, the same for every new row.

Exchangeability needs ties to be ties: |e_i - c| = |e - c| must count for neither row, whichever is new. The stretched
scores are rounded, so residuals that differ by rounding alone are told apart by a slack that only enlarges the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.quantile import Calibration

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class CentredCalibration:
    """How far a new residual may lie above and below the mean of the others; knows no alpha.

    Attributes
    ----------
    above, below : Calibration
        Scores of the centred residuals for a new one on that side of their mean.
    """

    above: Calibration
    below: Calibration

    @classmethod
    def of(cls, centred: ArrayLike, slack: float = 0.0) -> CentredCalibration:
        """Return the calibration of residuals from which their mean was taken; those within the slack are tied."""
        centred = np.asarray(centred, dtype=np.float64)
        rows = len(centred)
        # A single residual is always as far from the mean of two as the new one is, and never nearer.
        near = np.abs(centred) + slack if rows > 1 else np.full(rows, np.inf)
        far = near * (rows + 1) / max(rows - 1, 1)
        return cls(
            above=Calibration.of(np.where(centred >= 0, near, far)),
            below=Calibration.of(np.where(centred <= 0, near, far)),
        )

    def quantiles(self, alpha: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far the set reaches below and above the mean; +∞ where there are too few residuals."""
        return self.below.quantile(alpha), self.above.quantile(alpha)
