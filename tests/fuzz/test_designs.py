"""The attack on the promises: a few of its cases, and that it would see a promise broken."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from confide import Transfer
from fuzz.attacks.designs import CASES
from fuzz.designs.exchange import LARGE, SMALL, Design, at_least, exactly, needed

QUICK = (
    "a yes or no, centred, with an upper bound",
    "one person to choose or not, every part of 12 people",
    "pooled weights of any ratios, with a zero and a huge one: exact in rational numbers",
    "a wrong ratio, whole numbers",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_few_cases(name):
    assert CASES[name]()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_every_case(name):
    assert CASES[name]()


def test_there_are_enough_cases_each_under_its_name():
    assert len(CASES) >= 50


class Looked(Transfer):
    """A method whose base model has seen the rows that calibrate: its promise is broken."""

    def _fit(self, arm):
        self.base_ = self._learn(arm.observational[:0] + arm.trial, arm)
        self.centred_, self.residuals_, self.beside_ = None, None, None
        self.calibration_ = self._calibrate(arm.trial)


def test_a_broken_promise_is_seen():
    design = Design(LARGE, SMALL, Looked(), {"alpha": 0.2, "base": DecisionTreeRegressor()})
    with pytest.raises(AssertionError, match=r"rows are in their own sets at α = 0.2, and it takes 10"):
        exactly(design.covered(), 0.2)


def test_counts_and_shares():
    assert needed(0.3, 10) == 7
    assert "7 of 10" in exactly(np.arange(10) < 7, 0.3)
    for count in (6, 8):
        with pytest.raises(AssertionError):
            exactly(np.arange(10) < count, 0.3)
    assert exactly(np.arange(10) < 8, 0.3, ties=True)
    with pytest.raises(AssertionError):
        at_least(np.array([True, False]), [3, 2], 0.3)
    assert at_least(np.array([True, False]), [7, 3], 0.3)
