"""Ridge regression that reads its rows in blocks: its features are never in memory for all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from confide.typing import Floats, Places, Table

# Rows whose features are in memory at a time.
BLOCK = 1024
# Features are learnt from at most this many rows, drawn at random, and as many rows are left out one at a time.
SAMPLE = 20_000
# The features of rows with at most so many values are kept, and not computed twice.
KEPT_SIZE = 2**18
# Among these penalties the one with the least error is taken.
PENALTIES = np.logspace(-2, 4, 13)
# 1 - h of a row is at least this, in errors of rows left out.
ALONE = 1e-10


class BlockRidge(RegressorMixin, BaseEstimator):
    """Ridge regression on scaled features, whose penalty has the least error on rows left out one at a time.

    It is scikit-learn's `RidgeCV` after `StandardScaler`, but sums of squares and products are added up over blocks of
    rows. The errors of all penalties come from one eigendecomposition. With more than `SAMPLE` rows, features are
    learnt from a sample, and errors are those of the sample's rows; the coefficients are always those of all rows.

    Parameters
    ----------
    columns : transformer
        The first step, such as imputation. It learns from all rows.
    features : transformer, default None
        The second step, such as splines. None: the columns are the features.

    Attributes
    ----------
    alpha_ : float
        The penalty.
    coef_, intercept_ : array, float
        Coefficients of the features, each minus ``mean_`` and divided by ``scale_``.
    """

    def __init__(self, columns: Any, features: Any = None) -> None:
        self.columns = columns
        self.features = features

    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the rows' weights, if given."""
        X, y = np.asarray(X), np.asarray(y, dtype=np.float64)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        some = None if len(y) <= SAMPLE else np.random.default_rng(0).permutation(len(y))[:SAMPLE]
        self.columns_ = clone(self.columns).fit(X)
        self.features_ = None
        if self.features is not None:
            self.features_ = clone(self.features).fit(self._columns_of(X, some))
        blocks: Any = list(self._blocks(X, y, weight)) if X.size <= KEPT_SIZE else self._blocks(X, y, weight)
        self._add_up(blocks, y, weight)
        values, vectors = linalg.eigh(self._products, check_finite=False)
        values = np.maximum(values, 0)
        along = vectors.T @ self._with_outcome
        errors = np.zeros(len(PENALTIES))
        shrunk = 1 / (values + PENALTIES[:, None])
        if X.size > KEPT_SIZE:
            blocks = self._blocks(X, y, weight, some=some)
        for features, outcome, each in blocks:
            share = each / weight.sum()
            turned = (features - self.mean_) / self.scale_ @ vectors
            # Of each row and penalty: the residual, and what is left of the row's outcome in it.
            residual = (outcome - self.intercept_)[:, None] - turned @ (shrunk * along).T
            left = 1 - share[:, None] * (1 + weight.sum() * (turned**2 @ shrunk.T))
            errors += share @ (residual / np.maximum(left, ALONE)) ** 2
        best = int(np.argmin(errors))
        self.alpha_ = float(PENALTIES[best])
        self.coef_ = vectors @ (shrunk[best] * along)
        del self._products, self._with_outcome
        return self

    def _add_up(self, blocks: Iterable[tuple[Floats, ...]], y: Floats, weight: Floats) -> None:
        """Set the features' means and scales, and their products with each other and with the outcome."""
        origin: Any = None
        for features, outcome, share in blocks:
            if origin is None:  # near the mean, so that little is lost where means are far from 0
                origin, count = features.mean(axis=0), features.shape[1]
                total, squares, weighed, with_outcome = (np.zeros(count) for _ in range(4))
                products, level = np.zeros((count, count)), float(np.average(y, weights=weight))
            off = features - origin
            total += off.sum(axis=0)
            squares += np.einsum("ij,ij->j", off, off)
            off *= np.sqrt(share)[:, None]
            weighed += np.sqrt(share) @ off
            products += off.T @ off
            with_outcome += (np.sqrt(share) * (outcome - level)) @ off
        rows, weights = len(y), weight.sum()
        self.scale_ = _scale(squares / rows - (total / rows) ** 2, origin + total / rows, rows)
        self.mean_ = origin + weighed / weights
        self.intercept_ = level
        self._products = (products - np.outer(weighed, weighed) / weights) / np.outer(self.scale_, self.scale_)
        self._with_outcome = with_outcome / self.scale_

    def _blocks(self, X: Any, *vectors: Floats, some: Places | None = None) -> Iterator[tuple[Floats, ...]]:
        """Yield the features of blocks of rows, all or some, and the vectors of the same rows."""
        for rows in _parts(X, some):
            columns = self.columns_.transform(X[rows])
            features = columns if self.features_ is None else self.features_.transform(columns)
            yield np.asarray(features, dtype=np.float64), *(vector[rows] for vector in vectors)

    def _columns_of(self, X: Any, some: Places | None) -> Any:
        """Return the columns of all or some rows as one matrix, with no copy of the rows beside it."""
        if some is None:
            return self.columns_.transform(X)
        columns, filled = np.empty((0, 0)), 0
        for rows in _parts(X, some):
            block = self.columns_.transform(X[rows])
            if not filled:
                columns = np.empty((len(some), block.shape[1]), dtype=block.dtype)
            columns[filled : filled + len(block)] = block
            filled += len(block)
        return columns

    def predict(self, X: Table) -> Floats:
        """Return predictions."""
        check_is_fitted(self)
        parts = [(features - self.mean_) / self.scale_ @ self.coef_ for (features,) in self._blocks(np.asarray(X))]
        return np.concatenate(parts or [np.empty(0)]) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _parts(X: Any, some: Places | None) -> Iterator[Any]:
    """Yield what selects blocks of rows: of all, or of some by their places."""
    for start in range(0, len(X) if some is None else len(some), BLOCK):
        rows = slice(start, start + BLOCK)
        yield rows if some is None else some[rows]


def _scale(variance: Floats, mean: Floats, rows: int) -> Floats:
    """Return standard deviations, and 1 where a variance is nothing but rounding, as `StandardScaler` does."""
    small = np.finfo(np.float64).eps * rows
    constant = variance <= small * variance + (small * mean) ** 2
    return np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0)))
