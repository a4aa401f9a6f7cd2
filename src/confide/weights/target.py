"""How much more frequent people are in a target population than in the trial, by their covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from confide.exceptions import RefusalError
from confide.models.preprocessing import standardised

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Trial rows of other arms that the ratio is learnt from: with fewer it is refused.
LEAST_ROWS = 10
# At most so many rows of the target are used.
MOST_ROWS = 20_000
# The ratio is kept between these, for calibration rows and new rows alike.
LIMITS = (1e-3, 1e3)


class TargetRatio(BaseEstimator):
    """ŵ(x), the density of the target's covariates over that of the trial's, by logistic regression.

    It is learnt from trial rows that do not calibrate: those of other arms. Each stands for 1/π people, π the
    probability of the treatment that it received.
    """

    def fit(self, target: NDArray[np.float64], trial: NDArray[np.float64], weight: NDArray[np.float64]) -> Self:
        """Learn from rows of the target and of the trial's other arms.

        Parameters
        ----------
        target, trial : (n, d) and (k, d) arrays
            Covariates.
        weight : (k,) array
            How many people each trial row stands for.
        """
        if len(trial) < LEAST_ROWS:
            raise RefusalError(
                f"a target needs at least {LEAST_ROWS} trial rows of other treatments, from which its weights are "
                f"learnt; there are {len(trial)}. Leave out the target, or collect more rows."
            )
        # Both sides weigh as much as there are trial rows: they limit what can be learnt.
        share = np.concatenate([np.full(len(target), len(trial) / len(target)), weight / weight.mean()])
        rows = np.concatenate([target, trial])
        model = standardised(LogisticRegression(max_iter=1000))
        self.model_ = model.fit(rows, np.arange(len(rows)) < len(target), logisticregression__sample_weight=share)
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ŵ(x) of rows, of mean about 1 over the trial."""
        odds = self.model_.decision_function(X)
        return np.asarray(np.clip(np.exp(np.clip(odds, -50, 50)), *LIMITS))


def some_of(target: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return at most `MOST_ROWS` rows of the target, drawn at random."""
    if len(target) <= MOST_ROWS:
        return target
    return target[np.random.default_rng(seed).permutation(len(target))[:MOST_ROWS]]
