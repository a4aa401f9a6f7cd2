import numpy as np
import pytest

from confide.data.splits import Rows, as_slice, calibration_size, check_shares, join, spawn_seeds, split


@pytest.mark.parametrize(
    ("count", "share", "size"), [(10, 0.5, 5), (2, 0.5, 1), (3, 0.01, 1), (3, 0.99, 2), (15, 0.2, 3)]
)
def test_calibration_size(count, share, size):
    assert calibration_size(count, share) == size


def test_no_row_is_on_both_sides_and_none_is_lost():
    rows = Rows(np.arange(20.0).reshape(10, 2), np.arange(10.0))
    fit, calibration = split(rows, 0.3, seed=1)
    assert (len(fit), len(calibration)) == (7, 3)
    assert sorted([*fit.y, *calibration.y]) == list(range(10))
    np.testing.assert_array_equal(fit.X[:, 0], 2 * fit.y)


def test_the_seed_decides():
    rows = Rows(np.zeros((50, 1)), np.arange(50.0))
    assert split(rows, 0.5, 1)[0].y.tolist() == split(rows, 0.5, 1)[0].y.tolist()
    assert split(rows, 0.5, 1)[0].y.tolist() != split(rows, 0.5, 2)[0].y.tolist()
    assert spawn_seeds(7, 3) == spawn_seeds(7, 3)
    assert len(set(spawn_seeds(7, 3))) == 3
    assert spawn_seeds(7, 3)[:2] == spawn_seeds(7, 2)


def test_join_puts_the_outcome_last():
    np.testing.assert_array_equal(join(np.ones((2, 1)), np.array([3.0, 4.0])), [[1, 3], [1, 4]])
    assert np.isnan(join(np.ones((2, 1)))[:, 1]).all()


def test_one_share_or_a_pair():
    assert check_shares(0.3) == (0.3, 0.3)
    assert check_shares((0.2, 0.5)) == (0.2, 0.5)
    assert check_shares([0.2, 0.5]) == (0.2, 0.5)


@pytest.mark.parametrize("bad", [0, 1.0, "half", None, (0.5,), (0.5, 1.0), (0.2, 0.3, 0.5), (0.5, None)])
def test_what_is_no_share(bad):
    with pytest.raises(ValueError, match="calibration is the share of rows that calibrate"):
        check_shares(bad)


@pytest.mark.parametrize("mask", [[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
def test_rows_that_follow_each_other_are_a_view(mask):
    mask = np.array(mask, dtype=bool)
    X = np.arange(6.0).reshape(3, 2)
    rows = Rows(X, np.arange(3.0))[as_slice(mask)]
    np.testing.assert_array_equal(rows.X, X[mask])
    np.testing.assert_array_equal(rows.y, np.arange(3.0)[mask])
    assert np.shares_memory(rows.X, X) == (mask.any() and mask.tolist() != [True, False, True])
