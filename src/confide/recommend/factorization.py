"""Recommendation: matrix factorisation as an estimator on (user, item)."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.base.threads import threads_for
from confide.base.validation import all_or_nothing, check_count
from confide.data.splits import spawn_seeds
from confide.recommend.als import Factors, Ratings, alternate, learn_biases, products, spectral_norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from confide.typing import RandomState, Table

__all__ = ["MatrixFactorization"]

# Penalties to choose from: of the biases, and of the factors as shares of the smallest that makes all of them zero.
BIAS_PENALTIES = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
SHARES = tuple(2.0 ** (-step / 2) for step in range(1, 13))
# Ratings are held out in folds; above this number of ratings, in one fold of a tenth.
FOLDED_ROWS = 20_000
FOLDS, LARGE_FOLDS = 5, 10
# The penalty of biases if there are fewer than two ratings per fold to choose it by.
DEFAULT_BIAS_PENALTY = 8.0
FEATURES = ("user_bias", "item_bias", "interaction", "log_user_count", "log_item_count")


class MatrixFactorization(RegressorMixin, TransformerMixin, BaseEstimator):
    """Ratings as mean + user's bias + item's bias + inner product of their factors, by alternating least squares.

    X has two columns, the user's and the item's label: any numbers, compared by value (integers up to 2⁵³; NaN
    is a label too). A user or item without ratings has bias and factors 0, so that a new user is predicted by mean
    and item's bias, and a new pair by the mean.

    Parameters
    ----------
    dimensions : int, default 64
        Length of the factors. The penalty decides how many of them matter; more cost time but do no harm.
    regularisation : float, default None
        Penalty of the squared factors; ``inf`` turns them off. None: chosen by the error on held-out ratings, going
        down from ``inf`` for as long as the error falls; then the model is fitted on all ratings.
    bias_regularisation : float, default None
        Penalty of the squared biases: a bias is shrunk as if by that many ratings at the mean. None: chosen by the
        error on held-out ratings of a model without factors.
    iterations : int, default 20
        Largest number of iterations.
    tolerance : float, default 0.001
        It stops once an iteration lowers the objective by less than this share of it. The default stops before the
        minimum, when held-out errors no longer fall; for the minimum itself give 1e-9 and more iterations.
    random_state : int, RandomState instance or None
        Decides the initial factors and which ratings are held out.

    Attributes
    ----------
    users_, items_ : array
        The labels, in order; rows of the arrays below are in the same order.
    mean_ : float
        Mean of the ratings.
    user_bias_, item_bias_, user_factors_, item_factors_ : array
        Fitted biases and factors; factors have length 0 if they are turned off.
    user_count_, item_count_ : array
        Numbers of ratings.
    regularisation_, bias_regularisation_ : float
        The penalties, as given or chosen.
    errors_ : dict
        Held-out mean squared error by penalty of the factors, if it was chosen.
    n_iter_ : int
        Number of iterations.
    """

    def __init__(
        self,
        dimensions: int = 64,
        regularisation: float | None = None,
        bias_regularisation: float | None = None,
        iterations: int = 20,
        tolerance: float = 1e-3,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.dimensions = dimensions
        self.regularisation = regularisation
        self.bias_regularisation = bias_regularisation
        self.iterations = iterations
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Table, y: Any) -> MatrixFactorization:
        """Learn from ratings y of the pairs in X."""
        with threads_for(X), all_or_nothing(self):
            X, y = self._numbers(X, y, y_numeric=True)
            self._check_columns(X)
            self._check_parameters()
            self.users_, user = np.unique(X[:, 0], return_inverse=True)
            self.items_, item = np.unique(X[:, 1], return_inverse=True)
            ratings = Ratings(user, item, y, len(self.users_), len(self.items_))
            self.user_count_ = np.bincount(user, minlength=ratings.users)
            self.item_count_ = np.bincount(item, minlength=ratings.items)
            fold_seed, self._seed = spawn_seeds(self.random_state, 2)
            folds = _held_out(len(ratings), fold_seed)
            self.bias_regularisation_ = self._choose_bias_penalty(ratings, folds)
            self.regularisation_ = self._choose_penalty(ratings, folds)
            model, self.n_iter_ = self._learn(ratings, self.regularisation_)
            self.mean_, self.user_bias_, self.item_bias_ = model.mean, model.user_bias, model.item_bias
            self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors
        return self

    def predict(self, X: Table) -> NDArray[np.float64]:
        """Return the expected ratings."""
        user, item = self._codes(X)
        model = self._model()
        return model.predict(user, item)

    def transform(self, X: Table) -> NDArray[np.float64]:
        """Return features of each pair: five columns that mean the same in every fit.

        They are user's bias, item's bias, inner product of the factors, and the logarithm of 1 + the user's and of
        1 + the item's number of ratings; all 0 if the label is new. The factors themselves are not included:
        they are unique up to rotation only, so that their columns mean something else in each fit.
        """
        user, item = self._codes(X)
        model = self._model()
        counts = [np.log1p(np.append(count, 0)) for count in (self.user_count_, self.item_count_)]
        product = products(model.user_factors, model.item_factors, user, item)
        return np.column_stack(
            [model.user_bias[user], model.item_bias[item], product, counts[0][user], counts[1][item]]
        )

    def factors(self, X: Table) -> NDArray[np.float64]:
        """Return the user's factors, then the item's, one row per pair; 0 if the label is new."""
        user, item = self._codes(X)
        model = self._model()
        return np.column_stack([model.user_factors[user], model.item_factors[item]])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns of `transform`."""
        check_is_fitted(self)
        return np.array(FEATURES, dtype=object)

    def _numbers(self, *data: Any, **params: Any) -> Any:
        """Return X, and y if given, as numbers; raise for text, with the remedy."""
        try:
            read = validate_data(self, *data, ensure_all_finite="allow-nan", dtype=np.float64, **params)
            return tuple(each.astype(np.float64) for each in read) if isinstance(read, tuple) else read
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(
                f"users, items and ratings must be numbers: {error}. Number text labels first, for instance by "
                "sklearn.preprocessing.OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1)."
            ) from error

    def _check_columns(self, X: NDArray[np.float64]) -> None:
        if X.shape[1] != 2:
            raise ValueError(f"X must have 2 columns, user and item, got {X.shape[1]} feature(s). Give only these.")

    def _check_parameters(self) -> None:
        for name in ("dimensions", "iterations"):
            check_count(name, getattr(self, name))
        for name, most in (("regularisation", np.inf), ("bias_regularisation", np.finfo(np.float64).max)):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 < float(value) <= most):
                raise ValueError(
                    f"{name} must be a number above 0{' or inf' if most == np.inf else ''}, got {value!r}. "
                    "Use None to choose it by held-out ratings."
                )
        if not (_is_number(self.tolerance) and 0 <= float(self.tolerance) < 1):
            raise ValueError(
                f"tolerance must be a number from 0 to below 1, got {self.tolerance!r}. The default is 0.001."
            )

    def _learn(self, ratings: Ratings, penalty: float) -> tuple[Factors, int]:
        """Return the model at this penalty of the factors, and the number of iterations."""
        start = learn_biases(ratings, self.bias_regularisation_)
        if penalty == np.inf:
            return start, 0
        return alternate(
            ratings,
            start,
            penalty=penalty,
            bias_penalty=self.bias_regularisation_,
            dimensions=int(self.dimensions),
            iterations=int(self.iterations),
            tolerance=float(self.tolerance),
            seed=self._seed,
        )

    def _model_at(self, ratings: Ratings, penalty: float) -> Factors:
        return self._learn(ratings, penalty)[0]

    def _choose_bias_penalty(self, ratings: Ratings, folds: list[Any]) -> float:
        if self.bias_regularisation is not None:
            return float(self.bias_regularisation)
        if not folds:
            return DEFAULT_BIAS_PENALTY
        errors = {each: _error(partial(learn_biases, penalty=each), ratings, folds) for each in BIAS_PENALTIES}
        return min(errors, key=errors.__getitem__)

    def _choose_penalty(self, ratings: Ratings, folds: list[Any]) -> float:
        """Return the penalty of the factors; the larger one if errors are equal."""
        self.errors_: dict[float, float] = {}
        if self.regularisation is not None:
            return float(self.regularisation)
        if not folds:
            return np.inf
        biases = learn_biases(ratings, self.bias_regularisation_)
        least = spectral_norm(ratings, biases.residuals(ratings), self._seed)
        best = np.inf
        for penalty in (np.inf, *(share * least for share in SHARES if least > 0)):
            self.errors_[penalty] = _error(partial(self._model_at, penalty=penalty), ratings, folds)
            if self.errors_[penalty] > self.errors_[best]:
                break
            if self.errors_[penalty] < self.errors_[best]:
                best = penalty
        return best

    def _codes(self, X: Table) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the indices of users and items; a new label has the index after the last."""
        check_is_fitted(self)
        X = self._numbers(X, reset=False)
        return _places(self.users_, X[:, 0]), _places(self.items_, X[:, 1])

    def _model(self) -> Factors:
        """Return the fitted model, with a row of zeros for new labels."""
        return Factors(
            self.mean_,
            np.append(self.user_bias_, 0.0),
            np.append(self.item_bias_, 0.0),
            np.pad(self.user_factors_, ((0, 1), (0, 0))),
            np.pad(self.item_factors_, ((0, 1), (0, 0))),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _places(labels: NDArray[np.float64], asked: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the index of each among the labels, NaN included; len(labels) if it is not among them."""
    places = np.searchsorted(labels, asked)
    found = labels[np.minimum(places, len(labels) - 1)]
    return np.where((found == asked) | (np.isnan(found) & np.isnan(asked)), places, len(labels))


def _held_out(count: int, seed: int) -> list[Any]:
    """Return pairs of rows to learn from and rows held out; none if there are fewer than two rows per fold."""
    if count < 2 * FOLDS:
        return []
    large = count > FOLDED_ROWS
    folds = KFold(LARGE_FOLDS if large else FOLDS, shuffle=True, random_state=seed)
    return list(folds.split(np.empty(count)))[: 1 if large else FOLDS]


def _error(learn: Callable[[Ratings], Factors], ratings: Ratings, folds: list[Any]) -> float:
    """Return the mean squared error on held-out ratings."""
    errors = [learn(ratings[fit]).residuals(ratings[held_out]) ** 2 for fit, held_out in folds]
    return float(np.concatenate(errors).mean())
