"""What an attack by hand broke, and what holds since (fuzz/found.py, "attack: people")."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError

from confide import (
    WSCPDR,
    CounterfactualIntervals,
    Intervals,
    Study,
    Transfer,
    average_effect,
    diagnostics,
    load,
    plot,
    select,
    stack,
)
from confide.data.arrow import read_table
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.predict.answer import answer
from confide.report import write_report
from helpers import study_arrays
from tables import covariates, people

X, Y, T, TRIAL = study_arrays(80, 60, d=2)


def fitted(method="transfer", data=(X, Y, T, TRIAL), **given):
    return CounterfactualIntervals(method, **{"alpha": 0.2, "base": "linear", "random_state": 0, **given}).fit(*data)


class Odd(RegressorMixin, BaseEstimator):
    """Predicts what it is told."""

    def __init__(self, says=0.0):
        self.says = says

    def fit(self, X, y):
        self.rows_ = len(X), len(y)
        return self

    def predict(self, X):
        return self.says(len(X)) if callable(self.says) else np.full(len(X), self.says)


def test_masked_values_are_missing_and_not_what_is_under_the_mask():
    masked = np.ma.masked_array(X, X > 1)
    with pytest.warns(PopulationWarning, match="outside the trial's range"):  # no value above 1 was seen
        expected = fitted(data=(np.where(X > 1, np.nan, X), Y, T, TRIAL)).predict(X[:5], 1)
    with pytest.warns(PopulationWarning, match="outside the trial's range"):
        np.testing.assert_array_equal(fitted(data=(masked, Y, T, TRIAL)).predict(X[:5], 1), expected)
    hide = np.arange(len(Y)) == 3
    with pytest.raises(ValueError, match="the outcome must be finite: 1 of"):
        Study(X, np.ma.masked_array(Y, hide), T, TRIAL)
    with pytest.raises(ValueError, match="1 are missing"):
        Study(X, Y, np.ma.masked_array(T, hide), TRIAL)
    with pytest.raises(ValueError, match="got the value None"):
        Study(X, Y, T, np.ma.masked_array(TRIAL, hide))


@pytest.mark.parametrize("method", ["transfer", "prognostic"])
@pytest.mark.parametrize(
    "says", [np.inf, np.nan, "a", lambda n: np.zeros((n, 1)), lambda n: [0.0] * n, lambda n: np.zeros(n - 1)]
)
def test_a_base_model_that_predicts_no_numbers_is_refused(method, says):
    with pytest.raises(ValueError, match="base model"):
        fitted(method, base=Odd(says))


@pytest.mark.parametrize("seed", [-1, 2**32, "0", 1.5, np.random.default_rng(0)])
def test_a_seed_that_is_none_is_refused_with_the_bound(seed):
    with pytest.raises(ValueError, match=r"random_state must be None, a whole number from 0 to 2\*\*32 - 1 .*got \S+$"):
        fitted(random_state=seed)


@pytest.mark.parametrize("label", [np.ones(3), pd.Series([1]), [1], {"a": 1}, object()])
def test_a_label_is_one_label(label):
    model = fitted()
    for ask in (lambda: model.predict_effect(X[:3], label), lambda: select(model, X[:3], label, above=0)):
        with pytest.raises(ValueError, match=r"a treatment is one label, text or a number, got a \w+; there are: 0, 1"):
            ask()


@pytest.mark.parametrize("pair", [["a", 1], [b"a", b"b"]])
def test_labels_are_of_one_kind_that_a_file_holds(pair):
    with pytest.raises(ValueError, match="treatment labels"):
        Study(X, Y, pair * 70, TRIAL)


@pytest.mark.parametrize("array", [X[:, 0], X + 0j])
def test_arrays_are_refused_in_one_line(array):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        Study(array, Y, T, TRIAL)


def test_text_that_is_no_unicode_is_refused():
    with pytest.raises(ValueError, match="no Unicode"):
        read_table(pd.DataFrame({"a": pd.Series(["x\ud800"], dtype=object)}))


def test_a_study_of_other_treatments_has_no_average_effect():
    with pytest.raises(ValueError, match="no rows of treatment 1; it has 'a', 'b'"):
        average_effect(fitted(), Study(X, Y, np.array(["a", "b"])[T], TRIAL))
    with pytest.raises(ValueError, match="study must be a Study"):
        diagnostics.balance(fitted())


def test_treatments_whose_columns_would_have_one_name():
    model = fitted(data=(X, Y, np.array(["a", "a_lower"])[T], TRIAL))
    with pytest.raises(ValueError, match="two answers would be in columns named y_a_lower"):
        answer(model, model.read(X[:3]))


def test_probabilities_of_new_rows_are_possible():
    model = CounterfactualIntervals("transfer", base="linear", alpha=0.2, random_state=0)
    model.fit(X, Y, T, TRIAL, assignment=np.where(X[:, 0] > 0, 0.4, 0.6))
    with pytest.raises(ValueError, match=r"are 1\.8 together"):
        model.predict_effect_interval(X[:3], assignment={0: [0.9] * 3, 1: [0.9] * 3})
    with pytest.raises(ValueError, match="probabilities of 5, which is no treatment"):
        model.predict_effect_interval(X[:3], assignment={5: [0.9] * 3})


def test_received_has_one_treatment_per_row():
    with pytest.raises(ValueError, match=r"received must be one treatment or 5 treatments, got shape \(3,\)"):
        fitted().predict_effect_interval(X[:5], received=[0, 1, 0], outcome=Y[:5])


def test_parameters_that_are_none_are_refused():
    with pytest.raises(ValueError, match="outcome_values must be a list"):
        fitted(Transfer(outcome_values={0, 1}))
    with pytest.raises(ValueError, match="method must be a name"):
        CounterfactualIntervals(fitted()).fit(X, Y, T, TRIAL)


def test_a_level_may_be_written_in_two_ways_in_two_places():
    assert fitted(Transfer(alpha=Fraction(1, 5))).alpha_ == 0.2


def test_another_method_for_the_next_fit_does_not_stop_with_alpha():
    model = fitted()
    moved = model.with_alpha(0.4).predict_interval(X[:3], 1)
    assert model.set_params(method=WSCPDR(levels=(0.1, 0.1))).with_alpha(0.4).predict_interval(X[:3], 1) == moved


def test_a_model_that_is_not_fitted_says_so():
    model = CounterfactualIntervals()
    for ask in (lambda: model.read(X), lambda: model.participant_promise_, lambda: write_report("p.html", model, X)):
        with pytest.raises(NotFittedError):
            ask()


def test_intervals_compare_and_are_not_emptied_by_swapped_bounds():
    some = Intervals([0.0, np.nan], [1.0, np.nan])
    assert some == Intervals([0.0, np.nan], [1.0, np.nan])
    assert some != Intervals([0.0, 0.0], [1.0, 1.0])
    assert fitted().predict_set(X[:3], 1) == fitted().predict_set(X[:3], 1)
    for bounds in ((1, 0), (np.nan, 1), (None, 1)):
        with pytest.raises(ValueError, match="clip needs two numbers, lo at most hi"):
            some.clip(*bounds)
    with pytest.raises(ValueError, match=r"^backend must be 'pyarrow', 'pandas' or 'polars', got 'excel'.$"):
        some.to_frame("excel")


def test_a_curve_is_no_tipping_point():
    with pytest.raises(ValueError, match="tipping points must be numbers"):
        plot.tipping_point(diagnostics.gamma_curve(fitted(), X[:3]))


def test_one_person_in_words():
    assert "so this person could be chosen" in select(fitted(), X[:1], 1, above=0, fdr=0.2).found_at_all


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"treatment_labels": ["a"]}, "treatment_labels must be a mapping"),
        ({"outcome_label": 5}, "outcome_label must be text, got 5"),
        ({"unit": 5}, "unit must be text, got 5"),
        ({"by": 5}, "by must be a name"),
        ({"study": "study"}, "study must be a Study"),
    ],
)
def test_a_page_of_no_words_is_refused(given, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        write_report(tmp_path / "p.html", fitted(), X[:3], **given)


def test_a_page_needs_a_model_of_two_treatments(tmp_path):
    with pytest.raises(ValueError, match="one treatment, 0"):
        write_report(tmp_path / "p.html", fitted(data=(X, Y, T * 0, TRIAL)), X[:3])
    with pytest.raises(ValueError, match=r"got a str; confide\.load reads a file"):
        write_report(tmp_path / "p.html", "model.confide", X[:3])


def test_the_page_has_the_seed_of_the_fit(tmp_path):
    write_report(tmp_path / "p.html", fitted().set_params(random_state=99), X[:3])
    assert "<dt>Seed</dt><dd>0</dd>" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_warnings_name_the_callers_line(tmp_path):
    study = stack(*(people(n, seed).drop_columns(["who"]) for n, seed in ((200, 0), (120, 1))))
    with pytest.warns(InfiniteIntervalWarning, match="age = missing"):
        grouped = fitted(data=(study,), groups=["age > 50", "smoker"], alpha=0.5)
    new = covariates(people(5, 2))
    strange = new.set_column(new.column_names.index("age"), "age", [pa.nulls(5, pa.float64())])
    strange = strange.set_column(new.column_names.index("smoker"), "smoker", [pa.nulls(5, pa.bool_())])
    calls = {
        "groups": (InfiniteIntervalWarning, lambda: grouped.predict_interval(strange, grouped.control_)),
        "0 and 1": (UserWarning, lambda: fitted(data=(X, (Y > 0) * 1.0, T, TRIAL))),
        "page": (PopulationWarning, lambda: write_report(tmp_path / "p.html", fitted(), 100 + X[:3])),
    }
    for name, (category, call) in calls.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [each.filename for each in caught if issubclass(each.category, category)] == [__file__], name


def test_equal_models_are_equal_bytes_whatever_objects_they_are_made_of(tmp_path):
    side = str(b"both", "utf-8")  # equal to the default, and another object
    for name, given in {"a": {}, "b": {"side": side}}.items():
        fitted(**given).save(tmp_path / name)
    load(tmp_path / "a").save(tmp_path / "c")
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_a_parameter_that_no_file_holds_is_named(tmp_path):
    with pytest.raises(ValueError, match="outcome_range is a Series of pandas"):
        fitted(Transfer(outcome_range=pd.Series([-99.0, 99.0]))).save(tmp_path / "m.confide")
