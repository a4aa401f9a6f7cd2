"""Samples of rows: every subset is equally likely, whatever the batches; smaller samples are parts of larger ones."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from confide.data import sampling
from confide.data.sampling import chosen_rows


def halves(stream, size):
    """Keys of one bit for rows: most are equal, and second keys, of 64 bits, decide."""
    drawn = np.asarray(stream.random_raw(size), dtype=np.uint64)
    return drawn & np.uint64(1) if size > 1 else drawn


@pytest.mark.parametrize("keys", [sampling._keys, halves])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_every_subset_is_equally_likely(monkeypatch, keys, most):
    monkeypatch.setattr(sampling, "_keys", keys)
    rows, seeds = 5, 4000
    found = Counter(tuple(chosen_rows(rows, most, seed).tolist()) for seed in range(seeds))
    subsets = list(combinations(range(rows), most))
    assert set(found) == set(subsets)
    assert chisquare([found[each] for each in subsets]).pvalue > 1e-4


@pytest.mark.parametrize("keys", [sampling._keys, halves])
def test_batches_change_nothing_and_samples_are_nested(monkeypatch, keys):
    monkeypatch.setattr(sampling, "_keys", keys)
    whole = {most: chosen_rows(1000, most, 3) for most in (1, 10, 300, 999)}
    for smaller, larger in ((1, 10), (10, 300), (300, 999)):
        assert set(whole[smaller]) <= set(whole[larger])
    for size in (2, 7, 64, 1000):
        monkeypatch.setattr(sampling, "KEYS", size)
        for most, expected in whole.items():
            np.testing.assert_array_equal(chosen_rows(1000, most, 3), expected)
            assert len(expected) == most


def test_ends():
    assert chosen_rows(4, 4, 0).tolist() == chosen_rows(4, 9, 0).tolist() == [0, 1, 2, 3]
    assert chosen_rows(4, 0, 0).tolist() == chosen_rows(0, 3, 0).tolist() == []
    assert chosen_rows(10**6, 10, 0).tolist() != chosen_rows(10**6, 10, 1).tolist()
