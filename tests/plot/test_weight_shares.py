"""Weights: the share that the heaviest rows carry."""

import numpy as np
import pytest

from confide import plot
from confide.diagnostics import Weights
from drawings import drawn, legend, line


def test_weights_are_drawn_as_the_share_that_the_heaviest_rows_carry():
    ax = drawn(plot.weights([Weights(1, "calibration", np.array([0.5, 0.3, 0.2]))]))
    x, y = line(ax, "treatment 1")
    assert x == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert y == pytest.approx([0, 0.5, 0.8, 1])
    assert legend(ax)[1] == "treatment 1: 3 rows, n_eff 3, heaviest 50 %"


def test_weights_that_are_alike_missing_or_nothing_are_said_to_be_so():
    found = [
        Weights("drug", "first stage", np.array([0.7, 0.3])),
        Weights("drug", "calibration", np.full(1000, 1e-3)),
        Weights("none", "calibration", np.array([])),
        Weights("zero", "calibration", np.zeros(3)),
    ]
    ax = drawn(plot.weights(found))
    assert legend(ax)[1:] == [
        "drug, first stage: 2 rows, n_eff 2, heaviest 70 %",
        "drug: 1,000 rows, all alike",
        "none: no row calibrates",
        "zero: 3 rows, all of weight 0",
    ]
    x, y = line(ax, "drug: ")
    np.testing.assert_allclose(x, y)
    assert line(ax, "none") == line(ax, "zero") == ([], [])
    dashes = [each.get_linestyle() for each in ax.lines[1:3]]
    assert dashes == ["--", "-"]


@pytest.mark.parametrize(("found", "got"), [([], "none"), ([0.5], "a float")])
def test_what_weights_refuses(found, got):
    with pytest.raises(ValueError, match=f"1 Weights or more, got {got}: give calibration_weights"):
        plot.weights(found)
