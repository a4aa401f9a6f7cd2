"""How often the test of randomisation rejects: trials that assigned as stated, and trials that did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from confide.diagnostics.advice import UNBALANCED
from confide.diagnostics.randomisation import randomisation_test

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from confide.typing import Floats

TEST_LEVEL = 0.05
# Age in the case of the stratified trial whose strata were not told.
AGE, SPREAD = 55.0, 12.0


class Cell(NamedTuple):
    """One cell: a case, and the trial's covariates, rows, columns and treatments."""

    case: str
    covariates: str
    rows: int
    columns: int
    treatments: int


@dataclass(frozen=True)
class Counts:
    """How often the test rejected in one cell: at 5 %, and at the level at which `summary` speaks."""

    case: str
    covariates: str
    rows: int
    columns: int
    treatments: int
    repetitions: int
    rejected: int
    told: int


COVARIATES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(2, shape),
    "binary": lambda rng, shape: (rng.random(shape) < 0.3).astype(np.float64),
}


def strata(X: Floats) -> Floats:
    """Return probabilities from .1 to .9 by the first covariate."""
    return np.asarray(0.1 + 0.8 * ndtr(X[:, 0]))


def above_60(X: Floats) -> Floats:
    """Return .9 for people above 60 and .1 for others."""
    return np.where(AGE + SPREAD * X[:, 0] > 60, 0.9, 0.1)


# The true probability of the second of two treatments, and the one that is stated; None: the same for everybody.
CHANCES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats] | None]] = {
    "stated, and true": (strata, strata),
    "log odds x/4": (lambda X: expit(X[:, 0] / 4), None),
    "log odds x/2": (lambda X: expit(X[:, 0] / 2), None),
    "log odds x": (lambda X: expit(X[:, 0]), None),
    ".9 above 60, .1 below": (above_60, None),
    "log odds x²-1": (lambda X: expit(X[:, 0] ** 2 - 1), None),
    "log odds x₁·x₂": (lambda X: expit(X[:, 0] * X[:, 1]), None),
    "stated .1 to .9, true ½": (lambda X: np.full(len(X), 0.5), strata),
    "stated log odds x/2, true x": (lambda X: expit(X[:, 0]), lambda X: expit(X[:, 0] / 2)),
    "stated .6, true ½": (lambda X: np.full(len(X), 0.5), lambda X: np.full(len(X), 0.6)),
}
CONSTANT = "constant"


def draw(cell: Cell, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp], Floats | None]:
    """Return covariates, treatments and stated probabilities of the treatments received."""
    X = COVARIATES[cell.covariates](rng, (cell.rows, cell.columns))
    if cell.case == CONSTANT:
        return X, rng.integers(cell.treatments, size=cell.rows), None
    true, stated = CHANCES[cell.case]
    treated = rng.random(cell.rows) < true(X)
    if stated is None:
        return X, treated.astype(np.intp), None
    return X, treated.astype(np.intp), np.where(treated, stated(X), 1 - stated(X))


def count(cell: Cell, repetitions: int) -> Counts:
    """Return how often the test rejects in a cell."""
    p_values = []
    for seed in range(repetitions):
        found = randomisation_test(*draw(cell, np.random.default_rng([seed, *cell[2:]])), random_state=seed)
        p_values.append(1.0 if found is None else found.p_value)
    rejected, told = (int((np.array(p_values) <= level).sum()) for level in (TEST_LEVEL, UNBALANCED))
    return Counts(*cell, repetitions, rejected, told)
