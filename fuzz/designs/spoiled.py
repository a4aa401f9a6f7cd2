"""Tables that mislead, leak or are broken: every method that ranks trial rows keeps its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fuzz.designs.exchange import LARGE, ON_TRIAL, SMALL, Cases, Design, exactly

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Cases()


def spoiled(name: str, observational: Any, trial: Any, *, ties: bool = False) -> None:
    """Put a case: every method that ranks trial rows, on tables that were spoiled."""

    def check() -> str:
        large, small = observational(LARGE.copy()), trial(SMALL.copy())
        counts = [exactly(Design(large, small, each, {"alpha": 0.2}).covered(), 0.2, ties=ties) for each in ON_TRIAL]
        return "; ".join(f"{each}: {count}" for each, count in zip(ON_TRIAL, counts, strict=True))

    CASES[name] = check


def same(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it is."""
    return table


def with_values(**columns: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what adds columns, each a function of the table and a generator."""

    def add(table: pd.DataFrame) -> pd.DataFrame:
        rng = np.random.default_rng(len(table))
        return table.assign(**{name: make(table, rng) for name, make in columns.items()})

    return add


def holes(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of which every third value is missing."""
    return table[name].where(np.arange(len(table)) % 3 > 0)


spoiled("the large table has the sign of every outcome wrong", with_values(y=lambda t, _: -t.y), same)
spoiled("the large table's outcomes are all the same", with_values(y=lambda t, _: 0.0 * t.y + 7), same)
spoiled(
    "the large table's outcomes are a million million times as large",
    with_values(y=lambda t, _: 1e12 * t.y),
    same,
    ties=True,
)
spoiled("the large table's outcomes are Cauchy", with_values(y=lambda t, r: r.standard_cauchy(len(t))), same)
spoiled("the large table has three rows an arm", lambda t: t.iloc[:6], same)
spoiled(
    "ids that are text and different for everybody",
    with_values(who=lambda t, _: [f"registry-{n}" for n in range(len(t))]),
    with_values(who=lambda t, _: [f"registry-{3 * n}" if n % 2 else f"trial-{n}" for n in range(len(t))]),
)
spoiled(
    "a column that is the row's number, in tables sorted by their outcomes",
    lambda t: t.sort_values("y").assign(number=range(len(t))),
    lambda t: t.sort_values("y").assign(number=range(len(t))),
)
spoiled(
    "a column that is constant in the large table and is the outcome in the trial",
    with_values(leak=lambda t, _: 0.0 * t.y),
    with_values(leak=lambda t, _: t.y),
)
spoiled(
    "a column that is the outcome in the large table and constant in the trial",
    with_values(leak=lambda t, _: t.y),
    with_values(leak=lambda t, _: 0.0 * t.y),
)
spoiled("values missing in the trial only", same, with_values(x=lambda t, _: holes(t, "x")))
spoiled("values missing in the large table only", with_values(x=lambda t, _: holes(t, "x")), same)
spoiled(
    "a category for each trial row that the large table does not have",
    same,
    with_values(place=lambda t, _: [f"ward {n}" for n in range(len(t))]),
)
spoiled("trial people far outside the large table", same, with_values(x=lambda t, _: 1e6 + 1e3 * t.x))
spoiled("outcomes of the trial that are Cauchy", same, with_values(y=lambda t, r: r.standard_cauchy(len(t))))
spoiled(
    "outcomes of the trial of e to the power of 30 deviations",
    same,
    with_values(y=lambda t, _: np.exp(8 * t.y)),
    ties=True,
)
spoiled("two thirds of the outcomes are zero", same, with_values(y=lambda t, _: t.y.where(t.y > 2, 0.0)), ties=True)
spoiled(
    "outcomes of tenths, far from zero",
    with_values(y=lambda t, _: 1e6 + t.y.round(1)),
    with_values(y=lambda t, _: 1e6 + (t.y / 2).round(1)),
    ties=True,
)
spoiled("all outcomes of the trial are the same", same, with_values(y=lambda t, _: 0.0 * t.y + 0.1), ties=True)
spoiled(
    "every row of the trial is there three times",
    same,
    lambda t: pd.concat([t.iloc[:8]] * 3).sort_index().reset_index(drop=True),
    ties=True,
)
