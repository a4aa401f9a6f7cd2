"""Which parameters are shown: those that the method's record does not describe, and the same words in each process."""

from fractions import Fraction

import pytest

from confide import METHODS, WSCPDR, Naive, PooledDR, Transfer
from confide.methods.registry import method
from confide.models.preprocessing import ridge_on_splines
from confide.ratio import ClassifierRatio, OracleRatio
from confide.report.parameters import changed_parameters


class Mine(Transfer):
    pass


@pytest.mark.parametrize("name", METHODS)
def test_a_method_by_name_has_its_own_parameters(name):
    arm = method(name, alpha=0.3, random_state=3, base=ridge_on_splines(), outcome_range=(0, 1))
    assert changed_parameters(arm) == ""


@pytest.mark.parametrize(
    ("arm", "shown"),
    [
        (Transfer(base_on="grounded"), "base_on='grounded'"),
        (Transfer(base_on="centred"), ""),
        (Naive(conformity_score="cqr", calibration=(0.5, 0.3)), "calibration=(0.5, 0.3), conformity_score='cqr'"),
        (PooledDR(ratio=OracleRatio(len), floor=0.1), "floor=0.1, ratio=OracleRatio"),
        (WSCPDR(exact=False, levels=(Fraction(1, 10), 0.2)), "levels=(0.1, 0.2)"),
        (WSCPDR(exact=False, ratio=ClassifierRatio()), "ratio=ClassifierRatio"),
        (Mine(base_on="grounded"), ""),
    ],
)
def test_what_differs_is_shown(arm, shown):
    assert changed_parameters(arm) == shown
