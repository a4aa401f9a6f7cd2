import numpy as np
import pytest

from confide.recommend import als
from confide.recommend.als import Factors, Ratings, alternate, learn_biases, spectral_norm


def sparse_ratings(users=30, items=12, count=150, seed=0):
    """Ratings of some pairs; the last user and the last item have none, and one item has most."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation((users - 1) * (items - 1))[:count]
    user, item = pairs // (items - 1), pairs % (items - 1)
    keep = (item == 0) | (rng.uniform(size=count) < 0.8)
    user, item = np.r_[user[keep], np.arange(users - 1)], np.r_[item[keep], np.zeros(users - 1, dtype=int)]
    return Ratings(user, item, rng.integers(1, 6, len(user)).astype(float), users, items)


def full_matrix(shape=(9, 7), seed=0):
    matrix = np.random.default_rng(seed).standard_normal(shape)
    matrix -= matrix.mean()
    user, item = (index.ravel() for index in np.indices(shape))
    return matrix, Ratings(user, item, matrix.ravel(), *shape)


def alternated(ratings, penalty, bias_penalty=3.0, dimensions=5, iterations=500, tolerance=0.0):
    start = learn_biases(ratings, bias_penalty)
    return alternate(
        ratings,
        start,
        penalty=penalty,
        bias_penalty=bias_penalty,
        dimensions=dimensions,
        iterations=iterations,
        tolerance=tolerance,
        seed=0,
    )


@pytest.mark.parametrize("numbers", [2**21, 40, 1])
@pytest.mark.parametrize("dimensions", [1, 3, 20])
def test_each_label_is_a_ridge_regression(numbers, dimensions, monkeypatch):
    monkeypatch.setattr(als, "NUMBERS_AT_ONCE", numbers)
    ratings = sparse_ratings()
    factors = np.random.default_rng(1).standard_normal((ratings.items, dimensions))
    by_user, by_item = np.random.default_rng(2).standard_normal((2, len(ratings)))
    penalties = np.append(3.0, np.full(dimensions, 0.5))
    for codes, other, size, targets, features in (
        (ratings.user, ratings.item, ratings.users, by_user, factors),
        (ratings.item, ratings.user, ratings.items, by_item, np.resize(factors, (ratings.users, dimensions))),
    ):
        groups = list(als._groups(codes, size, dimensions + 1))
        bias, found = als._solve(groups, size, other, targets, features, penalties**-0.5)
        for label in range(size):
            A = np.column_stack([np.ones(len(features)), features])[other[codes == label]]
            expected = np.linalg.solve(A.T @ A + np.diag(penalties), A.T @ targets[codes == label])
            np.testing.assert_allclose(np.append(bias[label], found[label]), expected, atol=1e-12)


@pytest.mark.parametrize("numbers", [2**21, 300])
def test_groups_hold_every_rating_once_in_bounded_arrays(numbers, monkeypatch):
    monkeypatch.setattr(als, "NUMBERS_AT_ONCE", numbers)
    ratings = sparse_ratings(users=200, items=20, count=1500)
    groups = list(als._groups(ratings.item, ratings.items, 6))
    rows = np.concatenate([group.rows[group.there] for group in groups])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(ratings)))
    for group in groups:
        assert (ratings.item[group.rows] == group.labels[:, None])[group.there].all()
        assert len(group.labels) == 1 or group.rows.size * 6 <= numbers


def test_biases_are_a_ridge_regression_on_indicators():
    ratings = sparse_ratings()
    model = learn_biases(ratings, 3.0)
    A = np.zeros((len(ratings), ratings.users + ratings.items))
    A[np.arange(len(ratings)), ratings.user] = 1
    A[np.arange(len(ratings)), ratings.users + ratings.item] = 1
    rest = ratings.rating - ratings.rating.mean()
    expected = np.linalg.solve(A.T @ A + 3 * np.eye(A.shape[1]), A.T @ rest)
    np.testing.assert_allclose(np.append(model.user_bias, model.item_bias), expected, atol=1e-5)
    assert model.mean == ratings.rating.mean()
    assert model.user_bias[-1] == model.item_bias[-1] == 0


def test_no_step_raises_the_objective():
    ratings = sparse_ratings()
    objectives = [alternated(ratings, 1.0, iterations=steps)[0].objective(ratings, 1.0, 3.0) for steps in range(1, 12)]
    assert (np.diff(objectives) <= 1e-9).all()
    start = learn_biases(ratings, 3.0)
    assert objectives[-1] < start.objective(ratings, np.inf, 3.0)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_full_matrix_has_its_singular_values_lowered_by_the_penalty(share):
    matrix, ratings = full_matrix()
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    penalty = share * values[0]
    model, _ = alternated(ratings, penalty, bias_penalty=1e12, dimensions=9, iterations=5000)
    expected = left * np.maximum(values - penalty, 0) @ right
    np.testing.assert_allclose(model.predict(ratings.user, ratings.item).reshape(matrix.shape), expected, atol=1e-4)


def test_above_the_largest_singular_value_all_factors_vanish():
    ratings = sparse_ratings()
    residuals = learn_biases(ratings, 3.0).residuals(ratings)
    dense = np.zeros((ratings.users, ratings.items))
    np.add.at(dense, (ratings.user, ratings.item), residuals)
    norm = np.linalg.norm(dense, 2)
    assert spectral_norm(ratings, residuals, seed=0) == pytest.approx(norm, rel=0.02)
    assert spectral_norm(ratings, 0 * residuals, seed=0) == 0
    gone, there = (np.abs(alternated(ratings, share * norm)[0].user_factors).max() for share in (1.2, 0.7))
    assert gone < 1e-6
    assert there > 0.1


def test_it_stops_once_little_changes_or_after_its_iterations():
    ratings = sparse_ratings()
    assert alternated(ratings, 1.0, iterations=7)[1] == 7
    model, steps = alternated(ratings, 1.0, tolerance=1e-3)
    assert 1 < steps < 100
    best = alternated(ratings, 1.0)[0].objective(ratings, 1.0, 3.0)
    assert model.objective(ratings, 1.0, 3.0) < 1.02 * best


def test_products_come_in_bounded_parts(monkeypatch):
    rng = np.random.default_rng(0)
    model = Factors(0.0, np.zeros(4), np.zeros(5), rng.standard_normal((4, 3)), rng.standard_normal((5, 3)))
    user, item = rng.integers(0, 4, 50), rng.integers(0, 5, 50)
    whole = model.predict(user, item)
    np.testing.assert_allclose(whole, (model.user_factors @ model.item_factors.T)[user, item])
    monkeypatch.setattr(als, "NUMBERS_AT_ONCE", 7)
    np.testing.assert_array_equal(model.predict(user, item), whole)
