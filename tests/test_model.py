import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from confide import METHODS, CounterfactualIntervals, InfiniteIntervalWarning, Naive, Transfer, stack
from confide.data.splits import calibration_size
from confide.exceptions import PopulationWarning
from helpers import study_arrays

X, Y, TREATMENT, TRIAL = study_arrays()
FAST = Transfer(base=LinearRegression())


@pytest.fixture(scope="module")
def model():
    return CounterfactualIntervals(FAST, random_state=0).fit(X, Y, TREATMENT, TRIAL)


def tables():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "arm": np.where(TREATMENT == 1, "drug", "placebo"),
            "outcome": Y,
            "x": X[:, 0],
            "sex": rng.choice(["f", "m"], len(Y)),
            "smoker": rng.choice([True, False], len(Y)),
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, len(Y)), unit="D"),
        }
    )
    frame.loc[::9, "sex"] = None
    frame.loc[::11, "x"] = np.nan
    return frame[~TRIAL], frame[TRIAL]


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")  # a weighted method may say so here
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.slow
def test_every_method_by_name(name):
    fitted = CounterfactualIntervals(name, random_state=0).fit(X, Y, TREATMENT, TRIAL)
    assert fitted.treatments_.tolist() == [0, 1]
    assert fitted.predict(X[:9], treatment=1).shape == (9,)
    assert len(fitted.predict_interval(X[:9], treatment=0)) == 9
    assert len(fitted.predict_set(X[:9], 1)) == 9
    assert len(fitted.predict_effect_interval(X[:9])) == 9


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_two_tables_in_intervals_out(convert):
    observational, trial = (convert(table) for table in tables())
    study = stack(observational, trial, treatment="arm", outcome="outcome", covariates=["x", "sex", "smoker", "visit"])
    fitted = CounterfactualIntervals(FAST, random_state=0).fit(*study)
    assert fitted.treatments_.tolist() == ["drug", "placebo"]
    new = pl.DataFrame({"visit": [None], "smoker": [True], "sex": ["x"], "x": [None], "note": ["?"]})
    with pytest.warns(PopulationWarning, match="sex = 'x'"):
        assert np.isfinite(fitted.predict_interval(new, treatment="drug")).all()
    with pytest.raises(ValueError, match="columns missing: x"):
        fitted.predict_interval(new.drop("x"), treatment="drug")


def test_kinds_of_frames_give_the_same_intervals():
    answers = []
    for convert in (lambda f: f, pl.from_pandas, pa.Table.from_pandas):
        study = stack(*(convert(t.reset_index(drop=True)) for t in tables()), treatment="arm", outcome="outcome")
        answers.append(
            np.asarray(CounterfactualIntervals(FAST, random_state=0).fit(*study).predict_interval(study.X, "drug"))
        )
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_arms_are_fitted_apart_on_their_own_rows(model):
    for label in (0, 1):
        rows = label == TREATMENT
        arm = Transfer(base=LinearRegression(), random_state=0).fit(X[rows], Y[rows], trial=TRIAL[rows])
        np.testing.assert_array_equal(model.predict_interval(X[:9], label), arm.predict_interval(X[:9]))


def test_one_label_a_row(model):
    labels = TREATMENT[:30]
    mixed = np.asarray(model.predict_interval(X[:30], treatment=labels))
    points = model.predict(X[:30], labels)
    sets = model.predict_set(X[:30], labels)
    for row, label in enumerate(labels):
        np.testing.assert_array_equal(mixed[[row]], model.predict_interval(X[[row]], label))
        np.testing.assert_array_equal(sets[row], mixed[[row]])
        assert points[row] == model.predict(X[[row]], label)[0]


def test_three_arms_and_text_labels():
    labels = np.array(["a", "b", "c"])[np.arange(len(Y)) % 3]
    fitted = CounterfactualIntervals(FAST, random_state=0).fit(X, Y, labels, TRIAL)
    assert fitted.treatments_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"there are 3 treatments \(a, b, c\): name treated= too"):
        fitted.predict_effect(X)
    forth = fitted.predict_effect_interval(X[:5], treated="c", control="a")
    back = fitted.predict_effect_interval(X[:5], treated="a", control="c")
    np.testing.assert_allclose(forth, -np.asarray(back)[:, ::-1])


def test_the_effect_is_the_second_label_against_the_first(model):
    expected = model.predict(X[:5], 1) - model.predict(X[:5], 0)
    np.testing.assert_array_equal(model.predict_effect(X[:5]), expected)
    np.testing.assert_array_equal(model.predict_effect(X[:5], treated=0), -expected)
    np.testing.assert_array_equal(model.predict_effect(X[:5], control=1), -expected)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_bonferroni_joins_the_arms_at_half_of_alpha(alpha):
    fitted = CounterfactualIntervals(FAST, alpha=alpha, random_state=0).fit(X, Y, TREATMENT, TRIAL)
    half = fitted.with_alpha(alpha / 2)
    lower0, upper0 = half.predict_interval(X[:9], 0)
    lower1, upper1 = half.predict_interval(X[:9], 1)
    np.testing.assert_array_equal(
        fitted.predict_effect_interval(X[:9]), np.column_stack([lower1 - upper0, upper1 - lower0])
    )


def test_arm_alpha_sets_the_level_in_the_effect():
    fitted = CounterfactualIntervals(FAST, arm_alpha=0.1, random_state=0).fit(X, Y, TREATMENT, TRIAL)
    lower0, upper0 = fitted.predict_interval(X[:9], 0)
    lower1, upper1 = fitted.predict_interval(X[:9], 1)
    np.testing.assert_array_equal(
        fitted.predict_effect_interval(X[:9]), np.column_stack([lower1 - upper0, upper1 - lower0])
    )


def test_levels_and_seeds_of_the_estimator_are_kept():
    own = Naive(base=LinearRegression(), alpha=0.3, random_state=7)
    kept = CounterfactualIntervals(own).fit(X, Y, TREATMENT, TRIAL)
    assert {(arm.alpha, arm.random_state) for arm in kept.arms_.values()} == {(0.3, 7)}
    same = CounterfactualIntervals(own, alpha=0.3, random_state=7).fit(X, Y, TREATMENT, TRIAL)
    np.testing.assert_array_equal(same.predict_interval(X, 1), kept.predict_interval(X, 1))
    by_name = CounterfactualIntervals("naive", random_state=0).fit(X, Y, TREATMENT, TRIAL)
    assert {arm.alpha_ for arm in by_name.arms_.values()} == {0.1} == {by_name.alpha_}


def test_with_alpha_equals_a_fit_at_that_level(model):
    other = CounterfactualIntervals(FAST, alpha=0.3, random_state=0).fit(X, Y, TREATMENT, TRIAL)
    np.testing.assert_array_equal(model.with_alpha(0.3).predict_interval(X, 1), other.predict_interval(X, 1))
    np.testing.assert_array_equal(model.with_alpha(0.3).predict_effect_interval(X), other.predict_effect_interval(X))
    assert model.alpha is None


@pytest.mark.slow
def test_parallel_arms_are_the_same_arms(model):
    parallel = CounterfactualIntervals(FAST, random_state=0, n_jobs=2).fit(X, Y, TREATMENT, TRIAL)
    np.testing.assert_array_equal(parallel.predict_effect_interval(X), model.predict_effect_interval(X))


def test_an_encoder_of_ones_own():
    fitted = CounterfactualIntervals(FAST, encoder=StandardScaler(), random_state=0).fit(X, Y, TREATMENT, TRIAL)
    assert isinstance(fitted.encoder_, StandardScaler)
    groups = np.where(X > 0, "high", "low")
    sparse = CounterfactualIntervals(FAST, encoder=OneHotEncoder(), random_state=0).fit(groups, Y, TREATMENT, TRIAL)
    assert np.isfinite(sparse.predict(groups, 1)).all()


def test_wcp_gets_the_population_of_all_arms():
    fitted = CounterfactualIntervals("wcp", random_state=0).fit(X, Y, TREATMENT, TRIAL)
    shares = [arm.ratio_.share_ for arm in fitted.arms_.values()]
    observed = [np.mean(TREATMENT[~TRIAL] == label) for label in (0, 1)]
    np.testing.assert_allclose(shares, observed, atol=0.01)


@pytest.mark.parametrize(
    ("params", "data", "error"),
    [
        ({}, {"trial": np.zeros(len(Y), dtype=bool)}, "none of the 520 rows is from the trial"),
        ({}, {"y": Y[:-1]}, "numbers of rows differ: X has 520, y has 519"),
        ({}, {"treatment": TREATMENT[:-1]}, "numbers of rows differ"),
        ({}, {"y": np.where(np.arange(len(Y)) == 5, np.nan, Y)}, "outcome must be finite"),
        ({"alpha": 1.5}, {}, "alpha must lie strictly between 0 and 1, got 1.5"),
        ({"arm_alpha": 0}, {}, "arm_alpha must lie strictly between 0 and 1, got 0"),
        ({"method": "transfr"}, {}, "method 'transfr' is unknown; did you mean transfer"),
        ({"effect": "nested"}, {}, "effect 'nested' is unknown; did you mean nested-exact, nested-inexact"),
        (
            {},
            {"treatment": np.where(TRIAL & (TREATMENT == 1), 0, TREATMENT)},
            "treatment 1: Prognostic needs at least 1 trial",
        ),
        (
            {"method": "transfer"},
            {"treatment": np.where(TRIAL, TREATMENT, 0)},
            "treatment 1: Transfer needs .* got 0. Treatments by table: observational 0; trial 0, 1",
        ),
        ({"method": Transfer(outcome_range=(0, 1))}, {}, "outcomes lie outside outcome_range"),
    ],
)
def test_bad_input_is_a_clear_error_and_nothing_is_half_fitted(params, data, error):
    fitted = CounterfactualIntervals(**params)
    before = dict(vars(fitted))
    values = {"X": X, "y": Y, "treatment": TREATMENT, "trial": TRIAL} | data
    with pytest.raises(ValueError, match=error):
        fitted.fit(**values)
    assert vars(fitted) == before


def test_an_arm_may_be_missing_where_the_method_does_not_need_it():
    only_control = np.where(TRIAL, TREATMENT, 0)
    naive = CounterfactualIntervals(Naive(base=LinearRegression())).fit(X, Y, only_control, TRIAL)
    assert naive.treatments_.tolist() == [0, 1]
    no_treated_trial = np.where(TRIAL, 0, TREATMENT)
    wcp = CounterfactualIntervals("wcp", random_state=0).fit(X, Y, no_treated_trial, TRIAL)
    assert len(wcp.predict_interval(X, treatment=1)) == len(X)


def test_bad_questions(model):
    with pytest.raises(NotFittedError):
        CounterfactualIntervals().predict(X, 0)
    with pytest.raises(NotFittedError):
        CounterfactualIntervals().predict_effect(X)
    with pytest.raises(ValueError, match="treatment 2 is unknown; there are: 0, 1"):
        model.predict_interval(X, treatment=2)
    with pytest.raises(ValueError, match="one label or 520 labels"):
        model.predict_interval(X, treatment=[0, 1])
    with pytest.raises(ValueError, match="must differ"):
        model.predict_effect(X, treated=1, control=1)
    with pytest.raises(ValueError, match="treatment 7 is unknown"):
        model.predict_effect(X, treated=7)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.ones((2, 3)), 0)


def small(rows_an_arm):
    """All observational rows, and the first trial rows of each arm."""
    first = np.concatenate([np.flatnonzero(TRIAL & (label == TREATMENT))[:rows_an_arm] for label in (0, 1)])
    keep = np.r_[np.flatnonzero(~TRIAL), first]
    return X[keep], Y[keep], TREATMENT[keep], TRIAL[keep]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (1, "treatment 0 and 1: alpha=0.1 needs 9 trial calibration rows for a finite interval; there is 1"),
        (12, "treatment 0 and 1: effect intervals, alpha=0.05 needs 19 trial calibration rows .* there are 12"),
    ],
)
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.slow
def test_too_few_rows_warn_once(rows, message, n_jobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = CounterfactualIntervals(FAST, n_jobs=n_jobs).fit(*small(rows))
    found = [w for w in caught if w.category is InfiniteIntervalWarning]
    assert len(found) == 1
    assert re.search(message, str(found[0].message))
    assert found[0].filename == __file__
    assert fitted.predict_effect_interval(X).infinite.all()
    assert fitted.predict_interval(X, 1).infinite.all() == (rows == 1)
    advice = " ".join(fitted.summary().partition("Before you trust it")[2].split())
    there = "there is 1." if rows == 1 else "there are 12."
    assert f"Effect intervals: alpha=0.05 needs 19 trial calibration rows for a finite interval; {there}" in advice


class Recorder(StandardScaler):
    """An encoder that keeps the rows it learns from."""

    def fit(self, X, y=None, sample_weight=None):
        self.seen_ = np.asarray(X)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
@pytest.mark.parametrize(
    ("name", "source"),
    [("naive", True), ("transfer", False), ("transfer-centred", False), ("wcp", False), ("pooled-dr", False)],
)
def test_an_encoder_of_ones_own_never_sees_rows_that_calibrate(name, source, effect):
    model = CounterfactualIntervals(name, base="linear", effect=effect, encoder=Recorder(), random_state=0)
    model.fit(X, Y, TREATMENT, TRIAL)
    seen = np.array([(row == model.encoder_.seen_).all(axis=1).any() for row in X])
    assert seen.any()
    assert (TRIAL[seen] == source).all()
    of_arm = [seen[(source == TRIAL) & (label == TREATMENT)] for label in (0, 1)]
    unseen = [int((~mine).sum()) for mine in of_arm]
    if name.startswith("transfer"):
        assert unseen == [0, 0]
        return
    # Half of the source calibrates, and with nested effects all of the treated arm's trial.
    sizes = [calibration_size(len(mine), 0.5) for mine in of_arm]
    assert unseen == (sizes if effect == "bonferroni" or not source else [sizes[0], len(of_arm[1])])


def test_an_encoder_that_refuses_unseen_values_says_what_to_do():
    frame = pd.DataFrame({"site": np.where(TRIAL, "trial only", "elsewhere")})
    with pytest.raises(ValueError, match=r"fitted on rows that do not calibrate.*handle_unknown='ignore'"):
        CounterfactualIntervals(FAST, encoder=OneHotEncoder()).fit(frame, Y, TREATMENT, TRIAL)


def test_a_column_of_many_categories_still_helps():
    """200 sites of 8 observational rows each: what the model knows of them makes intervals narrower."""
    rng = np.random.default_rng(0)
    effects = 3 * rng.standard_normal(200)
    site = np.concatenate([np.repeat(np.arange(200), 8), rng.integers(0, 200, 100)])
    treatment, trial = np.arange(len(site)) % 2, np.arange(len(site)) >= 1600
    y = effects[site] + 0.5 * rng.standard_normal(len(site))
    frame = pd.DataFrame({"site": [f"s{each}" for each in site], "noise": rng.standard_normal(len(site))})
    arm = Transfer(base=LinearRegression(), base_on="centred")
    widths = [
        CounterfactualIntervals(arm, random_state=0)
        .fit(frame[columns], y, treatment, trial)
        .predict_interval(frame[columns][:50], treatment=0)
        .width[0]
        for columns in (["site", "noise"], ["noise"])
    ]
    assert widths[0] < 0.9 * widths[1]


def test_an_outcome_of_two_values_is_pointed_out():
    y = (np.median(Y) < Y).astype(float)
    with pytest.warns(UserWarning, match="outcome is 0 or 1 in every row"):
        CounterfactualIntervals(FAST).fit(X, y, TREATMENT, TRIAL)
    for declared in ({"outcome_values": [0, 1]}, {"outcome_range": (0, 1)}):
        CounterfactualIntervals(Transfer(base=LinearRegression(), **declared)).fit(X, y, TREATMENT, TRIAL)
