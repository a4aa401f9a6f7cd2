"""How often the test for hidden confounding rejects, with and without confounding."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from confide.confounding import hidden_confounding_test
from confide.datasets import load_star, synthetic
from confide.study import Study, stack

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
    "selected by the outcome": tilted,
    "selected, sign changes with x": lambda *sizes: tilted(*sizes, sign_changes=True),
    "no confounding, STAR": lambda _n, m, _d, seed: star(m, seed, confounding=0.0),
    "selected by the outcome, STAR": lambda _n, m, _d, seed: star(m, seed, confounding=1.2),
}


def repeat_test(case: str, n: int, m: int, d: int, seed: int) -> list[Rejection]:
    """Return the test's answers, one an arm, for n observational and m trial rows over both arms.

    The pupils of STAR are as many as there are, with 9 covariates: there n and d only label the record.
    """
    X, y, treatment, trial = CASES[case](n, m, d, seed)
    started = time.perf_counter()
    records = hidden_confounding_test(X, y, treatment, trial, random_state=seed)
    seconds = time.perf_counter() - started
    return [
        Rejection(case, n, m, d, seed, record.treatment, record.statistic, record.p_value, record.bias, seconds)
        for record in records
    ]
