import numpy as np
import pytest

from confide import METHODS
from confide.paper import comparison

pytestmark = pytest.mark.paper


@pytest.fixture
def quick(monkeypatch):
    """A few configurations, to keep the test short."""
    names = ["constant, trial alone", "transfer", "transfer-centred", "pooled-dr"]
    every = comparison.configurations()
    assert set(METHODS) <= set(every)
    assert {"transfer, weighted", "pooled-dr, grounded", "wscp-dr-calibrated, weighted"} <= set(every)
    monkeypatch.setattr(comparison, "configurations", lambda: {name: every[name] for name in names})
    return names


def test_one_outcome_a_configuration_and_arm(quick):
    found = comparison.compare_cell("synthetic, d = 3, m = 100", 0, n=600, n_test=200)
    assert [(each.configuration, each.arm) for each in found] == [
        (name, arm) for arm in ("Y(0)", "Y(1)") for name in quick
    ]
    assert found == comparison.compare_cell("synthetic, d = 3, m = 100", 0, n=600, n_test=200)
    for each in found:
        assert 0.7 < each.coverage <= 1
        assert 0 < each.width < 2
        assert each.infinite == 0
        # More coverage than 0.9 takes more width than 0.9 does.
        assert (each.width >= each.equal_width) == (each.coverage >= 0.9)


@pytest.mark.usefixtures("quick")
def test_too_few_rows_are_counted_as_infinite():
    found = comparison.compare_cell("synthetic, d = 1, m = 12", 0, n=600, n_test=50)
    narrow = [each for each in found if each.configuration == "constant, trial alone"]
    assert all(each.infinite == 1 and each.coverage == 1 and each.width == np.inf for each in narrow)


@pytest.mark.usefixtures("quick")
def test_an_arm_without_observational_rows_is_refused_or_calibrated_on_the_trial():
    found = {(each.configuration, each.arm): each for each in comparison.compare_cell("NSW", 0)}
    assert np.isnan(found["transfer", "Y(1)"].coverage)
    for name in ("transfer-centred", "pooled-dr"):
        assert np.isfinite(found[name, "Y(1)"].width)
    assert np.isfinite(found["transfer", "Y(0)"].width)
