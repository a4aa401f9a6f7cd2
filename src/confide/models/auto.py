"""The automatic models: the best of a few candidates by cross-validated loss."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from confide.data.splits import Rows, spawn_seeds
from confide.models.comparison import COMPARISON_ROWS, FOLDS, compare, splits_of
from confide.models.fitting import fitted
from confide.models.preprocessing import Learner, linear, logistic_on_splines, prepared, ridge_on_splines, standardised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.models.comparison import Ask, Losses, Split
    from confide.typing import RandomState, Table

# Boosting's leaves have at least this many rows, or a tenth of them if there are fewer than ten times as many.
LEAF_ROWS = 20
# With more rows than this boosting stops early, as scikit-learn's does by default.
STOPPING_ROWS = 10_000
# With more rows than this it has as many trees as on the fifth of the rows that candidates are compared on.
MANY_ROWS = 200_000


class _Auto(BaseEstimator):
    """The best of a few candidates by cross-validated loss, fitted on all rows.

    Attributes
    ----------
    name_ : str
        The winner.
    errors_ : dict
        Cross-validated mean loss of each candidate; empty if the simplest was taken without comparison.
    model_ : estimator
        The winner, fitted on all rows.
    """

    random_state: RandomState
    _held_out: tuple[NDArray[np.intp], NDArray[np.float64]]

    def _choose(self, candidates: dict[str, Any], ask: Ask, losses: Losses, rows: Rows, splits: list[Split]) -> None:
        """Set the winner; candidates are ordered from simple to flexible, and ties go to the simpler one."""
        self.errors_: dict[str, float] = {}
        self._held_out = np.empty(0, dtype=np.intp), np.empty(0)
        self.name_ = next(iter(candidates))
        if splits:
            found = compare(candidates, rows, splits, ask, losses)
            self.errors_, self.name_ = found.errors, found.name
            self._held_out = found.places, found.answers
            _settle_trees(candidates[self.name_], found.model, len(rows))
        self.model_ = fitted(candidates[self.name_], rows)

    def held_out(self) -> tuple[Any, Any]:
        """Return the rows that candidates were compared on, and the winner's answers by models without them.

        Both are empty if nothing was compared. They are not saved with the model.
        """
        return self._held_out

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_held_out"}

    def _check_new(self, X: Table) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _settle_trees(candidate: Any, tried: Any, rows: int) -> None:
    """Let boosting not stop early if it did not on fewer rows, or has as many trees as there if rows are many.

    It then learns from all rows and copies none.
    """
    if not isinstance(candidate, Learner) or not isinstance(candidate[-1], HistGradientBoostingRegressor):
        return
    trees = tried[-1].n_iter_
    if trees == tried[-1].max_iter or rows > MANY_ROWS:
        candidate[-1].set_params(early_stopping=False, max_iter=trees)


class AutoRegressor(RegressorMixin, _Auto):
    """The best of a constant, ridge on the columns, ridge on splines of them and gradient boosting, cross-validated.

    It shrinks to the constant if the covariates carry no information, and takes the constant without comparison
    if there are fewer than ten rows. Missing covariates are allowed.

    Candidates are compared by five folds of up to 5,000 rows, three of up to 20,000, two parts of up to 40,000, and of
    more rows by 20,000 rows held out once. One that is clearly behind is not fitted again. The winner learns from all
    rows.

    Parameters
    ----------
    quantile : float, default None
        None: the mean, by squared error. A number: that quantile, by pinball loss, of a constant and boosting.
    random_state : int, RandomState instance or None
        Decides the folds and the boosting.
    """

    def __init__(self, *, quantile: float | None = None, random_state: RandomState = None) -> None:
        self.quantile = quantile
        self.random_state = random_state

    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> AutoRegressor:
        """Choose a candidate by cross-validation and fit it on all rows, both with the rows' weights if given."""
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=True, dtype=np.float64)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        order_seed, boosting_seed = spawn_seeds(self.random_state, 2)
        boosting = HistGradientBoostingRegressor(
            min_samples_leaf=max(2, min(LEAF_ROWS, len(y) // 10)),
            early_stopping=len(y) > STOPPING_ROWS,
            random_state=boosting_seed,
        )
        if self.quantile is None:
            candidates = {"constant": DummyRegressor(), "linear": linear(), "ridge": ridge_on_splines()}
        else:
            boosting.set_params(loss="quantile", quantile=self.quantile)
            candidates = {"constant": DummyRegressor(strategy="quantile", quantile=self.quantile)}
        candidates["boosting"] = prepared(boosting, copy=False)
        self._choose(
            candidates,
            lambda model, X: model.predict(X),
            self._losses,
            Rows(X, y, weight),
            splits_of(len(y), order_seed),
        )
        return self

    def _losses(self, predicted: Any, y: Any) -> NDArray[np.float64]:
        error: NDArray[np.float64] = y - predicted
        if self.quantile is None:
            return error**2
        return np.maximum(self.quantile * error, (self.quantile - 1) * error)

    def predict(self, X: Table) -> NDArray[np.float64]:
        """Return the winner's predictions."""
        X = self._check_new(X)
        return np.asarray(self.model_.predict(X))


class AutoClassifier(ClassifierMixin, _Auto):
    """The best of logistic regression on splines, a perceptron and boosting, by cross-validated log loss.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Decides the folds and the candidates.
    """

    def __init__(self, *, random_state: RandomState = None) -> None:
        self.random_state = random_state

    def fit(self, X: Table, y: Any) -> AutoClassifier:
        """Choose a candidate by cross-validation and fit it on all rows."""
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        order_seed, seed = spawn_seeds(self.random_state, 2)
        candidates = {
            "splines": logistic_on_splines(),
            "perceptron": standardised(MLPClassifier(random_state=seed)),
            "boosting": prepared(HistGradientBoostingClassifier(random_state=seed)),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the perceptron stops at its number of passes
            self._choose(
                candidates,
                lambda model, X: model.predict_proba(X),
                self._losses,
                Rows(X, y),
                self._splits(y, order_seed),
            )
        return self

    def _splits(self, y: Any, seed: int) -> list[Split]:
        """Return folds of a sample of the rows, each with all classes; none if a class is too rare."""
        order = np.random.default_rng(seed).permutation(len(y))[:COMPARISON_ROWS]
        counts = np.array([np.sum(y[order] == label) for label in self.classes_])
        if len(counts) < 2 or counts.min() < 2 * FOLDS:
            return []
        folds = StratifiedKFold(FOLDS).split(order, y[order])
        return [(order[learn], order[held_out]) for learn, held_out in folds]

    def _losses(self, probabilities: Any, y: Any) -> NDArray[np.float64]:
        probability = probabilities[np.arange(len(y)), np.searchsorted(self.classes_, y)]
        loss: NDArray[np.float64] = -np.log(np.maximum(probability, np.finfo(np.float64).eps))
        return loss

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """Return the winner's probabilities."""
        X = self._check_new(X)
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Table) -> Any:
        """Return the more probable class."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]
