"""What a study says of a model: the model's own parameters are those that are measured."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from confide import METHODS, CounterfactualIntervals, Naive, Study, Transfer
from confide import compare as held_out
from confide.compare import hold_out
from confide.diagnostics import coverage_report, hidden_confounding_test
from confide.models.preprocessing import ridge_on_splines
from confide.report import Evidence, measured_methods
from confide.report.evidence import MEASURED
from helpers import study_arrays
from report_pages import fitted, study_of


@pytest.mark.slow
def test_the_models_own_method_is_measured_with_its_own_parameters():
    study = study_of()
    arm = Transfer(base=ridge_on_splines(), outcome_range=(-100.0, 3.0e2))
    told = []
    found = Evidence.of(fitted(arm, study, alpha=0.3), study, 4, ["naive"], told.append)
    assert [each.method for each in found.compared] == ["transfer", "naive"]
    assert told == [1, 1]
    kept, test = hold_out(study, 4)
    again = CounterfactualIntervals(arm, alpha=0.3, random_state=4).fit(*kept)
    assert found.compared[0].arms == coverage_report(again, test.X, test.y, test.treatment)
    assert f"({len(test)} rows)" in found.held_out
    assert found.tests == hidden_confounding_test(*study, random_state=4)


class Coarse(TransformerMixin, BaseEstimator):
    """An encoder of one's own: ages in whole decades, and nothing else."""

    def fit(self, X, y=None):  # noqa: ARG002  (scikit-learn's signature)
        self.feature_names_in_ = np.array(X.column_names, dtype=object)
        return self

    def transform(self, X):
        return np.floor(X["age"].fill_null(50.0).to_numpy() / 10)[:, None]


@pytest.mark.slow
def test_the_models_own_encoder_is_measured():
    study = study_of()
    model = fitted(study=study, encoder=Coarse())
    found = Evidence.of(model, study, 4, ["naive"])
    kept, test = hold_out(study, 4)
    for name, arm in (("transfer-centred", model.method), ("naive", "naive")):
        again = CounterfactualIntervals(arm, alpha=0.1, random_state=4, encoder=Coarse()).fit(*kept)
        (mine,) = (each for each in found.compared if each.method == name)
        assert mine.arms == coverage_report(again, test.X, test.y, test.treatment)


def test_a_study_of_other_covariates_is_refused():
    study = study_of()
    model = fitted(study=study)
    X = study.X.drop_columns(["age"]).append_column("who", pa.array(range(len(study))))
    other = Study(X, *list(study)[1:])
    with pytest.raises(
        ValueError, match=r"the model does not read 'who'; the study lacks 'age'\. Give the tables .*--id"
    ):
        Evidence.of(model, other, methods=[])


def test_an_array_of_other_width_is_refused():
    X, y, treatment, trial = study_arrays(n=100, m=120)
    model = CounterfactualIntervals(Naive(base=ridge_on_splines()), random_state=0).fit(X, y, treatment, trial)
    wide = Study(np.column_stack([X, X]), y, treatment, trial)
    with pytest.raises(ValueError, match=f"the study has {2 * X.shape[1]} covariates, the model {X.shape[1]}"):
        Evidence.of(model, wide, methods=[])
    with pytest.raises(ValueError, match="the study is an array, and the model was fitted on named columns"):
        Evidence.of(fitted(), wide, methods=[])


def test_an_error_while_comparing_is_not_reported_as_a_short_trial(monkeypatch):
    """Methods that refuse are reported; any other error must not leave half a table behind."""

    def broken(*_, **__):
        raise ValueError("a fault of ours")

    study = study_of()
    monkeypatch.setattr(held_out, "coverage_report", broken)
    with pytest.raises(ValueError, match="a fault of ours"):
        Evidence.of(fitted(study=study), study, methods=[])


def test_every_method_is_said_to_be_fitted_again():
    study = study_of()
    found = Evidence.of(fitted(study=study), study, methods=[])
    assert "each method, this report's too, was fitted again without them" in found.held_out


def test_the_others_know_the_outcomes_values_too():
    study = study_of()
    object.__setattr__(study, "y", (study.y > 5).astype(float))
    model = fitted(Naive(base=ridge_on_splines(), outcome_values=[0, 1]), study)
    found = Evidence.of(model, study, methods=["wcp"])
    for each in found.compared:
        for arm in each.arms:
            values = arm.width * arm.n  # in all sets together
            assert 0 <= values <= 2 * arm.n
            assert values == pytest.approx(round(values))


def test_an_estimator_of_ones_own_has_no_stated_promise():
    class Mine(Transfer):
        pass

    study = study_of()
    found = Evidence.of(fitted(Mine(base=ridge_on_splines()), study), study, methods=[])
    assert [(each.method, str(each.promise)) for each in found.compared] == [("Mine", "none stated")]


def test_a_trial_too_small_to_hold_rows_out():
    X, y, treatment, _ = study_of(60, 60)
    few = Study(X, y, treatment, np.arange(len(y)) < 1)
    model = fitted()
    with pytest.warns(UserWarning, match="the test needs 10 rows"):
        found = Evidence.of(model, few)
    assert found.compared == []
    assert found.held_out.startswith("The comparison is not possible: ")


def test_a_report_measures_its_own_method_first_and_each_once():
    model = fitted()
    assert measured_methods(model) == list(dict.fromkeys([model.method_, *MEASURED]))
    assert measured_methods(model, ["naive", model.method_]) == [model.method_, "naive"]
    assert set(MEASURED) < set(METHODS)
