"""Columns as hostile or careless people have them: odd values, and those of `notations`, which are oddly written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fuzz.drawn import HOSTILE_TEXT, REFUSED, SANE, TABLES, WARNED, Column
from fuzz.notations import (
    written_booleans,
    written_categories,
    written_dates,
    written_instants,
    written_integers,
    written_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.drawn import Tables


def column(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Return a covariate, hostile in some way."""
    make: Callable[..., Column] = MAKERS[rng.integers(len(MAKERS))]
    return make(rng, sizes)


def _each(sizes: dict[str, int], make: Callable[[int], pa.Array]) -> Tables:
    return {name: make(sizes[name]) for name in TABLES}


def codes(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Codes with leading zeros, which are no numbers; in one table perhaps without the zeros."""
    width = int(rng.integers(2, 5))
    lost = rng.random() < 0.5
    cells = {}
    for name in TABLES:
        numbers = rng.integers(0, 20, sizes[name])
        cells[name] = pa.array([str(each) if lost and name == "trial" else f"{each:0{width}d}" for each in numbers])
    return Column("codes with leading zeros", cells, SANE)


def extreme_numbers(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Numbers near the ends of what a float holds, in some cells or in all."""
    extremes = np.array([1e300, -1e300, 1.7976931348623157e308, 5e-324, -5e-324, 2.3e-308, 1e154, 1e-200, -0.0, 1e16])
    chosen = rng.choice(extremes, int(rng.integers(1, 4)))
    share = rng.choice([0.02, 0.5, 1.0])
    where = rng.choice(["everywhere", *TABLES])

    def make(name: str) -> pa.Array:
        values = rng.standard_normal(sizes[name])
        odd = rng.random(sizes[name]) < share
        extreme = rng.choice(chosen, sizes[name])
        return pa.array(np.where(odd, extreme, values) if where in ("everywhere", name) else values)

    return Column("numbers near the ends of floats", {name: make(name) for name in TABLES})


def large_integers(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Integers beyond 2**53, signed and unsigned."""
    unsigned = rng.random() < 0.5
    low, high = (2**63, 2**64 - 1) if unsigned else (2**53, 2**63 - 1)
    narrow = rng.random() < 0.5
    kind: Any = np.uint64 if unsigned else np.int64

    def make(size: int) -> pa.Array:
        return pa.array(rng.integers(low, low + 50 if narrow else high, size, dtype=kind))

    return Column("integers beyond 2**53", _each(sizes, make))


def infinite_numbers(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """One infinite number."""
    cells = {name: rng.standard_normal(sizes[name]) for name in TABLES}
    where = str(rng.choice(TABLES))
    cells[where][:1] = rng.choice([np.inf, -np.inf])
    return Column("an infinite number", {name: pa.array(values) for name, values in cells.items()}, REFUSED)


def all_missing(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """No value at all, in one table or in every one."""
    where = rng.choice(["everywhere", *TABLES])
    text = rng.random() < 0.5

    def make(name: str) -> pa.Array:
        size = sizes[name]
        if where in ("everywhere", name):
            how = rng.integers(4)
            if how == 0:
                return pa.nulls(size)
            if how == 1:
                return pa.nulls(size, pa.string() if text else pa.float64())
            return pa.array(["NA"] * size) if how == 2 else pa.array([float("nan")] * size)
        return pa.array(rng.choice(["a", "b"], size)) if text else pa.array(rng.standard_normal(size))

    return Column("columns without a value", {name: make(name) for name in TABLES})


def constant(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """One value in every row, or in every row but one."""
    value = rng.choice([0.0, 1.0, 1e16, 1e300, 5e-324, -7.25])
    but_one = rng.random() < 0.5

    def make(name: str) -> pa.Array:
        cells = np.full(sizes[name], value)
        if but_one and name == "observational":
            cells[:1] = np.nextafter(value, np.inf) if rng.random() < 0.5 else 2 * value + 1
        return pa.array(cells)

    return Column("no variance", {name: make(name) for name in TABLES})


def mixed(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Numbers with a few words, or as many words as numbers."""
    share = rng.choice([0.03, 0.5])
    words = rng.choice(HOSTILE_TEXT, 3)

    def make(size: int) -> pa.Array:
        numbers = [repr(each) for each in np.round(rng.normal(size=size), 1).tolist()]
        odd = rng.random(size) < share
        odd[:1] = True
        return pa.array([str(rng.choice(words)) if is_odd else each for each, is_odd in zip(numbers, odd, strict=True)])

    return Column("numbers among words", _each(sizes, make))


def other_types(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Types that are no kind of covariate, or hardly one."""
    makers: list[Callable[[int], pa.Array]] = [
        lambda size: pa.array([[1, 2]] * size),
        lambda size: pa.array([{"a": 1}] * size),
        lambda size: pa.array([b"\xff\x00"] * size),
        lambda size: pa.array([dt.timedelta(days=int(each)) for each in rng.integers(0, 9, size)]),
        lambda size: pa.array([dt.time(int(each)) for each in rng.integers(0, 23, size)]),
        lambda size: pa.array([Decimal(10) ** 30 + int(each) for each in rng.integers(0, 9, size)]),
        lambda size: (
            pa.array([{"a": 1}] * size, pa.map_(pa.string(), pa.int64())) if size < 0 else pa.array([[]] * size)
        ),
        lambda size: pa.array([(1, 0, 0)] * size, pa.month_day_nano_interval()),
    ]
    make = makers[rng.integers(len(makers))]
    return Column("types that are no covariates", _each(sizes, make), SANE, typed=True)


def impossible_dates(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Dates that do not exist, zones beside none, or years that clocks do not reach."""
    odd = str(
        rng.choice(["2023-02-30", "2023-13-01", "0000-00-00", "2023-01-01T25:00:00", "2023-01-01T10:00:00+99:99"])
    )
    style = int(rng.integers(3))

    def make(size: int) -> pa.Array:
        days = rng.integers(1, 28, size)
        if style == 0:  # some cells are impossible
            return pa.array([odd if place == 0 else f"2023-01-{day:02d}" for place, day in enumerate(days)])
        if style == 1:  # some cells have a zone
            return pa.array([f"2023-01-{day:02d}T10:00:00" + ("Z" if day % 2 else "") for day in days])
        return pa.array([int(day) * 10**17 for day in days], pa.timestamp("s"))

    return Column("impossible dates", _each(sizes, make), typed=style == 2)


def kinds_that_differ(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Numbers, words, dates or booleans in one table, and another kind in the next."""
    makers: dict[str, Callable[[int], pa.Array]] = {
        "numbers": lambda size: pa.array(rng.standard_normal(size)),
        "words": lambda size: pa.array(rng.choice(["low", "high"], size)),
        "dates": lambda size: pa.array([dt.date(2023, 1, int(day)) for day in rng.integers(1, 28, size)]),
        "instants": lambda size: pa.array(rng.integers(0, 10**9, size), pa.timestamp("s", "UTC")),
        "booleans": lambda size: pa.array(rng.random(size) < 0.5),
    }
    first, second = rng.choice(list(makers), 2, replace=False)
    odd = str(rng.choice(TABLES))
    cells = {name: makers[second if name == odd else first](sizes[name]) for name in TABLES}
    # Unseen words of new rows are categories like any other.
    expects = SANE if odd == "new" and first == "words" else REFUSED
    return Column("kinds that differ between tables", cells, expects)


def twin_categories(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Categories that differ by case or spaces between the tables."""
    words = ["The North", "The South", "The East"]
    write: Callable[[str], str] = [str.upper, str.lower, lambda word: word.replace(" ", "  ")][int(rng.integers(3))]
    odd = str(rng.choice(["observational", "trial"]))
    cells = {}
    for name in TABLES:
        chosen = rng.choice(words, sizes[name]).tolist()
        cells[name] = pa.array([write(word) for word in chosen] if name == odd else chosen)
    return Column("categories that differ by case or spaces", cells, WARNED)


def many_categories(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Text that no other row has."""
    return Column(
        "a category per row",
        {name: pa.array([f"{name} {row} {rng.random()}" for row in range(sizes[name])]) for name in TABLES},
    )


MAKERS: list[Callable[[np.random.Generator, dict[str, int]], Column]] = [
    written_numbers,
    written_integers,
    written_booleans,
    written_dates,
    written_instants,
    written_categories,
    codes,
    extreme_numbers,
    large_integers,
    infinite_numbers,
    all_missing,
    constant,
    mixed,
    other_types,
    impossible_dates,
    kinds_that_differ,
    twin_categories,
    many_categories,
]
