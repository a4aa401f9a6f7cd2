"""Treatments, outcomes, names and sizes as hostile or careless people have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fuzz.drawn import FILES_REFUSED, HOSTILE_TEXT, REFUSED, SAME, SAME_OR_REFUSED, SANE, WARNED, Column

if TYPE_CHECKING:
    from collections.abc import Callable

TRAINED = ("observational", "trial")
PLAIN = "nothing hostile"


@dataclass(frozen=True)
class Labels:
    """The treatment column, and how many treatments a reader who knows what is meant counts in it."""

    column: Column
    arms: int | None


@dataclass(frozen=True)
class Outcomes:
    """The outcome column; its values are ``2**power`` times those of the clean one."""

    column: Column
    power: int = 0


def sizes_of(rng: np.random.Generator) -> tuple[str, dict[str, int]]:
    """Return how many rows the tables have, and in which way that is odd."""
    sizes = {
        "observational": int(rng.integers(30, 70)),
        "trial": int(rng.integers(24, 50)),
        "new": int(rng.integers(2, 9)),
    }
    odd = rng.random()
    if odd < 0.04:
        return "few trial rows", {**sizes, "trial": int(rng.integers(1, 8))}
    if odd < 0.08:
        return "few observational rows", {**sizes, "observational": int(rng.integers(1, 8))}
    if odd < 0.10:
        return "no new rows", {**sizes, "new": 0}
    if odd < 0.11:
        return "10,000 categories", {**sizes, "observational": 10_000}
    return PLAIN, sizes


def labels(rng: np.random.Generator, sizes: dict[str, int]) -> Labels:
    """Return a treatment column; three of four are 0 and 1."""
    codes = {name: rng.permutation(np.arange(sizes[name]) % 2) for name in TRAINED}
    clean = {name: pa.array(codes[name]) for name in TRAINED}
    if rng.random() < 0.75:
        return Labels(Column(PLAIN, clean, SAME, clean), 2)
    maker = LABELS[rng.integers(len(LABELS))]
    found: Labels = maker(rng, codes, clean)
    return found


def _labels_of_types(rng: np.random.Generator, codes: dict[str, Any], clean: dict[str, pa.Array]) -> Labels:
    """0 and 1 in other types, one per table."""
    spellings: list[Callable[[Any], pa.Array]] = [
        lambda each: pa.array(each, pa.int8()),
        lambda each: pa.array(each.astype(float)),
        lambda each: pa.array([str(label) for label in each]),
        lambda each: pa.array([f" {label}.0 " for label in each]),
        lambda each: pa.array(each).dictionary_encode(),
    ]
    cells = {name: spellings[rng.integers(len(spellings))](codes[name]) for name in TRAINED}
    typed = any(pa.types.is_dictionary(each.type) for each in cells.values())
    return Labels(Column("treatments of another type", cells, SAME_OR_REFUSED, clean, typed), 2)


def _hostile_labels(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    words = rng.choice(HOSTILE_TEXT, 2, replace=False)
    return Labels(Column("hostile text as treatments", {name: pa.array(words[codes[name]]) for name in TRAINED}), 2)


def _labels_by_case(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    two = np.array(["new drug", "no drug"])
    words = {"observational": two, "trial": two}
    odd = str(rng.choice(TRAINED))
    write: Callable[[str], str] = [str.upper, str.title, lambda word: word.replace(" ", "  ")][int(rng.integers(3))]
    words[odd] = np.array([write(word) for word in two])
    cells = {name: pa.array(words[name][codes[name]]) for name in TRAINED}
    return Labels(Column("treatments that differ by case or spaces", cells, WARNED), None)


def _near_labels(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    """Two labels that a float cannot tell apart, or that no integer holds."""
    pairs: list[list[Any]] = [
        [2**53, 2**53 + 1],
        [2**62 + 1, 2**62 + 2],
        [1e300, -1e300],
        [5e-324, 0.0],
        [0.1, 0.1 + 1e-17 + 1e-16],
        [float(2**63), float(2**64)],
    ]
    pair = pairs[rng.integers(len(pairs))]
    if rng.random() < 0.4:
        cells = {name: pa.array([repr(pair[code]) for code in codes[name]]) for name in TRAINED}
    else:
        cells = {name: pa.array([pair[code] for code in codes[name]]) for name in TRAINED}
    return Labels(Column("treatments that are extreme numbers", cells), 2)


def _missing_labels(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    cells = {name: codes[name].astype(str).astype(object) for name in TRAINED}
    cells[str(rng.choice(TRAINED))][0] = rng.choice(["", "NA", "nan"])
    return Labels(
        Column("missing treatments", {name: pa.array(cells[name].tolist()) for name in TRAINED}, REFUSED), None
    )


def _uneven_arms(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    """A treatment that one table lacks, that one person received, or three and more of them."""
    cells = dict(codes)
    odd, how = str(rng.choice(TRAINED)), rng.integers(3)
    if how < 2:
        cells[odd] = np.zeros_like(cells[odd])
        cells[odd][: int(how)] = 1
    else:
        many = int(rng.integers(3, 12))
        cells = {name: np.arange(len(cells[name])) % many for name in TRAINED}
    return Labels(Column("uneven arms", {name: pa.array(cells[name]) for name in TRAINED}), None)


def _boolean_labels(rng: np.random.Generator, codes: dict[str, Any], _: dict[str, pa.Array]) -> Labels:
    """False and True, perhaps as words, perhaps 0 and 1 in one table."""
    odd = str(rng.choice([*TRAINED, "none"]))
    write = [lambda each: pa.array(np.array(["FALSE", "True"])[each]), pa.array][int(rng.integers(2))]
    cells = {name: write(codes[name]) if name == odd else pa.array(codes[name] == 1) for name in TRAINED}
    return Labels(Column("booleans as treatments", cells), 2)


LABELS: list[Callable[[np.random.Generator, dict[str, Any], dict[str, pa.Array]], Labels]] = [
    _labels_of_types,
    _hostile_labels,
    _labels_by_case,
    _near_labels,
    _missing_labels,
    _uneven_arms,
    _boolean_labels,
]


def outcomes(rng: np.random.Generator, y: dict[str, Any]) -> Outcomes:
    """Return the outcome column of outcomes ``y``; four of five are as they are."""
    clean = {name: pa.array(values) for name, values in y.items()}
    if rng.random() < 0.8:
        return Outcomes(Column(PLAIN, clean, SAME, clean))
    how = int(rng.integers(7))
    if how == 0:  # other units: exactly a power of two times as large
        power = int(rng.choice([-1000, -500, -200, 200, 500, 1000, 1018]))
        cells = {name: pa.array(np.ldexp(values, power)) for name, values in y.items()}
        return Outcomes(Column("outcomes in extreme units", cells, SAME_OR_REFUSED, clean), power)
    if how == 1:
        odd = {name: values.copy() for name, values in y.items()}
        odd[str(rng.choice(TRAINED))][0] = rng.choice([1e300, -1e308, 1e200, 5e-324])
        return Outcomes(Column("one extreme outcome", {name: pa.array(values) for name, values in odd.items()}))
    if how == 2:
        cells = {
            name: pa.array(np.full(len(values), rng.choice([0.0, 1e300, 5e-324, 7.0]))) for name, values in y.items()
        }
        return Outcomes(Column("outcomes without variance", cells))
    if how == 3:
        odd = {name: values.astype(object) for name, values in y.items()}
        odd[str(rng.choice(TRAINED))][0] = [None, float("nan"), float("inf")][int(rng.integers(3))]
        cells = {name: pa.array(values.tolist(), pa.float64()) for name, values in odd.items()}
        return Outcomes(Column("outcomes that are missing or infinite", cells, REFUSED))
    if how == 4:
        texts = {name: pa.array([f" {value!r} " for value in values.tolist()]) for name, values in y.items()}
        return Outcomes(Column("outcomes as text", texts, SAME, clean))
    if how == 5:
        cells = {name: pa.array([f"{2 * value:.0f} mg" for value in values]) for name, values in y.items()}
        return Outcomes(Column("outcomes that are no numbers", cells, REFUSED))
    whole = {name: pa.array((values * 4).astype(np.int64) + 2**53) for name, values in y.items()}
    return Outcomes(Column("outcomes beyond 2**53", whole, SANE))


def names_of(rng: np.random.Generator, count: int) -> tuple[str, list[str], str]:
    """Return how names are odd, the names of so many covariates, and what is expected of them."""
    usual = [f"x{place}" for place in range(count)]
    odd = rng.random()
    if odd < 0.75:
        return PLAIN, usual, SAME
    place = int(rng.integers(count))
    if odd < 0.90:
        return (
            "hostile names of columns",
            [*usual[:place], str(rng.choice(HOSTILE_TEXT))[:200], *usual[place + 1 :]],
            SANE,
        )
    if odd < 0.94:
        return "names that differ by case", [*usual[:place], "T", *usual[place + 1 :]], SANE
    if odd < 0.97:
        return "a column that answers need", [*usual[:place], "y_1_lower", *usual[place + 1 :]], FILES_REFUSED
    twice = usual[0] if place else usual[-1]
    return "one name for two columns", [*usual[:place], twice, *usual[place + 1 :]], REFUSED if count > 1 else SANE


def declared(column: Column) -> Column:
    """Return the column with nothing promised about its answers beyond sanity."""
    return replace(column, expects=SANE)
