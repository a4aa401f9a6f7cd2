"""Whom to choose, and average effects."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from confide import average_effect, select, stack
from confide.base.cache import sharing_fits
from fuzz.designs.exchange import LARGE, MORE, SMALL, Cases, Design, assert_same, expect

if TYPE_CHECKING:
    import pandas as pd

CASES = Cases()


def chosen_by(name: str, table: pd.DataFrame, new: int, rate: str, **asked: float) -> None:
    """Put a case: all ways to part a bag of people into rows that calibrate and people to choose from."""

    def check() -> str:
        bag, large = table[table.t == 1].reset_index(drop=True), LARGE[LARGE.t == 1]
        shares, picked = [], 0
        with warnings.catch_warnings(), sharing_fits():
            warnings.simplefilter("ignore")
            for asked_about in combinations(range(len(bag)), new):
                rest = bag.drop(index=list(asked_about)).reset_index(drop=True)
                model, rows = Design(large, rest, "transfer", {}).fitted(rest), bag.iloc[list(asked_about)]
                found = select(model, rows, 1, fdr=float(rate), **asked).selected
                short = rows.y <= asked["above"] if "above" in asked else rows.y >= asked["below"]
                shares.append(Fraction(int((found & short).sum()), max(1, int(found.sum()))))
                picked += int(found.sum())
        mean = sum(shares, Fraction(0)) / len(shares)
        expect(mean <= Fraction(rate), f"{float(mean):.4f} of those chosen are false, at a rate of {rate}")
        return f"{float(mean):.3f} of those chosen are false over {len(shares)} parts, {picked} people in all"

    CASES[name] = check


chosen_by("one person to choose or not, every part of 12 people", SMALL, 1, "0.3", above=1.5)
chosen_by(
    "two people to choose from, outcomes with atoms, every part of 10 people",
    SMALL.assign(y=SMALL.y.round()).iloc[:20],
    2,
    "0.4",
    below=1.0,
)
chosen_by(
    "three people to choose from by a table with the wrong sign, every part of 8 people",
    SMALL.assign(x=-SMALL.x).iloc[:16],
    3,
    "0.5",
    above=1.0,
)


@CASES.put("average effects: order, units, labels, the sign of the large table, weights and clusters that say nothing")
def _() -> str:
    trial, covariates = MORE.assign(p=0.5, school=range(len(MORE))), ["x", "z", "place"]

    def found(large: pd.DataFrame, rows: pd.DataFrame, pair: tuple[int, int] = (1, 0), **study: Any) -> Any:
        model = Design(large, rows, "transfer", {}).fitted(rows)
        given = stack(large, rows, "t", "y", covariates, **study)
        return [(each.effect, each.low, each.high) for each in average_effect(model, given, *pair, by="x > 0")]

    expected = np.array(found(LARGE, trial))
    assert_same(found(LARGE, trial.iloc[::-1]), expected, "the order of rows matters")
    assert_same(found(LARGE.assign(y=-LARGE.y), trial), expected, "the sign of the large table matters", 1e-7)
    assert_same(found(LARGE.assign(y=1000 * LARGE.y + 5), trial), expected, "the large table's units matter", 1e-7)
    assert_same(-np.array(found(LARGE, trial, (0, 1)))[:, [0, 2, 1]], expected, "the reversed effect is another")
    assert_same(found(LARGE, trial, assignment="p"), expected, "one probability for all matters")
    assert_same(found(LARGE, trial, cluster="school"), expected, "clusters of one row matter", 1e-7)
    return "everybody and two groups, seven ways"


@CASES.put("average effects of 12 people an arm with Student's t on 3 degrees, and a useless table: 95 of 100")
def _() -> str:
    rng, hits = np.random.default_rng(0), []
    model = Design(LARGE, SMALL, "transfer", {}).fitted(SMALL)
    for _ in range(400):
        rows = SMALL.assign(y=rng.standard_t(3, len(SMALL)) * (1 + SMALL.t), x=rng.standard_normal(len(SMALL)))
        (one,) = average_effect(model, stack(LARGE, rows, "t", "y", ["x", "z", "place"]))
        hits.append(one.low <= 0 <= one.high)
    rejected = binom.cdf(sum(hits), len(hits), 0.95) < 0.01
    expect(not rejected, f"{sum(hits)} of {len(hits)} intervals hold the effect")
    return f"{sum(hits)} of {len(hits)} intervals hold the effect"
