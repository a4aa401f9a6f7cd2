"""What a study says of a model: the model's own parameters are those that are measured."""

import numpy as np
import pytest

from confide import CounterfactualIntervals, Naive, Study, Transfer
from confide.diagnostics import coverage_report, hidden_confounding_test
from confide.experiments.held_out import hold_out
from confide.learners import ridge_on_splines
from confide.report import Evidence
from report_pages import fitted, study_of


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
    assert f"({len(test)})" in found.held_out
    assert found.tests == hidden_confounding_test(*study, random_state=4)


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
    assert [(each.method, each.promise) for each in found.compared] == [("Mine", "not stated")]


def test_a_trial_too_small_to_hold_rows_out():
    X, y, treatment, _ = study_of(60, 60)
    few = Study(X, y, treatment, np.arange(len(y)) < 1)
    model = fitted()
    with pytest.warns(UserWarning, match="the test needs 10 rows"):
        found = Evidence.of(model, few)
    assert found.compared == []
    assert found.held_out.startswith("The comparison is not possible: ")
