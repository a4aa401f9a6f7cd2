import numpy as np
import pytest
from scipy import stats

from confide.datasets import Dataset, simulate_ratings
from confide.datasets.ratings import rating_probabilities


def pairs(table):
    return set(zip(table["user"].to_pylist(), table["item"].to_pylist(), strict=True))


def ratings(table):
    return table["rating"].to_numpy()


@pytest.mark.slow
def test_the_default_is_of_the_size_of_yahoo_r3():
    data = simulate_ratings()
    assert isinstance(data, Dataset)
    assert [len(part) for part in (data.observational, data.trial, data.test)] == [129_179, 21_600, 32_400]
    users = np.concatenate([data.trial["user"], data.test["user"]])
    assert set(np.bincount(users.astype(int)).tolist()) == {10}
    assert users.max() == 5399
    assert (data.treatment, data.outcome, data.notes) == (None, "rating", ())


def test_parts_share_no_pair_and_the_seed_decides():
    data, again, other = (simulate_ratings(60, 40, random_state=seed) for seed in (0, 0, 1))
    parts = ("observational", "trial", "test")
    found = [pairs(getattr(data, part)) for part in parts]
    assert len(set.union(*found)) == sum(len(getattr(data, part)) for part in parts)
    for part in parts:
        table = getattr(data, part)
        assert table.column_names == ["user", "item", "rating"]
        assert set(table["rating"].to_pylist()) <= {1, 2, 3, 4, 5}
        assert table.equals(getattr(again, part))
        assert not table.equals(getattr(other, part))


def test_the_likings_do_not_depend_on_what_is_seen_of_them():
    one = simulate_ratings(60, 40, confounding=0, n_observational=500)
    two = simulate_ratings(60, 40, confounding=3, n_observational=900, random_per_user=5)
    tables = [[data.observational, data.trial, data.test] for data in (one, two)]
    seen = [
        {(row["user"], row["item"]): row["rating"] for table in each for row in table.to_pylist()} for each in tables
    ]
    both = seen[0].keys() & seen[1].keys()
    assert len(both) > 100
    assert all(seen[0][pair] == seen[1][pair] for pair in both)


def excess(data):
    """How far self-selected ratings exceed random ones of the same items, in standard errors."""
    random = np.concatenate([ratings(data.trial), ratings(data.test)])
    items = [np.concatenate([data.trial["item"], data.test["item"]]).astype(int), data.observational["item"].to_numpy()]
    means = []
    for item, rating in zip(items, (random, ratings(data.observational)), strict=True):
        counts = np.bincount(item, minlength=60)
        means.append(np.bincount(item, rating, 60) / np.where(counts, counts, np.nan))
    difference = means[1] - means[0]
    difference = difference[np.isfinite(difference)]
    return difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference)))


def test_hidden_confounding_raises_ratings_at_equal_items_and_none_at_0():
    sizes = {"n_users": 500, "n_items": 60, "n_observational": 5000}
    # 10 tests of a true hypothesis, at 1 % together.
    plain = [excess(simulate_ratings(**sizes, confounding=0, random_state=seed)) for seed in range(10)]
    assert np.abs(plain).max() < stats.t.isf(0.01 / 20, 50)
    weak, strong = (excess(simulate_ratings(**sizes, confounding=strength)) for strength in (0.3, 1.0))
    assert strong > weak > 3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_users": 0}, "n_users must be a whole number of at least 1, got 0"),
        ({"n_items": 2.5}, r"n_items must be a whole number of at least 1, got 2.5"),
        ({"dimensions": True}, "dimensions must be a whole number of at least 1, got True"),
        ({"random_per_user": 10}, "random_per_user must be at most 9, n_items - 1, got 10. Choose fewer"),
        ({"n_observational": 101}, "n_observational must be at most 100, the pairs that are not in the random part"),
        ({"confounding": -1}, "confounding must be a number of at least 0, got -1"),
        ({"confounding": "much"}, "confounding must be a number of at least 0, got 'much'"),
        ({"trial_size": 100}, "trial_size must be a whole number from 1 to 99, got 100"),
    ],
)
def test_bad_arguments(params, message):
    with pytest.raises(ValueError, match=message):
        simulate_ratings(**{"n_users": 20, "n_items": 10, "random_per_user": 5, **params})


def test_the_probabilities_are_those_of_random_ratings():
    """Over random pairs, each rating is as frequent as it is probable, where it is improbable and where it is not."""
    data = simulate_ratings(2000, 100, random_state=3)
    both = [np.concatenate([part[name] for part in (data.trial, data.test)]) for name in ("user", "item", "rating")]
    user, item, rating = both
    probabilities = rating_probabilities(user, item, 2000, 100, random_state=3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    for value in range(1, 6):
        expected = probabilities[:, value - 1]
        for rows in (expected < np.median(expected), expected >= np.median(expected)):
            spread = np.sqrt((expected[rows] * (1 - expected[rows])).sum())
            assert abs((rating[rows] == value).sum() - expected[rows].sum()) < 4.5 * spread
