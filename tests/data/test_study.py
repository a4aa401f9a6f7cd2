import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import Study, stack
from weighted_studies import model, study, tables


@pytest.mark.parametrize(
    ("X", "y", "treatment", "trial", "message"),
    [
        (np.zeros((3, 1)), np.zeros(2), np.zeros(3), np.ones(3), "numbers of rows differ: X has 3, y has 2"),
        (np.zeros((2, 1)), np.zeros(2), np.zeros(2), [0, 2], "boolean mask.*got the value"),
        (np.zeros((2, 1)), np.zeros(2), np.zeros(2), [[True], [True]], "trial must be one-dimensional"),
        (np.zeros((2, 1)), np.zeros(2), [0.0, np.nan], [1, 1], "1 are missing or something else"),
        (np.zeros((2, 1)), np.zeros(2), np.array(["a", None], dtype=object), [1, 1], "1 are missing"),
        (np.zeros((2, 1)), np.zeros(2), pd.array(["a", None], dtype="string"), [1, 1], "1 are missing"),
        (np.zeros((2, 1)), np.zeros(2), np.array(["a", 1], dtype=object), [1, 1], "mix text and numbers"),
        (np.zeros((2, 1)), np.zeros(2), np.array(["2024", "NaT"], dtype="M8[D]"), [1, 1], "2 are missing or something"),
        (np.zeros((2, 1)), np.zeros(2), [0, 1], pd.array([True, None], dtype="boolean"), "boolean mask"),
        (np.zeros((2, 1)), np.array(["2024", "2025"], dtype="M8[D]"), [0, 1], [1, 1], "outcome must be numeric"),
        (np.zeros((2, 1)), ["a", "b"], [0, 1], [1, 1], "outcome must be numeric"),
        (np.zeros((2, 1)), np.zeros((2, 2)), [0, 1], [1, 1], "outcome must be one-dimensional"),
    ],
)
def test_bad_studies(X, y, treatment, trial, message):
    with pytest.raises(ValueError, match=message):
        Study(X, y, treatment, trial)


def test_a_study_of_arrays_unpacks():
    study = Study(np.zeros((2, 1)), [1, 2], ["a", "b"], [0, 1])
    X, y, treatment, trial = study
    assert len(study) == len(X) == len(y) == len(treatment) == 2
    assert trial.tolist() == [False, True]


class TestStudy:
    def test_columns_with_a_role_are_no_covariates(self):
        observational, trial, _ = tables()
        with pytest.warns(UserWarning, match="site"):
            found = stack(observational, trial, assignment="p")
        assert list(found.X.columns) == ["age", "sex"]
        assert found.carries == ["assignment"]
        assert np.isnan(found.assignment[~found.trial]).all()
        np.testing.assert_allclose(found.assignment[found.trial], trial.p)

    @pytest.mark.parametrize("carry", ["assignment", "cluster", "target"])
    def test_what_it_carries_is_not_lost(self, carry):
        found = study([carry])
        with pytest.raises(ValueError, match=f"carries {carry}, which would be lost"):
            tuple(found)
        assert found.take(np.arange(len(found))).carries == [carry]

    def test_clusters_are_numbered_in_the_trial(self):
        found = study(["cluster"])
        assert (found.cluster[~found.trial] == -1).all()
        assert len(np.unique(found.cluster[found.trial])) == 20

    def test_a_target_of_any_frame(self):
        observational, trial, new = tables()
        found = stack(observational, trial, covariates=["age", "sex"], target=pl.DataFrame(new))
        assert found.target.columns == ["age", "sex"]

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"assignment": "q"}, r"no column 'q' \(assignment\); there are"),
            ({"assignment": "t"}, "assignment must be a column of its own"),
            ({"assignment": "p", "cluster": "p"}, "of its own"),
            ({"assignment": "town"}, "must hold probabilities, and holds"),
            ({"target": "trial"}, "or 'observational', got 'trial'"),
            ({"target": pd.DataFrame({"age": [1.0]})}, "the target has no column sex"),
            ({"target": np.ones((3, 2))}, "must be a data frame of covariates"),
            ({"covariates": ["age", "p"], "assignment": "p"}, "'p' cannot be a covariate"),
        ],
    )
    def test_bad_roles(self, given, match):
        observational, trial, _ = tables()
        with pytest.raises(ValueError, match=match):
            stack(observational, trial.assign(town="Öst"), **{"covariates": ["age", "sex"], **given})

    def test_nobody_may_be_certain_of_a_treatment(self):
        observational, trial, _ = tables()
        trial = trial.assign(p=np.where(np.arange(len(trial)) == 3, 1.0, trial.p))
        with pytest.raises(ValueError, match="1 trial rows had a probability of 1"):
            stack(observational, trial, covariates=["age", "sex"], assignment="p")

    @pytest.mark.parametrize("bad", [0.0, 1.2, -0.1, np.nan])
    def test_a_probability_that_is_none(self, bad):
        observational, trial, _ = tables()
        trial = trial.assign(p=np.where(np.arange(len(trial)) == 3, bad, trial.p))
        with pytest.raises(ValueError, match=r"'p' must .* and at most 1: 1 of 160 are not, such as .* \(row 4\)"):
            stack(observational, trial, covariates=["age", "sex"], assignment="p")

    def test_a_missing_cluster(self):
        observational, trial, _ = tables()
        trial = trial.assign(site=trial.site.astype(object).where(trial.site > 0, None))
        with pytest.raises(ValueError, match=r"the cluster of .* trial rows is missing"):
            stack(observational, trial, covariates=["age", "sex"], cluster="site")

    def test_given_twice(self):
        with pytest.raises(ValueError, match="the study has its own cluster"):
            model().fit(study(), cluster=[1])

    def test_a_target_without_observational_rows(self):
        with pytest.raises(ValueError, match="needs observational rows"):
            Study(np.ones((4, 1)), [1, 2, 3, 4], [0, 0, 1, 1], [True] * 4, target="observational")


def test_probabilities_of_arrays_are_checked():
    with pytest.raises(ValueError, match=r"above 0 and at most 1: 1 of 1 are not, such as 30.0 \(rows 1\)"):
        Study(np.zeros((2, 1)), [1, 2], ["a", "b"], [0, 1], assignment=[0.5, 30])


def test_it_is_shown_in_a_line():
    table = pa.table({"age": [30, 40], "sex": ["f", "m"]})
    study = Study(table, [1, 2], ["a", "b"], [0, 1], assignment=[0.5, 0.5])
    said = "1 observational and 1 trial rows; treatments: a, b; covariates: age, sex; assignment"
    assert repr(study) == f"Study({said})"
    assert repr(Study(np.zeros((2, 3)), [1, 2], ["a", "b"], [0, 1])).endswith("treatments: a, b; covariates: 3)")
