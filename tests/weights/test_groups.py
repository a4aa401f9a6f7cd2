"""Groups by columns, and by comparisons of a column with a number."""

import functools
import operator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from confide import stack
from confide.data.encoding import kinds_of
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.weights.groups import Groups
from weighted_studies import RANKING, model, study, tables

PEOPLE = pa.table(
    {"age": [30.0, 70.0, 70.5, None, 90.0], "sex": ["f", "m", "f", "m", "f"], "pain > 3": ["a", "b", "a", "b", "a"]}
)


def groups(columns, table=PEOPLE):
    return Groups.of(columns, table, np.ones(len(table), dtype=bool), kinds_of(table))


@pytest.mark.parametrize(
    ("comparison", "names", "codes"),
    [
        ("age > 70", ("age = missing", "age <= 70", "age > 70"), [1, 1, 2, 0, 2]),
        ("age>=70", ("age = missing", "age < 70", "age >= 70"), [1, 2, 2, 0, 2]),
        ("age < 7e1", ("age = missing", "age >= 7e1", "age < 7e1"), [2, 1, 1, 0, 1]),
        ("age <= -1.5", ("age = missing", "age > -1.5"), [1, 1, 1, 0, 1]),
    ],
)
def test_a_comparison_makes_two_groups(comparison, names, codes):
    found = groups(comparison)
    assert set(found.names) == set(names)
    assert [found.names[code] for code in found.codes(PEOPLE)] == [names[code] for code in codes]


def test_comparisons_are_crossed_with_columns_and_hold_for_new_rows():
    found = groups(["age > 70", "sex"])
    assert "age > 70, sex = f" in found.names
    new = pa.table({"age": [71.0, 71.0], "sex": ["f", "x"]})
    codes = found.codes(new)
    assert found.names[codes[0]] == "age > 70, sex = f"
    assert codes[1] == -1


KNOWN = pa.table({"age": [30.0, 71.0, 40.0, 90.0], "sex": ["f", "m", None, "m"]})


@pytest.mark.parametrize(
    ("columns", "age", "sex", "said"),
    [
        (
            "age > 70",
            [71.0, None],
            ["f", "f"],
            ["age is missing in 1 of 2 rows (row 2), so that its group is unknown: its"],
        ),
        (
            ["age > 70", "age > 35"],
            [None, None],
            ["f", "f"],
            ["age is missing in 2 of 2 rows (the first is row 1), so that their groups are unknown: their"],
        ),
        (
            ["age > 70", "sex"],
            [None, 30.0, 30.0],
            ["x", "x", "f"],
            [
                "1 of 3 rows belong to groups of age > 70, sex that the trial does not have: their",
                "age is missing in 1 of 3 rows (row 1), so that its group is unknown: its",
            ],
        ),
        (
            ["age > 70", "sex"],  # the trial has people without sex, none of whom is above 70
            [71.0],
            [None],
            ["1 of 1 rows belong to groups of age > 70, sex that the trial does not have: their"],
        ),
        ("sex", [30.0], [None], []),
    ],
)
def test_a_missing_value_is_told_as_such(columns, age, sex, said):
    found = groups(columns, KNOWN)
    new = pa.table({"age": pa.array(age, pa.float64()), "sex": pa.array(sex, pa.string())})
    codes = found.codes(new)
    assert found.unseen(found.without(new, codes), len(new)) == (
        " ".join(f"{each} intervals are infinite." for each in said) or None
    )
    parts = [found.without(new.slice(row, 1), codes[row : row + 1], row) for row in reversed(range(len(new)))]
    assert functools.reduce(operator.add, parts) == found.without(new, codes)


def test_missing_text_in_a_group_is_told_as_such():
    found = groups("sex", PEOPLE)
    new = pa.table({"sex": pa.array([None], pa.string())})
    assert found.without(new, found.codes(new)).missing == {"sex": (1, 1)}


def test_a_column_of_that_name_comes_first():
    assert groups("pain > 3").names == ("pain > 3 = a", "pain > 3 = b")


def test_categories_are_not_compared_and_unknown_columns_are_named():
    with pytest.raises(ValueError, match="'sex > 3' compares 'sex' with a number, and it holds categories"):
        groups("sex > 3")
    with pytest.raises(ValueError, match=r"groups must be covariates, got 'weight > 3'; there are: .* 'age > 70'"):
        groups("weight > 3")
    with pytest.raises(ValueError, match="got 'Age >= 70'; did you mean age"):
        groups("Age >= 70")
    with pytest.raises(ValueError, match="the group column 'age > 70' is missing"):
        groups("age > 70").codes(pa.table({"sex": ["f"]}))


def test_too_many_groups_are_refused_with_the_columns_and_a_remedy():
    many = pa.table({"age": list(range(21)), "sex": ["f"] * 21})
    for columns, said in (("age", "age makes 21 groups"), (["age", "sex"], "age, sex make 21 groups")):
        with pytest.raises(ValueError, match=f"^{said} of the trial's rows, and at most 20 .* compare numbers"):
            groups(columns, many)


def test_no_rows_have_no_codes_and_missing_text_is_a_group():
    assert groups(["age > 70", "sex"]).codes(PEOPLE.slice(0, 0)).tolist() == []
    some = pa.table({"sex": ["f", None]})
    assert groups("sex", some).names == ("sex = f", "sex = missing")
    assert groups("sex", some).codes(pa.table({"sex": [None, "m", "f"]})).tolist() == [1, -1, 0]


@pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")
class TestGroups:
    @pytest.mark.parametrize("method", RANKING)
    def test_an_answer_is_that_of_the_group_s_own_rows(self, method):
        found, new = study([], trial=300), tables()[2]
        fitted = model(method, groups="sex").fit(found)
        assert fitted.groups_.names == ("sex = f", "sex = m")
        everybody = fitted.predict_interval(new, 1)
        for sex in ("f", "m"):
            mine = (new.sex == sex).to_numpy()
            some = fitted.predict_interval(new[mine], 1)
            np.testing.assert_allclose(np.asarray(some), np.asarray(everybody)[mine])
        assert "in each group of sex" in fitted.promise_.whom

    def test_split_by_group_is_the_quantile_within_it(self):
        found = study([], trial=300)
        fitted = model("transfer", groups=["sex"]).fit(found)
        arm = fitted.arms_[1]
        sex = (found.X.sex[found.trial & (found.treatment == 1)] == "m").to_numpy().astype(int)
        np.testing.assert_array_equal(arm.marks_.group, sex)
        scores = np.sort(arm.scores_["both"][sex == 1])
        rank = int(np.ceil(0.9 * (len(scores) + 1)))
        man = pd.DataFrame({"age": [0.0], "sex": ["m"]})
        low, high = fitted.predict_interval(man, 1)[0]
        assert (high - low) / 2 == pytest.approx(scores[rank - 1])

    def test_points_of_effects_need_no_group(self):
        fitted, new = model(groups="sex").fit(study([])), tables()[2]
        np.testing.assert_allclose(fitted.predict_effect(new), fitted.predict(new, 1) - fitted.predict(new, 0))

    def test_an_unseen_group_is_infinite_with_one_warning(self):
        fitted = model(groups="sex").fit(study([]))
        strange = pd.DataFrame({"age": [0.0, 0.1], "sex": ["f", "x"]})
        with (
            pytest.warns(InfiniteIntervalWarning, match="1 of 2 rows belong to groups of sex that the trial does not"),
            pytest.warns(PopulationWarning, match="sex = 'x'"),
        ):
            found = fitted.predict_interval(strange, 1)
        np.testing.assert_array_equal(np.isinf(found.width), [False, True])

    def test_too_few_rows_of_a_group_are_told(self):
        observational, trial, _ = tables()
        rare = trial.assign(sex=np.where(np.arange(len(trial)) < 8, "x", trial.sex))
        with pytest.warns(InfiniteIntervalWarning, match=r"in 1 of 3 groups: group sex = x has \d trial"):
            model(groups="sex").fit(stack(observational, rare, covariates=["age", "sex"]))

    def test_a_small_group_is_named_with_what_its_rows_are_worth(self):
        observational, trial, _ = tables(trial=300)
        rare = trial.assign(sex=np.where(np.arange(len(trial)) < 36, "x", trial.sex))
        fitted = model("transfer", groups="sex").fit(stack(observational, rare, covariates=["age", "sex"]))
        told = " ".join(fitted.summary().split())
        rows = fitted.arms_[1].marks_.weights(2).sum()
        assert f"calibration rests on few rows, by their weight: sex = x ({rows:.0f}). The promise" in told
        assert "few rows" not in model("transfer", groups="sex").fit(study([], trial=300)).summary()

    def test_nested_effects_tell_of_too_few_rows_of_a_group(self):
        observational, trial, _ = tables(trial=300)
        rare = trial.assign(sex=np.where(np.arange(len(trial)) < 30, "x", trial.sex))
        fitted = model("transfer", groups="sex", effect="nested-exact").fit(
            stack(observational, rare, covariates=["age", "sex"])
        )
        assert "Effect intervals: in 1 of 3 groups: group sex = x has" in " ".join(fitted.summary().split())

    def test_columns_are_crossed(self):
        observational, trial, _ = tables()
        for each in (observational, trial):
            each["old"] = each.age > 0
        fitted = model(groups=["old", "sex"]).fit(stack(observational, trial, covariates=["age", "sex", "old"]))
        assert fitted.groups_.names[0] == "old = no, sex = f"
        assert len(fitted.groups_.names) == 4

    def test_columns_of_an_array(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=200), rng.integers(2, size=200)])
        fitted = model(groups=1).fit(X, rng.normal(size=200), rng.integers(2, size=200), np.arange(200) > 100)
        assert fitted.groups_.names == ("x1 = 0", "x1 = 1")
        assert len(fitted.predict_interval(X, 1)) == 200


def test_groups_of_numbers_are_in_their_order():
    X = np.array([[10.0], [9.0], [2.0], [np.nan]])
    groups = Groups.of([0], X, np.ones(4, dtype=bool), kinds_of(X))
    assert groups.names == ("x0 = 2", "x0 = 9", "x0 = 10", "x0 = missing")
    assert groups.codes(X).tolist() == [2, 1, 0, 3]
