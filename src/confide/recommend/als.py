"""Alternating least squares for matrix factorisation, on arrays.

A rating is modelled as mean + user's bias + item's bias + inner product of their factors. With the items held fixed
each user is a ridge regression on the factors of the items that they rated, and the other way round; both are solved
for many labels at once, in bounded memory.

The minimum of squared errors + penalty·(squared norms of all factors) equals that of squared errors +
2·penalty·(sum of the singular values of the factors' product). So more dimensions than the data support do no harm, and
with a penalty above the largest singular value of the matrix of residuals all factors are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# Largest number of floats in one array.
NUMBERS_AT_ONCE = 2**21
# Labels are solved together if their numbers of ratings differ by at most this factor, or this number.
SIMILAR, CLOSE = 1.25, 4
# Standard deviation of the predictions from the initial factors.
START = 0.1
BIAS_STEPS, BIAS_TOLERANCE = 100, 1e-6
POWER_STEPS = 30


@dataclass(frozen=True)
class Ratings:
    """Ratings by user and item, both numbered from 0."""

    user: NDArray[np.intp]
    item: NDArray[np.intp]
    rating: NDArray[np.float64]
    users: int
    items: int

    def __len__(self) -> int:
        return len(self.rating)

    def __getitem__(self, index: NDArray[Any]) -> Ratings:
        return Ratings(self.user[index], self.item[index], self.rating[index], self.users, self.items)


@dataclass(frozen=True)
class Factors:
    """A mean, the biases, and the factors, one row per user or item."""

    mean: float
    user_bias: NDArray[np.float64]
    item_bias: NDArray[np.float64]
    user_factors: NDArray[np.float64]
    item_factors: NDArray[np.float64]

    def predict(self, user: NDArray[np.intp], item: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the modelled ratings."""
        product = products(self.user_factors, self.item_factors, user, item)
        predicted: NDArray[np.float64] = self.mean + self.user_bias[user] + self.item_bias[item] + product
        return predicted

    def residuals(self, ratings: Ratings) -> NDArray[np.float64]:
        """Return the ratings minus the modelled ones."""
        return ratings.rating - self.predict(ratings.user, ratings.item)

    def objective(self, ratings: Ratings, penalty: float, bias_penalty: float) -> float:
        """Return the penalised sum of squared errors."""
        factors = np.sum(self.user_factors**2) + np.sum(self.item_factors**2)
        biases = np.sum(self.user_bias**2) + np.sum(self.item_bias**2)
        penalties = bias_penalty * biases + (penalty * factors if factors else 0.0)  # infinity times zero
        return float(np.sum(self.residuals(ratings) ** 2) + penalties)


def products(
    first: NDArray[np.float64], second: NDArray[np.float64], user: NDArray[np.intp], item: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the inner product of factors, one per pair."""
    step = max(NUMBERS_AT_ONCE // max(first.shape[1], 1), 1)
    found = np.empty(len(user))
    for start in range(0, len(user), step):
        part = slice(start, start + step)
        found[part] = np.einsum("ij,ij->i", first[user[part]], second[item[part]])
    return found


def learn_biases(ratings: Ratings, penalty: float) -> Factors:
    """Return the model of mean and biases alone, without factors."""
    user, item = ratings.user, ratings.item
    mean = float(ratings.rating.mean())
    rest = ratings.rating - mean
    user_weight = np.bincount(user, minlength=ratings.users) + penalty
    item_weight = np.bincount(item, minlength=ratings.items) + penalty
    user_bias, item_bias = np.zeros(ratings.users), np.zeros(ratings.items)
    for _ in range(BIAS_STEPS):
        before = user_bias
        user_bias = np.bincount(user, rest - item_bias[item], ratings.users) / user_weight
        item_bias = np.bincount(item, rest - user_bias[user], ratings.items) / item_weight
        if np.abs(user_bias - before).max() <= BIAS_TOLERANCE * np.abs(user_bias).max():
            break
    return Factors(mean, user_bias, item_bias, np.zeros((ratings.users, 0)), np.zeros((ratings.items, 0)))


def alternate(
    ratings: Ratings,
    start: Factors,
    *,
    penalty: float,
    bias_penalty: float,
    dimensions: int,
    iterations: int,
    tolerance: float,
    seed: int,
) -> tuple[Factors, int]:
    """Return biases and factors, and the number of iterations; ``start`` gives the mean and the initial biases.

    It stops once an iteration lowers the objective by less than the tolerance, relative to the objective.
    """
    scale = np.sqrt(START) * dimensions**-0.25
    item_factors = scale * np.random.default_rng(seed).standard_normal((ratings.items, dimensions))
    model = Factors(start.mean, start.user_bias, start.item_bias, np.zeros((ratings.users, dimensions)), item_factors)
    rest = ratings.rating - start.mean
    by_user = list(_groups(ratings.user, ratings.users, dimensions + 1))
    by_item = list(_groups(ratings.item, ratings.items, dimensions + 1))
    scales = np.append(bias_penalty, np.full(dimensions, penalty)) ** -0.5
    before, iteration = np.inf, 0
    for iteration in range(1, iterations + 1):  # noqa: B007  (the number of iterations is returned)
        targets = rest - model.item_bias[ratings.item]
        user_bias, user_factors = _solve(by_user, ratings.users, ratings.item, targets, model.item_factors, scales)
        targets = rest - user_bias[ratings.user]
        item_bias, item_factors = _solve(by_item, ratings.items, ratings.user, targets, user_factors, scales)
        model = Factors(start.mean, user_bias, item_bias, user_factors, item_factors)
        now = model.objective(ratings, penalty, bias_penalty)
        if before - now <= tolerance * now:
            break
        before = now
    return model, iteration


def spectral_norm(ratings: Ratings, residuals: NDArray[np.float64], seed: int) -> float:
    """Return the largest singular value of the matrix of residuals, 0 where there is no rating, by power iteration."""
    matrix = csr_array((residuals, (ratings.user, ratings.item)), shape=(ratings.users, ratings.items))
    vector = np.random.default_rng(seed).standard_normal(ratings.items)
    norm = 0.0
    for _ in range(POWER_STEPS):
        vector = matrix.T @ (matrix @ vector)
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            break
        vector /= norm
    return float(np.sqrt(norm))


@dataclass(frozen=True)
class _Group:
    """Labels with about the same number of ratings: the rows of their ratings, and which of these are padding."""

    labels: NDArray[np.intp]
    rows: NDArray[np.intp]
    there: NDArray[np.bool_]


def _groups(codes: NDArray[np.intp], size: int, width: int) -> Iterator[_Group]:
    """Yield groups of labels, from those with few ratings to those with many; a label without ratings is in none."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=size)
    starts = np.cumsum(counts) - counts
    labels = np.argsort(counts, kind="stable")
    ascending = counts[labels]
    first = int(np.searchsorted(ascending, 0, side="right"))
    while first < size:
        fewest = ascending[first]
        last = int(np.searchsorted(ascending, max(SIMILAR * fewest, fewest + CLOSE), side="right"))
        most = ascending[last - 1]
        last = min(last, first + max(NUMBERS_AT_ONCE // int(most * width), 1))
        chosen = labels[first:last]
        place = np.arange(ascending[last - 1])
        there = place < counts[chosen][:, None]
        yield _Group(chosen, order[np.where(there, starts[chosen][:, None] + place, 0)], there)
        first = last


def _solve(
    groups: list[_Group],
    size: int,
    other: NDArray[np.intp],
    targets: NDArray[np.float64],
    factors: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each label's bias and factors: ridge regressions of its targets on 1 and the other side's factors.

    Columns are divided by the square root of their penalty, so that all penalties are 1. A label with fewer ratings
    than columns is solved in the space of its ratings.
    """
    columns = np.column_stack([np.ones(len(factors)), factors]) * scales
    width = columns.shape[1]
    solution = np.zeros((size, width))
    for group in groups:
        count, most = group.rows.shape
        if most < width:
            A = columns[other[group.rows]]
            A *= group.there[:, :, None]
            kernel = A @ A.transpose(0, 2, 1)
            kernel[:, np.arange(most), np.arange(most)] += 1
            dual = np.linalg.solve(kernel, (targets[group.rows] * group.there)[:, :, None])
            solution[group.labels] = (A.transpose(0, 2, 1) @ dual)[:, :, 0]
            continue
        gram, moment = np.tile(np.eye(width), (count, 1, 1)), np.zeros((count, width, 1))
        step = max(NUMBERS_AT_ONCE // (count * width), 1)
        for start in range(0, most, step):
            rows, there = group.rows[:, start : start + step], group.there[:, start : start + step]
            A = columns[other[rows]]
            A *= there[:, :, None]
            gram += A.transpose(0, 2, 1) @ A
            moment += A.transpose(0, 2, 1) @ targets[rows][:, :, None]
        solution[group.labels] = np.linalg.solve(gram, moment)[:, :, 0]
    solution *= scales
    return solution[:, 0], np.ascontiguousarray(solution[:, 1:])
