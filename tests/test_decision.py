import numpy as np
import pytest

from decision import assert_covers


def draws(p, repetitions=400, rows=50):
    return np.random.default_rng(0).binomial(rows, p, repetitions) / rows


def test_the_rule_accepts_what_covers():
    assert_covers({"cell": (draws(0.9), 0.9)}, {"cell": 0.91})


def test_the_rule_rejects_one_point_too_little():
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"cell": (draws(0.885), 0.9)})


def test_the_rule_rejects_too_much():
    with pytest.raises(AssertionError, match="above"):
        assert_covers({"cell": (draws(0.93), 0.9)}, {"cell": 0.91})
