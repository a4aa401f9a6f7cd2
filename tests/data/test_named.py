"""Names for columns: comparisons, crossed groups, and one error for all that are unknown."""

import pytest

from confide.data.named import check_named, compared_column, crossed

TABLES = {"obs.csv": ["who", "age", "town", "t", "y"], "trial.csv": ["age", "town", "p", "t", "y"]}


def message(treatment="t", outcome="y", covariates=None, **given):
    with pytest.raises(ValueError, match=r"\w") as refusal:
        check_named(TABLES, treatment, outcome, covariates, **{"marks": {}, **given})
    return str(refusal.value)


def test_names_that_are_columns_are_no_error():
    rest = {"marks": {"assignment": "p"}, "categories": ["town"], "identifiers": ["who", "new"], "elsewhere": ["new"]}
    check_named(TABLES, "t", "y", ["age", "town"], **rest, groups=["town", "age > 70"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"treatment": "tt"}, "obs.csv has no column tt; did you mean t?"),
        ({"covariates": ["age", "height"]}, "obs.csv has no column height; there are: who, age, town, t, y."),
        ({"covariates": ["who"]}, "trial.csv has no column who; there are: age, town, p, t, y."),
        ({"covariates": ["size"], "fitted_on": "m"}, "obs.csv has no column size, which m was fitted on; there are: "),
        ({"marks": {"cluster": "towns"}}, "trial.csv has no column 'towns' (cluster); did you mean town?"),
        ({"identifiers": ["whom"]}, "no file has the identifier 'whom'; did you mean who?"),
        ({"categories": ["twn"]}, "'twn' is declared a category and is no covariate or treatment; did you mean town?"),
        ({"groups": ["ages >= 7"]}, "groups must be covariates, got 'ages >= 7'; did you mean age? One that holds"),
    ],
)
def test_one_unknown_name_has_a_message_of_its_own(given, told):
    assert message(**given).startswith(told)


def test_all_unknown_names_are_told_at_once_with_what_was_meant():
    """Also a covariate that one table lacks; a name that is given twice is told once."""
    told = message(
        "tt",
        "yield",
        ["agee", "who"],
        marks={"cluster": "towns"},
        categories=["twn", "agee"],
        identifiers=["whom"],
        groups=["ages > 70"],
    )
    assert told == (
        "8 names are no columns: 'tt' (treatment; did you mean t?), 'yield' (outcome), 'agee' (covariate; did you mean "
        "age?), 'who' (covariate, not in trial.csv), 'towns' (cluster; did you mean town?), 'whom' (identifier; did "
        "you mean who?), 'twn' (category; did you mean town?), 'ages' (group; did you mean age?). There are: who, age, "
        "town, t, y."
    )


def test_a_long_list_is_cut():
    told = message(covariates=[f"x{number}" for number in range(500)])
    assert told.startswith("500 names are no columns: 'x0' (covariate), ")
    assert "'x19' (covariate), …. There are: " in told
    assert "x20" not in told


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age", ["age"]),
        ("age > 70", ["age > 70"]),
        ("age > 70, sex", ["age > 70", "sex"]),
        ("sex,age > 70", ["sex", "age > 70"]),
        ("size, in cm", ["size, in cm"]),
        ("size, in cm >= 180", ["size, in cm >= 180"]),
        ("agee", ["agee"]),
        ("sex,agee", ["sex", "agee"]),
    ],
)
def test_names_between_commas_are_crossed_unless_the_column_has_the_comma(text, names):
    assert crossed(text, ["age", "sex", "size, in cm"]) == names


def test_a_column_may_be_called_like_a_comparison():
    assert compared_column("age > 70", ["age"]) == "age"
    assert compared_column("age > 70", ["age", "age > 70"]) == "age > 70"
