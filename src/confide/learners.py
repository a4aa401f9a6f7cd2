"""Base models: the automatic one, and which rows a base model learns from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from confide.checks import suggest
from confide.sharing import fit_once
from confide.splits import Rows, spawn_seeds
from confide.threads import threads_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Fewer distinct values than this and a column enters the ridge as it is: splines need room for their knots.
SPLINE_VALUES = 10
# Cross-validation compares the candidates on at most this many rows; the winner then learns from all.
COMPARISON_ROWS = 20_000
FOLDS = 5

Losses = Callable[[Any, Any, Any], "NDArray[np.float64]"]


class _Auto(BaseEstimator):
    """The best of a few candidates by cross-validated loss, fitted on all rows.

    Attributes
    ----------
    name_ : str
        The winner.
    errors_ : dict
        Cross-validated mean loss of each candidate; empty where the simplest was taken unasked.
    model_ : estimator
        The winner, fitted on all rows.
    """

    random_state: Any

    def _choose(self, candidates: dict[str, Any], losses: Losses, rows: Rows, make_folds: Any) -> None:
        """Set the winner: candidates go from the simplest to the most flexible, and a tie to the simpler."""
        self.errors_: dict[str, float] = {}
        self.name_ = next(iter(candidates))
        chosen = np.random.default_rng(spawn_seeds(self.random_state, 1)[0]).permutation(len(rows))[:COMPARISON_ROWS]
        compared = rows[chosen]
        folds = make_folds(compared.y)
        if folds is not None:
            errors = {name: np.empty(len(compared)) for name in candidates}
            for fit, held_out in folds.split(compared.X, compared.y):
                for name, candidate in candidates.items():
                    model = fitted(clone(candidate), compared[fit])
                    errors[name][held_out] = losses(model, compared.X[held_out], compared.y[held_out])
            self.errors_ = {name: float(np.average(error, weights=compared.weight)) for name, error in errors.items()}
            self.name_ = min(self.errors_, key=self.errors_.__getitem__)
        self.model_ = fitted(candidates[self.name_], rows)

    def _check_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class AutoRegressor(RegressorMixin, _Auto):
    """The best of a constant, ridge on splines and gradient boosting, by cross-validated error.

    It shrinks to the constant where the covariates say nothing, and takes the constant without asking where
    there are fewer than two rows a fold. Missing covariates are allowed.

    Parameters
    ----------
    quantile : float, default None
        None: the mean, by squared error. A number: that quantile, by pinball loss, of a constant and boosting.
    random_state : int, RandomState instance or None
        Decides the folds and the boosting.
    """

    def __init__(self, *, quantile: float | None = None, random_state: Any = None) -> None:
        self.quantile = quantile
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AutoRegressor:
        """Choose a candidate by cross-validation and fit it on all rows, both by the rows' weights if given."""
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=True, dtype=np.float64)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        seed = spawn_seeds(self.random_state, 2)[1]
        if self.quantile is None:
            boosting = HistGradientBoostingRegressor(random_state=seed)
            candidates = {"constant": DummyRegressor(), "ridge": ridge_on_splines()}
        else:
            boosting = HistGradientBoostingRegressor(loss="quantile", quantile=self.quantile, random_state=seed)
            candidates = {"constant": DummyRegressor(strategy="quantile", quantile=self.quantile)}
        candidates["boosting"] = prepared(boosting)
        self._choose(
            candidates, self._losses, Rows(X, y, weight), lambda y: KFold(FOLDS) if len(y) >= 2 * FOLDS else None
        )
        return self

    def _losses(self, model: Any, X: Any, y: Any) -> NDArray[np.float64]:
        error: NDArray[np.float64] = y - model.predict(X)
        if self.quantile is None:
            return error**2
        return np.maximum(self.quantile * error, (self.quantile - 1) * error)

    def predict(self, X: Any) -> NDArray[np.float64]:
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

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AutoClassifier:
        """Choose a candidate by cross-validation and fit it on all rows."""
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        seed = spawn_seeds(self.random_state, 2)[1]
        candidates = {
            "splines": logistic_on_splines(),
            "perceptron": standardised(MLPClassifier(random_state=seed)),
            "boosting": prepared(HistGradientBoostingClassifier(random_state=seed)),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the perceptron stops at its number of passes
            self._choose(candidates, self._losses, Rows(X, y), self._folds)
        return self

    def _folds(self, y: Any) -> Any:
        counts = np.array([np.sum(y == label) for label in self.classes_])
        return StratifiedKFold(FOLDS) if len(counts) > 1 and counts.min() >= 2 * FOLDS else None

    def _losses(self, model: Any, X: Any, y: Any) -> NDArray[np.float64]:
        probability = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(self.classes_, y)]
        loss: NDArray[np.float64] = -np.log(np.maximum(probability, np.finfo(np.float64).eps))
        return loss

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the winner's probabilities."""
        X = self._check_new(X)
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Any) -> Any:
        """Return the likelier class."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]


def _last_step_has(name: str) -> Callable[[Pipeline], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


class Learner(Pipeline):
    """Steps that learn and answer with as many threads as help (`confide.threads`).

    Every model in confide is one, or is the last step of one: the automatic ones, those of density ratios, and the
    caller's own.
    """

    @classmethod
    def of(cls, *steps: Any) -> Self:
        """Return the steps one after the other, with scikit-learn's names."""
        return cls(make_pipeline(*steps).steps)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit one step after the other."""
        with threads_for(X):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]

    @available_if(_last_step_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **params: Any) -> Any:
        """Return the last step's predictions."""
        with threads_for(X):
            return super().predict(X, **params)

    @available_if(_last_step_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Return the last step's probabilities."""
        with threads_for(X):
            return super().predict_proba(X, **params)


def ridge_on_splines() -> Learner:
    """Return ridge regression on cubic splines of the continuous columns and on the others as they are."""
    return Learner.of(*_splines(), RidgeCV(alphas=np.logspace(-2, 4, 13)))


def logistic_on_splines(C: float = 0.1) -> Learner:
    """Return logistic regression on cubic splines of the continuous columns and on the others as they are."""
    return Learner.of(*_splines(), LogisticRegression(C=C, max_iter=1000))


def _splines() -> list[Any]:
    """Return the steps from columns to scaled splines of the continuous ones."""
    splines = Splines(knots="quantile", extrapolation="linear")
    columns = ColumnTransformer([("splines", splines, _continuous)], remainder="passthrough")
    return [SeenColumns(), columns, StandardScaler()]


class Splines(SplineTransformer):
    """Cubic splines whose saved state is knots and coefficients, checked by scipy when they are read again."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "bsplines_" in state:
            state["bsplines_"] = [(each.t, each.c, each.k, each.extrapolate) for each in self.bsplines_]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        bsplines = {"bsplines_": [BSpline(*each) for each in state["bsplines_"]]} if "bsplines_" in state else {}
        super().__setstate__({**state, **bsplines})


class SeenColumns(TransformerMixin, BaseEstimator):
    """Hide what does not vary over the rows of fit, and fill in what is missing.

    A column that is constant there says nothing about the outcome, but it could tell a calibration row from a
    new one: a category of its own. Held at that constant, it encodes both alike, as the promises need; columns
    keep their places.

    Parameters
    ----------
    impute : bool
        Put the median of the rows of fit where a value is missing, and append a column that says so where one
        was missing among them.
    """

    def __init__(self, *, impute: bool = True) -> None:
        self.impute = impute

    def fit(self, X: Any, y: Any = None) -> SeenColumns:  # noqa: ARG002  (scikit-learn's signature)
        """Learn which columns vary, a missing value being one of its own, and their medians."""
        X = np.asarray(X, dtype=np.float64)
        missing = np.isnan(X)
        same = ((X[0] == X) | (missing & missing[0])).all(axis=0)
        self.n_features_in_ = X.shape[1]
        self.constant_ = np.flatnonzero(same)
        self.values_ = np.nan_to_num(X[0, self.constant_])
        self.marked_ = np.flatnonzero(missing.any(axis=0) & ~same)
        self.medians_ = np.zeros(X.shape[1])
        self.medians_[~same] = np.nanmedian(X[:, ~same], axis=0)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns, then those that mark missing values."""
        X = np.array(X, dtype=np.float64)
        X[:, self.constant_] = self.values_
        if not self.impute:
            return np.asarray(X)
        marks = np.isnan(X[:, self.marked_])
        filled: NDArray[np.float64] = np.where(np.isnan(X), self.medians_, X)
        return np.column_stack([filled, marks]) if len(self.marked_) else filled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def prepared(estimator: Any) -> Learner:
    """Return the estimator behind `SeenColumns`, imputed where it does not take missing values itself."""
    return Learner.of(SeenColumns(impute=not get_tags(estimator).input_tags.allow_nan), estimator)


def standardised(*estimator: Any) -> Learner:
    """Return the estimator, if any, behind `SeenColumns`, imputed and scaled."""
    return Learner.of(SeenColumns(), StandardScaler(), *estimator)


def _continuous(X: NDArray[np.float64]) -> list[int]:
    """Return the columns with enough distinct quantiles for splines."""
    return [
        column
        for column in range(X.shape[1])
        if len(np.unique(np.quantile(X[:, column], np.linspace(0, 1, SPLINE_VALUES)))) == SPLINE_VALUES
    ]


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which every random_state that is None becomes the seed."""
    estimator = clone(estimator)
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))


# Which rows a base model learns from; but for the first, trial fit rows are among them and may not calibrate.
BASE_ON = ("observational", "trial", "weighted", "grounded")


def check_base_on(base_on: str, known: tuple[str, ...] = BASE_ON) -> str:
    """Return base_on, or raise a ValueError that lists what there is."""
    if base_on not in known:
        raise ValueError(f"base_on={base_on!r} is unknown; {suggest(base_on, known)}")
    return base_on


def learn(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model fitted on the rows; None stands for `AutoRegressor`."""
    model = AutoRegressor() if check_base(base) is None else base
    model = prepared(seeded(model, seed))
    return fit_once(model, rows.X, rows.y, **weights_for(model, rows.weight))


def fitted(model: Any, rows: Rows) -> Any:
    """Return the model fitted on the rows, by their weights where they have any."""
    return model.fit(rows.X, rows.y, **weights_for(model, rows.weight))


def weights_for(model: Any, weight: NDArray[np.float64] | None) -> dict[str, NDArray[np.float64]]:
    """Return the argument of fit that hands the weights to the model, which may be the last step of a pipeline."""
    if weight is None:
        return {}
    name = "sample_weight"
    steps = []
    while isinstance(model, Pipeline):
        step, model = model.steps[-1]
        steps.append(step)
    if not has_fit_parameter(model, name):
        raise ValueError(
            f"base_on='weighted' needs a base model whose fit takes {name}, and {type(model).__name__}'s takes none. "
            "Use another base model, or base_on='grounded'."
        )
    return {"__".join([*steps, name]): weight}


def settled(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model with nothing left to choose in a refit; None chooses on these rows, once and for all.

    A choice that is made anew with each candidate outcome costs time and tears prediction sets apart. Early stopping is
    such a choice, and so are the automatic model's winner and its penalty.
    """
    if check_base(base) is None or isinstance(base, AutoRegressor):
        base = seeded(AutoRegressor() if base is None else base, seed).fit(rows.X, rows.y).model_
        if isinstance(base, Pipeline) and isinstance(base[-1], RidgeCV):
            base = Learner.of(*base[:-1], Ridge(alpha=base[-1].alpha_))
    base = clone(base)
    params = base.get_params(deep=True)
    stops: dict[str, Any] = {name: False for name in params if name.split("__")[-1] == "early_stopping"}
    for name in params:
        prefix, _, last = name.rpartition("n_iter_no_change")
        # Gradient boosting stops early where this is a number; elsewhere it belongs to `early_stopping`.
        if not last and f"{prefix}validation_fraction" in params and f"{prefix}early_stopping" not in params:
            stops[name] = None
    return base.set_params(**stops)


def check_base(base: Any) -> Any:
    """Return the base model; raise unless it is a regressor or None."""
    if base is None:
        return None
    if isinstance(base, type) or not all(
        hasattr(base, name) for name in ("fit", "predict", "get_params", "__sklearn_tags__")
    ):
        raise ValueError(
            f"base must be an unfitted scikit-learn regressor or None, got {base!r}. A class of your own needs "
            "sklearn.base.RegressorMixin and BaseEstimator."
        )
    return base
