"""Base models that are linear in the outcomes they learn from, so that refits have a closed form.

A linear smoother predicts ŷ = H·y at its own rows, H a function of the covariates alone. Its residuals on rows whose
last outcome is ȳ are therefore lines a + b·ȳ: a is what it leaves of the outcomes with 0 in the place of ȳ, and b what
it leaves of the outcomes (0, …, 0, 1). Fitting these two targets replaces a refit for every ȳ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
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

from confide.learners import SeenColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Transformers that never look at y. A transformer may use y without a tag that says so: only what was read is here.
LABEL_FREE = {
    Binarizer,
    FunctionTransformer,
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
    StandardScaler,
}
# Metrics of k-NN by scikit-learn's name, and what scipy calls them.
METRICS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "l1": 1.0, "cityblock": 1.0}
# Distances are compared in blocks of at most this many.
BLOCK = 2**22
# Above this many columns a tree looks at every row anyway.
TREE_COLUMNS = 10
# Distances that differ by less than this share may be tied: they are compared again, all by one formula.
NEARLY_TIED = 1e-9

Smooth = Callable[[Any, "NDArray[np.float64]", "NDArray[np.float64]"], "NDArray[np.float64]"]


@dataclass(frozen=True)
class LinearSmoother:
    """Label-free transformers, and a regressor that is linear in y."""

    transformers: list[Any]
    regressor: Any

    @classmethod
    def of(cls, model: Any) -> LinearSmoother | None:
        """Return the parts of a model that is one; None for any other model, subclasses among them."""
        *transformers, regressor = _steps(model)
        if all(map(_is_label_free, transformers)) and _is_linear(regressor):
            return cls(transformers, regressor)
        return None

    def residuals(self, X: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the model, fitted on the rows, leaves of each column of targets at these rows."""
        features: Any = X
        for transformer in self.transformers:
            features = clone(transformer).fit_transform(features)
        features = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        smooth = _neighbours if isinstance(self.regressor, KNeighborsRegressor) else _fitted
        return targets - smooth(self.regressor, features, targets)


def _steps(model: Any) -> list[Any]:
    """Return the steps of nested pipelines in a row; any other model is its own only step."""
    if type(model) is not Pipeline:
        return [model]
    return [inner for _, step in model.steps if step not in (None, "passthrough") for inner in _steps(step)]


def _is_label_free(transformer: Any) -> bool:
    """Return whether the transformer, and all that it is made of, is known to never look at y."""
    if transformer in (None, "passthrough", "drop"):
        return True
    if type(transformer) is ColumnTransformer:
        return all(_is_label_free(part) for _, part, _ in transformer.transformers) and _is_label_free(
            transformer.remainder
        )
    if type(transformer) is FeatureUnion:
        return all(_is_label_free(part) for _, part in transformer.transformer_list)
    if type(transformer) is Pipeline:
        return all(map(_is_label_free, _steps(transformer)))
    return type(transformer) in LABEL_FREE


def _is_linear(model: Any) -> bool:
    """Return whether predictions are H·y with an H of the covariates alone, computed to rounding."""
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


def _fitted(
    regressor: Any, features: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the regressor's own predictions of all targets at once."""
    prediction: NDArray[np.float64] = clone(regressor).fit(features, targets).predict(features)
    return prediction


def _neighbours(
    regressor: Any, features: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean target of each row's k nearest rows, itself among them; of tied ones the first in order.

    The rows' order is drawn by the caller's seed, which makes the rule symmetric. scikit-learn leaves ties to its
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
    """Return whether each column is among the k smallest of its row; of tied ones the first are."""
    farthest = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < farthest, distances == farthest
    missing = k - nearer.sum(axis=1, keepdims=True)
    return nearer | (tied & (np.cumsum(tied, axis=1) <= missing))
