"""The input's own columns in the output: as they were, in the format of their file."""

import csv
import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.data import csv_files, files
from confide.data.csv_files import Dialect
from confide.data.files import read_file
from confide.predict.answer import answer_columns
from confide.predict.batches import answer_file
from tables import carried, covariates, fitted_model, people, typed, write

MODEL = fitted_model()
NEW = covariates(people(60, seed=2))
ROWS = len(NEW)
START = dt.datetime(2024, 1, 31, 10, 30)  # noqa: DTZ001  (a time without a zone is one of the cases)
MOMENTS = [START + dt.timedelta(hours=7 * row) for row in range(ROWS)]
HOLE = [row % 5 == 0 for row in range(ROWS)]
# Columns that the model does not read, of the types that tables have, and their text in a CSV file.
OWN = {
    "day": (pa.date32(), [each.date() for each in MOMENTS], "2024-02-02"),
    "midnight": (pa.timestamp("ns"), [each.replace(hour=0, minute=0) for each in MOMENTS], "2024-02-02"),
    "moment": (pa.timestamp("us"), MOMENTS, "2024-02-02 18:30:00"),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), MOMENTS, "2024-02-02 19:30:00+0100"),
    "clock": (pa.time64("us"), [each.time() for each in MOMENTS], "18:30:00"),
    "visits": (pa.int32(), [int(row) for row in range(ROWS)], "8"),
    "flag": (pa.bool_(), [row % 2 == 0 for row in range(ROWS)], "true"),
    "group": (pa.dictionary(pa.int32(), pa.string()), [f"g{row % 3}" for row in range(ROWS)], "g2"),
    "price": (pa.decimal128(8, 2), [Decimal(row) for row in range(ROWS)], "8.00"),
    "code": (pa.string(), [f"{row:03d}" for row in range(ROWS)], "008"),
}
TABLE = pa.table(
    dict(zip(NEW.column_names, NEW.columns, strict=True))
    | {name: pa.array(values, kind, mask=np.array(HOLE)) for name, (kind, values, _) in OWN.items()}
)
SHOWN = 8  # a row whose cells are shown, and none of which is missing


@pytest.fixture(params=[7, 1000])
def batches(request, monkeypatch):
    """Files are read in several batches, and whole."""
    monkeypatch.setattr(files, "BATCH_ROWS", request.param)
    for module in (csv_files, files):
        monkeypatch.setattr(module, "READ_BYTES", 512 if request.param == 7 else 1 << 20)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_own_columns_keep_their_types(tmp_path, kind):
    source, out = str(tmp_path / "new.parquet"), str(tmp_path / f"out.{kind}")
    pq.write_table(TABLE, source, row_group_size=11)
    answer_file(MODEL, source, out)
    found = read_file(out).select(TABLE.column_names)
    for name in TABLE.column_names:
        plain = kind == "arrow" and name == "group"  # batches of an Arrow file would have to share their categories
        assert found[name].type == (pa.string() if plain else TABLE[name].type), name
        assert found[name].to_pylist() == TABLE[name].to_pylist(), name


@pytest.mark.usefixtures("batches")
def test_own_columns_of_a_parquet_file_are_text_as_a_person_writes_it(tmp_path):
    source, out = str(tmp_path / "new.parquet"), tmp_path / "out.csv"
    pq.write_table(TABLE, source, row_group_size=11)
    answer_file(MODEL, source, str(out))
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {name: rows[SHOWN][name] for name in OWN} == {name: text for name, (_, _, text) in OWN.items()}
    for name in OWN:
        assert [row[name] == "" for row in rows] == HOLE, name
        assert len({len(row[name]) for row in rows if row[name]}) == 1 or name in ("visits", "flag", "price")


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_own_columns_of_a_csv_file_keep_their_text(tmp_path, kind):
    source, out = tmp_path / "new.csv", str(tmp_path / f"out.{kind}")
    write(source, TABLE.append_column("odd", pa.array(["2024-01-31 00:00:00.0"] * ROWS)))
    before = carried(source)
    answer_file(MODEL, str(source), out)
    after = carried(out)
    same = [name for name in before.column_names if kind == "csv" or name != "age"]  # a covariate of numbers
    assert after.select(same).to_pydict() == before.select(same).to_pydict()


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("given", [Dialect(";", ",", "latin-1"), Dialect(None, ",", "latin-1"), Dialect("\t", ",")])
def test_the_output_has_the_format_of_its_source(tmp_path, given):
    """Its own columns are the source's text, and the answers, read again, those of a Parquet file."""
    separator, encoding = given.separator or ";", given.encoding or "utf-8"
    source = tmp_path / "new.csv"
    table = TABLE.append_column("number", pa.array(np.linspace(-2000, 2000, ROWS)))
    with source.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(table.column_names)
        for row in carried(write(tmp_path / "plain.csv", table)).to_pylist():
            writer.writerow(
                [text.replace(".", ",") if name in ("age", "number") else text for name, text in row.items()]
            )
    for out in ("out.csv", "out.parquet"):
        answer_file(MODEL, str(source), str(tmp_path / out), dialect=given)
    with source.open(newline="", encoding=encoding) as before:
        own = list(csv.reader(before, delimiter=separator))
    with (tmp_path / "out.csv").open(newline="", encoding=encoding) as after:
        rows = list(csv.reader(after, delimiter=separator))
    answers = answer_columns(MODEL)
    assert rows[0] == [*own[0], *answers]
    assert [row[: len(own[0])] for row in rows] == own
    again, found = read_file(str(tmp_path / "out.csv"), given), typed(tmp_path / "out.parquet")
    for name in answers:
        assert again[name].cast(pa.float64()).to_pylist() == found[name].to_pylist(), name
    assert not any("." in cell for row in rows[1:] for cell in row[-len(answers) :])
