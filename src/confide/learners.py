"""Base models: the automatic one, and which rows a base model learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.checks import suggest
from confide.splits import spawn_seeds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.splits import Rows

# Fewer distinct values than this and a column enters the ridge as it is: splines need room for their knots.
SPLINE_VALUES = 10
# Cross-validation compares the candidates on at most this many rows; the winner then learns from all.
COMPARISON_ROWS = 20_000
FOLDS = 5


class AutoRegressor(RegressorMixin, BaseEstimator):
    """The best of a constant, ridge on splines and gradient boosting, by cross-validated squared error.

    It shrinks to the constant where the covariates say nothing, and takes the constant without asking where
    there are fewer than two rows a fold. Missing covariates are allowed.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Decides the folds and the boosting.

    Attributes
    ----------
    name_ : str
        The winner: "constant", "ridge" or "boosting".
    errors_ : dict
        Cross-validated mean squared error of each candidate; empty where the constant was taken unasked.
    model_ : estimator
        The winner, fitted on all rows.
    """

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AutoRegressor:
        """Choose a candidate by cross-validation and fit it on all rows."""
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=True, dtype=np.float64)
        folds_seed, boosting_seed = spawn_seeds(self.random_state, 2)
        candidates = _candidates(boosting_seed)
        self.errors_: dict[str, float] = {}
        self.name_ = "constant"
        if len(y) >= 2 * FOLDS:
            self.errors_ = _cross_validated_errors(candidates, X, y, folds_seed)
            self.name_ = min(self.errors_, key=self.errors_.__getitem__)
        self.model_ = candidates[self.name_].fit(X, y)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the winner's predictions."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)
        return np.asarray(self.model_.predict(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _candidates(seed: int) -> dict[str, Any]:
    """Return the candidates from the simplest to the most flexible; a tie goes to the simpler."""
    return {
        "constant": DummyRegressor(),
        "ridge": ridge_on_splines(),
        # Boosting takes missing values as they are, but not a column that has nothing else.
        "boosting": make_pipeline(_imputer(), HistGradientBoostingRegressor(random_state=seed)),
    }


def ridge_on_splines() -> Pipeline:
    """Return ridge regression on cubic splines of the continuous columns and on the others as they are."""
    splines = SplineTransformer(knots="quantile", extrapolation="linear")
    columns = ColumnTransformer([("splines", splines, _continuous)], remainder="passthrough")
    return make_pipeline(_imputer(), columns, StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 13)))


def standardised(estimator: Any) -> Pipeline:
    """Return the estimator behind columns that are imputed, marked where they were missing, and scaled."""
    return make_pipeline(_imputer(), StandardScaler(), estimator)


def _imputer() -> SimpleImputer:
    """Return the imputer that all learners share: medians, and a column that says what was missing."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def _continuous(X: NDArray[np.float64]) -> list[int]:
    """Return the columns with enough distinct quantiles for splines."""
    return [
        column
        for column in range(X.shape[1])
        if len(np.unique(np.quantile(X[:, column], np.linspace(0, 1, SPLINE_VALUES)))) == SPLINE_VALUES
    ]


def _cross_validated_errors(
    candidates: dict[str, Any], X: NDArray[np.float64], y: NDArray[np.float64], seed: int
) -> dict[str, float]:
    """Return each candidate's mean squared error over the same folds."""
    rows = np.random.default_rng(seed).permutation(len(y))[:COMPARISON_ROWS]
    errors = dict.fromkeys(candidates, 0.0)
    for fit, held_out in KFold(FOLDS).split(rows):
        for name, candidate in candidates.items():
            model = clone(candidate).fit(X[rows[fit]], y[rows[fit]])
            errors[name] += float(np.sum((y[rows[held_out]] - model.predict(X[rows[held_out]])) ** 2))
    return {name: error / len(rows) for name, error in errors.items()}


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which every random_state that is None becomes the seed."""
    estimator = clone(estimator)
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))


# Which sources a base model learns from, and whether trial rows that it saw may no longer calibrate.
BASE_ON = ("observational", "trial")


def check_base_on(base_on: str) -> str:
    """Return base_on, or raise a ValueError that lists what there is."""
    if base_on not in BASE_ON:
        raise ValueError(f"base_on={base_on!r} is unknown; {suggest(base_on, BASE_ON)}")
    return base_on


def learn(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model fitted on the rows; None stands for `AutoRegressor`."""
    model = seeded(AutoRegressor() if base is None else base, seed)
    return model.fit(rows.X, rows.y)
