"""The ratio of weighted conformal prediction without hidden confounding: P(t)/e(x)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LogisticRegression

from confide.models.preprocessing import standardised
from confide.ratio.base import DensityRatio
from confide.ratio.classifier import LIMITS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline


class PropensityRatio(DensityRatio):
    """P(t)/e(x) = p(x)/p(x|t), with e(x) = P(T = t | x) by logistic regression (Lei and Candès).

    ``fit`` takes the covariates of the whole observational population as numerator and those of one arm as
    denominator; the arm's rows must be among the population's. It uses covariates only, and therefore cannot
    correct hidden confounding.
    """

    on = "x"

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        others = others_than(denominator, numerator)
        self.share_ = len(denominator) / len(numerator)
        self.classifier_ = None
        self.limits_ = LIMITS
        if others.any():
            self.classifier_ = logistic_regression().fit(numerator, (~others).astype(int))

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.classifier_ is None:  # one arm is the whole population: e(x) = P(t) = 1
            return np.ones(len(rows))
        propensity = self.classifier_.predict_proba(rows)[:, 1]
        with np.errstate(divide="ignore"):  # the ratio of a row that cannot be in the arm, before clipping
            ratio = self.share_ / propensity
        return np.asarray(np.clip(ratio, *self.limits_))


def logistic_regression() -> Pipeline:
    """Return logistic regression with enough iterations to fit even a small arm among many other rows."""
    return standardised(LogisticRegression(max_iter=1000, tol=1e-8))


def others_than(arm: NDArray[np.float64], population: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows of the population are not the arm's, each of which stands for one; raise if one is missing."""
    first = len(population) - len(arm)
    if first >= 0 and _same_bytes(population[first:], arm):  # the quick way, if they are the last rows
        return np.arange(len(population)) < first
    waiting = Counter(row.tobytes() for row in arm + 0.0)  # 0 and -0 are one number
    others = np.ones(len(population), dtype=bool)
    for index, row in enumerate(population + 0.0):
        key = row.tobytes()
        if waiting.get(key):
            waiting[key] -= 1
            others[index] = False
    missing = waiting.total()
    if missing:
        raise ValueError(
            f"{missing} of the arm's {len(arm)} observational rows are not in the population. "
            "Give the covariates of the whole observational table, all arms, as population."
        )
    return others


def _same_bytes(rows: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Return whether two matrices are the same to the last bit, NaN among them."""
    return np.array_equal(rows.view(np.uint64), others.view(np.uint64))
