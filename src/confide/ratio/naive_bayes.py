"""The ratio of the outcome's two marginal distributions, which ignores covariates."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import check_positive
from confide.ratio.base import DensityRatio

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NaiveBayesRatio(DensityRatio):
    """P^I(y)/P^O(y) from smoothed counts; it equals r(x, y) only if X ⟂ source given Y.

    Outcomes with few distinct values are counted value by value, others in cells between quantiles of the
    pooled outcomes.

    Parameters
    ----------
    cells : int
        Largest number of distinct values that are counted one by one; with more, the number of cells.
    smoothing : float
        Added to every count.
    """

    on = "y"

    def __init__(self, cells: Any = 10, smoothing: float = 1.0) -> None:
        self.cells = cells
        self.smoothing = smoothing

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        check_positive("smoothing", self.smoothing)
        cells = _check_cells(self.cells)
        pooled = np.concatenate([numerator, denominator])[:, 0]
        values = np.unique(pooled)
        if len(values) <= cells:
            self.edges_ = (values[1:] + values[:-1]) / 2
        else:
            self.edges_ = np.unique(np.quantile(pooled, np.linspace(0, 1, cells + 1)[1:-1]))
        counts = [
            np.bincount(self._cell(rows), minlength=len(self.edges_) + 1) + self.smoothing
            for rows in (numerator, denominator)
        ]
        self.ratios_ = (counts[0] / counts[0].sum()) / (counts[1] / counts[1].sum())

    def _cell(self, rows: NDArray[np.float64]) -> NDArray[np.intp]:
        return np.searchsorted(self.edges_, rows[:, 0], side="right")

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        ratio: NDArray[np.float64] = self.ratios_[self._cell(rows)]
        return ratio


def _check_cells(cells: Any) -> int:
    if not (isinstance(cells, Integral) and int(cells) >= 2):
        raise ValueError(f"cells must be an integer of at least 2, got {cells!r}.")
    return int(cells)
