"""What becomes what: one table for all formats, decided from all tables together."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Study, stack
from confide.data import kinds
from confide.data.encoding import TableEncoder, kinds_of
from confide.data.files import read_file, read_study

NAN = np.nan
DAY = 19_723  # 2024-01-01
# What is written in a column, its kind, and what the cells are then: numbers, or text where it is a category.
MEANINGS = {
    "whole numbers": (["1", "22", "-3", "+4"], "numbers", [1, 22, -3, 4]),
    "decimals": (["1.5", "2.0", ".5", "5."], "numbers", [1.5, 2, 0.5, 5]),
    "powers of ten": (["1e3", "2.5E-1"], "numbers", [1000, 0.25]),
    "numbers with holes": (["1", "", "NA", "None", "nan", "NULL", "2.0"], "numbers", [1, NAN, NAN, NAN, NAN, NAN, 2]),
    "numbers with spaces": ([" 1", "2 "], "numbers", [1, 2]),
    "codes with leading zeros": (["01", "02", "10"], "categories", ["01", "02", "10"]),
    "words": (["a", " b", "NA", "c d"], "categories", ["a", "b", None, "c d"]),
    "words and numbers": (["1", "1.0", "2.50", "x"], "categories", ["1", "1", "2.5", "x"]),
    "booleans": (["true", "False", "", "TRUE"], "booleans", [1, 0, NAN, 1]),
    "yes and no": (["yes", "no"], "categories", ["yes", "no"]),
    "dates": (["2024-01-01", "", "2024-01-03"], "dates", [DAY, NAN, DAY + 2]),
    "dates with times": (["2024-01-01 12:00:00", "2024-01-01T06:00:00"], "dates", [DAY + 0.5, DAY + 0.25]),
    "instants": (
        ["2024-01-01T12:00:00Z", "2024-01-01 12:00:00+06:00"],
        "instants of a time zone",
        [DAY + 0.5, DAY + 0.25],
    ),
    "times": (["06:00", "12:00:00"], "times of day", [0.25, 0.5]),
    "nothing": (["", "NA"], "numbers", [NAN, NAN]),
}


def carriers(folder, cells):
    """Return the same text by every way in."""
    table = pa.table({"x": cells, "z": ["1.5"] * len(cells)})
    lines = ["x,z", *(f"{cell},1.5" for cell in cells)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")
    pq.write_table(table, folder / "x.parquet")
    pyarrow.feather.write_feather(table, str(folder / "x.arrow"))
    return {
        **{name: read_file(str(folder / name)) for name in ("x.csv", "x.parquet", "x.arrow")},
        "arrow": table,
        "large text": table.cast(pa.schema([("x", pa.large_string()), ("z", pa.large_string())])),
        "pandas": pd.DataFrame({"x": cells, "z": "1.5"}),
        "pandas objects": pd.DataFrame({"x": np.array(cells, dtype=object), "z": "1.5"}),
        "pandas strings": pd.DataFrame({"x": pd.array(cells, dtype="string"), "z": "1.5"}),
        "polars": pl.DataFrame({"x": cells, "z": ["1.5"] * len(cells)}),
        "array": np.array([[cell, "1.5"] for cell in cells], dtype=object),
    }


@pytest.mark.parametrize("what", MEANINGS)
def test_what_is_written_means_the_same_in_every_format(tmp_path, what):
    cells, kind, expected = MEANINGS[what]
    for carrier, X in carriers(tmp_path, cells).items():
        found = kinds_of(X)
        name = next(iter(found))
        assert found[name] == kind, carrier
        encoder = TableEncoder().fit(X)
        encoded = encoder.transform(X)
        if kind != "categories":
            np.testing.assert_array_equal(encoded[:, 0], expected, err_msg=carrier)
            continue
        categories = encoder.columns_[0].categories
        assert [categories[row.argmax()] if row.any() else None for row in encoded[:, : len(categories)]] == expected


TYPED = {
    "integers": (pa.array([1, None, 3]), "numbers", [1, NAN, 3]),
    "floats": (pa.array([1.5, None, 3.0]), "numbers", [1.5, NAN, 3]),
    "booleans": (pa.array([True, None, False]), "booleans", [1, NAN, 0]),
    "dates": (pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 2)]), "dates", [DAY, NAN, DAY + 1]),
    "durations": (pa.array([dt.timedelta(days=1.5), None, dt.timedelta(0)]), "durations", [1.5, NAN, 0]),
    "times": (pa.array([dt.time(6), None, dt.time(12)]), "times of day", [0.25, NAN, 0.5]),
}


@pytest.mark.parametrize("what", TYPED)
def test_typed_columns_are_what_their_type_says(what):
    column, kind, expected = TYPED[what]
    assert kinds_of(pa.table({"x": column})) == {"x": kind}
    np.testing.assert_array_equal(TableEncoder().fit_transform(pa.table({"x": column}))[:, 0], expected)


def test_a_declared_category_is_one_whatever_its_values_look_like():
    numbers = pd.DataFrame({"x": pd.Categorical([1, 2, 2])})
    assert kinds_of(numbers) == {"x": "categories"}
    table = pd.DataFrame({"t": [0, 1], "y": [1.0, 2.0], "site": [1, 2], "text": ["7.0", "8"]})
    study = stack(table, table, categories=["site", "text"])
    assert kinds_of(study.X) == {"site": "categories", "text": "categories"}
    assert study.X["text"].tolist() == ["7", "8"] * 2
    with pytest.raises(ValueError, match=r"'sites' is declared a category and is no covariate.*did you mean site"):
        stack(table, table, categories=["sites"])


def test_a_refusal_is_one_line_whatever_the_column_is_called():
    numbers, words = ({"t": [0, 1], "y": [1.0, 2.0], "two\nlines": cells} for cells in ([1.5, 2.5], ["high", "low"]))
    with pytest.raises(ValueError, match=r"--category 'two\\nlines', stack\(categories=\['two\\nlines'\]\)") as refusal:
        stack(pa.table(numbers), pa.table(words))
    assert "\n" not in str(refusal.value)


@given(st.lists(st.sampled_from(["1", "1.0", "1.00", " 1 "]), min_size=1), st.sampled_from([1, 1.0, np.int8(1)]))
def test_one_category_is_written_in_one_way(cells, number):
    for column in (
        pa.chunked_array([cells]),
        pa.chunked_array([[number]]),
        pa.chunked_array([cells]).dictionary_encode(),
    ):
        assert set(kinds.texts("x", column).to_pylist()) == {"1"}


def test_categories_keep_what_differs():
    cells = ["01", "1", "1.5", "1.50", "true", "True", "Ulm", "ulm", "-0", "1e3", "1.2.0"]
    assert kinds.texts("x", pa.chunked_array([cells])).to_pylist() == [
        *("01", "1", "1.5", "1.5", "true", "true", "Ulm", "ulm", "-0", "1e3", "1.2.0")
    ]
    assert kinds.texts("x", pa.chunked_array([[2.0**60, 2.5, NAN, None, 3.0]])).to_pylist()[1:] == [
        "2.5",
        None,
        None,
        "3",
    ]
    assert kinds.texts("x", pa.chunked_array([[True, None]])).to_pylist() == ["true", None]


ROWS = 40


def tables(observational, trial):
    """Return two CSV tables of text, the column x as given and repeated."""

    def table(cells):
        cells = (cells * ROWS)[:ROWS] if len(cells) < ROWS else cells
        return pa.table(
            {
                "x": cells,
                "z": [str(row / 7) for row in range(len(cells))],
                "t": ["0", "1"] * (len(cells) // 2),
                "y": [str(row) for row in range(len(cells))],
            }
        )

    return table(observational), table(trial)


NUMBERS = [f"{20 + row}.5" for row in range(ROWS)]
DATES = [f"2024-01-{1 + row % 28:02d}" for row in range(ROWS)]


@pytest.mark.parametrize(
    ("observational", "trial", "message"),
    [
        (
            NUMBERS,
            [*NUMBERS[:-1], ">200"],
            r"'x' of the trial table holds numbers but for 1 of 40 cells: '>200' \(row 40\)",
        ),
        (
            [*NUMBERS[:-2], "x", "x"],
            NUMBERS,
            r"of the observational table holds numbers but for 2 of 40 cells: 'x' \(row 39\)",
        ),
        ([*NUMBERS[:-1], "007"], NUMBERS, "numbers but for 1 of 40 cells: '007'"),
        ([*DATES[:-1], "soon"], DATES, "dates but for 1 of 40 cells: 'soon'"),
        (["true"] * 39 + ["maybe"], ["true", "false"], "booleans but for 1 of 40 cells: 'maybe'"),
        (
            DATES,
            ["01.02.2024", "15.03.2024"],
            "dates in a notation that is not known, such as '01.02.2024': write them like 2024",
        ),
        (["1,234", "12,5"], NUMBERS, "numbers with commas, such as '1,234': --decimal"),
        (
            NUMBERS,
            DATES,
            "in the observational table numbers .such as .20.5..*in the trial table dates .such as '2024-01-01'",
        ),
        (
            ["Ulm", "Bern"],
            NUMBERS,
            "not of one kind: in the observational table categories .*in the trial table numbers",
        ),
        (["01", "02"], ["1", "2"], "not of one kind: .*'01', '02'.*'1', '2'"),
        (["true", "false"], ["0", "2"], "not of one kind: in the observational table booleans"),
        (DATES, ["2024-01-01T10:00Z"], "dates .*instants of a time zone"),
    ],
)
def test_tables_that_disagree_are_told_with_examples_and_the_remedy(observational, trial, message):
    with pytest.raises(ValueError, match=message) as caught:
        stack(*tables(observational, trial))
    assert "category" in str(caught.value) or "--id x" in str(caught.value)
    declared = stack(*tables(observational, trial), categories=["x"])
    assert kinds_of(declared.X)["x"] == "categories"


MANY = [f"{1 + row % 28:02d}.{1 + row // 28:02d}.2022" for row in range(300)]


@pytest.mark.parametrize("by_batches", [False, True])
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [*(f"{row}.5" for row in range(299)), "k.A."],
            r"1 of 300 cells: 'k.A.' .*Correct the cell, or leave it empty",
        ),
        (["3.5"] * 299 + ["k.A."], r"1 of 300 cells: 'k.A.' .*Correct the cell, or leave it empty"),
        (MANY, r"such as '01.01.2022': write them like 2024-01-31"),
        (MANY[:50] * 6, r"such as '01.01.2022': write them like 2024-01-31"),
        (MANY[:51] * 6, r"such as '01.01.2022': write them like 2024-01-31"),
        (MANY[:30] * 2, r"such as '01.01.2022': write them like 2024-01-31"),
        (MANY[:31] + MANY[:29], r"such as '01.01.2022': write them like 2024-01-31"),
    ],
)
def test_a_category_is_offered_where_there_are_few_values(cells, message, by_batches):
    table = pa.table({"x": cells, "t": ["0", "1"] * (len(cells) // 2), "y": ["1.5"] * len(cells)})
    with pytest.raises(ValueError, match=f"{message}; or leave a covariate out .--id x, --covariates without") as told:
        stack(ds.dataset(table) if by_batches else table, table)
    assert ("--category x" in str(told.value)) == (len(set(cells)) <= min(50, len(cells) / 2))


@pytest.mark.parametrize(
    ("observational", "trial", "kind"),
    [
        (["1", "2", "x"], ["1.0", "2.0"], "categories"),  # what the trial has, the other table has too
        (["01", "02", "x"], ["01", "02"], "categories"),
        (["true", "false"], ["1", "0"], "booleans"),
        (NUMBERS, ["", "NA"], "numbers"),
        (["", "NA"], DATES, "dates"),
    ],
)
def test_tables_that_can_be_read_alike(observational, trial, kind):
    assert kinds_of(stack(*tables(observational, trial)).X)["x"] == kind


def test_typed_and_written_tables_meet():
    written, _ = tables(DATES, DATES)
    typed = written.set_column(0, "x", pa.array([dt.date.fromisoformat(cell) for cell in DATES]))
    study = stack(typed, written)
    assert kinds_of(study.X)["x"] == "dates"
    values = TableEncoder().fit_transform(study.X)[:, 0]
    np.testing.assert_array_equal(values[:ROWS], values[ROWS:])


def test_files_are_named(tmp_path):
    for name, table in zip("ot", tables(NUMBERS, [*NUMBERS[:-1], ">200"]), strict=True):
        pd.DataFrame(table.to_pydict()).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(ValueError, match=r"column 'x' of .*t\.csv holds numbers but for 1 of 40 cells: '>200'"):
        read_study(str(tmp_path / "o.csv"), str(tmp_path / "t.csv"), "t", "y")


def test_labels_that_differ_by_case_or_spaces_only():
    with pytest.raises(
        ValueError,
        match="treatments 'Drug' and 'drug' differ by case, spaces or forms of Unicode only; write them alike",
    ):
        Study(np.zeros((2, 1)), [0, 1], ["Drug", "drug"], [0, 1])
    table = pa.table({"t": ["a", "b"], "y": [1.0, 2.0], "town": ["Ulm", "ulm "]})
    told = "'town' has categories that differ by case, spaces or forms of Unicode only: 'Ulm' and 'ulm'"
    with pytest.warns(UserWarning, match=told):
        stack(table, table)
    with (
        pytest.warns(
            UserWarning,
            match="only the trial table has them: Age. Rename those that the observational table has "
            "under another name. Names that differ by case, .* 'Age' beside 'age'",
        ),
        pytest.warns(UserWarning, match="only the observational table has them: age"),
    ):
        stack(
            table.append_column("age", pa.array([1, 2])).drop_columns(["town"]).append_column("z", pa.array([1, 2])),
            pa.table({"t": ["a"], "y": [1.0], "Age": [3], "z": [1]}),
        )


def test_labels_in_two_forms_of_unicode():
    one, two = "Café", "Cafe\u0301"
    with pytest.raises(ValueError, match="forms of Unicode only; write them alike"):
        Study(np.zeros((2, 1)), [0, 1], [one, two], [0, 1])
    table = pa.table({"t": [one, two, "b"], "y": [1.0, 2.0, 3.0], "town": [one, two, "Ulm"]})
    study = stack(table, table)
    assert set(study.treatment) == {one, "b"}
    assert set(study.X["town"].to_pylist()) == {one, "Ulm"}
    with pytest.warns(UserWarning, match="Names that differ by case, spaces or forms of Unicode only"):
        stack(table.append_column(one, [[1, 2, 3]]), table.append_column(two, [[1, 2, 3]]))


def test_names_of_columns_that_are_numbers():
    frame = pd.DataFrame({"t": ["a", "b"], "y": [1.0, 2.0], 7: [1, 2]})
    assert stack(frame, frame).X.columns.tolist() == ["7"]


def test_words_among_numbers_are_pointed_out():
    cells = [*NUMBERS[:30], *["-"] * 10]
    first, second = tables(cells, cells)
    told = (
        "'x' is taken as categories, although 30 of 40 cells in the observational table are numbers: the others are '-'"
    )
    with pytest.warns(UserWarning, match=told):
        stack(first, second)
    stack(first, second, categories=["x"])


@pytest.mark.parametrize("column", [["none", "drug"], pa.array(["none", "drug"]).dictionary_encode()])
def test_a_treatment_that_is_called_none(column):
    table = pa.table({"t": column, "y": [1.0, 2.0], "x": [1, 2]})
    told = "Here 'none' is read as missing: write another word for it if a value is meant. Leave these rows out if not."
    with pytest.raises(ValueError, match=f"1 missing value in the observational table .* {told}"):
        stack(table, table)
    with pytest.raises(ValueError, match=f"has no treatment 't' in some rows .* {told}"):
        stack(ds.dataset(table), table)


def test_a_missing_treatment_without_a_word():
    table = pa.table({"t": ["", "drug"], "y": [1.0, 2.0], "x": [1, 2]})
    with pytest.raises(ValueError, match=r"Leave these rows out\.$"):
        stack(table, table)


def test_an_outcome_that_is_a_number_but_for_a_cell():
    first, second = tables(NUMBERS, NUMBERS)
    broken = second.set_column(3, "y", pa.array([*NUMBERS[:-1], "dead"]))
    with pytest.raises(ValueError, match="column 'y' of the trial table holds numbers but for 1 of 40 cells: 'dead'"):
        stack(first, broken)
