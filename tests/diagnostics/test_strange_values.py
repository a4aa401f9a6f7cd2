"""Single values of new rows that no row of the tables is like are told, and change no answer."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import OneHotEncoder

from confide import CounterfactualIntervals, PopulationWarning, Transfer, load, stack
from confide.base.cache import Fits, sharing_fits
from confide.data.encoding import MAX_CATEGORIES, TableEncoder
from confide.data.study import Study
from confide.diagnostics.covariate_shift import Look, Population
from confide.diagnostics.strange_values import both, ends_of, far_limit, far_numbers, fitted_ends, unknown_categories
from confide.diagnostics.tipping import tipping_point
from confide.report.individuals import Individuals

RNG = np.random.default_rng(0)
SIZE = 300
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(20, 81, SIZE).astype(float),
        "sex": RNG.choice(["F", "M"], SIZE),
        "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, SIZE), unit="D"),
        "smoker": RNG.choice([True, False], SIZE),
        "treatment": RNG.choice(["drug", "placebo"], SIZE),
        "outcome": RNG.standard_normal(SIZE),
    }
)
PEOPLE.loc[:1, "age"] = [10, 90]  # in the observational table alone
PEOPLE.loc[PEOPLE.index % 7 == 3, "age"] = np.nan
STUDY = stack(PEOPLE[:200], PEOPLE[200:], treatment="treatment", outcome="outcome")
MODEL = CounterfactualIntervals(Transfer(base=LinearRegression()), random_state=0).fit(STUDY)
NEW = PEOPLE.drop(columns=["treatment", "outcome"])[200:250].reset_index(drop=True)


def said_of(rows, model=MODEL):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(rows, "drug")
    assert [each.category for each in caught] in ([], [PopulationWarning])
    return str(caught[0].message) if caught else ""


def with_age(value, row=16):
    return NEW.assign(age=np.where(np.arange(len(NEW)) == row, value, NEW.age))


def test_rows_like_the_tables_are_silent():
    assert said_of(NEW) == ""
    assert said_of(NEW.assign(sex=None, age=np.nan)).count("categories") == 0


@pytest.mark.parametrize(("beyond", "told"), [(70, True), (1, True), (-1, False)])
@pytest.mark.parametrize("side", [-1, 1])
def test_one_number_far_beyond_both_tables_is_told(beyond, told, side):
    """The tables have 10 to 90: far is beyond by more than half of that at least."""
    *_, least, most = ends_of(PEOPLE.age.to_numpy())
    assert least <= -30
    assert most >= 130
    value = round(most + beyond) if side == 1 else round(least - beyond)
    assert (f"age = {value} in row 17 (1 of 50 rows; fitted on 10 to 90)" in said_of(with_age(value))) == told


def test_later_dates_are_ordinary():
    assert "far beyond" not in said_of(NEW.assign(seen=pd.Timestamp("2050-01-01")))


def test_a_category_that_the_model_does_not_know_is_told():
    said = said_of(NEW.assign(sex=np.where(np.arange(50) % 2, "female", NEW.sex)))
    assert "ategories that the model does not know: sex = 'female' (25 of 50 rows; known: 'F', 'M')." in said
    assert said.count("female") == 1


@pytest.mark.parametrize(("rows", "told"), [(1, False), (2, False), (3, True)])
def test_a_few_unknown_categories_are_ordinary_in_python(rows, told):
    """A rare category may be in none of the rows that the encoder learnt from: of 50 rows, 3 are too many."""
    said = said_of(NEW.assign(sex=np.where(np.arange(50) < rows, "x", NEW.sex)))
    assert (f"ategories that the model does not know: sex = 'x' ({rows} of 50 rows; known: 'F', 'M')." in said) == told


def test_one_unknown_category_of_many_rows_is_on_the_page_too():
    many = NEW.loc[np.arange(400) % 50].assign(sex=["x", *["F", "M"] * 199, "F"])
    with pytest.warns(PopulationWarning, match=r"sex = 'x' \(1 of 400 rows"):
        individuals = Individuals.of_table(MODEL, many)
    assert any("sex = 'x' (1 of 400 rows" in text for text in individuals.unlike)


def test_both_are_one_warning():
    said = said_of(with_age(1e6).assign(sex="x"))
    assert "age = 1e+06 in row 17" in said
    assert "sex = 'x' (50 of 50 rows" in said


def test_a_saved_model_says_the_same_and_one_of_before_leaves_numbers_out(tmp_path):
    MODEL.save(tmp_path / "model.confide")
    loaded = load(tmp_path / "model.confide")
    rows = with_age(200).assign(sex="x")
    assert said_of(rows, loaded) == said_of(rows)
    del loaded.population_.__dict__["ends"]  # files of before have none
    assert loaded.population_.ends is None
    said = said_of(rows, loaded)
    assert "far beyond" not in said
    assert "sex = 'x'" in said


def test_no_answer_depends_on_what_is_told():
    rows = with_age(200).assign(sex="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        together = MODEL.predict_interval(rows, "drug")
        each = [MODEL.predict_interval(rows[place : place + 1], "drug") for place in range(len(rows))]
    np.testing.assert_allclose(together.lower, [lower.item() for lower, _ in each], rtol=1e-12)
    np.testing.assert_allclose(together.upper, [upper.item() for _, upper in each], rtol=1e-12)


def test_other_questions_tell_it_too():
    with pytest.warns(PopulationWarning, match="sex = 'x'") as caught:
        tipping_point(MODEL, NEW.assign(sex="x"), above=0)
    assert caught[0].filename == __file__


def test_the_ends_are_those_of_all_rows_by_hand():
    ends = fitted_ends(MODEL.encoder_, STUDY)
    names = MODEL.encoder_.get_feature_names_out().tolist()
    assert dict(zip(names, ends.T.tolist(), strict=True))["age"] == ends_of(PEOPLE.age.to_numpy()).tolist()
    assert np.isnan(ends[:, [place for place, name in enumerate(names) if name != "age"]]).all()
    np.testing.assert_array_equal(MODEL.population_.ends, ends)


def test_the_targets_people_count():
    target = PEOPLE[["age", "sex", "seen", "smoker"]][:20].assign(age=np.linspace(20, 400, 20))
    study = stack(PEOPLE[:200], PEOPLE[200:], treatment="treatment", outcome="outcome", target=target)
    assert fitted_ends(TableEncoder().fit(study.X), study)[:2, 0].tolist() == [10, 400]


def test_an_array_of_covariates_goes_with_a_target_in_a_frame_and_a_frame_of_new_rows():
    """Their columns go by position."""
    X = np.array([[age % 40, sex] for age, sex in zip(range(80), "FM" * 40, strict=True)], dtype=object)
    new = pd.DataFrame({"years": np.linspace(0, 90, 20), "gender": "x"})
    rest = np.arange(80.0), np.arange(80) // 2 % 2, np.arange(80) >= 40
    model = CounterfactualIntervals(Transfer(base=LinearRegression()), random_state=0).fit(X, *rest, target=new)
    assert model.population_.ends[1, 0] == 90
    with pytest.warns(PopulationWarning, match=r"x1 = 'x' \(20 of 20 rows"):
        model.predict(new, 0)


def test_what_is_said_of_rows_is_found_again_while_fits_are_shared():
    fits, rows = Fits(), NEW.assign(sex="x")
    kept = []
    for _ in range(2):
        with sharing_fits(fits), pytest.warns(PopulationWarning, match="sex = 'x'"):
            MODEL.predict(rows, "drug")
        kept.append(len(fits.made._found))
    assert kept[0] == kept[1]


def test_far_is_by_hand():
    """Of 0 to 8 the median is 4, and the outermost 3 begin beyond 5: 4 + 4·(4/1)²."""
    assert far_limit(np.arange(9.0)) == 68
    np.testing.assert_array_equal(ends_of(np.append(np.arange(9.0), np.nan)), [0, 8, -60, 68])
    np.testing.assert_array_equal(ends_of(np.resize([0.0, 1], 100)), [0, 1, -0.5, 1.5])
    np.testing.assert_array_equal(ends_of(np.full(3, 7.0)), [7, 7, 7, 7])
    assert np.isnan(ends_of(np.array([np.nan]))).all()


DRAWS = {
    "normal": lambda size: np.random.default_rng(1).normal(size=size),
    "uniform": lambda size: np.random.default_rng(2).uniform(size=size),
    "exponential": lambda size: np.random.default_rng(3).exponential(size=size),
    "lognormal": lambda size: np.random.default_rng(4).lognormal(size=size),
    "lognormal with zeros": lambda size: (
        np.random.default_rng(5).lognormal(size=size) * (np.random.default_rng(6).uniform(size=size) < 0.3)
    ),
    "t with 3 degrees of freedom": lambda size: np.random.default_rng(7).standard_t(3, size),
    "Pareto, 1/x²": lambda size: np.random.default_rng(8).pareto(2, size),
}


@pytest.mark.parametrize("name", DRAWS)
def test_ordinary_extremes_are_seldom_far(name):
    """300 further rows of one column: far in at most 2 % of calls, whatever the tail."""
    columns = DRAWS[name]((2000, 600))
    ends = np.array([ends_of(column) for column in columns[:, :300]])
    new = columns[:, 300:]
    called = ((new < ends[:, [2]]) | (new > ends[:, [3]])).any(axis=1)
    assert called.mean() <= 0.02


def test_a_usual_error_is_far():
    """Kilograms in grams, and an age with a digit too many."""
    rng = np.random.default_rng(9)
    assert ends_of(rng.normal(75, 12, 300))[3] < 75_000 / 100
    assert ends_of(np.clip(np.round(rng.normal(55, 15, 1000)), 18, 99))[3] < 200


def test_arrays_have_ends_and_encoders_of_ones_own_have_none():
    X = np.column_stack([np.arange(20.0), np.full(20, np.nan)])
    study = Study(X, np.arange(20.0), np.tile([0, 1], 10), np.repeat([True, False], 10))
    np.testing.assert_array_equal(fitted_ends(TableEncoder().fit(X), study)[:2], [[0, np.nan], [19, np.nan]])
    assert fitted_ends(OneHotEncoder().fit(X), study) is None


def test_columns_of_one_value_and_missing_ones_are_left_out():
    ends = np.array([[5.0, np.nan, 0], [5.0, np.nan, 1], [5.0, np.nan, -0.5], [5.0, np.nan, 1.5]])
    X = np.array([[1e9, 1e9, 1.5], [np.nan, np.nan, np.nan], [5, 5, 1.6]])
    assert list(far_numbers(ends, ["one", "none", "share"], X)) == ["share"]
    assert far_numbers(ends, ["one", "none", "share"], X)["share"].shown == ("1.6 in row 3",)


def test_where_rare_categories_share_columns_new_ones_are_ordinary():
    many = pd.DataFrame({"town": [f"t{number}" for number in range(MAX_CATEGORIES + 1)], "sex": "F"})
    found = unknown_categories(TableEncoder().fit(many), pd.DataFrame({"town": ["new"], "sex": ["M"]}))
    assert list(found) == ["sex"]


def test_categories_are_counted_by_rows_that_hold_them():
    encoder = TableEncoder().fit(pd.DataFrame({"sex": ["F", "M", None]}))
    declared = pd.Categorical(["F", "c", "b", "c", None], categories=["a", "b", "c", "F"])
    found = unknown_categories(encoder, pd.DataFrame({"sex": declared}))["sex"]
    assert (found.rows, found.shown, found.usual) == (3, ("'c'", "'b'"), "'F', 'M'")
    assert unknown_categories(encoder, pd.DataFrame({"sex": ["F ", None, "M"]})) == {}
    assert unknown_categories(encoder, pd.DataFrame({"sex": pd.Series([], dtype=str)})) == {}
    assert unknown_categories(OneHotEncoder(), NEW) == {}


def test_parts_join_to_the_whole():
    trial = Population.of(RNG.standard_normal((50, 1)), ["x"], 0, ends=np.array([[-3.0], [3.0], [-6.0], [6.0]]))
    X = RNG.standard_normal((40, 1))
    X[[3, 11, 12, 30, 35]] = [[9.0], [-9], [10], [11], [12]]
    encoder = TableEncoder().fit(pd.DataFrame({"sex": ["F", "M"], "town": ["a", "b"]}))
    rows = pd.DataFrame({"sex": RNG.choice(["F", "w", "v", "u", "t", "s"], 40), "town": ["a"] * 39 + ["z"]})
    looks = [trial.look(X[start : start + 7], start) for start in range(0, 40, 7)]
    assert functools.reduce(Look.joined, looks).far == trial.look(X).far
    assert trial.look(X).far["x"].shown == ("9 in row 4", "-9 in row 12", "10 in row 13", "11 in row 31")
    assert "x = 9 in row 4, -9 in row 12, 10 in row 13, … (5 of 40 rows; fitted on -3 to 3)" in trial.unlike(X)
    parts = [unknown_categories(encoder, rows[start : start + 7]) for start in range(0, 40, 7)]
    assert functools.reduce(both, parts) == unknown_categories(encoder, rows)


def test_a_handful_of_trial_rows_is_no_reason_for_silence():
    few = Population.of(np.zeros((3, 1)), ["x"], 0, ends=np.array([[0.0], [10.0], [-5.0], [15.0]]))
    assert few.unlike(np.array([[16.0]])).startswith(
        "numbers far beyond every row that the model was fitted on: x = 16"
    )
