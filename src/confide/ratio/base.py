"""The one interface of all density ratios r(x, y) = p(trial) / p(observational)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from confide.base.threads import threads_for
from confide.base.validation import suggest
from confide.conformal.quantile import check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ON = {"xy": slice(None), "x": slice(None, -1), "y": slice(-1, None)}


class DensityRatio(BaseEstimator, ABC):
    """Ratio of the density of numerator rows to that of denominator rows.

    Rows are the encoded covariates, then the outcome as the last column. ``on`` says which of them the ratio
    uses: "xy" both, "x" the covariates only, "y" the outcome only. A family fills in `_fit` and `_ratio`,
    which get those columns only; this class checks the input and the output.

    Attributes
    ----------
    limits_ : (float, float)
        Bounds that r̂ is clipped to.
    clipped_ : int
        Number of training rows whose ratio is at one of the bounds.
    """

    on: str
    # Whether r̂ is reliable only at rows that it was not fitted on.
    unseen_only = False
    # r̂ is clipped to these limits; a family that clips sets them in `_fit`.
    limits_: tuple[float, float]

    def fit(self, numerator: ArrayLike, denominator: ArrayLike) -> Self:
        """Learn the ratio from numerator rows (trial) and denominator rows (observational)."""
        numerator, denominator = (np.asarray(rows, dtype=np.float64) for rows in (numerator, denominator))
        for name, rows in (("numerator", numerator), ("denominator", denominator)):
            if rows.ndim != 2 or not len(rows):
                raise ValueError(f"the {name} must be a table with at least one row, got shape {rows.shape}.")
        if numerator.shape[1] != denominator.shape[1]:
            raise ValueError(
                f"numerator and denominator must have the same columns, "
                f"got {numerator.shape[1]} and {denominator.shape[1]}."
            )
        columns = self._columns()
        self.limits_ = (0.0, np.inf)
        with threads_for(len(numerator) + len(denominator)):
            self._fit(numerator[:, columns], denominator[:, columns])
        self.n_columns_ = numerator.shape[1]
        self.clipped_ = sum(map(self._count_clipped, (numerator, denominator)))
        return self

    def predict(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return r̂, one finite value ≥ 0 per row."""
        check_is_fitted(self, "n_columns_")
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_columns_:
            raise ValueError(
                f"rows must have the {self.n_columns_} columns of fit (covariates, then the outcome), "
                f"got shape {rows.shape}."
            )
        with threads_for(len(rows)):
            ratio = check_weights(self._ratio(rows[:, self._columns()]), f"{type(self).__name__}'s ratio")
        if ratio.shape != (len(rows),):
            raise ValueError(f"a density ratio must give one value per row, got shape {ratio.shape}.")
        return ratio

    def _count_clipped(self, rows: NDArray[np.float64]) -> int:
        """Return how many of the rows have a ratio at one of its limits."""
        low, high = self.limits_
        if (low, high) == (0.0, np.inf):
            return 0
        ratio = self.predict(rows)
        return int(np.count_nonzero(((ratio <= low) & (low > 0)) | (ratio >= high)))

    def _columns(self) -> slice:
        if self.on not in ON:
            raise ValueError(f"on={self.on!r} is unknown; {suggest(self.on, ON)}")
        return ON[self.on]

    @abstractmethod
    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        """Learn from the columns that ``on`` selects."""

    @abstractmethod
    def _ratio(self, rows: NDArray[np.float64]) -> Any:
        """Return r̂ for rows of the columns that ``on`` selects."""
