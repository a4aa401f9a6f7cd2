"""Few rows, levels, sides, discrete outcomes, heavy tails, arms and base models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import QuantileRegressor

from confide import Prognostic, Transfer, method
from fuzz.designs.exchange import (
    LARGE,
    LEARNT,
    MORE,
    ON_TRIAL,
    SMALL,
    Cases,
    Design,
    calibration_places,
    exactly,
    expect,
    needed,
    people,
)

CASES = Cases()


def tiny(rows: int, methods: tuple[Any, ...] = ON_TRIAL) -> None:
    """Put a case: an arm with so many calibration rows, at levels on both sides of what they allow."""

    def check() -> str:
        trial, levels = people(2 * rows + 2, 7), (0.05, 0.1, 0.3, 0.5, 0.7)
        finite = 0
        for each in methods:
            for alpha in (levels[rows % 5], levels[(rows + 3) % 5]):
                exactly(
                    Design(LARGE, trial, each, {"alpha": alpha}).covered(),
                    alpha,
                    ties=rows == 1 or each == "prognostic",
                )
                short = needed(alpha, rows + 1) > rows
                widths = Design(LARGE, trial, each, {"alpha": alpha}).fitted(trial.iloc[:-1]).predict_interval(trial, 1)
                finite += int(np.isfinite(widths.width).any())
                expect(not (short and np.isfinite(widths.width).any()), "a finite interval from too few rows")
        return f"as many rows as the rank are in their own sets, and {finite} of {2 * len(methods)} fits are finite"

    CASES[f"an arm of {rows} calibration row{'s' * (rows > 1)}"] = check


for number in (1, 2, 3, 5, 8):
    tiny(number)


CASES.swapped(
    "learnt tails, skewed outcomes, a lower bound",
    0.2,
    lambda: Design(
        LARGE.assign(y=np.exp(LARGE.y)), MORE.assign(y=np.exp(MORE.y)), LEARNT, {"alpha": 0.2, "side": "lower"}
    ),
)
CASES.swapped(
    "learnt tails of a table whose tails are the other way round",
    0.2,
    lambda: Design(LARGE.assign(y=-np.exp(LARGE.y)), MORE.assign(y=np.exp(MORE.y)), LEARNT, {"alpha": 0.2}),
)
CASES.swapped(
    "everything chosen automatically, Cauchy outcomes in both tables, an upper bound",
    0.1,
    lambda: Design(
        LARGE.assign(y=np.tan(LARGE.y)),
        MORE.assign(y=np.tan(MORE.y)),
        Prognostic(tails="auto"),
        {"alpha": 0.1, "side": "upper"},
    ),
)
CASES.swapped(
    "ratings from 1 to 5 with a lower bound, most of them 5",
    0.2,
    lambda: Design(
        LARGE.assign(y=(LARGE.y + 3).round().clip(1, 5)),
        SMALL.assign(y=(SMALL.y + 3).round().clip(1, 5)),
        Prognostic(outcome_values=[1, 2, 3, 4, 5]),
        {"alpha": 0.2, "side": "lower"},
    ),
    ties=True,
)
CASES.swapped(
    "a yes or no, centred, with an upper bound",
    0.2,
    lambda: Design(
        LARGE.assign(y=(LARGE.y > 1) * 1.0),
        SMALL.assign(y=(SMALL.y > 1) * 1.0),
        Transfer(base_on="centred", outcome_values=[0, 1]),
        {"alpha": 0.2, "side": "upper"},
    ),
    ties=True,
)
CASES.swapped(
    "a declared range that is exactly that of the outcomes",
    0.2,
    lambda: Design(
        LARGE.assign(y=LARGE.y.clip(-1, 2)),
        SMALL.assign(y=SMALL.y.clip(-1, 2)),
        Prognostic(outcome_range=(-1, 2)),
        {"alpha": 0.2},
    ),
    ties=True,
)
CASES.swapped(
    "gamma 1.7 at α 0.34, whose quotient is 0.2",
    0.2,
    lambda: Design(LARGE, SMALL, "prognostic", {"alpha": 0.34, "gamma": 1.7}),
)
CASES.swapped(
    "three arms, one of which the large table does not have",
    0.2,
    lambda: Design(
        people(150, 1, 1.0, 3).query("t != 2"), people(36, 2, arms=3), "prognostic", {"alpha": 0.2}, label=2
    ),
)
CASES.swapped(
    "one arm only",
    0.2,
    lambda: Design(LARGE.query("t == 1"), SMALL.query("t == 1").reset_index(drop=True), "prognostic", {"alpha": 0.2}),
)
CASES.swapped(
    "LightGBM as the base model", 0.2, lambda: Design(LARGE, SMALL, "prognostic", {"alpha": 0.2, "base": "lightgbm"})
)
CASES.swapped(
    "conformalised quantile regression with a lower bound",
    0.2,
    lambda: Design(
        LARGE,
        SMALL,
        Transfer(conformity_score="cqr"),
        {"alpha": 0.2, "side": "lower", "base": QuantileRegressor(alpha=0.01)},
    ),
)
CASES.swapped(
    "normalised errors with an upper bound",
    0.2,
    lambda: Design(LARGE, SMALL, Transfer(conformity_score="normalised"), {"alpha": 0.2, "side": "upper"}),
)


def half(design: Design) -> Design:
    """Return the design with the calibration half of the arm's rows, and the last row, as the bag."""
    mine = design.places()
    return replace(design, bag=np.append(mine[calibration_places(len(mine) - 1)], mine[-1]))


CASES.swapped(
    "the trial alone, sorted by outcomes, with a lower bound",
    0.2,
    lambda: half(Design(None, MORE.sort_values("y").reset_index(drop=True), "naive", {"alpha": 0.2, "side": "lower"})),
)
CASES.swapped(
    "two stages that end on outcomes, with an upper bound",
    0.2,
    lambda: half(
        Design(LARGE, MORE, method("wscp-dr-calibrated", second_stage="linear"), {"alpha": 0.2, "side": "upper"})
    ),
)
CASES.swapped(
    "the large table corrected by half of the trial, with a lower bound",
    0.2,
    lambda: half(Design(LARGE, MORE, Transfer(base_on="grounded"), {"alpha": 0.2, "side": "lower"})),
)
