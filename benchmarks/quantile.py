"""The weighted quantile against a loop over test weights, and split conformal against its peers."""

from __future__ import annotations

import crepes
import numpy as np
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, RegressorMixin

from confide.conformal import Calibration, weighted_quantile
from confide.models.scores import AbsoluteResidual
from timing import seconds, tell


class FirstColumn(RegressorMixin, BaseEstimator):
    """A base model that costs nothing, so that only the conformal part is timed."""

    def fit(self, X, _y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0]


def loop(scores, weights, alpha, test_weights):
    """One sort and one cumulative sum a test weight."""
    quantiles = []
    for test_weight in test_weights:
        order = np.argsort(scores)
        cumulative = np.cumsum(weights[order])
        rank = np.searchsorted(cumulative, (1 - alpha) * (cumulative[-1] + test_weight))
        quantiles.append(np.append(scores[order], np.inf)[rank])
    return np.array(quantiles)


def main():
    rng = np.random.default_rng(0)
    scores, weights, test_weights = rng.exponential(size=(3, 10_000))
    few = test_weights[:200]
    np.testing.assert_array_equal(loop(scores, weights, 0.1, few), weighted_quantile(scores, weights, 0.1, few))
    ours = seconds(lambda: weighted_quantile(scores, weights, 0.1, test_weights))
    theirs = seconds(lambda: loop(scores, weights, 0.1, few), runs=1) * len(test_weights) / len(few)
    tell("10,000 scores × 10,000 test weights", 1e3 * ours, "ms")
    tell("  a loop over test weights", theirs / ours, "times that")

    rows = 1_000_000
    X, new = rng.standard_normal((2, rows, 1))
    y = X[:, 0] + rng.standard_normal(rows)
    score = AbsoluteResidual()

    def confide():
        calibration = Calibration.of(score.score(X[:, 0], y))
        return np.asarray(score.interval(new[:, 0], calibration.quantile(0.1)))

    def with_crepes():
        peer = crepes.WrapRegressor(FirstColumn().fit(X, y))
        peer.calibrate(X, y)
        return peer.predict_int(new, confidence=0.9)

    def with_mapie():
        peer = SplitConformalRegressor(FirstColumn().fit(X, y), confidence_level=0.9, prefit=True)
        return peer.conformalize(X, y).predict_interval(new)[1][:, :, 0]

    np.testing.assert_allclose(confide(), with_crepes())
    np.testing.assert_allclose(confide(), with_mapie())
    ours = seconds(confide)
    tell("split conformal, 10⁶ calibration and 10⁶ new rows", ours, "s")
    for name, work in {"crepes": with_crepes, "MAPIE": with_mapie}.items():
        tell(f"  {name}", seconds(work) / ours, "times that")
