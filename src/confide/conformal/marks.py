"""For whom calibration rows stand: their weights, the groups they are ranked in, and the clusters they come from.

Weighted conformal prediction ranks a new row among calibration rows that stand for more or fewer people than one: with
weights w_i and the new row's own weight w, an outcome is in the set iff

    Σ_{S_i < S_new} w_i < (1-α)(Σ w_i + w).

It keeps its level for every score that is symmetric in all rows, if a row's weight is the ratio of two densities of
covariates: of the people asked about, and of the calibration rows. Ranked within a group, it keeps its level there. If
whole clusters of n_k rows calibrate, each row weighs 1/n_k and a new row of a new cluster 1. If clusters are divided
between arms, or groups are asked for, one row of each cluster counts, drawn from all of its rows, and others weigh 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.quantile import Calibration

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Marks:
    """The marks of calibration rows; None where all are alike.

    Attributes
    ----------
    weight : (k,) array or None
        How many people each row stands for, up to a common factor.
    group, cluster : (k,) arrays of integers or None
        The group that each row is ranked in, and the cluster that it comes from.
    """

    weight: NDArray[np.float64] | None = None
    group: NDArray[np.intp] | None = None
    cluster: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return next(len(each) for each in (self.weight, self.group, self.cluster) if each is not None)

    def __getitem__(self, index: NDArray[Any]) -> Marks:
        return Marks(*(None if each is None else each[index] for each in (self.weight, self.group, self.cluster)))

    def weights(self, group: int | None = None) -> NDArray[np.float64]:
        """Return the rows' weights for a new row of that group, 0 for rows of other groups; None: for anyone."""
        weights = np.ones(len(self)) if self.weight is None else self.weight.copy()
        if group is not None and self.group is not None:
            weights[self.group != group] = 0.0
        if self.cluster is not None:
            ranked = weights > 0
            sizes = np.bincount(self.cluster[ranked], minlength=int(self.cluster.max(initial=-1)) + 1)
            weights[ranked] /= sizes[self.cluster[ranked]]
        return weights

    def without_clusters(self) -> Marks | None:
        """Return the marks of rows that are one per cluster, of weight 1; None if nothing is left."""
        if self.cluster is None:
            return self
        return None if self.group is None else Marks(group=self.group)

    def as_odds(self) -> Marks:
        """Return the marks with weights (1-π)/π in place of 1/π."""
        return self if self.weight is None else replace(self, weight=self.weight - 1)

    @property
    def alike(self) -> bool:
        """Whether all rows weigh the same, apart from their groups."""
        return self.weight is None and self.cluster is None


def calibrated(scores: NDArray[np.float64], marks: Marks | None, group: int | None = None) -> Calibration:
    """Return the calibration of scores, for a new row of that group."""
    if marks is None:
        return Calibration.of(scores)
    weights = marks.weights(group)
    ranked = weights > 0
    return Calibration.of(scores[ranked], None if marks.alike else weights[ranked])
