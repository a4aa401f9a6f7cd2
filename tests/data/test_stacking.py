import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import CounterfactualIntervals, stack

OBSERVATIONAL = {"t": [0, 1, 0], "y": [1.0, 2.0, 3.0], "age": [30, 40, 50], "city": ["Ulm", "Bern", None]}
TRIAL = {"city": ["Rome", "Ulm"], "age": [35.5, 45.5], "y": [4, 5], "t": [1, 0]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("first", MAKERS)
@pytest.mark.parametrize("second", MAKERS)
def test_stack_matches_columns_by_name(first, second):
    X, y, treatment, trial = stack(MAKERS[first](OBSERVATIONAL), MAKERS[second](TRIAL))
    assert isinstance(X, type(MAKERS[first](OBSERVATIONAL)))
    table = X if first == "pyarrow" else pa.table(X) if first == "polars" else pa.Table.from_pandas(X)
    assert table.column_names == ["age", "city"]
    assert table["age"].to_pylist() == [30, 40, 50, 35.5, 45.5]
    assert table["city"].to_pylist() == ["Ulm", "Bern", None, "Rome", "Ulm"]
    assert y.tolist() == [1, 2, 3, 4, 5]
    assert treatment.tolist() == [0, 1, 0, 1, 0]
    assert treatment.dtype.kind == "i"
    assert trial.tolist() == [False] * 3 + [True] * 2


def test_lazy_frames_and_categories():
    one = pl.LazyFrame(OBSERVATIONAL).with_columns(pl.col("city").cast(pl.Categorical))
    study = stack(one, pd.DataFrame(TRIAL).assign(city=lambda frame: frame["city"].astype("category")))
    assert study.X["city"].to_list() == ["Ulm", "Bern", None, "Rome", "Ulm"]


def test_pandas_indexes_do_not_matter():
    one = pd.DataFrame(OBSERVATIONAL, index=[5, 5, 5])
    study = stack(one, pd.DataFrame(TRIAL, index=[7, 5]))
    assert study.X.loc[study.trial, "age"].tolist() == [35.5, 45.5]


def test_named_covariates_and_labels():
    one = pd.DataFrame(OBSERVATIONAL).assign(t=["a", "b", "a"])
    two = pd.DataFrame(TRIAL).assign(t=["b", "a"])
    study = stack(one, two, covariates=["age"])
    assert list(study.X.columns) == ["age"]
    assert study.treatment.tolist() == ["a", "b", "a", "b", "a"]


def test_whole_numbers_that_came_as_floats_are_integers():
    study = stack(pd.DataFrame(OBSERVATIONAL), pd.DataFrame(TRIAL).assign(t=[1.0, 0.0]))
    assert study.treatment.dtype.kind == "i"


def test_categories_of_labels_and_covariates_keep_their_values():
    one = pd.DataFrame(OBSERVATIONAL).assign(t=pd.Categorical([0, 1, 0]), city=pd.Categorical([np.nan, 1, 2]))
    two = pd.DataFrame(TRIAL).assign(t=pd.Categorical([1, 0]), city=pd.Categorical([1, 2]))
    study = stack(one, two, covariates="city")
    assert study.treatment.tolist() == [0, 1, 0, 1, 0]
    assert study.X["city"].tolist()[1:] == ["1", "2", "1", "2"]


def test_columns_with_missing_values_of_ordinary_pandas_tables():
    one = pd.DataFrame(OBSERVATIONAL).assign(a=[True, None, False], b=[1, None, 2], c=np.nan)
    two = pd.DataFrame(TRIAL).assign(a=[True, False], b=[3, 4], c=["x", "y"])
    one["b"] = one["b"].astype(object)
    study = stack(one, two, covariates=["a", "b", "c"])
    table = pa.Table.from_pandas(study.X)
    assert table["a"].to_pylist() == [True, None, False, True, False]
    assert table["c"].to_pylist() == [None, None, None, "x", "y"]


def test_a_column_of_one_table_only_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match=r"only the trial table has them: site\. Name the covariates"):
        study = stack(pd.DataFrame(OBSERVATIONAL), pd.DataFrame(TRIAL).assign(site=[1, 2]))
    assert list(study.X.columns) == ["age", "city"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"p": [0.3, 0.7]},
            "If p is the probability of the treatment received, state it (assignment=, --assignment p).",
        ),
        ({"p": ["0.3", "0.7"], "q": [0.5, 0.5]}, "If one of p, q is the probability of the treatment received, state"),
        ({"p": [0.3, 1.0]}, None),
        ({"p": [0.3, None]}, None),
        ({"p": ["0.3", "x"]}, None),
        ({"p": [True, True]}, None),
    ],
)
def test_a_column_that_may_be_the_probability_is_pointed_out(more, told):
    with pytest.warns(UserWarning, match="only the trial table has them: p") as caught:
        stack(pd.DataFrame(OBSERVATIONAL), pd.DataFrame(TRIAL).assign(**more))
    text = " ".join(str(each.message) for each in caught)
    assert ("is the probability" in text) == (told is not None)
    assert (told or "") in text


def test_with_an_assignment_nothing_else_is_taken_for_it():
    with pytest.warns(UserWarning, match=r"only the trial table has them: q\. Name the covariates"):
        stack(pd.DataFrame(OBSERVATIONAL), pd.DataFrame(TRIAL).assign(p=0.5, q=[0.3, 0.7]), assignment="p")


def test_columns_that_each_table_has_alone_may_be_one_of_two_names():
    with (
        pytest.warns(UserWarning, match=r"has them: pressure\. Rename those that the trial table has under another"),
        pytest.warns(UserWarning, match=r"has them: bp\. Rename those that the observational table has under another"),
    ):
        stack(pd.DataFrame(OBSERVATIONAL).assign(pressure=[120, 130, 140]), pd.DataFrame(TRIAL).assign(bp=[125, 135]))


def frame(base, **changes):
    return pd.DataFrame({**base, **changes})


@pytest.mark.parametrize(
    ("observational", "trial", "options", "message"),
    [
        (frame(OBSERVATIONAL), frame(TRIAL), {"treatment": "tt"}, "no column tt"),
        (frame(OBSERVATIONAL), frame(TRIAL), {"covariates": ["agee"]}, "no column agee; did you mean age"),
        (frame(OBSERVATIONAL), frame(TRIAL), {"covariates": []}, "no covariates"),
        (frame(OBSERVATIONAL), frame(TRIAL), {"covariates": ["age", "y"]}, "'y' cannot be a covariate"),
        (frame(OBSERVATIONAL), frame(TRIAL), {"treatment": "y"}, "must be two columns"),
        (
            frame(OBSERVATIONAL),
            frame(TRIAL, age=["x", "z"]),
            {},
            "'age' is not of one kind: in the observational table numbers .such as '30'.*in the trial table categories",
        ),
        (frame(OBSERVATIONAL, y=["a", "b", "c"]), frame(TRIAL, y=["a", "b"]), {}, "outcome must be numeric"),
        (
            frame(OBSERVATIONAL),
            frame(TRIAL, y=[1.0, None]),
            {},
            "trial table has no outcome 'y' in 1 of 2 rows .such as row 2",
        ),
        (frame(OBSERVATIONAL, y=[np.inf, 1, 2]), frame(TRIAL), {}, "outcome must be finite"),
        (frame(OBSERVATIONAL, t=["a", None, "b"]), frame(TRIAL, t=["a", "b"]), {}, "1 missing value in"),
        (frame(OBSERVATIONAL, t=["a", None, None]), frame(TRIAL, t=["a", "b"]), {}, "2 missing values in"),
        (
            frame(OBSERVATIONAL),
            frame(TRIAL, t=["a", "b"]),
            {},
            "column 't' is not of one kind: in the observational table numbers .such as '0', '1'",
        ),
        (frame(OBSERVATIONAL), frame(TRIAL, t=[np.inf, 1.0]), {}, "1 are missing or something else"),
        (frame(OBSERVATIONAL), frame(TRIAL).iloc[:0], {}, "none of the 3 rows is from the trial"),
        (np.zeros((2, 3)), frame(TRIAL), {}, r"with arrays, call Study\(X, y, treatment, trial\)"),
    ],
)
def test_bad_tables(observational, trial, options, message):
    with pytest.raises(ValueError, match=message):
        stack(observational, trial, **options)


LARGE_LABELS = [2**53, 2**53 + 1]


@pytest.mark.parametrize("write", [int, float, str])
@pytest.mark.parametrize("labels", [LARGE_LABELS, [2**60, -(2**60)]])
def test_treatments_that_floats_cannot_tell_apart(write, labels):
    """Once two treatments became one arm."""
    cells = [write(labels[each]) for each in OBSERVATIONAL["t"]]
    one = pa.table({**OBSERVATIONAL, "t": cells})
    other = pa.table({**TRIAL, "t": [write(labels[each]) for each in TRIAL["t"]]})
    with pytest.raises(ValueError, match=r"holds -?\d{16,}, and numbers from 2\*\*53 on .* Declare it a category"):
        stack(one, other)
    if write is not float:
        assert stack(one, other, categories=["t"]).treatment.tolist() == [str(labels[each]) for each in [0, 1, 0, 1, 0]]


def test_a_treatment_that_no_integer_holds():
    one = pa.table({**OBSERVATIONAL, "t": [0.0, 1e300, 0.0]})
    with pytest.raises(ValueError, match="the treatment column 't' holds 1000"):
        stack(one, pa.table(TRIAL))


def test_unsigned_integers_that_no_signed_one_holds():
    one = pa.table({**OBSERVATIONAL, "age": pa.array([2**63, 2**64 - 1, 5], pa.uint64())})
    X, *_ = stack(one, pa.table({**TRIAL, "age": pa.array([1, 2], pa.uint64())}))
    assert X["age"].to_pylist() == [2.0**63, 2.0**64, 5, 1, 2]


@pytest.mark.parametrize("make", MAKERS.values())
def test_narrow_numbers_stay_narrow_and_change_no_answer(make):
    def tables(number, whole):
        rng = np.random.default_rng(0)
        for rows in (60, 40):
            columns = {"a": rng.standard_normal(rows).astype(np.float32), "b": rng.integers(0, 9, rows)}
            columns["a"][3] = np.nan
            outcomes = {"t": np.arange(rows) % 2, "y": rng.standard_normal(rows)}
            yield make({"a": columns["a"].astype(number), "b": columns["b"].astype(whole), **outcomes})

    narrow, wide = stack(*tables(np.float32, np.int8)), stack(*tables(np.float64, np.int64))
    types = [pa.table(X) if make is not pd.DataFrame else pa.Table.from_pandas(X) for X in (narrow.X, wide.X)]
    assert [types[0].schema.field(name).type for name in "ab"] == [pa.float32(), pa.int8()]
    assert [types[1].schema.field(name).type for name in "ab"] == [pa.float64(), pa.int64()]
    answers = [
        np.asarray(CounterfactualIntervals("transfer", base="linear", random_state=0).fit(each).predict_interval(X, 1))
        for each, X in ((narrow, narrow.X), (narrow, wide.X), (wide, wide.X))
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_numbers_that_cannot_be_squared_are_refused():
    large = "numbers must lie between -1e.100 and 1e.100"
    with pytest.raises(ValueError, match=f"column 'age' holds 1e.300, and {large}"):
        stack(pa.table({**OBSERVATIONAL, "age": [1.0, 1e300, 2.0]}), pa.table(TRIAL))
    with pytest.raises(ValueError, match=f"the outcome holds -1e.101, and {large}"):
        stack(pa.table({**OBSERVATIONAL, "y": [1.0, -1e101, 2.0]}), pa.table(TRIAL))


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame])
def test_two_columns_of_one_name(make):
    twice = pa.table([[1, 2], [3, 4], [0, 1], [1.0, 2.0]], names=["a", "a", "t", "y"])
    with pytest.raises(ValueError, match=r"^a table has two columns named a; rename one of them.$"):
        stack(twice if make is pa.table else twice.to_pandas(), pa.table({"a": [1], "t": [0], "y": [1.0]}))


@pytest.mark.parametrize("make", MAKERS.values())
def test_a_name_with_a_nul_character(make):
    """At which polars ends the process."""
    with pytest.raises(ValueError, match="has a NUL character; rename it"):
        stack(make({**OBSERVATIONAL, "x\0": [1, 2, 3]}), make({**TRIAL, "x\0": [1, 2]}))


def test_messages_are_short_whatever_is_in_the_tables():
    text = "x" * 10_000
    many = {f"column {number}": [1, 2, 3] for number in range(500)}
    for one, other, how in (
        ({**OBSERVATIONAL, "age": [text, f"{text}y", "z"]}, {**TRIAL, "age": [1.5, 2.5]}, {}),
        ({**OBSERVATIONAL, **many}, {**TRIAL, **{name: [1, 2] for name in many}}, {"treatment": "none"}),
    ):
        with pytest.raises(ValueError) as caught:
            stack(pa.table(one), pa.table(other), **how)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("maker", MAKERS.values())
def test_a_covariate_that_looks_like_an_identifier_is_told(maker):
    one, two = (
        {
            "t": [0, 1] * half,
            "y": [1.0] * 2 * half,
            "who": [f"{half}-{row}" for row in range(2 * half)],
            "z": [3] * 2 * half,
        }
        for half in (15, 12)
    )
    with pytest.warns(
        UserWarning, match=r"column 'who' has a different value .* \(in Python: drop the column\)"
    ) as caught:
        stack(maker(one), maker(two))
    assert [each.filename for each in caught] == [__file__]
    stack(maker(one), maker(two), covariates=["who", "z"])  # who names it means it
    two["who"][0] = two["who"][1]
    stack(maker(one), maker(two))
