"""Types of arguments and results: names for what functions take and give."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing import Self

# A miscoverage level α, strictly between 0 and 1; fractions are exact.
Level: TypeAlias = float | Fraction
# A treatment: text, a number or a boolean, all of one kind in a study.
Label: TypeAlias = Any
# One label, or one label per row.
Labels: TypeAlias = Any
# Covariates as a caller has them: a data frame that narwhals reads, or an array of rows.
Table: TypeAlias = Any
# What decides everything random, as in scikit-learn.
RandomState: TypeAlias = int | np.random.RandomState | None

Floats: TypeAlias = NDArray[np.float64]
Booleans: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]


class Regressor(Protocol):
    """A scikit-learn regressor, as far as confide uses it; ``fit`` may also take ``sample_weight``."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on covariates and outcomes."""

    def predict(self, X: Any) -> Any:
        """Return one prediction per row."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters."""


class Transformer(Protocol):
    """A scikit-learn transformer, as far as confide uses it."""

    def fit(self, X: Any) -> Self:
        """Fit on covariates."""

    def transform(self, X: Any) -> Any:
        """Return the covariates as numbers."""
