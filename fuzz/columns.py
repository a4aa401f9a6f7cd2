"""Columns as hostile or careless people write them, each beside its clean equivalent where it has one."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tables = dict[str, pa.Array]

# What is expected of a study with such a column.
SAME = "the answer of the clean table"
SAME_OR_REFUSED = "the answer of the clean table, or a refusal"
SANE = "an answer without nonsense, or a refusal"
REFUSED = "a refusal"
FILES_REFUSED = "a refusal of files, whose output would have two columns of one name"
WARNED = "a warning or a refusal"

TABLES = ("observational", "trial", "new")
MISSING = ("", "NA", "N/A", "#N/A", "NULL", "null", "None", "NaN", "nan", "NaT", "<NA>", " NA ")
# Text that spreadsheets, shells, browsers and parsers may take for more than text.
HOSTILE_TEXT = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(1,1)",
    '-2+3+cmd|"/C calc"!A0',
    '"quoted"',
    'a "b", c',
    "two\nlines",
    "carriage\rreturn",
    "tab\there",
    "semi;colon|bar",
    "<script>window.hacked = 1</script>",
    "{{ 7 * 7 }}",
    "%s %(name)s {0}",
    "$(touch hacked)",
    "'; DROP TABLE trial; --",
    "ü\u0308 é ﬁ Ⅻ",
    "\u202eright to left",
    "👩‍⚕️",
    "\ufeffmark",
    "nul\x00byte",
    "\u00a0no-break\u00a0",
    "x" * 5000,
    "__proto__",
    "true story",
    "1,5",
    "../../etc/passwd",
)


@dataclass(frozen=True)
class Column:
    """One column of the three tables.

    Attributes
    ----------
    family : str
        What kind of hostility it is.
    cells : dict
        An array per table, as it is written.
    expects : str
        What is expected of a study with it.
    clean : dict or None
        The same values as a careful person writes them.
    typed : bool
        Whether a CSV file cannot hold it: it says more by its type than by its text.
    """

    family: str
    cells: Tables
    expects: str = SANE
    clean: Tables | None = None
    typed: bool = field(default=False)


def column(rng: np.random.Generator, sizes: dict[str, int]) -> Column:
    """Return a covariate, hostile in some way."""
    make: Callable[..., Column] = MAKERS[rng.integers(len(MAKERS))]
    return make(rng, sizes)


def _each(sizes: dict[str, int], make: Callable[[int], pa.Array]) -> Tables:
    return {name: make(sizes[name]) for name in TABLES}


def _spelled(
    rng: np.random.Generator,
    family: str,
    values: dict[str, list[Any]],
    spellings: Sequence[Callable[[list[Any]], pa.Array]],
    typed: Sequence[bool] | None = None,
) -> Column:
    """Return values in one spelling, or in another one per table; the first spelling is the clean one."""
    alike = rng.random() < 0.5
    chosen = [int(rng.integers(len(spellings)))] * 3 if alike else rng.integers(len(spellings), size=3).tolist()
    cells = {name: spellings[how](values[name]) for name, how in zip(TABLES, chosen, strict=True)}
    clean = {name: spellings[0](values[name]) for name in TABLES}
    only_typed = typed is not None and any(typed[how] for how in chosen)
    return Column(family, cells, SAME if alike else SAME_OR_REFUSED, clean, only_typed)


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
