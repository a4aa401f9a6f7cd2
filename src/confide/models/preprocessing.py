"""Preprocessing before a model: constant columns held fixed, missing values imputed, splines, scaling; and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from confide.base.threads import threads_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from confide.typing import Table

# With fewer distinct values than this a column enters the ridge as it is: splines need distinct knots.
SPLINE_VALUES = 10


def _last_step_has(name: str) -> Callable[[Pipeline], bool]:
    return lambda pipeline: hasattr(pipeline.steps[-1][1], name)


class Learner(Pipeline):
    """A pipeline that fits and predicts with a suitable number of threads (`confide.base.threads`).

    Every model in confide is one, or is the last step of one: the automatic ones, those of density ratios, and the
    caller's own.
    """

    @classmethod
    def of(cls, *steps: Any) -> Self:
        """Return the steps one after the other, with scikit-learn's names."""
        return cls(make_pipeline(*steps).steps)

    def fit(self, X: Table, y: ArrayLike | None = None, **params: Any) -> Self:
        """Fit one step after the other."""
        with threads_for(X):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]

    @available_if(_last_step_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Table, **params: Any) -> Any:
        """Return the last step's predictions."""
        with threads_for(X):
            return super().predict(X, **params)

    @available_if(_last_step_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Table, **params: Any) -> Any:
        """Return the last step's probabilities."""
        with threads_for(X):
            return super().predict_proba(X, **params)


def linear() -> Learner:
    """Return ridge regression on the columns as they are."""
    return standardised(_ridge())


def ridge_on_splines() -> Learner:
    """Return ridge regression on cubic splines of the continuous columns and on the others as they are."""
    return Learner.of(*_splines(), _ridge())


def _ridge() -> RidgeCV:
    """Return ridge regression that finds its penalty by leaving out one row at a time."""
    return RidgeCV(alphas=np.logspace(-2, 4, 13))


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
    """Hold columns constant that do not vary over the training rows, and impute missing values.

    A column that is constant in training has no information about the outcome, but it could separate a calibration row
    from a new one: for instance a category that only one of them has. Held at that constant, it encodes both alike, as
    the promises need. Columns keep their positions.

    Parameters
    ----------
    impute : bool
        Replace missing values by the median of the training rows, and append an indicator column where a value was
        missing in training.
    """

    def __init__(self, *, impute: bool = True) -> None:
        self.impute = impute

    def fit(self, X: Table, y: ArrayLike | None = None) -> SeenColumns:  # noqa: ARG002  (scikit-learn's signature)
        """Learn which columns vary, where missing counts as a value, and their medians."""
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

    def transform(self, X: Table) -> NDArray[np.float64]:
        """Return the columns, then the indicators of missing values."""
        X = np.array(X, dtype=np.float64)
        X[:, self.constant_] = self.values_
        if not self.impute:
            return np.asarray(X)
        marks = np.isnan(X[:, self.marked_])
        filled: NDArray[np.float64] = np.where(np.isnan(X), self.medians_, X)
        return np.column_stack([filled, marks]) if len(self.marked_) else filled

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def prepared(estimator: Any) -> Learner:
    """Return the estimator after `SeenColumns`, with imputation if it does not accept missing values."""
    return Learner.of(SeenColumns(impute=not get_tags(estimator).input_tags.allow_nan), estimator)


def standardised(*estimator: Any) -> Learner:
    """Return `SeenColumns` with imputation and scaling, then the estimator, if any."""
    return Learner.of(SeenColumns(), StandardScaler(), *estimator)


def _continuous(X: NDArray[np.float64]) -> list[int]:
    """Return the columns with enough distinct quantiles for splines."""
    return [
        column
        for column in range(X.shape[1])
        if len(np.unique(np.quantile(X[:, column], np.linspace(0, 1, SPLINE_VALUES)))) == SPLINE_VALUES
    ]
