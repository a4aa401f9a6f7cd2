"""Groups by columns, and by comparisons of a column with a number."""

import numpy as np
import pyarrow as pa
import pytest

from confide.data.encoding import kinds_of
from confide.weights.groups import Groups

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


def test_a_column_of_that_name_comes_first():
    assert groups("pain > 3").names == ("pain > 3 = a", "pain > 3 = b")


def test_categories_are_not_compared_and_unknown_columns_are_named():
    with pytest.raises(ValueError, match="'sex > 3' compares 'sex' with a number, and it holds categories"):
        groups("sex > 3")
    with pytest.raises(ValueError, match="groups must be covariates, got 'weight > 3'"):
        groups("weight > 3")
    with pytest.raises(ValueError, match="the group column 'age > 70' is missing"):
        groups("age > 70").codes(pa.table({"sex": ["f"]}))


def test_no_rows_have_no_codes_and_missing_text_is_a_group():
    assert groups(["age > 70", "sex"]).codes(PEOPLE.slice(0, 0)).tolist() == []
    some = pa.table({"sex": ["f", None]})
    assert groups("sex", some).names == ("sex = f", "sex = missing")
    assert groups("sex", some).codes(pa.table({"sex": [None, "m", "f"]})).tolist() == [1, -1, 0]
