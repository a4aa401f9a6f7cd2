import datetime as dt

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from confide.data.encoding import (
    MAX_CATEGORIES,
    SHARED_COLUMNS,
    EncodedRows,
    TableEncoder,
    encoded_by,
    fitted_encoder,
    kinds_of,
)
from confide.exceptions import RefusalError

COLUMNS = {
    "age": [30, 40, None, 60],
    "smoker": [True, False, None, True],
    "city": ["Ulm", "Bern", "Ulm", None],
    "visit": [dt.date(2024, 1, 1), dt.date(2024, 1, 3), None, dt.date(2023, 12, 31)],
}
DAY = 19_723  # 2024-01-01
NAN = np.nan
EXPECTED = {
    "age": [30, 40, NAN, 60],
    "smoker": [1, 0, NAN, 1],
    "city = Bern": [0, 1, 0, 0],
    "city = Ulm": [1, 0, 1, 0],
    "city is missing": [0, 0, 0, 1],
    "visit": [DAY, DAY + 2, NAN, DAY - 1],
}


def frames():
    table = pa.table(COLUMNS)
    pandas = pd.DataFrame(COLUMNS)
    pandas["visit"] = pd.to_datetime(pandas["visit"])
    categorical = pandas.assign(city=pandas["city"].astype("category"), age=pandas["age"].astype("Int64"))
    return {
        "pyarrow": table,
        "polars": pl.DataFrame(COLUMNS),
        "polars lazy": pl.LazyFrame(COLUMNS),
        "polars categorical": pl.DataFrame(COLUMNS).with_columns(pl.col("city").cast(pl.Categorical)),
        "pandas": pandas,
        "pandas categorical": categorical,
    }


@pytest.mark.parametrize("kind", frames())
def test_every_kind_of_frame_gives_the_same_matrix(kind):
    encoder = TableEncoder().fit(frames()[kind])
    assert encoder.get_feature_names_out().tolist() == list(EXPECTED)
    np.testing.assert_array_equal(encoder.transform(frames()[kind]), np.column_stack(list(EXPECTED.values())))


def test_frames_may_change_kind_order_and_gain_columns():
    encoder = TableEncoder().fit(frames()["pandas"])
    other = frames()["polars"].select("visit", "city", "smoker", "age").with_columns(extra=pl.lit("x"))
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(frames()["pandas"]))


def test_unseen_categories_and_new_missing_values():
    encoder = TableEncoder().fit(pa.table({"age": [1.0, 3.0], "city": ["Ulm", "Bern"]}))
    encoded = encoder.transform(pa.table({"age": [None, 2.0], "city": ["Rome", None]}))
    np.testing.assert_array_equal(encoded, [[NAN, 0, 0], [2, 0, 0]])


def test_columns_that_are_wholly_missing():
    encoder = TableEncoder().fit(pa.table({"age": [1.0, 3.0], "city": ["Ulm", "Bern"]}))
    np.testing.assert_array_equal(encoder.transform(pa.table({"age": pa.nulls(1), "city": pa.nulls(1)})), [[NAN, 0, 0]])
    nothing = TableEncoder().fit(pa.table({"x": pa.nulls(2)}))
    np.testing.assert_array_equal(nothing.transform(pa.table({"x": [7]})), [[7]])


def test_rare_and_unseen_categories_share_columns_by_their_names():
    names = [f"c{index:02d}" for index in range(MAX_CATEGORIES + 5)]
    encoder = TableEncoder().fit(pa.table({"c": names + names[:MAX_CATEGORIES]}))
    assert encoder.get_feature_names_out()[MAX_CATEGORIES] == "c = others 1"
    encoded = encoder.transform(pa.table({"c": [names[0], names[-1], "new", "new", None]}))
    assert encoded.shape == (5, MAX_CATEGORIES + SHARED_COLUMNS)
    assert encoded.sum(axis=1).tolist() == [1, 1, 1, 1, 0]
    assert encoded[0, 0] == 1
    assert (encoded[1:, :MAX_CATEGORIES] == 0).all()
    np.testing.assert_array_equal(encoded[2], encoded[3])
    # The place of a name depends on nothing but the name.
    others = TableEncoder().fit(pa.table({"c": [f"d{index}" for index in range(500)]}))
    new = others.transform(pa.table({"c": [names[-1], "new"]}))
    np.testing.assert_array_equal(new[:, MAX_CATEGORIES:], encoded[1:3, MAX_CATEGORIES:])


def test_few_categories_leave_no_column_for_others():
    encoder = TableEncoder().fit(pa.table({"c": [f"c{index}" for index in range(MAX_CATEGORIES)]}))
    assert len(encoder.get_feature_names_out()) == MAX_CATEGORIES


def test_categories_of_numbers_are_categories_however_they_came():
    encoder = TableEncoder().fit(pd.DataFrame({"site": pd.Categorical([1, 2, 9, 2])}))
    assert encoder.get_feature_names_out().tolist() == ["site = 1", "site = 2", "site = 9"]
    floats = pd.DataFrame({"site": pd.Categorical([np.nan, 1, 2])})
    np.testing.assert_array_equal(encoder.transform(floats), [[0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_instants_are_the_same_in_every_zone():
    naive = pa.table({"at": pa.array([dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC"))})
    zoned = pa.table({"at": naive["at"].cast(pa.timestamp("ns", tz="Asia/Tokyo"))})
    encoder = TableEncoder().fit(naive)
    np.testing.assert_array_equal(encoder.transform(zoned), encoder.transform(naive))
    np.testing.assert_array_equal(encoder.transform(pl.from_arrow(zoned)), encoder.transform(naive))


def test_dates_that_came_as_text_are_dates():
    written = pa.table({"visit": ["2024-01-01", None, "2024-01-03"], "code": ["2024-01-01", "x", "2024-01-02"]})
    encoder = TableEncoder().fit(written)
    assert encoder.get_feature_names_out().tolist()[:2] == ["visit", "code = 2024-01-01"]
    np.testing.assert_array_equal(encoder.transform(written)[:, 0], [DAY, NAN, DAY + 2])
    real = pa.table({"visit": [dt.date(2024, 1, 2)], "code": ["x"]})
    assert encoder.transform(real)[0, 0] == DAY + 1
    told = "column 'visit' holds dates, and '31/01/2024' is not one of them. Write it like 2024-01-31, or leave"
    with pytest.raises(ValueError, match=told):
        encoder.transform(pa.table({"visit": ["2024-01-31", None, "31/01/2024"], "code": ["x"] * 3}))


def test_lists_of_numbers_and_text():
    assert TableEncoder().fit([[1.5, "a"], [2.5, "b"]]).get_feature_names_out().tolist() == ["x0", "x1 = a", "x1 = b"]


def test_arrays_by_position():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X)
    mixed = np.array([[1, "a"], [2, "b"]], dtype=object)
    np.testing.assert_array_equal(TableEncoder().fit_transform(mixed), [[1, 1, 0], [2, 0, 1]])
    frame = pd.DataFrame({"p": [1.0], "q": [2.0]})
    np.testing.assert_array_equal(encoder.transform(frame), [[1, 2]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pa.table({"agee": [1], "city": ["Ulm"]}), "columns missing: age; did you mean agee"),
        (
            pa.table({"age": ["old"], "city": ["Ulm"]}),
            "column 'age' holds numbers, and 'old' is not one of them. Correct",
        ),
        (
            pa.table({"age": ["2", "25,4"], "city": ["Ulm"] * 2}),
            "'25,4' is not one of them. In CSV files --decimal ','",
        ),
        (pa.table({"age": [np.inf], "city": ["Ulm"]}), "column 'age' holds infinite values"),
        (pa.table({"age": [1.0], "city": [["Ulm"]]}), "column 'city' holds values that are not text"),
        (pa.table({"age": [dt.date(2024, 1, 1)], "city": ["Ulm"]}), "held numbers when fitted and holds dates now"),
        (np.zeros((2, 2)), "give a table, not an array"),
    ],
)
def test_bad_new_tables(X, message):
    encoder = TableEncoder().fit(pa.table({"age": [1.0, 3.0], "city": ["Ulm", "Bern"]}))
    with pytest.raises(ValueError, match=message):
        encoder.transform(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros((0, 3)), "0 sample"),
        (pa.table({}), "at least one column"),
        (pa.table({"a": pa.array([], pa.float64())}), "no rows"),
        (pd.DataFrame({"a": [1, "x", dt.date(2024, 1, 1)]}), "mixes kinds of values"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "a table has two columns named a; rename one"),
        (pa.table({"a": [[1]]}), "column 'a' holds values that are not numbers"),
    ],
)
def test_bad_tables(X, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(X)


def test_a_wrong_number_of_columns():
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2"):
        TableEncoder().fit(np.zeros((2, 2))).transform(np.zeros((2, 3)))


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas categorical"])
def test_rows_encoded_where_they_are_asked_for_are_those_of_the_whole(kind):
    frame = frames()[kind]
    encoder = TableEncoder().fit(frame)
    whole, rows = encoder.transform(frame), EncodedRows(encoder, frame, own=False)
    assert len(rows) == 4
    np.testing.assert_array_equal(np.asarray(rows), whole)
    np.testing.assert_array_equal(rows[np.array([2, 0])], whole[[2, 0]])
    part = rows.part(np.array([True, False, True, True]))
    assert len(part) == 3
    np.testing.assert_array_equal(part[np.array([False, True, True])], whole[2:])
    np.testing.assert_array_equal(part.part(np.array([1]))[np.array([0])], whole[[2]])


def test_no_rows_have_the_columns_of_the_others_by_any_encoder():
    X = np.array([["a"], ["b"], ["a"]], dtype=object)
    for encoder in (OneHotEncoder(), TableEncoder()):
        rows = EncodedRows(encoder.fit(X), X, own=True)
        assert rows[np.zeros(3, dtype=bool)].shape == (0, 2)


@pytest.mark.parametrize("kind", ["pyarrow", "polars", "pandas categorical"])
def test_the_encoder_learns_categories_of_the_rows_of_the_mask_alone(kind):
    frame = frames()[kind]
    learns = np.array([False, True, False, False])
    encoder = fitted_encoder("auto", frame, learns)
    assert encoder.get_feature_names_out().tolist() == ["age", "smoker", "city = Bern", "visit"]
    expected = TableEncoder(kinds_of(frame)).fit(frames()["pyarrow"].filter(pa.array(learns)))
    assert encoder.columns_ == expected.columns_
    np.testing.assert_array_equal(encoded_by(encoder, frame, own=False), expected.transform(frames()["pyarrow"]))


def test_an_encoder_of_ones_own_needs_a_row_to_learn_from():
    with pytest.raises(RefusalError, match=r"0 of 4 rows are left for the encoder .* Use encoder='auto'"):
        fitted_encoder(OneHotEncoder(), pd.DataFrame(COLUMNS), np.zeros(4, dtype=bool))


@pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "float16", "float32"])
@pytest.mark.parametrize("make", [lambda k: k[:, None], lambda k: pa.table({"k": k}), lambda k: pd.DataFrame({"k": k})])
def test_an_encoder_of_ones_own_sees_a_study_and_new_rows_in_one_type(kind, make):
    """Squares are beyond what few bits hold, and a difference below zero has no unsigned number."""
    if kind == "float16" and not hasattr(nw, "Float16"):
        pytest.skip("frames of half precision need narwhals 2.23")
    values = np.array([11, 99], dtype=kind) if "int" in kind else np.array([1.1, 90.7], dtype=kind)

    def columns(X):
        k = X["k"].to_numpy() if hasattr(X, "columns") else X[:, 0]
        return np.column_stack([k**2, k - 60])

    narrow, usual = make(values), make(values.astype(np.float64))
    fitted = fitted_encoder(FunctionTransformer(columns), narrow, np.ones(2, dtype=bool))
    expected = np.column_stack([values.astype(float) ** 2, values.astype(float) - 60])
    np.testing.assert_array_equal(encoded_by(fitted, narrow, own=True), expected)
    np.testing.assert_array_equal(encoded_by(fitted, usual, own=True), expected)
