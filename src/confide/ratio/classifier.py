"""Density ratios by a classifier of trial rows against observational rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from confide.data.splits import spawn_seeds
from confide.models.fitting import seeded
from confide.models.preprocessing import prepared, standardised
from confide.ratio.base import DensityRatio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.typing import RandomState

# r̂ is clipped to these constants, so that calibration rows and candidates share one function.
LIMITS = (1e-4, 1e4)
# If there are more observational rows than this many times the trial's, and more than this number, the classifier is
# trained on a sample of them: the number of trial rows limits its accuracy, and among too many others it would ignore
# them.
ROWS_A_TRIAL_ROW = 50
LEAST_ROWS = 5000


class ClassifierRatio(DensityRatio):
    """r̂ = p̂(trial|·)/p̂(observational|·)·n/m from any probabilistic classifier (the paper's Section 3).

    Parameters
    ----------
    classifier : estimator, default None
        Anything with ``predict_proba``. None: a multilayer perceptron on standardised columns, as the paper,
        with missing values imputed and marked. `confide.models.auto.AutoClassifier` chooses by cross-validation.
    on : {"xy", "x", "y"}
        Which columns the ratio uses.
    random_state : int, RandomState instance or None
        Seeds the classifier if it has no seed of its own.
    """

    def __init__(self, classifier: Any = None, on: str = "xy", *, random_state: RandomState = None) -> None:
        self.classifier = classifier
        self.on = on
        self.random_state = random_state

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        seed, thinning_seed = spawn_seeds(self.random_state, 2)
        most = max(ROWS_A_TRIAL_ROW * len(numerator), LEAST_ROWS)
        if len(denominator) > most:
            denominator = denominator[np.random.default_rng(thinning_seed).permutation(len(denominator))[:most]]
        rows = np.concatenate([denominator, numerator])
        is_trial = np.repeat([0, 1], [len(denominator), len(numerator)])
        default = self.classifier is None
        classifier = seeded(standardised(MLPClassifier()) if default else prepared(self.classifier), seed)
        with warnings.catch_warnings():
            # The perceptron stops at its number of passes by design: more of them overfit a small trial.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier_ = classifier.fit(rows, is_trial)
        self.factor_ = 1.0 if _is_balanced(classifier) else len(denominator) / len(numerator)
        self.limits_ = LIMITS

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        probability = self.classifier_.predict_proba(rows)[:, 1]
        with np.errstate(divide="ignore"):  # infinite before clipping, if p̂(observational|·) is 0
            ratio = self.factor_ * probability / (1 - probability)
        return np.asarray(np.clip(ratio, *self.limits_))


def _is_balanced(classifier: Any) -> bool:
    """Return whether the classifier already gives both classes the same weight."""
    return any(
        value == "balanced"
        for name, value in classifier.get_params(deep=True).items()
        if isinstance(value, str) and (name == "class_weight" or name.endswith("__class_weight"))
    )
