"""The tables of tests on a cluster."""

import numpy as np

from tables import people

OBSERVATIONAL = people(4000, 0).drop_columns(["who"])
TRIAL = people(90, 1).drop_columns(["who"])
NEW = people(300, 2).drop_columns(["who", "t", "y"])
LABELS = ("drug", "placebo")


def same_answers(one, other):
    """Check that two models give the same answers, to the last bit."""
    for label in LABELS:
        np.testing.assert_array_equal(one.predict_interval(NEW, label), other.predict_interval(NEW, label))
        np.testing.assert_array_equal(one.predict(NEW, label), other.predict(NEW, label))
    np.testing.assert_array_equal(one.predict_effect_interval(NEW), other.predict_effect_interval(NEW))
