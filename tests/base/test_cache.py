"""Equal work is done once while a block lasts, and only then."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from confide.base import cache
from confide.base.cache import Fits, make_once, same, sharing_fits
from confide.data.splits import Rows
from confide.models.base_model import learn


def test_equal_models_on_equal_rows_are_fitted_once_while_fits_are_shared():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    heavier = Rows(rows.X, rows.y, np.arange(50.0))
    with sharing_fits():
        one, same = learn(LinearRegression(), rows, 0), learn(LinearRegression(), Rows(rows.X.copy(), rows.y), 0)
        others = learn(LinearRegression(positive=True), rows, 0), learn(LinearRegression(), heavier, 0)
    assert one is same
    assert all(one is not other for other in others)
    assert learn(LinearRegression(), rows, 0) is not one


def test_a_block_inside_another_uses_its_fits_and_a_cache_outlives_its_blocks():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    fits = {}
    with sharing_fits():
        one = learn(LinearRegression(), rows, 0)
        with sharing_fits(fits):
            assert learn(LinearRegression(), rows, 0) is one
    assert not fits
    with sharing_fits(fits):
        other = learn(LinearRegression(), rows, 0)
    with sharing_fits(fits):
        assert learn(LinearRegression(), rows, 0) is other
    assert other is not one


def test_what_cannot_be_hashed_is_fitted_each_time():
    rng = np.random.default_rng(0)
    rows = Rows(rng.standard_normal((50, 2)), rng.standard_normal(50))
    base = make_pipeline(FunctionTransformer(lambda X: X**2), LinearRegression())
    with sharing_fits():
        one, other = (learn(base, rows, 0) for _ in range(2))
    assert one is not other
    np.testing.assert_array_equal(one.predict(rows.X), other.predict(rows.X))


def doubled(matrix, times=2):
    return times * matrix


def test_what_is_made_of_the_same_values_is_made_once_and_cannot_be_written_to():
    matrix = np.arange(6.0).reshape(3, 2)
    matrix.setflags(write=False)
    same_values = matrix.copy()
    same_values.setflags(write=False)
    fits = Fits()
    with sharing_fits(fits):
        one = make_once(doubled, matrix)
        assert make_once(doubled, same_values) is one
        assert make_once(doubled, matrix, 3) is not one
        # A part of what was made is known too.
        part = make_once(doubled, one[:2])
        assert make_once(doubled, one[:2]) is part
        assert make_once(doubled, one[1:]) is not part
    with sharing_fits(fits):
        assert make_once(doubled, matrix) is one
    assert not one.flags.writeable
    np.testing.assert_array_equal(part, 4 * matrix[:2])
    assert make_once(doubled, matrix) is not one
    assert make_once(doubled, matrix).flags.writeable


def test_what_may_have_changed_is_made_again():
    matrix = np.ones(3)
    with sharing_fits():
        before = make_once(doubled, matrix)
        matrix[0] = 5
        np.testing.assert_array_equal(make_once(doubled, matrix), [10, 2, 2])
    np.testing.assert_array_equal(before, [2, 2, 2])


def test_what_is_kept_has_a_bounded_size(monkeypatch):
    matrices = [np.full(100, float(number)) for number in range(4)]
    for matrix in matrices:
        matrix.setflags(write=False)
    monkeypatch.setattr(cache, "KEPT_BYTES", 2 * matrices[0].nbytes)
    with sharing_fits():
        made = [make_once(doubled, matrix) for matrix in matrices]
        assert make_once(doubled, matrices[3]) is made[3]
        assert make_once(doubled, matrices[2]) is made[2]
        again = make_once(doubled, matrices[0])
        assert again is not made[0]
        np.testing.assert_array_equal(again, made[0])


def test_of_equal_things_the_first_one_is_meant():
    first, second, other = LinearRegression(), LinearRegression(), LinearRegression(positive=True)
    assert same(second) is second
    with sharing_fits():
        assert same(first) is first
        assert same(second) is first
        assert same(other) is other
