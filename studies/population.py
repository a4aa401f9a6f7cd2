"""How often new rows are called unlike the trial's: rows of the trial's own population, and absurd ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.diagnostics.covariate_shift import Population

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


def _lognormal(sigma: float, zeros: float = 0.0) -> Draw:
    """Return a function that draws a lognormal column with a share of zeros."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return np.where(rng.uniform(size=size) < zeros, 0.0, rng.lognormal(0.0, sigma, size))

    return draw


def _mixture(share: float, mean: float, sd: float) -> Draw:
    """Return a function that draws a mixture of a standard normal and, with this share, another normal."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
        return np.where(rng.uniform(size=size) < share, rng.normal(mean, sd, size), rng.standard_normal(size))

    return draw


# Kinds of columns; the columns of a table are independent.
POPULATIONS: dict[str, Draw] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "lognormal, σ = 1": _lognormal(1),
    "lognormal, σ = 2": _lognormal(2),
    "lognormal, σ = 1, 30 % zeros": _lognormal(1, 0.3),
    "lognormal, σ = 1, 60 % zeros": _lognormal(1, 0.6),
    "lognormal, σ = 1, 90 % zeros": _lognormal(1, 0.9),
    "lognormal, σ = 2, 60 % zeros": _lognormal(2, 0.6),
    "t with 3 degrees of freedom": lambda rng, size: rng.standard_t(3, size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "Pareto, 1/x": lambda rng, size: 1 / (1 - rng.uniform(size=size)),
    "Pareto, 1/x²": lambda rng, size: (1 - rng.uniform(size=size)) ** -0.5,
    "counts, Poisson with mean 3": lambda rng, size: rng.poisson(3, size).astype(float),
    "counts, negative binomial": lambda rng, size: rng.negative_binomial(0.5, 0.05, size).astype(float),
    "dates of three years, in seconds": lambda rng, size: 1.6e9 + 86400 * rng.integers(0, 1095, size).astype(float),
    "mixture, 5 % eight sd apart": _mixture(0.05, 8, 1),
    "mixture, 10 % with five times the sd": _mixture(0.1, 0, 5),
    "normal, rounded to half its sd": lambda rng, size: np.round(2 * rng.standard_normal(size)) / 2,
    "lognormal, σ = 1, rounded to 0.5": lambda rng, size: np.round(2 * rng.lognormal(0.0, 1.0, size)) / 2,
    "normal, 10 % missing": lambda rng, size: np.where(rng.uniform(size=size) < 0.1, np.nan, rng.standard_normal(size)),
}

# A kind of column, and one value that is absurd in it.
ABSURD: dict[str, tuple[Draw, float]] = {
    "age 150, ages uniform on 20 to 90": (lambda rng, size: rng.integers(20, 91, size).astype(float), 150),
    "age 150, ages N(55, 15²) within 20 to 90": (
        lambda rng, size: np.clip(np.round(rng.normal(55, 15, size)), 20, 90),
        150,
    ),
    "age 999, the same": (lambda rng, size: np.clip(np.round(rng.normal(55, 15, size)), 20, 90), 999),
    "75,000 among weights N(75, 12²) (g, not kg)": (lambda rng, size: rng.normal(75, 12, size), 75_000),
    "0.075 among weights N(75, 12²) (t, not kg)": (lambda rng, size: rng.normal(75, 12, size), 0.075),
    "5 sd from the mean of a normal column": (POPULATIONS["normal"], 5),
    "10 sd from the mean of a normal column": (POPULATIONS["normal"], 10),
    "100 sd from the mean of a normal column": (POPULATIONS["normal"], 100),
    "10⁶ in a normal column": (POPULATIONS["normal"], 1e6),
    "10⁶ in an exponential column": (POPULATIONS["exponential"], 1e6),
    "10⁶ in a lognormal column, σ = 1, 60 % zeros": (_lognormal(1, 0.6), 1e6),
}


@dataclass(frozen=True)
class Alarms:
    """The number of calls of the same sizes that gave a warning."""

    case: str
    m: int
    new: int
    columns: int
    calls: int
    alarms: int


def false_alarms(case: str, m: int, new: int, columns: int, calls: int, seed: int = 0) -> Alarms:
    """Return how often new rows are called unlike a trial of the same population."""
    rng = np.random.default_rng([seed, list(POPULATIONS).index(case), m, new, columns])
    draw = POPULATIONS[case]
    alarms = sum(_called_unlike(draw(rng, (m, columns)), draw(rng, (new, columns))) for _ in range(calls))
    return Alarms(case, m, new, columns, calls, alarms)


def absurd_rows(case: str, m: int, new: int, columns: int, calls: int, seed: int = 0) -> Alarms:
    """Return how often rows of the same population are called unlike if one of them is absurd in one column."""
    rng = np.random.default_rng([seed, list(ABSURD).index(case), m, new, columns])
    draw, value = ABSURD[case]
    alarms = 0
    for _ in range(calls):
        trial, rows = draw(rng, (m, columns)), draw(rng, (new, columns))
        rows[0, 0] = value
        alarms += _called_unlike(trial, rows)
    return Alarms(case, m, new, columns, calls, alarms)


def _called_unlike(trial: NDArray[np.float64], new: NDArray[np.float64]) -> bool:
    names = [f"x{column}" for column in range(trial.shape[1])]
    return Population.of(trial, names, seed=0).unlike(new) is not None
