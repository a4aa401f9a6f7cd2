"""Preprocessing before a model: constant columns held fixed, missing values imputed, splines, scaling; and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from confide.base.threads import threads_for
from confide.models.ridge import BlockRidge

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from confide.typing import Table

# With fewer distinct values than this a column enters the ridge as it is: splines need distinct knots.
SPLINE_VALUES = 10
# Medians are those of at most this many rows, drawn at random.
MEDIAN_ROWS = 20_000
# Rows that are looked at together.
BLOCK = 4096


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
    return Learner.of(BlockRidge(SeenColumns()))


def ridge_on_splines() -> Learner:
    """Return ridge regression on cubic splines of the continuous columns and on the others as they are."""
    return Learner.of(BlockRidge(SeenColumns(), SplinesOfContinuous()))


def settled_ridge(model: BlockRidge) -> Learner:
    """Return unfitted ridge regression with the penalty that a model found."""
    steps = (model.columns, model.features, StandardScaler(), Ridge(alpha=model.alpha_))
    return Learner.of(*(clone(step) for step in steps if step is not None))


def logistic_on_splines(C: float = 0.1) -> Learner:
    """Return logistic regression on cubic splines of the continuous columns and on the others as they are."""
    model = LogisticRegression(C=C, max_iter=1000)
    return Learner.of(SeenColumns(), SplinesOfContinuous(), StandardScaler(), model)


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


class SplinesOfContinuous(TransformerMixin, BaseEstimator):
    """Cubic splines of the continuous columns, then the other columns as they are.

    A column is continuous if it has enough distinct quantiles over the training rows.
    """

    def fit(self, X: Table, y: ArrayLike | None = None) -> SplinesOfContinuous:  # noqa: ARG002
        """Learn which columns are continuous, and their knots, without computing the splines of any row."""
        rows = _floats(X)
        self.continuous_ = np.array(_continuous(rows), dtype=np.intp)
        self.others_ = np.delete(np.arange(rows.shape[1]), self.continuous_)
        self.splines_ = None
        if len(self.continuous_):
            self.splines_ = Splines(knots="quantile", extrapolation="linear").fit(rows[:, self.continuous_])
        return self

    def transform(self, X: Table) -> NDArray[Any]:
        """Return the splines, then the other columns."""
        rows = _floats(X)
        if self.splines_ is None:
            return rows
        splines = self.splines_.transform(rows[:, self.continuous_])
        return np.concatenate([splines, rows[:, self.others_]], axis=1)


class SeenColumns(TransformerMixin, BaseEstimator):
    """Hold columns constant that do not vary over the training rows, and impute missing values.

    A column that is constant in training has no information about the outcome, but it could separate a calibration row
    from a new one: for instance a category that only one of them has. Held at that constant, it encodes both alike, as
    the promises need. Columns keep their positions.

    Parameters
    ----------
    impute : bool
        Replace missing values by the median of the training rows (of `MEDIAN_ROWS` of them, if there are more), and
        append an indicator column where a value was missing in training.
    copy : bool
        Return a copy also where nothing changes. False: for a step that does not write into its rows.
    """

    def __init__(self, *, impute: bool = True, copy: bool = True) -> None:
        self.impute = impute
        self.copy = copy

    def fit(self, X: Table, y: ArrayLike | None = None) -> SeenColumns:  # noqa: ARG002  (scikit-learn's signature)
        """Learn which columns vary, where missing counts as a value, and their medians."""
        X = _floats(X)
        first, varies, gaps = X[0], np.zeros(X.shape[1], dtype=bool), np.zeros(X.shape[1], dtype=bool)
        for start in range(0, len(X), BLOCK):
            block = X[start : start + BLOCK]
            missing = np.isnan(block)
            gaps |= missing.any(axis=0)
            varies |= ~((block == first) | (missing & np.isnan(first))).all(axis=0)
        self.n_features_in_ = X.shape[1]
        self.constant_ = np.flatnonzero(~varies)
        self.values_ = np.nan_to_num(np.asarray(first[self.constant_], dtype=np.float64))
        self.marked_ = np.flatnonzero(gaps & varies)
        self.medians_ = np.zeros(X.shape[1])
        if self.impute:
            self._learn_medians(X, gaps, varies)
        return self

    def _learn_medians(self, X: NDArray[Any], gaps: NDArray[np.bool_], varies: NDArray[np.bool_]) -> None:
        """Set the medians of columns that vary."""
        many = len(X) > MEDIAN_ROWS
        some = np.random.default_rng(0).permutation(len(X))[:MEDIAN_ROWS] if many else slice(None)
        for column in np.flatnonzero(varies):  # one at a time: no copy of all
            values = X[some, column]
            known = values[~np.isnan(values)] if gaps[column] else values
            self.medians_[column] = np.median(known) if len(known) else 0.0

    def fit_transform(self, X: Table, y: ArrayLike | None = None, **_: Any) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the training rows: no copy of them, unless it is asked for or needed."""
        rows = _floats(X)
        self.fit(rows)
        if self.impute or self.copy or np.isnan(rows[0, self.constant_]).any():
            return self.transform(rows)
        return rows  # what does not vary has its value already

    def transform(self, X: Table) -> NDArray[Any]:
        """Return the columns, then the indicators of missing values."""
        rows = _floats(X)
        if not self.impute:
            if self.copy or len(self.constant_):
                rows = rows.copy()
                rows[:, self.constant_] = self.values_
            return rows
        width = rows.shape[1]
        filled = np.empty((len(rows), width + len(self.marked_)), dtype=rows.dtype)
        filled[:, :width] = rows
        filled[:, self.constant_] = self.values_
        filled[:, width:] = np.isnan(rows[:, self.marked_])
        gaps = np.isnan(filled)
        if gaps.any():
            np.copyto(filled, np.pad(self.medians_, (0, len(self.marked_))).astype(rows.dtype), where=gaps)
        return filled

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _floats(X: Table) -> NDArray[Any]:
    """Return rows as floats; those in single precision stay so."""
    rows: NDArray[Any] = np.asarray(X)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def prepared(estimator: Any, *, copy: bool = True) -> Learner:
    """Return the estimator after `SeenColumns`, with imputation if it does not accept missing values."""
    return Learner.of(SeenColumns(impute=not get_tags(estimator).input_tags.allow_nan, copy=copy), estimator)


def standardised(*estimator: Any) -> Learner:
    """Return `SeenColumns` with imputation and scaling, then the estimator, if any."""
    return Learner.of(SeenColumns(), StandardScaler(), *estimator)


def _continuous(X: NDArray[np.float64]) -> list[int]:
    """Return the columns with enough distinct quantiles for splines."""
    more = np.flatnonzero(~((X == 0) | (X == 1)).all(axis=0))  # quantiles take their time
    return [
        int(column)
        for column in more
        if len(np.unique(np.quantile(X[:, column], np.linspace(0, 1, SPLINE_VALUES)))) == SPLINE_VALUES
    ]
