"""The paper's synthetic data: one hidden cause of treatment and outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.typing import RandomState


@dataclass(frozen=True)
class Synthetic:
    """Covariates, assigned treatment, its outcome, and both potential outcomes."""

    X: NDArray[np.float64]
    treatment: NDArray[np.int_]
    y: NDArray[np.float64]
    y0: NDArray[np.float64]
    y1: NDArray[np.float64]


def synthetic(
    n: int,
    d: int = 1,
    randomized: bool = False,
    c: float = 0.9,
    a: float = 5,
    b: float = 3,
    noise: float = 0.1,
    hidden: bool = True,
    random_state: RandomState = None,
) -> Synthetic:
    """Return n rows of the paper's data-generating process (its Eq. 13).

    A hidden U ~ N(0, I_d) with mean Ū over its d entries drives both the treatment, assigned with probability
    cŪ + (1-c)(1-Ū) cut to [0, 1], and the outcomes Y(t) = 1/(1 + exp(-3(Ū ± 2))) + noise, plus for t = 1.
    Only X = Z·(a²(1-U) + b²U) + U is observed, Z ~ N(0, I_d). With more dimensions less is hidden.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of covariates.
    randomized : bool
        Assign the treatment by a fair coin, as in a trial.
    c, a, b : float
        Strength of the confounding; scale of X at U = 0 and U = 1.
    noise : float
        Standard deviation of the outcomes' noise.
    hidden : bool
        False: X = U, so that nothing is hidden.
    random_state : int, RandomState instance or None
        Decides everything random.
    """
    rng = check_random_state(random_state)
    U, Z = rng.standard_normal((2, n, d))
    mean = U.mean(axis=1)
    probability = np.full(n, 0.5) if randomized else np.clip(c * mean + (1 - c) * (1 - mean), 0, 1)
    treatment = (rng.uniform(size=n) < probability).astype(int)
    y0 = 1 / (1 + np.exp(-3 * (mean - 2))) + noise * rng.standard_normal(n)
    y1 = 1 / (1 + np.exp(-3 * (mean + 2))) + noise * rng.standard_normal(n)
    X = Z * (a**2 * (1 - U) + b**2 * U) + U if hidden else U
    return Synthetic(X, treatment, np.where(treatment == 1, y1, y0), y0, y1)
