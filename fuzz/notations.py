"""Columns whose values are written in another notation or type, each beside its clean equivalent."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from fuzz.drawn import HOSTILE_TEXT, SAME, SAME_OR_REFUSED, TABLES, Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null", "None", "NaN", "nan", "NaT", "<NA>", " NA ")


def _spelled(
    rng: np.random.Generator,
    family: str,
    values: dict[str, list[Any]],
    spellings: Sequence[Callable[[list[Any]], pa.Array]],
) -> Column:
    """Return values in one spelling, or in another one per table; the first spelling is the clean one."""
    alike = rng.random() < 0.5
    chosen = [int(rng.integers(len(spellings)))] * 3 if alike else rng.integers(len(spellings), size=3).tolist()
    cells = {name: spellings[how](values[name]) for name, how in zip(TABLES, chosen, strict=True)}
    clean = {name: spellings[0](values[name]) for name in TABLES}
    return Column(family, cells, SAME if alike else SAME_OR_REFUSED, clean)


def _holes(rng: np.random.Generator, values: list[Any]) -> list[Any]:
    """Return the values, in half of the cases some of them missing."""
    share = rng.choice([0.0, 0.1])
    return [None if hole else value for value, hole in zip(values, rng.random(len(values)) < share, strict=True)]


def _texts(write: Callable[[Any], str], missing: str = "NA") -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array([missing if value is None else write(value) for value in values], pa.string())


def written_numbers(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Numbers as floats, or as text in many notations."""
    values = {name: _holes(rng, np.round(rng.normal(50, 20, sizes[name]), 2).tolist()) for name in TABLES}
    gap = str(rng.choice(MISSING))
    return _spelled(
        rng,
        "numbers in another notation",
        values,
        [
            lambda cells: pa.array(cells, pa.float64()),
            _texts(repr, gap),
            _texts(lambda value: f"  {value!r}\t", gap),
            _texts(lambda value: f"{value:.17e}", gap),
            _texts(lambda value: f"{value:+.6f}", gap),
            lambda cells: pa.array([None if each is None else repr(each) for each in cells], pa.large_string()),
            lambda cells: pa.array([float("nan") if each is None else each for each in cells], pa.float64()),
            lambda cells: pa.array(
                [None if each is None else Decimal(repr(each)) for each in cells], pa.decimal128(9, 2)
            ),
            lambda cells: pa.array(cells, pa.float64()).cast(pa.string()).cast(pa.string_view()),
        ],
    )


def written_integers(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Whole numbers in every type that holds them."""
    values = {name: _holes(rng, rng.integers(0, 100, sizes[name]).tolist()) for name in TABLES}
    types = (pa.float64(), pa.int64(), pa.int8(), pa.uint64(), pa.float32(), pa.float16(), pa.uint8())
    return _spelled(
        rng,
        "whole numbers in another type",
        values,
        [
            *(lambda cells, kind=kind: pa.array(cells, pa.float64()).cast(kind) for kind in types),
            _texts(str, ""),
            _texts(lambda value: f"{value}.0", "null"),
        ],
    )


def written_booleans(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Booleans, their words and 0 and 1."""
    values = {name: _holes(rng, (rng.random(sizes[name]) < 0.4).tolist()) for name in TABLES}
    return _spelled(
        rng,
        "booleans in another notation",
        values,
        [
            lambda cells: pa.array(cells, pa.bool_()),
            _texts(lambda value: "true" if value else "false", ""),
            _texts(lambda value: " TRUE " if value else "False"),
            lambda cells: pa.array([None if each is None else int(each) for each in cells], pa.int8()),
        ],
    )


def written_dates(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Dates of every type, and as text."""
    first = dt.date(int(rng.choice([1, 1582, 1899, 1970, 2020, 9000])), 1, 1)
    values = {
        name: _holes(rng, [first + dt.timedelta(int(days)) for days in rng.integers(0, 3000, sizes[name])])
        for name in TABLES
    }
    units = ("s", "ms", "us")
    return _spelled(
        rng,
        "dates in another type",
        values,
        [
            lambda cells: pa.array(cells, pa.date32()),
            lambda cells: pa.array(cells, pa.date64()),
            *(lambda cells, unit=unit: pa.array(cells, pa.date32()).cast(pa.timestamp(unit)) for unit in units),
            _texts(lambda value: value.isoformat(), ""),
            _texts(lambda value: f"{value.isoformat()}T00:00:00"),
        ],
    )


def written_instants(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Instants, written in several time zones, over a change of the clocks too."""
    zones = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia")
    first = dt.datetime(2023, 10, 25, tzinfo=dt.UTC)
    values = {
        name: _holes(rng, [first + dt.timedelta(minutes=int(each)) for each in rng.integers(0, 9000, sizes[name])])
        for name in TABLES
    }
    other = ZoneInfo(str(rng.choice(zones)))
    return _spelled(
        rng,
        "instants of several time zones",
        values,
        [
            lambda cells: pa.array(cells, pa.timestamp("us", "UTC")),
            lambda cells: pa.array(cells, pa.timestamp("us", other.key)),
            lambda cells: pa.array(cells, pa.timestamp("ns", other.key)),
            _texts(lambda value: value.isoformat().replace("+00:00", "Z")),
            _texts(lambda value: value.astimezone(other).isoformat(), ""),
            _texts(lambda value: value.astimezone(other).strftime("%Y-%m-%d %H:%M:%S%z"), ""),
        ],
    )


def written_categories(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Categories of hostile text, as text or as dictionaries."""
    words = rng.choice(HOSTILE_TEXT, int(rng.integers(2, 6)), replace=False).tolist()
    values = {name: _holes(rng, rng.choice(words, sizes[name]).tolist()) for name in TABLES}

    def dictionary(cells: list[Any]) -> pa.Array:
        return pa.array(cells, pa.string()).dictionary_encode()

    return _spelled(
        rng,
        "hostile text as categories",
        values,
        [
            lambda cells: pa.array(cells, pa.string()),
            lambda cells: pa.array(cells, pa.large_string()),
            dictionary,
            _texts(lambda value: f" {value} ", ""),
            lambda cells: pa.array(cells, pa.string_view()),
        ],
    )
