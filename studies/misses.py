"""Whom intervals miss: coverage among people who are easy and hard to predict, where the noise of each is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.methods.registry import method

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The configurations: name, method and parameters.
COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    "prognostic": ("prognostic", {}),
    "transfer-centred": ("transfer-centred", {}),
    "transfer": ("transfer", {}),
    'transfer, conformity_score="normalised"': ("transfer", {"conformity_score": "normalised"}),
    'transfer, conformity_score="cqr"': ("transfer", {"conformity_score": "cqr"}),
    'transfer, conformity_score="normalised", base_on="grounded"': (
        "transfer",
        {"conformity_score": "normalised", "base_on": "grounded"},
    ),
}
# By how much all observational outcomes are too high.
BIASES = (0.0, 1.0)
# The standard deviation of an outcome given its covariates, from the easiest person to the hardest.
NOISE = (0.2, 3.0)
TENTHS = 10


@dataclass(frozen=True)
class Tenth:
    """One repetition of one method, and one tenth of the people: 1 are the easiest to predict, 10 the hardest."""

    compared: str
    bias: float
    seed: int
    tenth: int
    coverage: float
    width: float


def people(rows: int, bias: float, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return covariates and outcomes of one arm.

    The first covariate decides the noise, the second one the mean, the third nothing.
    """
    X = rng.uniform(size=(rows, 3))
    return X, 3 * X[:, 1] + bias + noise(X) * rng.standard_normal(rows)


def noise(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each person's outcome: evenly spread on a logarithmic scale."""
    low, high = NOISE
    spread: NDArray[np.float64] = low * (high / low) ** X[:, 0]
    return spread


def repeat_misses(
    compared: str, bias: float, seed: int, *, n: int = 2000, m: int = 200, n_test: int = 5000, **params: Any
) -> list[Tenth]:
    """Return coverage and mean width at 90 % in each tenth of fresh people, by how hard they are to predict."""
    rng = np.random.default_rng(seed)
    observational, trial, fresh = (people(rows, by, rng) for rows, by in ((n, bias), (m, 0.0), (n_test, 0.0)))
    X, y = (np.concatenate(columns) for columns in zip(observational, trial, strict=True))
    name, own = COMPARED[compared]
    arm = method(name, random_state=seed, **own, **params).fit(X, y, trial=np.arange(n + m) >= n)
    intervals = arm.predict_interval(fresh[0])
    inside = intervals.contains(fresh[1])
    return [
        Tenth(compared, bias, seed, number, float(inside[rows].mean()), float(intervals.width[rows].mean()))
        for number, rows in enumerate(np.array_split(np.argsort(noise(fresh[0])), TENTHS), start=1)
    ]
