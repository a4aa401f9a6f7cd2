"""Own columns of the rows: as text, identifiers first, as many as fit."""

import base64

import numpy as np
import pyarrow as pa
import pytest

from confide.report import columns
from confide.report.columns import as_text, fitting, is_numeric


def values(column):
    if "values" in column:
        return column["values"]
    places = np.frombuffer(base64.b64decode(column["places"]), "<u2")
    return [column["different"][place] for place in places]


def test_identifiers_come_first_and_values_are_text():
    table = pa.table({"age": [1.5, None, 3.0], "who": ["a", "b", None], "smoker": [True, None, False]})
    kept, left_out = fitting(table, ["age", "smoker"])
    assert [(column["name"], column["covariate"]) for column in kept] == [
        ("who", False),
        ("age", True),
        ("smoker", True),
    ]
    assert [values(column) for column in kept] == [["a", "b", None], ["1.5", None, "3"], ["true", None, "false"]]
    assert left_out == []


@pytest.mark.parametrize(
    ("values", "numeric"),
    [
        (["1", "2.5", "-3e4"], True),
        (["1", None, "NA", ""], True),
        (["1", "two"], False),
        (["inf"], False),
        ([None, ""], False),
        (["2024-01-31"], False),
        (["2021_01", "2021_02"], False),
        (["١", "٢"], False),
        ([".5", "5.", "+1E+3"], True),
        (["1e999"], False),
        (["0x10", "1"], False),
    ],
)
def test_what_sorts_as_a_number(values, numeric):
    assert is_numeric(values) is numeric


def test_what_repeats_takes_little_room():
    table = pa.table({"town": ["a long name of a town", None] * 500, "number": list(range(1000))})
    town, number = fitting(table, ["town", "number"])[0]
    assert "places" in town
    assert "values" in number
    assert values(town) == table["town"].to_pylist()


def test_what_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr(columns, "MOST_BYTES", 2_000)
    long = ["x" * 100 + str(row) for row in range(30)]
    table = pa.table({"long": long, "age": list(range(30)), "who": list(range(30)), "longer": long})
    kept, left_out = fitting(table, ["long", "age", "longer"])
    assert [column["name"] for column in kept] == ["who", "age"]
    assert left_out == ["long", "longer"]


@pytest.mark.parametrize("column", [[[1, 2], None], [{"a": 1}, None], [b"\xff", None]])
def test_what_arrow_cannot_write_is_written_as_python_does(column):
    array = pa.chunked_array([pa.array(column)])
    assert as_text("odd", array) == [str(column[0]), None]
