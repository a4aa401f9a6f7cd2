import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import stack

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
    with pytest.warns(UserWarning, match="only the trial table has them: site"):
        study = stack(pd.DataFrame(OBSERVATIONAL), pd.DataFrame(TRIAL).assign(site=[1, 2]))
    assert list(study.X.columns) == ["age", "city"]


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
        (frame(OBSERVATIONAL, t=["a", None, "b"]), frame(TRIAL, t=["a", "b"]), {}, "1 missing values"),
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
