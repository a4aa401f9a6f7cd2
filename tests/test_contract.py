"""The public names as a newcomer guesses them."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import confide
from confide import METHODS, CounterfactualIntervals, Intervals, RefusalError, Study, TrialAloneWarning, stack
from confide.methods.base import ArmEstimator
from helpers import study_arrays

X, Y, TREATMENT, TRIAL = study_arrays()
FAST = {"base": LinearRegression(), "random_state": 0}


def tables(kind=pa.table):
    columns = {"age": X[:, 0], "size": X[:, 0] ** 2, "t": np.where(TREATMENT == 1, "drug", "placebo"), "y": Y}
    return [kind({name: values[rows] for name, values in columns.items()}) for rows in (~TRIAL, TRIAL)]


def test_a_study_is_fitted_as_such():
    study = stack(*tables())
    model = CounterfactualIntervals(**FAST).fit(study)
    parts = CounterfactualIntervals(**FAST).fit(*study)
    np.testing.assert_array_equal(model.predict_interval(study.X, "drug"), parts.predict_interval(study.X, "drug"))
    assert model.score(study) == parts.score(study.X, study.y, study.treatment)
    with pytest.raises(ValueError, match=r"the study has its own y and trial: call fit\(study\), and nothing else"):
        CounterfactualIntervals().fit(study, study.y, trial=study.trial)
    with pytest.raises(ValueError, match=r"fit needs treatment and trial: call fit\(study\), or fit\(X, y, treat"):
        CounterfactualIntervals().fit(X, Y)


def test_a_control_is_chosen_and_not_left_to_the_alphabet():
    study = stack(*tables())
    by_alphabet = CounterfactualIntervals(**FAST).fit(study)
    assert by_alphabet.control_ == "drug"
    assert "Effects against drug (the control)" in by_alphabet.summary()
    model = CounterfactualIntervals(control="placebo", **FAST).fit(study)
    assert (model.control_, model.treatments_.tolist()) == ("placebo", ["drug", "placebo"])
    np.testing.assert_array_equal(model.predict_effect(study.X), -by_alphabet.predict_effect(study.X))
    np.testing.assert_array_equal(
        model.predict_effect(study.X), model.predict_effect(study.X, treated="drug", control="placebo")
    )
    lower, upper = model.predict_effect_interval(study.X)
    reversed_lower, reversed_upper = by_alphabet.predict_effect_interval(study.X)
    np.testing.assert_allclose((lower, upper), (-reversed_upper, -reversed_lower))
    with pytest.raises(ValueError, match="control 'Placebo' is not a treatment; did you mean placebo"):
        CounterfactualIntervals(control="Placebo").fit(study)


@pytest.mark.slow
def test_the_control_arm_of_nested_effects_is_the_control():
    study = stack(*tables())
    nested = CounterfactualIntervals(effect="nested-exact", control="placebo", **FAST).fit(study)
    assert list(nested.effect_.pairs_) == [("drug", "placebo")]
    codes = Study(study.X, study.y, (study.treatment == "drug").astype(int), study.trial)
    same = CounterfactualIntervals(effect="nested-exact", **FAST).fit(codes)
    np.testing.assert_array_equal(
        nested.predict_effect_interval(study.X), same.predict_effect_interval(study.X, treated=1, control=0)
    )


def test_three_arms_have_one_control():
    labels = np.array(["b", "a", "c"])[np.arange(len(Y)) % 3]
    model = CounterfactualIntervals("transfer", control="b", **FAST).fit(X, Y, labels, TRIAL)
    np.testing.assert_array_equal(model.predict_effect(X, "c"), model.predict_effect(X, "c", "b"))
    with pytest.raises(ValueError, match=r"there are 3 treatments \(a, b, c\): name treated= too"):
        model.predict_effect(X)
    with pytest.raises(ValueError, match="treated and control must differ"):
        model.predict_effect(X, "b")


def test_a_trial_alone():
    _, trial = tables(pd.DataFrame)
    study = stack(None, trial)
    assert isinstance(study.X, pd.DataFrame)
    assert study.trial.all()
    model = CounterfactualIntervals("naive", alpha=0.2, **FAST).fit(study)
    assert np.isfinite(model.predict_interval(study.X, "drug").width).all()
    with pytest.warns(TrialAloneWarning, match="calibrates on the trial alone"):
        CounterfactualIntervals("transfer-centred", alpha=0.2, **FAST).fit(study)
    with pytest.raises(RefusalError, match="Transfer needs at least 1 observational row, got 0"):
        CounterfactualIntervals("transfer", **FAST).fit(study)
    with pytest.raises(ValueError, match="the trial table must be a data frame, got None"):
        stack(trial, None)


def test_intervals_are_subscriptable():
    intervals = Intervals([1.0, 2.0, np.nan], [3.0, np.inf, np.nan])
    assert intervals[0] == (1.0, 3.0)
    assert intervals[-2] == (2.0, np.inf)
    np.testing.assert_array_equal(intervals[1:].lower, [2.0, np.nan])
    np.testing.assert_array_equal(intervals[np.array([True, False, True])].upper, [3.0, np.nan])
    np.testing.assert_array_equal(intervals[[1, 0]].lower, [2.0, 1.0])
    with pytest.raises(IndexError):
        intervals[3]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_in_the_callers_kind(kind):
    study = stack(*tables(kind))
    model = CounterfactualIntervals("transfer", **FAST).fit(study)
    frame = model.predict_interval(study.X, "drug").to_frame()
    assert type(frame) is type(study.X)
    assert model.predict_effect_interval(study.X).clip(0, 1).to_frame().shape == (len(Y), 2)


def test_frames_come_back_with_the_callers_index():
    study = stack(*tables(pd.DataFrame))
    model = CounterfactualIntervals("transfer", **FAST).fit(study)
    new = study.X.iloc[[5, 3, 8]].set_index(pd.Index(["e", "c", "h"], name="who"))
    intervals = model.predict_effect_interval(new)
    for backend in (None, "pandas"):
        pd.testing.assert_index_equal(intervals.to_frame(backend).index, new.index)
    assert intervals[1:].to_frame().index.tolist() == ["c", "h"]
    assert intervals[[2, 0]].to_frame().index.tolist() == ["h", "e"]
    assert new.join(intervals.to_frame()).notna().all().all()
    assert isinstance(intervals.to_frame("polars"), pl.DataFrame)


def test_arrays_give_arrow_tables():
    model = CounterfactualIntervals("transfer", **FAST).fit(X, Y, TREATMENT, TRIAL)
    assert isinstance(model.predict_interval(X[:3], 1).to_frame(), pa.Table)


ROOMS = ["conformal", "datasets", "diagnostics", "plot", "ratio", "recommend", "report"]


def test_rooms_need_no_import_of_their_own():
    code = f"import confide; print(*(getattr(confide, room).__name__ for room in {ROOMS}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"confide.{room}" for room in ROOMS]
    assert set(ROOMS) <= set(dir(confide))


PLUMBING = (
    "at",
    "set_alpha",
    "anchors",
    "offsets",
    "searches",
    "shortage",
    "why_not_at",
    "why_no_offset",
    "step_alpha",
)


def test_plumbing_is_private():
    for owner in (ArmEstimator, CounterfactualIntervals):
        assert [name for name in PLUMBING if hasattr(owner, name)] == []


@pytest.mark.parametrize("base", ["auto", "constant", "linear", "ridge", "boosting", "forest"])
@pytest.mark.slow
def test_base_models_have_names(base):
    model = CounterfactualIntervals(base=base, random_state=0).fit(X, Y, TREATMENT, TRIAL)
    assert np.isfinite(model.predict_interval(X, 1).width).all()


def test_the_summary_names_the_base_model_and_how_well_it_predicts():
    model = CounterfactualIntervals("transfer", random_state=0).fit(X, Y, TREATMENT, TRIAL)
    record = model.diagnostics_[1]
    mine = TRIAL & (TREATMENT == 1)
    error = Y[mine] - model.predict(X[mine], 1)
    assert record.base_r2 == pytest.approx(1 - np.sum(error**2) / np.sum((Y[mine] - Y[mine].mean()) ** 2))
    assert record.base.endswith("(chosen from constant, linear, ridge, boosting)")
    assert f"base model: {record.base}; R² {record.base_r2:.2f} on the calibration rows" in " ".join(
        model.summary().split()
    )


def test_the_summary_calls_a_named_ridge_regression_by_its_name():
    model = CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(X, Y, TREATMENT, TRIAL)
    assert {record.base for record in model.diagnostics_.values()} == {"ridge"}


@pytest.mark.parametrize("name", ["naive", *(pytest.param(name, marks=pytest.mark.slow) for name in [*METHODS][1:])])
def test_the_name_of_a_method_is_kept(name):
    params = {"alpha": 0.3, **FAST}
    assert CounterfactualIntervals(name, **params).fit(X, Y, TREATMENT, TRIAL).method_ == name
