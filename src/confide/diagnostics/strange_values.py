"""Single values of new rows that are like no row of a model's tables: numbers far beyond all, unknown categories.

These are facts about single values, not tests: they say nothing of where the rows come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.advice import Advice
from confide.base.validation import examples
from confide.data import kinds
from confide.data.encoding import CategoryColumn, TableEncoder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from confide.data.study import Study
    from confide.typing import Floats, Table

# A number is far beyond others if it lies outside by more than this share of their range, and beyond `far_limit`.
FAR = 0.5
# Of more rows every second, third or so tells where a tail begins.
TAIL_ROWS = 100_000
# Messages show so many values of a column; one more is kept, so that they can say that there are more.
SHOWN = 3


@dataclass(frozen=True)
class Strange:
    """The strange values of one column.

    Attributes
    ----------
    rows : int
        Number of rows that have one.
    shown : tuple of str
        The first of them, each once.
    usual : str
        What the model's tables have.
    """

    rows: int
    shown: tuple[str, ...]
    usual: str

    def joined(self, other: Strange) -> Strange:
        """Return the values of both batches together."""
        shown = tuple(dict.fromkeys([*self.shown, *other.shown]))[: SHOWN + 1]
        return Strange(self.rows + other.rows, shown, self.usual)


def both(one: Mapping[str, Strange], other: Mapping[str, Strange]) -> dict[str, Strange]:
    """Return the strange values of two batches, by column."""
    return {
        name: one[name].joined(other[name]) if name in one and name in other else one.get(name) or other[name]
        for name in dict.fromkeys(chain(one, other))
    }


def fitted_ends(encoder: Any, study: Study) -> NDArray[np.float64] | None:
    """Return the smallest and largest value of each encoded column, over all rows that a model is fitted on.

    Then, in two more rows, the values below and above which a number is far beyond them. NaN for columns that are no
    numbers. None if a custom encoder made them, or if models learn from rows of a large table that are not in memory.
    """
    if type(encoder) is not TableEncoder or (study.beyond is not None and study.beyond.rest is not None):
        return None
    tables = [encoder.named(study.X)]
    if study.target is not None and not isinstance(study.target, str):
        tables.append(encoder.named(study.target))
    found = []
    for column in encoder.columns_:
        ends = np.full(4, np.nan)
        if getattr(column, "kind", None) == kinds.NUMBERS:  # dates go on: those of new rows are often later than all
            ends = ends_of(
                np.concatenate([kinds.numbers(column.name, table[column.name], finite=False) for table in tables])
            )
        found += [ends] * len(column.names)
    return np.array(found, dtype=np.float64).T


def ends_of(values: Floats) -> Floats:
    """Return the smallest and largest of these values, and the numbers beyond which one is far below and above them.

    Missing values are left out. A number is far if it lies outside by more than half of the range, and beyond
    `far_limit`, so that ordinary extremes of skewed columns are not.
    """
    lowest, highest = np.fmin.reduce(values, initial=np.nan), np.fmax.reduce(values, initial=np.nan)
    if np.isnan(lowest):
        return np.full(4, np.nan)
    some = values[:: 1 + len(values) // TAIL_ROWS]
    some = some[np.isfinite(some)]
    margin = FAR * (highest - lowest)
    least, most = lowest - margin, highest + margin
    if len(some):
        least, most = min(least, -far_limit(-some)), max(most, far_limit(some))
    return np.array([lowest, highest, least, most])


def far_limit(values: Floats) -> float:
    """Return a number that hardly any further value of the same column exceeds, whatever its tail is like.

    Seen from the median on a log scale, it is three times as far beyond the point where the outermost √n of the n
    values begin as the largest value is. If the tail falls like a power law, or faster, about one new value in n² is
    beyond; but for a few people who are far from all others, such as a thousandth with another unit.
    """
    rank = max(len(values) - 1 - round(len(values) ** 0.5), 0)
    ordered = np.partition(values, [len(values) // 2, rank])
    median, begin, highest = ordered[len(values) // 2], ordered[rank], values.max()
    above = values[values > median]
    if not len(above):
        return float(median)
    with np.errstate(over="ignore"):
        reach, inner = highest - median, max(begin, above.min()) - median
        return float(median + reach * (reach / inner) ** 2)


def far_numbers(
    ends: NDArray[np.float64], names: Sequence[str], X: NDArray[np.float64], start: int = 0
) -> dict[str, Strange]:
    """Return the numbers that lie far beyond the ends of their columns; ``start`` is the number of rows before these.

    A column that has one value only is left out: how far is far cannot be told from it.
    """
    lowest, highest, least, most = ends
    found = {}
    for column in np.flatnonzero(highest > lowest).tolist():
        values = X[:, column]
        places = np.flatnonzero((values < least[column]) | (values > most[column]))
        if len(places):
            shown = tuple(f"{values[place]:g} in row {start + place + 1}" for place in places[: SHOWN + 1])
            usual = f"{lowest[column]:g} to {highest[column]:g}"
            found[names[column]] = Strange(len(places), shown, usual)
    return found


def unknown_categories(encoder: Any, rows: Table) -> dict[str, Strange]:
    """Return the categories of rows for which a fitted encoder has no column.

    Columns in which the rarer categories share columns are left out: there new ones are ordinary.
    """
    learnt = [each for each in getattr(encoder, "columns_", []) if isinstance(each, CategoryColumn) and not each.shared]
    found: dict[str, Strange] = {}
    if not learnt:
        return found
    table = encoder.named(rows)
    for column in learnt:
        values = kinds.categories(column.name, table[column.name])
        # A declared category may have values that no row holds, so that rows are counted.
        codes = np.asarray(values.indices.drop_null(), dtype=np.intp)
        written = values.dictionary.to_pylist()
        new = np.array([text is not None and text not in column.categories for text in written], dtype=bool)
        held = codes[new[codes]] if len(codes) else codes
        if len(held):
            different, first = np.unique(held, return_index=True)
            shown = tuple(repr(written[code]) for code in different[np.argsort(first)][: SHOWN + 1])
            found[column.name] = Strange(len(held), shown, examples(map(repr, column.categories), SHOWN))
    return found


def say_far(found: Mapping[str, Strange], rows: int) -> Advice | None:
    """Return a sentence on numbers that are far beyond all others; None if there are none."""
    if not found:
        return None
    listed = [
        f"{_shown(name, each)} ({each.rows} of {rows} rows; fitted on {each.usual})" for name, each in found.items()
    ]
    return Advice.of(
        f"numbers far beyond every row that the model was fitted on: {'; '.join(listed)}. The model knows "
        "nothing like them: look for errors, such as another unit."
    )


def say_unknown(found: Mapping[str, Strange], rows: int) -> Advice | None:
    """Return a sentence on categories that the model does not know; None if there are none."""
    if not found:
        return None
    listed = [
        f"{_shown(name, each)} ({each.rows} of {rows} rows; known: {each.usual or 'none'})"
        for name, each in found.items()
    ]
    return Advice.of(
        f"categories that the model does not know: {'; '.join(listed)}. All unknown ones are treated alike; if one is "
        "known by another name, write it so."
    )


def _shown(name: str, strange: Strange) -> str:
    return f"{name} = {examples(strange.shown, SHOWN)}"
