"""Exact permutation weights: what each of N points weighs when m + 1 of them, the new one among them, are the trial's.

The paper's Eq. 5 sums over all permutations and calls it exponential. With density ratios r_1..r_N it is

    p_i = r_i · e_m(r without r_i) / ((m+1) · e_{m+1}(r)) = π_i / (m+1),

e_k the elementary symmetric polynomial: π_i is the probability that point i is in a sample of m + 1 of the N points
drawn with odds r (conditional Poisson sampling). Tilted so that Σq_i = m + 1, q_i = λr_i/(1+λr_i), it is a ratio of
Poisson-binomial probabilities, π_i = q_i·P(S₋ᵢ = m)/P(S = m+1), which are of ordinary size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Where the sample size varies more than this, q itself is π to a few parts in ten thousand (Hájek) ...
HAJEK_VARIANCE = 500.0
# ... and stands in for it where the exact recursion would need more steps than this.
EXACT_STEPS = 4e8
# So many points at a time have their probabilities in memory while samples are drawn.
DRAW_BLOCK = 4000


@dataclass(frozen=True)
class Sampling:
    """A conditional Poisson sample of ``size`` points with odds r.

    Attributes
    ----------
    inclusion : (N,) array
        Probability of each point to be in the sample; they add up to the size.
    log_next : float
        log κ, κ = e_{size+1}(r)/e_size(r); -∞ where no larger sample is possible.
    """

    inclusion: NDArray[np.float64]
    log_next: float


def permutation_weights(ratios: ArrayLike, m: int) -> NDArray[np.float64]:
    """Return the N weights of Eq. 5, which add up to 1.

    Parameters
    ----------
    ratios : (N,) array
        Density ratios of all points, the new one last; at least m + 1 positive. An infinite one is surely a trial row.
    m : int
        Number of trial rows among the points, the new one not counted.
    """
    return conditional_poisson(ratios, m + 1).inclusion / (m + 1)


def conditional_poisson(odds: ArrayLike, size: int) -> Sampling:
    """Return inclusion probabilities of a sample of that size, and the step to a larger one."""
    odds = np.asarray(odds, dtype=np.float64)
    if odds.ndim != 1 or np.isnan(odds).any() or (odds < 0).any():
        raise ValueError("ratios must be one vector of numbers at least 0.")
    certain, possible = np.isinf(odds), (odds > 0) & np.isfinite(odds)
    rest = size - int(certain.sum())
    if not 0 <= rest <= possible.sum():
        raise ValueError(
            f"a sample of {size} needs at least {size} positive and at most {size} infinite ratios, "
            f"got {int((odds > 0).sum())} and {int(certain.sum())}."
        )
    inclusion = certain.astype(np.float64)
    log_odds = np.log(odds[possible])
    inclusion[possible], log_next = _finite_sample(log_odds, rest)
    return Sampling(inclusion, log_next)


def draw_conditional_poisson(
    odds: NDArray[np.float64], size: int, draws: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return so many samples of ``size`` points with finite, positive odds: (draws, size) indices in increasing order.

    One point after the other is taken, or not, with its probability given how many are still missing:
    q_i·P(the later points give one less)/P(this one and the later ones give as many).
    """
    log_odds = np.log(odds)
    tilt = _tilt(log_odds, size)
    q, p = expit(log_odds + tilt), expit(-log_odds - tilt)
    blocks = [slice(start, start + DRAW_BLOCK) for start in range(0, len(odds), DRAW_BLOCK)]
    # Probabilities are needed from the first point on and found from the last one back: of each block its end is kept,
    # the rest is found again.
    later = np.zeros(size + 1)
    later[0] = 1.0
    ends = []
    for block in reversed(blocks):
        ends.append(later.copy())
        if block.start:
            _take_chances(q[block], p[block], later)
    samples = np.empty((draws, size), dtype=np.intp)
    missing = np.full(draws, size)
    for block in blocks:
        chances = _take_chances(q[block], p[block], ends.pop())
        lots = rng.random((len(chances), draws))
        for index, (lot, chance) in enumerate(zip(lots, chances, strict=True), start=block.start):
            mine = (lot < chance[missing]).nonzero()[0]
            samples[mine, size - missing[mine]] = index
            missing[mine] -= 1
    return samples


def _take_chances(q: NDArray[np.float64], p: NDArray[np.float64], later: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return each point's probability to be taken where 0, 1, .. are missing.

    ``later`` holds the probabilities that the points after these give 0, 1, ..; these points are added to it.
    """
    chances = np.zeros((len(q), len(later)), dtype=np.float32)
    for index in range(len(q) - 1, -1, -1):
        with_it = q[index] * later[:-1]
        later *= p[index]
        later[1:] += with_it
        np.divide(with_it, later[1:], out=chances[index, 1:], where=later[1:] > 0, casting="same_kind")
    return chances


def _finite_sample(log_odds: NDArray[np.float64], size: int) -> tuple[NDArray[np.float64], float]:
    """Return inclusion probabilities and log κ for finite, positive odds."""
    count = len(log_odds)
    if size == 0:
        total = float(np.logaddexp.reduce(log_odds)) if count else -np.inf
        return np.zeros(count), total
    if size == count:
        return np.ones(count), -np.inf
    tilt = _tilt(log_odds, size)
    q, p = expit(log_odds + tilt), expit(-log_odds - tilt)
    variance = float(q @ p)
    reach = int(10 * np.sqrt(variance)) + 50
    low, high = max(0, size - reach), min(count, size + reach)
    # Σq = size, so a sample of one more is nearly as likely: κ is 1/λ up to terms of the same order as Hájek's error.
    if variance >= HAJEK_VARIANCE and count * (size + reach) > EXACT_STEPS:
        return q * (size / q.sum()), -tilt
    pmf = _poisson_binomial(q, p, high)
    inclusion = q * _leave_one_out(pmf, q, p, size - 1, low, high) / pmf[size]
    inclusion = np.minimum(inclusion * (size / inclusion.sum()), 1.0)
    following = pmf[size + 1] / pmf[size] if size + 1 <= high else 0.0
    return inclusion, float(np.log(following) - tilt) if following > 0 else -np.inf


def _tilt(log_odds: NDArray[np.float64], size: int) -> float:
    """Return log λ with Σ λr/(1+λr) = size, by bisection: the sum grows with λ."""
    low, high = -float(log_odds.max()) - 60.0, -float(log_odds.min()) + 60.0
    low -= float(np.log(len(log_odds)))
    high += float(np.log(len(log_odds)))
    while high - low > 1e-13 * max(1.0, abs(low), abs(high)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if expit(log_odds + middle).sum() < size:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _poisson_binomial(q: NDArray[np.float64], p: NDArray[np.float64], high: int) -> NDArray[np.float64]:
    """Return P(S = 0..high) for a sum S of independent indicators with probabilities q = 1 - p."""
    pmf = np.zeros(high + 1)
    pmf[0] = 1.0
    chances = list(zip(q.tolist(), p.tolist(), strict=True))
    for top, (chance, rest) in enumerate(chances[:high], start=1):
        moved = pmf[:top] * chance
        pmf[: top + 1] *= rest
        pmf[1 : top + 1] += moved
    below, above, moved = pmf[:-1], pmf[1:], np.empty(high)
    for chance, rest in chances[high:]:
        np.multiply(below, chance, out=moved)
        np.multiply(pmf, rest, out=pmf)
        np.add(above, moved, out=above)
    return pmf


def _leave_one_out(
    pmf: NDArray[np.float64], q: NDArray[np.float64], p: NDArray[np.float64], target: int, low: int, high: int
) -> NDArray[np.float64]:
    """Return P(S₋ᵢ = target) for each i, where S₋ᵢ leaves out indicator i.

    P(S = j) = p·P(S₋ᵢ = j) + q·P(S₋ᵢ = j-1) is solved upwards from ``low`` where q ≤ ½ and downwards from ``high``
    elsewhere: in that direction errors shrink, and beyond these ends nothing is left.
    """
    result = np.empty(len(q))
    small = q <= 0.5
    chance, rest = q[small], p[small]
    current = np.zeros(len(chance))
    for j in range(low, target + 1):
        current = (pmf[j] - chance * current) / rest
    result[small] = current
    chance, rest = q[~small], p[~small]
    current = np.zeros(len(chance))
    for j in range(high, target, -1):
        current = (pmf[j] - rest * current) / chance
    result[~small] = current
    return np.maximum(result, 0.0)
