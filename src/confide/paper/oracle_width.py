"""The width that an oracle needs that knows p(y|x), for the paper's synthetic data or for a few values.

To cover 1-α on average over x, as promises here are meant, the least mean length is that of the sets {y: p(y|x) ≥ λ},
with one λ for all x. To cover 1-α at every x it needs the shortest interval with 1-α of p(y|x), which is longer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft
from scipy.stats import norm, qmc

from confide.base.validation import suggest
from confide.conformal.quantile import check_alpha

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGETS = ("Y(0)", "Y(1)", "ITE")
# The generator's defaults: scale of X at U = 0 and U = 1, and the outcomes' noise.
A, B, NOISE = 5, 3, 0.1
# The hidden cause lies within these bounds; steps of it, in one dimension and in more, and of the outcome.
REACH = 6.0
STEPS = (0.01, 0.02)
OUTCOME_STEP = 0.005
# Largest number of floats in memory at once.
MOST = 20_000_000


@cache
def oracle_width(
    target: str, d: int = 1, alpha: float = 0.1, *, everywhere: bool = False, rows: int | None = None
) -> float:
    """Return the least mean length of sets that hold 1-α of the outcomes.

    Parameters
    ----------
    target : {"Y(0)", "Y(1)", "ITE"}
        The potential outcome, or their difference.
    d : int
        Number of covariates.
    alpha : float
        Miscoverage level.
    everywhere : bool
        Hold 1-α at every x, by intervals, and not only on average over x.
    rows : int, default None
        Number of quasi-random x that represent the population, a power of 2. None: 2¹⁴, and 2¹¹ if d > 1.
    """
    X = population(rows or 2 ** (14 if d == 1 else 11), d)
    if everywhere:
        return float(shortest_lengths(X, target, alpha).mean())
    outcome, densities = _densities(X, target)
    likeliest = np.sort(densities, axis=None)[::-1]
    held = np.cumsum(likeliest) / densities.sum()
    return float(np.searchsorted(held, 1 - float(check_alpha(alpha))) / len(X) * (outcome[1] - outcome[0]))


def oracle_values(probabilities: NDArray[np.float64], alpha: float = 0.1) -> NDArray[np.bool_]:
    """Return which values an oracle takes, one row per x: the fewest on average that hold 1-α of all outcomes.

    Parameters
    ----------
    probabilities : (n, k) array
        Of the k values of the outcome, given each of n equally likely x.
    alpha : float
        Miscoverage level.
    """
    likeliest = np.argsort(-probabilities, axis=None, kind="stable")
    held = np.cumsum(probabilities.ravel()[likeliest]) / len(probabilities)
    taken = np.zeros(probabilities.size, dtype=bool)
    taken[likeliest[: np.searchsorted(held, 1 - float(check_alpha(alpha))) + 1]] = True
    return taken.reshape(probabilities.shape)


def population(rows: int, d: int) -> NDArray[np.float64]:
    """Return quasi-random covariates of the paper's synthetic data."""
    # `seed` with a generator gives the same points from scipy 1.13 on; `rng` is there from 1.15 on.
    points = qmc.Sobol(2 * d, seed=np.random.default_rng(0)).random(rows)
    U, Z = np.hsplit(norm.ppf(points), 2)
    return np.asarray(Z * (A**2 * (1 - U) + B**2 * U) + U)


def shortest_lengths(X: NDArray[np.float64], target: str, alpha: float = 0.1) -> NDArray[np.float64]:
    """Return, for each x, the length of the shortest interval that holds 1-α of p(y|x)."""
    level = 1 - float(check_alpha(alpha))
    outcome, densities = _densities(X, target)
    step = outcome[1] - outcome[0]
    below = np.cumsum(densities, axis=1) / densities.sum(axis=1, keepdims=True)
    lengths = np.empty(len(X))
    for row, probability in enumerate(below):
        starts = np.flatnonzero(probability <= 1 - level)
        ends = np.interp(probability[starts] + level, probability, outcome + step / 2)
        lengths[row] = (ends - outcome[starts] - step / 2).min()
    return lengths


def _densities(X: NDArray[np.float64], target: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a grid of outcomes, and p(y|x) there up to a constant factor, one row per x.

    p(u|x) is a product over the entries of x, so that the law of their mean Ū is a convolution; y is a function of Ū
    plus Gaussian noise.
    """
    if target not in TARGETS:
        raise ValueError(f"target {target!r} is unknown; {suggest(target, TARGETS)}")
    d = X.shape[1]
    step = STEPS[d > 1]
    hidden = np.arange(-REACH + step / 2, REACH, step)
    # The sum of d grid points is on a grid of the same step; its mean on one that is d times finer.
    mean = (d * hidden[0] + step * np.arange(d * (len(hidden) - 1) + 1)) / d
    centre, noise = _outcome(mean, target)
    outcome = np.arange(centre.min() - 6 * noise, centre.max() + 6 * noise, OUTCOME_STEP)
    given = np.exp(-0.5 * ((outcome - centre[:, None]) / noise) ** 2)
    size = max(1, MOST // (len(mean) * d))
    chunks = [X[start : start + size] for start in range(0, len(X), size)]
    return outcome, np.concatenate([_mean_law(chunk, hidden) @ given for chunk in chunks])


def _outcome(mean: NDArray[np.float64], target: str) -> tuple[NDArray[np.float64], float]:
    """Return the expected outcome given Ū, and the standard deviation of its noise."""
    control, treated = (1 / (1 + np.exp(-3 * (mean + shift))) for shift in (-2, 2))
    if target == "ITE":
        return treated - control, NOISE * np.sqrt(2)
    return (treated if target == "Y(1)" else control), NOISE


def _mean_law(X: NDArray[np.float64], hidden: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of Ū given each x, on the grid of sums: X = Z·(a²(1-U) + b²U) + U, Z normal."""
    scale = np.abs(A**2 * (1 - hidden) + B**2 * hidden)
    log = -0.5 * hidden**2 - np.log(scale) - 0.5 * ((X[:, :, None] - hidden) / scale) ** 2
    law = np.exp(log - log.max(axis=2, keepdims=True))
    law /= law.sum(axis=2, keepdims=True)
    if X.shape[1] == 1:
        return np.asarray(law[:, 0])
    size = X.shape[1] * (len(hidden) - 1) + 1
    length = fft.next_fast_len(size, real=True)
    product = fft.rfft(law, length, axis=2).prod(axis=1)
    return np.asarray(np.maximum(fft.irfft(product, length, axis=1)[:, :size], 0))
