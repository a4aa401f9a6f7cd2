"""Full conformal prediction with centred residuals: minus their mean, which includes the new one. In closed form.

A model's residuals e_1..e_m on unseen rows may share a bias. Subtracting their mean needs no hold-out set if the new
residual e is part of that mean, c = (Σe_i + e)/(m+1). Then the scores |e_i - c| and |e - c| are exchangeable if the
rows are, and full conformal prediction keeps its promise, ≥ 1-α and < 1-α + 1/(m+1) without ties. No candidate has to
be tried. With d_i = e_i - ē and u = e - ē ≥ 0,

    |e_i - c| < |e - c|   iff   -u·(m-1)/(m+1) < d_i < u,

so that u is in the set iff it is at most the quantile of the scores d_i (d_i ≥ 0) and -d_i·(m+1)/(m-1) (d_i < 0).
Below the mean the same holds, mirrored. The set is one interval of residuals, the same for every new row.

Exchangeability needs ties to be ties: |e_i - c| = |e - c| must count for neither row, whichever is new. The stretched
scores are rounded, so residuals that differ by rounding alone count as tied, by a slack that only enlarges the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.marks import calibrated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from confide.conformal.marks import Marks
    from confide.conformal.quantile import Calibration
    from confide.typing import Level


@dataclass(frozen=True)
class CentredCalibration:
    """The calibration for a new residual above and below the mean of the others; independent of alpha.

    Attributes
    ----------
    above, below : Calibration
        Scores of the centred residuals, for a new residual on that side of their mean.
    """

    above: Calibration
    below: Calibration

    @classmethod
    def of(
        cls, centred: ArrayLike, slack: float = 0.0, marks: Marks | None = None, group: int | None = None
    ) -> CentredCalibration:
        """Return the calibration of residuals minus their mean; residuals within the slack of each other are tied.

        ``marks`` are those of the rows, for a new row of that group.
        """
        centred = np.asarray(centred, dtype=np.float64)
        rows = len(centred)
        # With a single residual, it and the new one are always equally far from their mean.
        near = np.abs(centred) + slack if rows > 1 else np.full(rows, np.inf)
        far = near * (rows + 1) / max(rows - 1, 1)
        return cls(
            above=calibrated(np.where(centred >= 0, near, far), marks, group),
            below=calibrated(np.where(centred <= 0, near, far), marks, group),
        )

    def quantiles(self, alpha: Level, own: ArrayLike = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far sets reach below and above the mean, by the new rows' own weights; +∞ if rows are too few."""
        return self.below.quantile(alpha, own), self.above.quantile(alpha, own)
