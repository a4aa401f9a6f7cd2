"""Density ratios by telling trial rows from observational rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from confide.learners import seeded, standardised
from confide.ratio.base import DensityRatio
from confide.splits import spawn_seeds

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Probabilities are kept this far from 0 and 1: constants, so that calibration rows and candidates share one function.
CLIP = 1e-4


class ClassifierRatio(DensityRatio):
    """r̂ = p̂(trial|·)/p̂(observational|·)·n/m from any probabilistic classifier (the paper's Section 3).

    Parameters
    ----------
    classifier : estimator, default None
        Anything with ``predict_proba``. None: a multilayer perceptron on standardised columns, as the paper,
        with missing values imputed and marked.
    on : {"xy", "x", "y"}
        What the ratio looks at.
    random_state : int, RandomState instance or None
        Seeds the classifier where it has no seed of its own.
    """

    def __init__(self, classifier: Any = None, on: str = "xy", *, random_state: Any = None) -> None:
        self.classifier = classifier
        self.on = on
        self.random_state = random_state

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        rows = np.concatenate([denominator, numerator])
        is_trial = np.repeat([0, 1], [len(denominator), len(numerator)])
        seed = spawn_seeds(self.random_state, 1)[0]
        classifier = seeded(standardised(MLPClassifier()) if self.classifier is None else self.classifier, seed)
        with warnings.catch_warnings():
            # The perceptron stops at its number of passes by design: more of them overfit a small trial.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier_ = classifier.fit(rows, is_trial)
        self.factor_ = 1.0 if _is_balanced(classifier) else len(denominator) / len(numerator)

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        probability = np.clip(self.classifier_.predict_proba(rows)[:, 1], CLIP, 1 - CLIP)
        ratio: NDArray[np.float64] = self.factor_ * probability / (1 - probability)
        return ratio


def _is_balanced(classifier: Any) -> bool:
    """Return whether the classifier already weighs both classes alike."""
    return any(
        value == "balanced"
        for name, value in classifier.get_params(deep=True).items()
        if isinstance(value, str) and (name == "class_weight" or name.endswith("__class_weight"))
    )
