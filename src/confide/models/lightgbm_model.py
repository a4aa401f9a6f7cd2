"""Gradient boosting by LightGBM (extra `lightgbm`): of rows in memory, or of any number of rows by batches.

What is kept of it is its trees, as arrays: files hold numbers alone, scikit-learn's compiled code predicts with them
bit for bit as LightGBM does, and neither to load a model nor to predict needs LightGBM.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from confide.base.threads import threads_now
from confide.base.validation import suggest
from confide.data.splits import spawn_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from confide.typing import Floats, RandomState, Table

OBJECTIVES = {"squared_error": "regression", "quantile": "quantile"}
# Leaves have at least this many rows, or a tenth of them if there are fewer than ten times as many.
LEAF_ROWS = 20
# How LightGBM's text marks splits: categories, missing values to the left, and which values are missing.
CATEGORIES, MISSING_LEFT, KIND_OF_MISSING, NAN = 1, 2, 2, 2


class Trees:
    """Regression trees as arrays: the nodes of all trees one after the other, and where each tree ends.

    A tree's root is its first node, and children stand after their parents.
    """

    def __init__(self, nodes: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self.nodes = nodes
        self.ends = ends

    @classmethod
    def of_text(cls, text: str) -> Trees:
        """Return the trees of a LightGBM model, from the text that it writes."""
        trees = [
            _nodes(dict(line.split("=", 1) for line in block.split("\n\n")[0].splitlines()[1:]))
            for block in text.partition("\nend of trees")[0].split("\nTree=")[1:]
        ]
        return cls.joined(trees)

    @classmethod
    def joined(cls, trees: Sequence[NDArray[Any]]) -> Trees:
        """Return trees that are given one by one."""
        return cls(np.concatenate(trees), np.cumsum([len(tree) for tree in trees]))

    @classmethod
    def averaged(cls, parts: Sequence[Trees], weights: Sequence[float]) -> Trees:
        """Return the trees of several models, whose sum is the weighted mean of these models' sums."""
        found = []
        for part, weight in zip(parts, np.asarray(weights) / np.sum(weights), strict=True):
            nodes = part.nodes.copy()
            nodes["value"] *= weight
            found += Trees(nodes, part.ends).each()
        return cls.joined(found)

    def each(self) -> list[NDArray[Any]]:
        """Return the nodes of each tree."""
        return np.split(self.nodes, self.ends[:-1])

    def predict(self, X: Floats) -> Floats:
        """Return the sum of the trees' values at rows."""
        total, none = np.zeros(len(X)), np.zeros((0, 8), dtype=np.uint32)
        columns, threads = np.zeros(X.shape[1], dtype=np.uint32), threads_now()
        for nodes in self.each():
            total += TreePredictor(nodes, none, none).predict(X, none, columns, threads)
        return total

    def check(self, columns: int) -> None:
        """Raise a ValueError if to predict with so many columns would read outside of the arrays."""
        nodes, ends = self.nodes, self.ends
        if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
            raise ValueError("its trees are not arrays of nodes")
        starts = np.concatenate([[0], ends[:-1]])
        if not len(ends) or (ends <= starts).any() or ends[-1] != len(nodes) or ends[0] < 1:
            raise ValueError("its trees overlap")
        sizes = ends - starts
        place = np.arange(len(nodes)) - np.repeat(starts, sizes)
        inner = nodes["is_leaf"] == 0
        inside = [(nodes[side] > place) & (nodes[side] < np.repeat(sizes, sizes)) for side in ("left", "right")]
        inside += [nodes["feature_idx"] >= 0, nodes["feature_idx"] < columns, nodes["is_categorical"] == 0]
        if not np.all([each[inner] for each in inside]):
            raise ValueError("a tree leads outside of its nodes or columns")


class MoreRows(ABC):
    """Rows that are not in memory, and that a model learns from by batches; give them to ``fit`` in place of X."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def trees(self, model: LightGBMRegressor) -> tuple[Trees, int]:
        """Return the trees that the model learns from all rows, and the number of their columns."""


class LightGBMRegressor(RegressorMixin, BaseEstimator):
    """Gradient boosting by LightGBM, of the mean or of a quantile; missing covariates are allowed.

    Results depend on the seed alone, not on the number of threads.

    Parameters
    ----------
    loss : {"squared_error", "quantile"}
        What is predicted: the mean, or a quantile.
    quantile : float, default None
        The level of the quantile.
    n_estimators, learning_rate, num_leaves : int, float, int
        The number of trees, the share of each tree that counts, and the most leaves of a tree.
    random_state : int, RandomState instance or None
        Decides which rows bins are made from, if there are many.

    Attributes
    ----------
    nodes_, ends_ : arrays
        The nodes of all trees, and where each tree ends.
    """

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        quantile: float | None = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.random_state = random_state

    def fit(self, X: Table | MoreRows, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows in memory, or from rows that are read by batches and have their own outcomes."""
        if isinstance(X, MoreRows):
            trees, self.n_features_in_ = X.trees(self)
        else:
            X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=True, dtype=np.float64)
            weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
            trees = self.learn(np.ascontiguousarray(X), y, weight)
        self.nodes_, self.ends_ = trees.nodes, trees.ends
        return self

    def learn(self, X: Any, y: Floats, weight: Floats | None = None) -> Trees:
        """Return the trees that rows give; X is a matrix or a `lightgbm.Sequence`."""
        lightgbm = import_lightgbm()
        seed = spawn_seeds(self.random_state, 1)[0] % 2**31
        parameters = {**self._parameters(len(y)), "seed": seed}
        rows = lightgbm.Dataset(X, y, weight=weight, params=parameters, free_raw_data=True)
        return Trees.of_text(lightgbm.train(parameters, rows, self.n_estimators).model_to_string())

    def _parameters(self, rows: int) -> dict[str, Any]:
        if self.loss not in OBJECTIVES:
            raise ValueError(f"loss {self.loss!r} is unknown; {suggest(self.loss, OBJECTIVES)}")
        level = {} if self.loss == "squared_error" else {"alpha": self.quantile}
        return {
            "objective": OBJECTIVES[self.loss],
            **level,
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": max(2, min(LEAF_ROWS, rows // 10)),
            "num_threads": threads_now(),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }

    def predict(self, X: Table) -> Floats:
        """Return the predictions."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, ensure_all_finite="allow-nan", dtype=np.float64)
        return Trees(self.nodes_, self.ends_).predict(rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "nodes_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def import_lightgbm() -> Any:
    """Return LightGBM; raise if it is not installed."""
    try:
        import lightgbm  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise ValueError(
            f"base='lightgbm' needs LightGBM, which cannot be imported ({error}): pip install 'confide[lightgbm]'."
        ) from error
    return lightgbm


def _nodes(tree: dict[str, str]) -> NDArray[Any]:
    """Return the nodes of one tree: those that split, then the leaves, which LightGBM numbers -1, -2 and so on."""
    leaves = int(tree["num_leaves"])
    inner = leaves - 1
    nodes = np.zeros(inner + leaves, dtype=PREDICTOR_RECORD_DTYPE)
    nodes["is_leaf"][inner:] = 1
    nodes["value"][inner:] = [float(each) for each in tree["leaf_value"].split()]
    if not inner:
        return nodes
    marks = np.array(tree["decision_type"].split(), dtype=np.int64)
    if int(tree["num_cat"]) or (marks & CATEGORIES).any() or tree.get("is_linear", "0") != "0":
        raise ValueError("trees on categories, and trees with linear leaves, are not read.")
    nodes["feature_idx"][:inner] = [int(each) for each in tree["split_feature"].split()]
    nodes["num_threshold"][:inner] = [float(each) for each in tree["threshold"].split()]
    for side in ("left", "right"):
        child = np.array(tree[f"{side}_child"].split(), dtype=np.int64)
        nodes[side][:inner] = np.where(child >= 0, child, inner + ~child)
    # Where no value was missing in training, LightGBM takes a missing one for 0.
    knew_missing = (marks >> KIND_OF_MISSING) == NAN
    left = np.where(knew_missing, (marks & MISSING_LEFT) > 0, nodes["num_threshold"][:inner] >= 0)
    nodes["missing_go_to_left"][:inner] = left
    return nodes
