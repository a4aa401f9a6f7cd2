"""How much of the outcomes predictions explain."""

import numpy as np

from confide.models.base_model import share_explained


def test_predictions_beyond_all_numbers_explain_nothing_and_warn_of_nothing():
    y = np.array([0.0, 1.0, 2.0])
    assert share_explained(y, np.full(3, 1e200)) == -np.inf
    assert share_explained(y, y) == 1
    assert share_explained(y, np.full(3, 1.0)) == 0
    assert share_explained(np.ones(3), y) is None
