"""Rows that are asked about: read once, warned of once, or taken as the arms have them already."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals
from confide.diagnostics import correlation_curve, gamma_curve, tipping_point
from confide.exceptions import PopulationWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
MODEL = CounterfactualIntervals("transfer", base="linear", alpha=0.3, random_state=0).fit(
    X, X[:, 0] + rng.normal(size=300), rng.integers(2, size=300), np.arange(300) >= 150
)
NEW = rng.normal(size=(40, 2))


@pytest.mark.parametrize("curve", [correlation_curve, gamma_curve])
def test_rows_that_the_arms_have_taken_give_the_same_curve(curve):
    taken = MODEL._new_rows(MODEL.read(NEW), MODEL.arms_)
    one, other = curve(MODEL, NEW), curve(MODEL, taken)
    told = ("width", "above", "below") if curve is correlation_curve else ("gamma", "above", "below")
    assert [[getattr(each, name) for name in told] for each in one] == [
        [getattr(each, name) for name in told] for each in other
    ]


def test_a_base_model_predicts_rows_once_however_many_gammas_are_looked_at(monkeypatch):
    asked = []
    real = LinearRegression.predict
    monkeypatch.setattr(LinearRegression, "predict", lambda model, X: (asked.append(len(X)), real(model, X))[1])
    tipping_point(MODEL, NEW, 1, above=-10.0)
    assert asked == [len(NEW)]


def test_rows_unlike_the_trials_are_told_of_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gamma_curve(MODEL, NEW + 9)
    assert [each.category for each in caught] == [PopulationWarning]
    assert caught[0].filename == __file__


def test_an_unknown_treatment_is_named():
    with pytest.raises(ValueError, match="7"):
        tipping_point(MODEL, NEW, 7, above=0.0)
