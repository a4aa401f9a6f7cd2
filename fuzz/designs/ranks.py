"""Density ratios, pooled weights and quantiles in rational numbers, samples and constant columns."""

from __future__ import annotations

import math
import tempfile
import warnings
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from sklearn.base import clone
from sklearn.linear_model import Ridge

from confide import WTCPDR, LargeTable, Transfer
from confide.conformal import permutation_weights, weighted_quantile
from confide.ratio import OracleRatio
from fuzz.designs.exchange import (
    LARGE,
    LEARNT,
    MORE,
    ON_TRIAL,
    SMALL,
    Cases,
    Design,
    assert_same,
    at_least,
    calibration_places,
    exactly,
    expect,
    people,
)

CASES = Cases()


def oracle(rows: Any) -> Any:
    """Return a ratio that has nothing to do with the truth: the inequality holds for every ratio."""
    return np.exp(0.7 * np.clip(rows[:, -1], -2, 2) - 0.4 * rows[:, 0])


def by_ratio(name: str, arm: Any, *, whole: bool, tied: bool) -> None:
    """Put a case: observational rows calibrate by a known ratio, and the weighted share is kept."""

    def check() -> str:
        values = np.arange(-9.0, 10)
        large, trial = people(40, 11, 1.0), SMALL
        if tied:
            large, trial = large.assign(y=large.y.round()), trial.assign(y=trial.y.round())
        large, trial = large.drop(columns="place"), trial.drop(columns="place")
        mine = np.flatnonzero(large.t == 1)
        bag = mine if whole else np.append(mine[calibration_places(len(mine) - 1)], mine[-1])
        given = clone(arm).set_params(ratio=OracleRatio(oracle), **({"outcome_values": values} if tied else {}))
        covered = []
        for place in bag.tolist():
            rows = [int(mine[-1]) if row == place else row for row in range(len(large)) if row != mine[-1]]
            design = Design(large.iloc[rows].reset_index(drop=True), trial, given, {"alpha": 0.25, "base": Ridge()})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                person = large.iloc[[place]]
                covered.append(bool(design.fitted(trial).predict_set(person, 1).contains(person.y)[0]))
        weights = oracle(large[["x", "z", "y"]].to_numpy()[bag])
        return at_least(np.array(covered), weights, 0.25)

    CASES[name] = check


by_ratio("a wrong ratio, whole numbers", WTCPDR(), whole=False, tied=True)
by_ratio("a wrong ratio, numbers, in a declared range", WTCPDR(outcome_range=(-99, 99)), whole=False, tied=False)
by_ratio(
    "a wrong ratio, refitted with every outcome", WTCPDR(refit=True, outcome_range=(-99, 99)), whole=True, tied=False
)


@CASES.put("pooled weights of any ratios, with a zero and a huge one: exact in rational numbers")
def _() -> str:
    ratios, m = [Fraction(each) for each in ("0", "1/7", "3", "3", "10000000000", "2/3")], 2
    weight: dict[int, Fraction] = dict.fromkeys(range(6), Fraction(0))
    for order in permutations(range(6)):
        weight[order[-1]] += math.prod((ratios[row] for row in order[-m - 1 :]), start=Fraction(1))
    expected = [float(each / sum(weight.values())) for each in weight.values()]
    assert_same(permutation_weights([float(each) for each in ratios], m), expected, "other weights", 1e-12)
    return "equal to the sum over all 720 orders"


@CASES.put("the pooled offset keeps the weighted share of every bag")
def _() -> str:
    rng, least = np.random.default_rng(4), 1.0
    for _ in range(200):
        size, m = int(rng.integers(4, 30)), int(rng.integers(1, 4))
        ratios, scores = np.exp(3 * rng.standard_normal(size)), rng.integers(0, 6, size) * 1.0
        chance, alpha = permutation_weights(ratios, m), float(rng.choice([0.1, 0.3, 0.5]))
        held = []
        for new in range(size):
            others = np.delete(np.arange(size), new)
            # The rows' inclusion probabilities where the new row is certain of its place.
            weights = permutation_weights(ratios[others], m - 1) * m
            held.append(scores[new] <= weighted_quantile(scores[others], weights, alpha, test_weight=1.0))
        least = min(least, float(chance[np.array(held)].sum()) - (1 - alpha))
        expect(least >= -1e-9, f"a bag of {size} rows loses {-least:.4f}")
    return f"200 bags; the least share is {least:.4f} above 1-α"


@CASES.put("weighted quantiles at the very edge of a rank, in rational numbers")
def _() -> str:
    rng = np.random.default_rng(5)
    for _ in range(3000):
        size, alpha = int(rng.integers(1, 12)), str(rng.choice(["0.1", "0.3", "0.05", "0.7", "0.2"]))
        weights = [Fraction(int(each), 10) for each in rng.integers(0, 8, size)]
        scores, own = rng.integers(0, 5, size), Fraction(int(rng.integers(1, 12)), 10)
        reach = (1 - Fraction(alpha)) * (sum(weights) + own)
        known = [
            s
            for s in sorted(set(scores.tolist()))
            if sum(w for w, t in zip(weights, scores, strict=True) if t <= s) >= reach
        ]
        found = weighted_quantile(scores, [float(each) for each in weights], float(alpha), test_weight=float(own))
        expect(found == (known[0] if known else math.inf), f"{found} of {scores} by {weights} and {own} at {alpha}")
    return "3,000 draws with ties and zero weights"


@CASES.put("a quantile clipped by the large table keeps its floor, for arms of 2 to 7 rows")
def _() -> str:
    told = []
    for rows, large in ((2, LARGE), (4, LARGE.assign(y=0.01 * LARGE.y)), (7, LARGE.assign(y=-9 * LARGE.y))):
        trial = people(2 * rows + 2, 9)
        design = Design(large, trial, Transfer(clipped=0.2), {"alpha": 0.1})
        promise = design.fitted(trial.iloc[:-1]).promise_
        floor = Fraction(0) if not promise.exists else 1 - sum(Fraction(str(each)) for each in promise.misses)
        covered = design.covered()
        expect(covered.sum() >= floor * len(covered), f"{covered.sum()} of {len(covered)}, and {floor} is promised")
        told.append(f"{covered.sum()} of {len(covered)} against {float(floor):.2f}")
    return "; ".join(told)


@CASES.put("a sample of a table that is read by batches")
def _() -> str:
    with tempfile.TemporaryDirectory() as folder:
        for part in range(3):
            LARGE.iloc[part::3].to_parquet(Path(folder) / f"{part}.parquet", index=False)
        table = LargeTable(ds.dataset(folder), rows=60)
        return exactly(Design(table, SMALL, "prognostic", {"alpha": 0.2}).covered(), 0.2)


@CASES.put("a covariate that is the same for everybody")
def _() -> str:
    for each in (*ON_TRIAL, LEARNT):
        plain, more = (
            Design(large, trial, each, {"alpha": 0.2}).fitted(trial).predict_interval(SMALL.assign(unit="mg", one=1), 1)
            for large, trial in ((LARGE, MORE), (LARGE.assign(unit="mg", one=1), MORE.assign(unit="mg", one=1)))
        )
        assert_same(more, plain, f"{each}: it changes answers")
    return "changes no answer of four methods"
