"""How much more frequent people are in a target population than in the trial, by their covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from confide.exceptions import RefusalError
from confide.models.preprocessing import standardised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.models.preprocessing import Learner
    from confide.typing import Floats

# Trial rows of other arms that the ratio is learnt from: with fewer it is refused.
LEAST_ROWS = 10
# At most so many rows of the target are used, and so many per trial row, but not fewer than the last: the trial's rows
# limit what can be learnt.
MOST_ROWS = 20_000
PER_TRIAL_ROW = 10
ENOUGH_ROWS = 5_000
# Strengths of the regression, inverse penalties, that are compared on folds, with at most so many rows of the target.
STRENGTHS = (0.001, 0.01, 0.1, 1.0)
FOLDS = 3
COMPARED_ROWS = 2_000
# The ratio is kept between these, for calibration rows and new rows alike.
LIMITS = (1e-3, 1e3)


class TargetRatio(BaseEstimator):
    """ŵ(x), the density of the target's covariates over that of the trial's, by logistic regression.

    It is learnt from trial rows that do not calibrate: those of other arms. Each stands for 1/π people, π the
    probability of the treatment that it received. How large its coefficients may be is chosen by the likelihood of rows
    held out: with few trial rows, a category that is rare among them would otherwise get a weight of its own.
    """

    def fit(self, target: Floats, trial: Floats, weight: Floats) -> Self:
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
        target = some_of(target, 0, max(ENOUGH_ROWS, PER_TRIAL_ROW * len(trial)))
        rows, from_target, share = _joined(target, trial, weight)
        scaling = standardised().fit(rows)
        # Scaled rows are finite; to look again in each of many small fits would cost as much as the fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            regression = _regression(self._strength(target, trial, weight))
            regression.fit(scaling.transform(rows), from_target, share)
        self._keep(scaling, regression)
        return self

    def _keep(self, scaling: Learner, regression: LogisticRegression) -> None:
        """Keep the logarithm of the odds as what it is, a linear function of the columns: new rows cost one product.

        A missing value counts as its column's median does, and as its indicator, if there is one.
        """
        columns, scaler = scaling.steps[0][1], scaling.steps[1][1]
        slopes = regression.coef_[0] / scaler.scale_
        count = columns.n_features_in_
        self.slopes_: Floats = slopes[:count].copy()
        self.slopes_[columns.constant_] = 0.0
        self.missing_: Floats = columns.medians_ * self.slopes_
        self.missing_[columns.marked_] += slopes[count:]
        at_constants = slopes[columns.constant_] @ columns.values_
        self.intercept_ = float(regression.intercept_[0] - slopes @ scaler.mean_ + at_constants)

    @staticmethod
    def _strength(target: Floats, trial: Floats, weight: Floats) -> float:
        """Return the strength under which held-out rows are likeliest: the last before they become less likely."""
        rows, from_target, share = _joined(some_of(target, 0, COMPARED_ROWS), trial, weight)
        scaled = standardised().fit_transform(rows)
        folds = [
            (_regression(STRENGTHS[0]), fit, held_out)
            for fit, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, from_target)
        ]
        best, least = STRENGTHS[0], np.inf
        for strength in STRENGTHS:
            loss = 0.0
            for model, fit, held_out in folds:
                # Each strength begins where the one before it ended.
                model.set_params(C=strength).fit(scaled[fit], from_target[fit], share[fit])
                odds = model.decision_function(scaled[held_out])
                loss += share[held_out] @ np.logaddexp(0, np.where(from_target[held_out], -odds, odds))
            if loss >= least:
                break
            best, least = strength, loss
        return best

    def predict(self, X: Floats) -> Floats:
        """Return ŵ(x) of rows, of mean about 1 over the trial."""
        odds = X @ self.slopes_
        gaps = np.isnan(odds)
        odds[gaps] = np.where(np.isnan(X[gaps]), self.missing_, X[gaps] * self.slopes_).sum(axis=1)
        return np.asarray(np.exp(np.clip(odds + self.intercept_, *np.log(LIMITS))))


def some_of(target: Floats, seed: int, most: int = MOST_ROWS) -> Floats:
    """Return at most so many rows of the target, drawn at random."""
    if len(target) <= most:
        return target
    return target[np.random.default_rng(seed).permutation(len(target))[:most]]


def _joined(target: Floats, trial: Floats, weight: Floats) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return rows of both sides, which of them are the target's, and what they weigh.

    Both sides weigh as much as there are trial rows: they limit what can be learnt.
    """
    share = np.concatenate([np.full(len(target), len(trial) / len(target)), weight / weight.mean()])
    rows = np.concatenate([target, trial])
    return rows, np.arange(len(rows)) < len(target), share


def _regression(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, solver="newton-cholesky", warm_start=True)
