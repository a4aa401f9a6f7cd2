"""Base models that are linear in the outcomes they learn from, so that refits have a closed form.

A linear smoother predicts ŷ = H·y at its own rows, H a function of the covariates alone. Its residuals on rows whose
last outcome is ȳ are therefore lines a + b·ȳ: a are its residuals for the outcomes with 0 in place of ȳ, and b its
residuals for the outcomes (0, …, 0, 1). Fitting these two targets replaces a refit for every ȳ.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from confide.base.threads import threads_for
from confide.data.encoding import dense
from confide.models.preprocessing import Learner, SeenColumns, Splines, SplinesOfContinuous

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Transformers that never use y. A transformer may use y without a tag that says so: only those whose code was read
# are here.
LABEL_FREE = {
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    MissingIndicator,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PCA,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SeenColumns,
    SimpleImputer,
    SplineTransformer,
    Splines,
    SplinesOfContinuous,
    StandardScaler,
}
# One step after the other, and nothing else.
PIPELINES = (Pipeline, Learner)
# Metrics of k-NN: scikit-learn's name, and scipy's.
METRICS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "l1": 1.0, "cityblock": 1.0}
# Distances are compared in blocks of at most this many.
BLOCK = 2**22
# Above this many columns a tree looks at every row anyway.
TREE_COLUMNS = 10
# Distances that differ by less than this share may be tied: they are computed again, all by one formula.
NEARLY_TIED = 1e-9

# Normal equations need a penalty of at least this share of the largest squared column.
LEAST_PENALTY = 1e-10

# Maps the new row's features to the lines of the fixed rows (n, 2) and of the new row (2,).
Bordered = Callable[["NDArray[np.float64]"], tuple["NDArray[np.float64]", "NDArray[np.float64]"]]


@dataclass(frozen=True)
class LinearSmoother:
    """A pipeline of transformers that ignore y, and a regressor that is linear in y."""

    transformers: list[Any]
    regressor: Any

    @classmethod
    def of(cls, model: Any) -> LinearSmoother | None:
        """Return the parts of a model if it is a linear smoother; None for any other model, subclasses included."""
        *transformers, regressor = _steps(model)
        if all(map(_is_label_free, transformers)) and _is_linear(regressor):
            return cls(transformers, regressor)
        return None


class RefittedSmoother:
    """A linear smoother, with its transformers, refitted on fixed rows and one new row.

    What does not change with the new row is kept for the next one: the features, if a transformer learns the same with
    the new row, and the factorisations of ridge and kernel ridge.

    Parameters
    ----------
    smoother : LinearSmoother
        The model.
    X, y : (n, d) and (n,) arrays
        The fixed rows.
    place : int
        The position of the new row among them; nearest neighbours break ties by the order of rows.
    """

    def __init__(self, smoother: LinearSmoother, X: NDArray[np.float64], y: NDArray[np.float64], place: int) -> None:
        self.regressor = smoother.regressor
        self.y, self.place = y, place
        self.transformers = [clone(transformer) for transformer in smoother.transformers]
        self.states: list[bytes | None] = []
        self.features = [X]
        with threads_for(len(X)):
            for transformer in self.transformers:
                self.features.append(dense(transformer.fit_transform(self.features[-1])))
                self.states.append(_state(transformer))
            self.bordered = _bordered(self.regressor, self.features[-1], y)

    def residuals(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lines a + b·ȳ of all residuals after a refit with (x, ȳ): fixed rows (n, 2), new row (2,)."""
        with threads_for(len(self.y)):
            return self._residuals(x)

    def _residuals(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        stay, new, changed = self._refit_transformers(x)
        bordered = _bordered(self.regressor, stay, self.y) if changed else self.bordered
        if bordered is not None:
            return bordered(new)
        targets = np.zeros((len(self.y) + 1, 2))
        targets[:, 0] = np.insert(self.y, self.place, 0.0)
        targets[self.place, 1] = 1.0
        smooth = _neighbours if isinstance(self.regressor, KNeighborsRegressor) else _fitted
        residuals = targets - smooth(self.regressor, np.insert(stay, self.place, new, axis=0), targets)
        return np.delete(residuals, self.place, axis=0), residuals[self.place]

    def _refit_transformers(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """Return the features of the fixed rows and of the new row, and whether the former have changed."""
        stay, new, changed = self.features[0], x, False
        for transformer, state, after in zip(self.transformers, self.states, self.features[1:], strict=True):
            transformer.fit(np.insert(stay, self.place, new, axis=0))
            if changed or state is None or _state(transformer) != state:
                stay = dense(transformer.transform(stay))
                changed = not np.array_equal(stay, after, equal_nan=True)
            else:
                stay = after
            new = dense(transformer.transform(new[None]))[0]
        return stay, new, changed


def _state(transformer: Any) -> bytes | None:
    """Return the state of a fitted transformer as bytes, or None if it cannot be pickled."""
    try:
        return pickle.dumps(transformer)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _steps(model: Any) -> list[Any]:
    """Return the steps of nested pipelines as one list; any other model is its own only step."""
    if type(model) not in PIPELINES:
        return [model]
    return [inner for _, step in model.steps if step not in (None, "passthrough") for inner in _steps(step)]


def _is_label_free(transformer: Any) -> bool:
    """Return whether the transformer, and every part of it, is known to never use y."""
    if transformer in (None, "passthrough", "drop"):
        return True
    if type(transformer) is ColumnTransformer:
        return all(_is_label_free(part) for _, part, _ in transformer.transformers) and _is_label_free(
            transformer.remainder
        )
    if type(transformer) is FeatureUnion:
        return all(_is_label_free(part) for _, part in transformer.transformer_list)
    if type(transformer) in PIPELINES:
        return all(map(_is_label_free, _steps(transformer)))
    return type(transformer) in LABEL_FREE


def _is_linear(model: Any) -> bool:
    """Return whether predictions are H·y, up to rounding, where H depends on the covariates only."""
    kind = type(model)
    if kind is LinearRegression:
        return not model.positive
    if kind is Ridge:
        direct = model.solver in {"auto", "svd", "cholesky"}
        return direct and not model.positive and isinstance(model.alpha, Real)
    if kind is KernelRidge:
        return isinstance(model.alpha, Real) and model.kernel != "precomputed"
    if kind is KNeighborsRegressor:
        known = model.metric == "minkowski" or model.metric in METRICS
        return known and model.metric_params is None and model.weights in (None, "uniform")
    return kind is DummyRegressor and model.strategy == "mean"


def _bordered(regressor: Any, features: NDArray[np.float64], y: NDArray[np.float64]) -> Bordered | None:
    """Return residuals as a function of the new row's features, if updating is cheaper than a fit; else None."""
    if isinstance(regressor, Ridge):
        return _bordered_ridge(features, y, float(regressor.alpha), intercept=regressor.fit_intercept)
    if isinstance(regressor, KernelRidge):
        return _bordered_kernel_ridge(regressor, features, y)
    return None


def _bordered_ridge(
    features: NDArray[np.float64], y: NDArray[np.float64], penalty: float, *, intercept: bool
) -> Bordered | None:
    """Return ridge residuals by normal equations, centred at the mean of the fixed rows.

    With the new row's features z from there, the augmented Gram matrix is G + z·zᵀ·n/(n+1).
    """
    count = len(y)
    centre = features.mean(axis=0) if intercept else np.zeros(features.shape[1])
    centred = features - centre
    gram = centred.T @ centred
    if penalty <= LEAST_PENALTY * np.max(np.diag(gram), initial=0.0):
        return None  # the penalty is too small for normal equations
    gram[np.diag_indices_from(gram)] += penalty
    cross = centred.T @ y
    share = 1 / (count + 1) if intercept else 0.0

    def residuals(new: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        z = new - centre
        means = np.array([share * y.sum(), share])
        right = np.column_stack([cross - means[0] * z, (1 - share) * z])
        coefficients = linalg.solve(gram + (1 - share) * np.outer(z, z), right, assume_a="pos", check_finite=False)
        fitted = centred @ coefficients
        moved = means - share * (z @ coefficients)
        stay = -fitted - moved
        stay[:, 0] += y
        return stay, np.array([0.0, 1.0]) - z @ coefficients - moved

    return residuals


def _bordered_kernel_ridge(regressor: Any, features: NDArray[np.float64], y: NDArray[np.float64]) -> Bordered | None:
    """Return kernel ridge residuals α(K + αI)⁻¹y, the inverse bordered by one row."""
    params = {"gamma": regressor.gamma, "degree": regressor.degree, "coef0": regressor.coef0}
    params = (regressor.kernel_params or {}) if callable(regressor.kernel) else params
    kernel = partial(pairwise_kernels, metric=regressor.kernel, filter_params=True, **params)
    penalty = float(regressor.alpha)
    gram = kernel(features)
    gram[np.diag_indices_from(gram)] += penalty
    try:
        factor = linalg.cho_factor(gram, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    dual = linalg.cho_solve(factor, y)

    def residuals(new: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        beside = kernel(features, new[None])[:, 0]
        solved = linalg.cho_solve(factor, beside)
        pivot = kernel(new[None])[0, 0] + penalty - beside @ solved
        own = np.array([-(beside @ dual), 1.0]) / pivot
        stay = -np.outer(solved, own)
        stay[:, 0] += dual
        return penalty * stay, penalty * own

    return residuals


def _fitted(regressor: Any, features: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the regressor's own predictions of all targets at once."""
    prediction: NDArray[np.float64] = clone(regressor).fit(features, targets).predict(features)
    return prediction


def _neighbours(regressor: Any, features: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean target of each row's k nearest rows, including itself; ties go to the first in order.

    The rows' order is random, by the caller's seed, which makes the rule symmetric. In scikit-learn, ties depend on the
    search structure.
    """
    k = regressor.n_neighbors
    if not 1 <= k <= len(features):
        raise ValueError(f"n_neighbors must lie between 1 and the {len(features)} rows, got {k}.")
    power = METRICS.get(regressor.metric, float(regressor.p))
    points, where = np.unique(features, axis=0, return_inverse=True)
    means = np.empty((len(points), targets.shape[1]))
    tied = np.ones(len(points), dtype=bool)
    if features.shape[1] <= TREE_COLUMNS and power >= 1 and k < len(features):
        distances, nearest = KDTree(features).query(points, k + 1, p=power)
        tied = distances[:, k] <= distances[:, k - 1] * (1 + NEARLY_TIED)
        means[~tied] = targets[nearest[~tied, :k]].mean(axis=1)
    unclear = np.flatnonzero(tied)
    step = max(1, BLOCK // len(features))
    for start in range(0, len(unclear), step):
        block = unclear[start : start + step]
        chosen = _nearest(cdist(points[block], features, "minkowski", p=power), k)
        means[block] = chosen @ targets / k
    return means[where.ravel()]


def _nearest(distances: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
    """Return whether each column is among the k smallest of its row; ties go to the first."""
    farthest = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < farthest, distances == farthest
    missing = k - nearer.sum(axis=1, keepdims=True)
    chosen: NDArray[np.bool_] = nearer | (tied & (np.cumsum(tied, axis=1) <= missing))
    return chosen
