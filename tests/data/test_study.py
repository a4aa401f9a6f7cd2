import numpy as np
import pandas as pd
import pytest

from confide import Study


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
