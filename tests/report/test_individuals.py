"""The rows of a page: all, or a random sample of them, and counts and choices over all."""

import numpy as np
import pytest

from confide import CounterfactualIntervals, Naive, select
from confide.data.files import Batch
from confide.diagnostics.covariate_shift import lots_of
from confide.exceptions import PopulationWarning
from confide.models.preprocessing import ridge_on_splines
from confide.predict.batches import Answered
from confide.report import Choice, Individuals, individuals
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
    assert len(whole.places) == 70
    assert whole.carried.equals(new.take(whole.places))
    assert batches.carried.equals(whole.carried)
    for label, rows in whole.rows.items():
        np.testing.assert_array_equal(batches.rows[label].X, rows.X)
        np.testing.assert_array_equal(batches.rows[label].prediction, rows.prediction)
    assert batches.answers.equals(whole.answers)
    assert batches.counted == whole.counted
    assert batches.unlike == whole.unlike


def test_a_page_holds_all_rows_or_a_uniform_sample_of_them(model, monkeypatch):
    """Each of 300 rows is in about 2/3 of the samples of 200, and neither end of the table is preferred."""
    monkeypatch.setattr(individuals, "MOST_ROWS", 200)
    assert Individuals.of_table(model, new_patients(200)).places.tolist() == list(range(200))
    places = Individuals.of_table(model, new_patients(300)).places
    assert (len(places), (np.diff(places) > 0).all()) == (200, True)
    assert 90 < np.sum(places < 150) < 110
    held = lots_of(np.arange(300_000)).reshape(1000, 300).argsort(axis=1)[:, :200]
    often = np.bincount(held.ravel(), minlength=300)
    expected_times, error = 1000 * 2 / 3, np.sqrt(1000 * 2 / 9)
    assert np.abs(often - expected_times).max() < 4.5 * error
    assert 200 < np.sum((often - expected_times) ** 2) / error**2 < 420


@pytest.mark.parametrize("order", ["as it is", "sorted"])
def test_people_are_chosen_among_all_rows(model, monkeypatch, order):
    """The same numbers as those of `confide.select`, in whichever order and batches the rows come."""
    monkeypatch.setattr(individuals, "MOST_ROWS", 50)
    new = new_patients(400)
    if order == "sorted":
        new = new.sort_by("age")
    choice = Choice(above=5.0, under="drug", fdr=0.3)
    parts = [Batch(new.slice(start, 90), new.slice(start, 90), start) for start in range(0, 400, 90)]
    found = Individuals.of_batches(model, parts, choice=choice)
    assert [each.fdr for each in found.listed] == [0.05, 0.1, 0.2, 0.3]
    for listed in found.listed:
        wanted = select(model, new.drop_columns(["who"]), "drug", above=5.0, fdr=listed.fdr)
        assert (len(listed), listed.count) == (400, wanted.selected.sum())
        assert (listed.promise, listed.found_at_all) == (wanted.promise, wanted.found_at_all)
        np.testing.assert_array_equal(listed.selected, wanted.selected[found.places])
        np.testing.assert_array_equal(listed.p_values, wanted.p_values[found.places])
    assert 0 < found.listed[-1].count < 400


def test_rows_that_are_shown_stay_a_sample_when_fewer_fit(model):
    whole = Individuals.of_table(model, new_patients(100), choice=Choice(above=5.0))
    some = whole.sampled(30)
    fewer = whole.only(some)
    assert len(some) == 30
    assert fewer.places.tolist() == some.tolist() != list(range(30))
    assert fewer.carried.equals(whole.carried.take(some))
    assert fewer.answers.equals(whole.answers.take(some))
    assert fewer.listed[0].selected.tolist() == whole.listed[0].selected[some].tolist()
    assert (fewer.listed[0].count, fewer.counted.rows) == (whole.listed[0].count, 100)


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
