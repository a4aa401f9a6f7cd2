"""Frames of pandas, polars and pyarrow in types that people use and seldom test."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from fuzz.attacks._bench import answered, arrow, check_same, clean, refused_frames, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.attacks._bench import Cases

NAMES = ("obs", "trial", "new")
TOWNS = ["Atlantis", "Café", "Nord", "Süd"]
HELD = "The answer of the clean files."


def check(change: Callable[[pa.Table], Any], *tables: str, **settings: Any) -> str:
    """Break unless the study answers as the clean one if some of its tables, or all, are changed."""
    changed = [change(arrow(name)) if name in (tables or NAMES) else arrow(name) for name in NAMES]
    check_same(answered(*changed, **settings))
    return HELD


def nullable() -> str:
    """Nullable types of pandas: Int64, Float64, boolean, string."""
    return check(lambda rows: rows.to_pandas().convert_dtypes())


def arrow_backed() -> str:
    """Types of pyarrow inside pandas."""
    return check(lambda rows: rows.to_pandas(types_mapper=pd.ArrowDtype))


def objects() -> str:
    """Columns of Python objects in pandas: int, float, bool, str, date."""
    return check(lambda rows: pd.DataFrame(rows.to_pydict(), dtype=object))


def objects_of_numpy() -> str:
    """Columns of Python objects in pandas that are scalars of numpy."""

    def change(rows: pa.Table) -> pd.DataFrame:
        frame = rows.to_pandas()
        return frame.assign(n=frame["n"].map(np.int16).astype(object), x=frame["x"].map(np.float64).astype(object))

    return check(change)


def mixed_objects() -> str:
    """A column of objects with numbers and text in it."""

    def change(rows: pa.Table) -> pd.DataFrame:
        frame = rows.to_pandas()
        return frame.assign(n=[str(each) if place % 2 else each for place, each in enumerate(frame["n"])])

    return refused_frames(change(arrow("obs")), arrow("trial"), arrow("new"), "one kind")


def index() -> str:
    """A frame of pandas with an index of people, in another order, with values twice."""

    def change(rows: pa.Table) -> pd.DataFrame:
        return rows.to_pandas().set_index(np.arange(len(rows))[::-1] // 2)

    return check(change)


def named_index() -> str:
    """A frame of pandas whose index has the name of a covariate."""
    return check(lambda rows: rows.to_pandas().rename_axis("x"))


def multi_columns() -> str:
    """A frame of pandas with columns in two levels."""
    frame = arrow("obs").to_pandas()
    frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
    return refused_frames(frame, arrow("trial"), arrow("new"), "no column")


def integer_names() -> str:
    """A frame of pandas with numbers as names of columns, beside text."""

    def change(rows: pa.Table) -> pd.DataFrame:
        return rows.to_pandas().assign(further=1).rename(columns={"further": 7})

    return check(change)


def two_columns_of_one_name() -> str:
    """A frame of pandas with two columns of one name."""
    frame = arrow("obs").to_pandas()
    return refused_frames(pd.concat([frame, frame[["x"]]], axis=1), arrow("trial"), arrow("new"), "two columns", "x")


def pandas_categories() -> str:
    """Categorical columns of pandas with values in another order in each table, and one that no row has."""

    def change(rows: pa.Table) -> pd.DataFrame:
        order = TOWNS if len(rows) % 4 else TOWNS[::-1]
        return rows.to_pandas().assign(town=lambda frame: pd.Categorical(frame["town"], order))

    return check(change)


def ordered_categories() -> str:
    """Ordered categories of pandas in one table, text in the others."""

    def change(rows: pa.Table) -> pd.DataFrame:
        return rows.to_pandas().assign(town=lambda frame: pd.Categorical(frame["town"], TOWNS, ordered=True))

    return check(change, "trial")


def polars_categories() -> str:
    """Categoricals of polars, whose codes differ between tables."""
    return check(lambda rows: _polars(rows).with_columns(pl.col("town", "who").cast(pl.Categorical)))


def polars_enums() -> str:
    """Enums of polars, with a value that no row has."""
    return check(lambda rows: _polars(rows).with_columns(pl.col("town").cast(pl.Enum(TOWNS))))


def lazy() -> str:
    """Lazy frames of polars."""
    return check(lambda rows: _polars(rows).lazy())


def three_libraries() -> str:
    """A frame of polars, one of pandas and one of pyarrow in one study."""
    check_same(answered(_polars(arrow("obs")), arrow("trial").to_pandas(), arrow("new")))
    return HELD


def dictionaries() -> str:
    """Dictionaries of pyarrow with one value twice among their keys."""

    def change(rows: pa.Table) -> pa.Table:
        keys = pa.array([*TOWNS, *TOWNS])
        codes = [TOWNS.index(each) + 4 * (place % 2) for place, each in enumerate(rows["town"].to_pylist())]
        return _with(rows, "town", pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), keys))

    return check(change)


def decimals() -> str:
    """Decimals of pyarrow, for covariates and outcomes."""

    def change(rows: pa.Table) -> pa.Table:
        for name in {"x", "y"} & set(rows.column_names):
            values = [decimal.Decimal(f"{each:.3f}") for each in rows[name].to_pylist()]
            rows = _with(rows, name, pa.array(values, pa.decimal128(12, 3)))
        return rows

    return check(change)


def large_text() -> str:
    """Large strings of pyarrow in one table, views of text in another."""

    def change(rows: pa.Table) -> pa.Table:
        kind = pa.large_string() if len(rows) > 70 else pa.string_view()
        return _with(rows, "town", rows["town"].cast(kind))

    return check(change)


def small_types() -> str:
    """Numbers in the smallest types that hold them."""

    def change(rows: pa.Table) -> pa.Table:
        return _with(rows, "n", rows["n"].cast(pa.uint8() if len(rows) > 70 else pa.int16()))

    return check(change)


def lists() -> str:
    """A column of lists."""
    rows = _with(arrow("obs"), "n", pa.array([[each] for each in arrow("obs")["n"].to_pylist()]))
    return refused_frames(rows, arrow("trial"), arrow("new"), "'n'", "list")


def structures() -> str:
    """A column of records."""
    rows = _with(arrow("obs"), "n", pa.array([{"a": each} for each in arrow("obs")["n"].to_pylist()]))
    return refused_frames(rows, arrow("trial"), arrow("new"), "'n'", "struct")


def raw_bytes() -> str:
    """A column of bytes."""
    rows = _with(arrow("obs"), "town", arrow("obs")["town"].cast(pa.binary()))
    return refused_frames(rows, arrow("trial"), arrow("new"), "'town'", "binary")


def complex_numbers() -> str:
    """A column of complex numbers."""
    frame = arrow("obs").to_pandas()
    return refused_frames(frame.assign(x=frame["x"] + 1j), arrow("trial"), arrow("new"), "kind")


def dates_of_three_types() -> str:
    """Days as dates, as timestamps in nanoseconds and as text."""
    obs = _with(arrow("obs"), "day", arrow("obs")["day"].cast(pa.timestamp("ns")))
    new = _with(arrow("new"), "day", pa.array(table("new")["day"]))
    check_same(answered(obs, arrow("trial"), new))
    return HELD


def zones() -> str:
    """Instants of two time zones in two frames, the same moments."""

    def moments(zone: str) -> Callable[[pa.Table], pd.DataFrame]:
        def change(rows: pa.Table) -> pd.DataFrame:
            frame = rows.to_pandas()
            days = pd.to_datetime(frame["day"].astype(str)).dt.tz_localize("UTC")
            return frame.assign(day=days.dt.tz_convert(zone))

        return change

    wanted = answered(*(moments("UTC")(arrow(name)) for name in NAMES))
    mixed = [
        moments(zone)(arrow(name)) for name, zone in zip(NAMES, ("UTC", "Asia/Tokyo", "America/Lima"), strict=True)
    ]
    check_same(answered(*mixed), wanted)
    return "One moment is one value, wherever the clock is: the answer in UTC."


def zones_in_one_column() -> str:
    """Instants of two time zones in one column of Python objects."""

    def change(rows: pa.Table) -> pd.DataFrame:
        frame = rows.to_pandas()
        zones = dt.UTC, dt.timezone(dt.timedelta(hours=9))
        moments = [
            dt.datetime.combine(day, dt.time(0), dt.UTC).astimezone(zones[place % 2])
            for place, day in enumerate(frame["day"])
        ]
        return frame.assign(day=pd.Series(moments, dtype=object))

    def in_utc(rows: pa.Table) -> pa.Table:
        return _with(rows, "day", rows["day"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")))

    wanted = answered(*(in_utc(arrow(name)) for name in NAMES))
    check_same(answered(*(change(arrow(name)) for name in NAMES)), wanted)
    return "The answer in UTC."


def labels_of_three_types() -> str:
    """Treatments 1, 1.0 and "1" in frames."""
    for first, second in ((int, float), (float, str), (str, int), (bool, int)):
        obs, trial = (_treated(name, kind) for name, kind in (("obs", first), ("trial", second)))
        label = {"drug": "False", "placebo": "True"} if first is bool else {"drug": "0", "placebo": "1"}
        check_same(answered(obs, trial, arrow("new")), names=label)
    return "Four pairs of types, one treatment each: the answer under the plain names."


def missing_in_four_ways() -> str:
    """None, NaN, pd.NA and NaT in frames of pandas, against null in pyarrow."""

    def without(name: str) -> pa.Table:
        rows = arrow(name)
        some = np.arange(len(rows)) % 5 == 0
        for column in ("x", "town", "day"):
            values = [None if gone else each for gone, each in zip(some, rows[column].to_pylist(), strict=True)]
            rows = _with(rows, column, pa.array(values, rows[column].type))
        return rows

    wanted = answered(*map(without, NAMES))
    plain = [without(name).to_pandas() for name in NAMES]
    check_same(answered(*plain), wanted)
    check_same(answered(*(each.convert_dtypes() for each in plain)), wanted)
    odd = [each.assign(town=each["town"].astype(object).where(each["town"].notna(), np.nan)) for each in plain]
    check_same(answered(*odd), wanted)
    return "One missing value: the answer with nulls."


def infinite() -> str:
    """An infinite covariate in a new row of a frame."""
    new = arrow("new").to_pandas()
    new.loc[2, "x"] = np.inf
    return refused_frames(arrow("obs"), arrow("trial"), new, "'x'", "infinite")


def other_numbers_for_booleans() -> str:
    """Booleans when fitted, 0, 1 and 2 in the new rows."""
    new = _with(arrow("new"), "flag", pa.array([0, 1, 2, 0, 1, 1]))
    return refused_frames(arrow("obs"), arrow("trial"), new, "'flag'", "booleans")


def array_for_a_frame() -> str:
    """An array of new rows for a model that was fitted on frames."""
    new = arrow("new").to_pandas()[["x", "n"]].to_numpy()
    return refused_frames(arrow("obs"), arrow("trial"), new, "named columns")


def views_of_frames() -> str:
    """Every second row of larger frames, and columns in another order: views, not copies."""

    def change(rows: pa.Table) -> pd.DataFrame:
        frame = rows.to_pandas()
        return pd.concat([frame, frame]).sort_index(kind="stable").iloc[::2, ::-1]

    return check(change)


def unchanged() -> str:
    """The caller's frames after the answer."""
    frames = [arrow(name).to_pandas() for name in NAMES]
    before = [each.copy(deep=True) for each in frames]
    check_same(answered(*frames))
    for one, other in zip(frames, before, strict=True):
        pd.testing.assert_frame_equal(one, other)
    return "They are as they were, to the last cell and type."


def no_rows() -> str:
    """A frame of new rows without a row, and a trial without one."""
    found = answered(arrow("obs"), arrow("trial"), arrow("new").slice(0, 0))
    assert found.keys() == clean().keys()
    assert all(len(each) == 0 for each in found.values())
    return f"No rows, no answers. {refused_frames(arrow('obs'), arrow('trial').slice(0, 0), arrow('new'), 'trial')}"


def _polars(rows: pa.Table) -> Any:
    return pl.from_arrow(rows)


def _treated(name: str, kind: type) -> pd.DataFrame:
    frame = arrow(name).to_pandas()
    return frame.assign(t=[kind(int(each == "placebo")) for each in frame["t"]])


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, values)


CASES: Cases = {
    "nullable types of pandas": nullable,
    "types of pyarrow in pandas": arrow_backed,
    "columns of Python objects": objects,
    "columns of objects that are numbers of numpy": objects_of_numpy,
    "numbers and text in one column of objects": mixed_objects,
    "an index in another order, with values twice": index,
    "an index with the name of a covariate": named_index,
    "columns in two levels": multi_columns,
    "numbers as names of columns": integer_names,
    "two columns of one name in a frame": two_columns_of_one_name,
    "categories of pandas in another order per table": pandas_categories,
    "ordered categories in one table, text in the others": ordered_categories,
    "categoricals of polars": polars_categories,
    "enums of polars": polars_enums,
    "lazy frames": lazy,
    "three libraries in one study": three_libraries,
    "dictionaries with one value twice": dictionaries,
    "decimals": decimals,
    "large strings and views of text": large_text,
    "numbers in small types": small_types,
    "a column of lists": lists,
    "a column of records": structures,
    "a column of bytes": raw_bytes,
    "complex numbers": complex_numbers,
    "days as dates, timestamps and text": dates_of_three_types,
    "two time zones in two frames": zones,
    "two time zones in one column": zones_in_one_column,
    "treatments 1, 1.0, '1' and True": labels_of_three_types,
    "None, NaN, pd.NA and null": missing_in_four_ways,
    "an infinite covariate in a new row": infinite,
    "booleans when fitted, 2 in a new row": other_numbers_for_booleans,
    "an array for a model of frames": array_for_a_frame,
    "views of larger frames": views_of_frames,
    "the caller's frames afterwards": unchanged,
    "frames without rows": no_rows,
}
