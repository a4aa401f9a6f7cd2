"""A density ratio given as a known function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.ratio.base import DensityRatio

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class OracleRatio(DensityRatio):
    """A ratio given as a function: for simulations, and for designs whose sampling weights are known.

    Parameters
    ----------
    function : callable
        ``function(rows)`` returns r, one value ≥ 0 per row; rows are the covariates, then y (with ``on="x"``
        the covariates alone).
    on : {"xy", "x", "y"}
        Which columns the function gets.
    """

    def __init__(self, function: Callable[[NDArray[np.float64]], Any], on: str = "xy") -> None:
        self.function = function
        self.on = on

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        """Learn nothing."""

    def _ratio(self, rows: NDArray[np.float64]) -> Any:
        return self.function(rows)
