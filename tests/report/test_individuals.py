"""The rows of a page: the first ones, and counts over all."""

import numpy as np
import pytest

from confide import CounterfactualIntervals, Naive
from confide.data.files import Batch
from confide.exceptions import PopulationWarning
from confide.models.preprocessing import ridge_on_splines
from confide.predict.batches import Answered
from confide.report import Individuals, individuals
from helpers import study_arrays
from report_pages import expected, fitted, new_patients


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_batches_are_as_good_as_a_table(model, monkeypatch):
    monkeypatch.setattr(individuals, "MOST_ROWS", 70)
    new = new_patients(100)
    whole = Individuals.of_table(model, new)
    told = []
    parts = [Batch(new.slice(start, 40), new.slice(start, 40), start) for start in (0, 40, 80)]
    batches = Individuals.of_batches(model, parts, report_progress=told.append)
    assert told == [40, 40, 20]
    assert whole.carried.equals(new.slice(0, 70))
    assert batches.carried.equals(whole.carried)
    for label, rows in whole.rows.items():
        np.testing.assert_array_equal(batches.rows[label].X, rows.X)
        np.testing.assert_array_equal(batches.rows[label].prediction, rows.prediction)
    assert batches.answers.equals(whole.answers)
    assert batches.counted == whole.counted
    assert batches.unlike == whole.unlike


def test_counts_are_over_all_rows(model, monkeypatch):
    monkeypatch.setattr(individuals, "MOST_ROWS", 10)
    found = Individuals.of_table(model, new_patients(100))
    says = expected(model, new_patients(100), 0.1)
    above, below = says["effect_placebo_vs_drug_lower"] > 0, says["effect_placebo_vs_drug_upper"] < 0
    assert above.any()
    assert below.any()
    sides = {"above": above.sum(), "below": below.sum(), "neither": (~above & ~below).sum()}
    assert found.counted == Answered(100, 0, 0, {("placebo", "drug"): sides})
    assert found.covariates == ["age", "town", "joined", "smoker"]
    assert len(found.answers) == 10


def test_arrays_have_columns_by_number():
    X, y, treatment, trial = study_arrays(d=2)
    model = CounterfactualIntervals(Naive(base=ridge_on_splines()), random_state=0).fit(X, y, treatment, trial)
    found = Individuals.of_table(model, X[trial][:7])
    assert found.carried.column_names == ["column 0", "column 1"]
    assert found.covariates == found.carried.column_names
    np.testing.assert_array_equal(found.carried["column 1"].to_numpy(), X[trial][:7, 1])


def test_unknown_categories_of_an_array_are_told():
    X, y, treatment, trial = study_arrays(d=2)
    mixed = np.column_stack([X[:, 0].astype(object), np.where(X[:, 1] > 0, "F", "M")])
    model = CounterfactualIntervals(Naive(base=ridge_on_splines()), random_state=0).fit(mixed, y, treatment, trial)
    mixed[:, 1] = "x"
    with pytest.warns(PopulationWarning, match=r"x1 = 'x' \(7 of 7 rows"):
        Individuals.of_table(model, mixed[trial][:7])


def test_rows_unlike_the_trials_are_told(model):
    strange = new_patients(30)
    strange = strange.set_column(1, "age", [[900.0] * 30])
    with pytest.warns(PopulationWarning, match="age"):
        found = Individuals.of_table(model, strange)
    assert "age" in found.unlike[0]


def test_no_rows_are_refused(model):
    with pytest.raises(ValueError, match="no rows to answer for"):
        Individuals.of_table(model, new_patients(3).slice(0, 0))


def test_a_missing_covariate_is_named(model):
    with pytest.raises(ValueError, match="has no column town"):
        Individuals.of_table(model, new_patients(3).drop_columns(["town"]))


def test_a_column_that_the_answers_need_is_refused(model):
    new = new_patients(3)
    with pytest.raises(ValueError, match="columns that the answers need: y_drug"):
        Individuals.of_table(model, new.append_column("y_drug", new["age"]))
