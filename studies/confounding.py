"""How often the test for hidden confounding rejects, with and without confounding."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from confide.data.stacking import stack
from confide.data.study import Study
from confide.datasets import load_star, synthetic
from confide.diagnostics.confounding_test import hidden_confounding_test

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Rejection:
    """One arm of one repetition of one case."""

    case: str
    n: int
    m: int
    d: int
    seed: int
    treatment: int
    statistic: float
    p_value: float
    bias: float
    seconds: float


def unconfounded(n: int, m: int, d: int, seed: int) -> Study:
    """Return the paper's data with nothing hidden: X = U decides treatment and outcome, and is seen."""
    observational, trial = (
        synthetic(rows, d=d, randomized=randomized, hidden=False, random_state=np.random.RandomState([seed, part]))
        for part, (rows, randomized) in enumerate([(n, False), (m, True)])
    )
    return Study(
        np.concatenate([observational.X, trial.X]),
        np.concatenate([observational.y, trial.y]),
        np.concatenate([observational.treatment, trial.treatment]),
        np.repeat([False, True], [n, m]),
    )


def skewed(n: int, m: int, d: int, seed: int) -> Study:
    """Return skewed outcomes with nothing hidden, covariates that matter, and other people in the trial.

    Outcomes are exp(x/2) times a lognormal variable (σ = 1), which is 0 for 60 % of arm 1; x, the first covariate, is
    N(0, 1) in the observational table and N(0.8, 1) in the trial. Each arm has half of each table's rows.
    """
    rng = np.random.default_rng([seed, n, m, d])
    trial = np.arange(n + m) >= n
    treatment = np.arange(n + m) % 2
    X = rng.standard_normal((n + m, d))
    X[trial, 0] += 0.8
    y = np.exp(X[:, 0] / 2) * rng.lognormal(0.0, 1.0, n + m)
    y[(treatment == 1) & (rng.uniform(size=n + m) < 0.6)] = 0.0
    return Study(X, y, treatment, trial)


def rare_or_uneven(n: int, m: int, d: int, seed: int) -> Study:
    """Return a rare outcome (arm 0) and one with uneven noise (arm 1), nothing hidden, other people in the trial.

    With x the first covariate, N(0, 1) in the observational table and N(1, 1) in the trial: in arm 0 the outcome is 1
    with log odds log(1/9) + x/2, else 0; in arm 1 it is normal with mean x² and standard deviation exp(x). Each arm has
    half of each table's rows.
    """
    rng = np.random.default_rng([seed, n, m, d])
    trial = np.arange(n + m) >= n
    treatment = np.arange(n + m) % 2
    X = rng.standard_normal((n + m, d))
    X[trial, 0] += 1.0
    x = X[:, 0]
    rare = rng.uniform(size=n + m) < expit(np.log(1 / 9) + x / 2)
    y = np.where(treatment == 0, rare, x**2 + np.exp(x) * rng.standard_normal(n + m))
    return Study(X, y, treatment, trial)


def tilted(n: int, m: int, d: int, seed: int, *, sign_changes: bool = False) -> Study:
    """Return a linear outcome, R² = 0.2, whose observational rows were selected by the outcome itself.

    A row is seen with probability 1/(1 + exp(∓1.2·z)), z its standardised outcome, minus in the treated arm. With
    ``sign_changes`` the sign is that of the first covariate too, so that the bias averages to nothing.
    """
    rng = np.random.default_rng([seed, n, m, d])

    def draw(rows: int, *, selected: bool) -> tuple[np.ndarray, ...]:
        X = rng.standard_normal((4 * rows if selected else rows, d))
        treatment = rng.integers(0, 2, len(X))
        z = np.sqrt(0.2 / d) * X.sum(axis=1) + np.sqrt(0.8) * rng.standard_normal(len(X))
        if selected:
            sign = np.where(treatment == 1, -1.0, 1.0) * (np.sign(X[:, 0]) if sign_changes else 1.0)
            kept = np.flatnonzero(rng.uniform(size=len(X)) < expit(sign * 1.2 * z))[:rows]
            X, treatment, z = X[kept], treatment[kept], z[kept]
        return X, z, treatment

    parts = [draw(n, selected=True), draw(m, selected=False)]
    X, y, treatment = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Study(X, y, treatment, np.repeat([False, True], [len(part[1]) for part in parts]))


def star(m: int, seed: int, *, confounding: float) -> Study:
    """Return Project STAR with m trial pupils; the observational ones are selected by their scores, or at random."""
    data = load_star(confounding=confounding, trial_size=m, random_state=seed)
    return stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)


CASES: dict[str, Callable[[int, int, int, int], Study]] = {
    "no confounding": unconfounded,
    "no confounding, skewed": skewed,
    "no confounding, rare or uneven": rare_or_uneven,
    "selected by the outcome": tilted,
    "selected, sign changes with x": lambda *sizes: tilted(*sizes, sign_changes=True),
    "no confounding, STAR": lambda _n, m, _d, seed: star(m, seed, confounding=0.0),
    "selected by the outcome, STAR": lambda _n, m, _d, seed: star(m, seed, confounding=1.2),
}


def repeat_test(case: str, n: int, m: int, d: int, seed: int) -> list[Rejection]:
    """Return the test's results, one per arm, for n observational and m trial rows over both arms.

    STAR has a fixed number of pupils, with 9 covariates: there n and d only label the record.
    """
    X, y, treatment, trial = CASES[case](n, m, d, seed)
    started = time.process_time()
    records = hidden_confounding_test(X, y, treatment, trial, random_state=seed)
    seconds = time.process_time() - started
    return [
        Rejection(case, n, m, d, seed, record.treatment, record.statistic, record.p_value, record.bias, seconds)
        for record in records
    ]
