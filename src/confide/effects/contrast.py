"""The difference between the mean outcomes of two randomised arms, with a prognostic score and without.

Nothing here knows of models or tables: arrays in, numbers out.

Each unit k, a row or a cluster, has a share A_kt of arm t and a mean residual R_kt there. The estimate is the
difference of the arms' means Σ_k A_kt·R_kt, its error the sum of the units' influences
ψ_k = A_k1·(R_k1 - mean₁) - A_k0·(R_k0 - mean₀). Each ψ_k² is divided by the share of its expectation that centring
leaves, and degrees of freedom are Satterthwaite's for that quadratic form. With one row per unit and equal weights this
is Welch's interval. Weights that differ make means skewed: there each ψ_k² is divided twice, nearly as if the unit were
left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from confide.typing import Booleans, Floats, Level, Places

# A slope is learnt if each arm is worth at least so many units more than it has means; below that it is 0.
LEAST_SPARE = 4
# Spreads below this share of the size of numbers are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A difference of means, and its interval; infinite where nothing is known."""

    effect: float
    low: float
    high: float


@dataclass(frozen=True)
class _Cells:
    """Units by arms (control, treated): a unit's share of an arm, its mean outcome and score; the arms' sizes."""

    share: Floats
    outcome: Floats
    score: Floats
    total: Floats
    rows: Floats
    weighted: bool


@dataclass(frozen=True)
class _Slope:
    """How much of the score is taken off, the variance of that number, and the share of it that each group decides."""

    value: float
    variance: float
    shares: Floats


def mean_differences(
    y: Floats,
    score: Floats,
    treated: Booleans,
    *,
    weight: Floats | None = None,
    cluster: Places | None = None,
    group: Places | None = None,
    binary: bool = False,
    alpha: Level = 0.05,
) -> list[tuple[Estimate, Estimate]]:
    """Return, for each group, the difference of means with the score and without it.

    Parameters
    ----------
    y, score : (n,) arrays
        Outcomes, and a prognostic score in which these outcomes have no part.
    treated : (n,) boolean array
        Who is in the treated arm.
    weight : (n,) array, default None
        How many people each row stands for, one over the probability of its arm; None: all alike.
    cluster : (n,) array of integers, default None
        Rows with the same number depend on each other, and together count as much as any other cluster.
    group : (n,) array of integers, default None
        The group of each row, from 0 on; None: all rows are one.
    binary : bool
        Outcomes are 0 or 1: two rows, one of each, are added to both arms (Agresti and Caffo), at the mean score. With
        clusters they are two clusters, and with weights two of the rows of equal weight that an arm is worth.
    alpha : float
        Miscoverage level.
    """
    codes = np.zeros(len(y), dtype=np.intp) if group is None else group
    found = []
    for number in range(int(codes.max(initial=0)) + 1):
        mine = codes == number
        found.append(
            _cells(
                y[mine],
                score[mine],
                treated[mine],
                None if weight is None else weight[mine],
                None if cluster is None else cluster[mine],
            )
        )
    slope = _slope(found)
    none = _Slope(0.0, 0.0, np.zeros(len(found)))
    return [
        (
            _estimate(cells, slope, number, binary=binary, alpha=alpha),
            _estimate(cells, none, number, binary=binary, alpha=alpha),
        )
        for number, cells in enumerate(found)
    ]


def _cells(y: Floats, score: Floats, treated: Booleans, weight: Floats | None, cluster: Places | None) -> _Cells:
    """Return units by arms; a cluster's rows in an arm become their mean, its weight their share of the cluster."""
    weighted = weight is not None
    weight = np.ones(len(y)) if weight is None else weight
    unit = np.arange(len(y))
    if cluster is not None:
        unit, size = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
        weight = weight / size[unit]
    units = int(unit.max(initial=-1)) + 1
    place = 2 * unit + treated

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, 2 * units), dtype=np.float64).reshape(units, 2)

    own = summed(weight)
    total = own.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        outcome, mean_score = (np.where(own > 0, summed(weight * each) / own, 0.0) for each in (y, score))
        share = np.where(total > 0, own / total, 0.0)
    return _Cells(share, outcome, mean_score, total, summed(np.ones(len(y))).sum(axis=0), weighted)


def _slope(found: list[_Cells]) -> _Slope:
    """Return the slope that makes the difference over all groups together vary least, each centred by itself."""
    total = np.sum([cells.total for cells in found], axis=0)
    outcome, score, squares = [], [], np.zeros(2)
    for cells in found:
        within = cells.total / np.where(total > 0, total, 1.0)
        squares += within**2 * (cells.share**2).sum(axis=0)
        outcome.append(_influence(cells.share, cells.outcome, within))
        score.append(_influence(cells.share, cells.score, within))
    sizes = np.array([each @ each for each in score])
    largest = max(float(np.abs(cells.score).max(initial=0.0)) for cells in found)
    means = np.sum([cells.total > 0 for cells in found], axis=0)
    every = np.concatenate(score)
    if (squares * (means + LEAST_SPARE) > 1 + ROUNDING).any() or np.abs(every).max(initial=0.0) <= ROUNDING * largest:
        return _Slope(0.0, 0.0, np.zeros(len(found)))
    left = np.concatenate(outcome)
    value = float(left @ every / sizes.sum())
    kept = 1 - every**2 / sizes.sum()
    if kept.min() < ROUNDING:
        return _Slope(0.0, 0.0, np.zeros(len(found)))
    variance = float(((every * (left - value * every) / kept) ** 2).sum() / sizes.sum() ** 2)
    return _Slope(value, variance, sizes / sizes.sum())


def _influence(share: Floats, values: Floats, within: Floats) -> Floats:
    """Return each unit's part in the error of the difference; ``within`` are the group's shares of the arms."""
    centred = within * share * (values - (share * values).sum(axis=0))
    return np.asarray(centred[:, 1] - centred[:, 0])


def _estimate(cells: _Cells, slope: _Slope, number: int, *, binary: bool, alpha: Level) -> Estimate:
    """Return the difference of means of a group after the score is taken off, and its interval."""
    if not (cells.rows > 0).all():
        return Estimate(np.nan, -np.inf, np.inf)
    left = cells.outcome - slope.value * cells.score
    effect = _difference(cells.share, left)
    if (np.count_nonzero(cells.share, axis=0) < 2).any():
        return Estimate(effect, -np.inf, np.inf)
    share, centre = cells.share, effect
    if binary:
        share, left = _with_both_outcomes(cells, left, slope.value)
        centre = _difference(share, left)
    variance, freedom = _spread(share, left, 2 if cells.weighted else 1)
    learnt = slope.shares[number]
    if not variance or freedom <= learnt:
        return Estimate(effect, -np.inf, np.inf)
    apart = _difference(cells.share, cells.score)
    variance = variance * freedom / (freedom - learnt) + apart**2 * slope.variance
    reach = float(stats.t.ppf(1 - float(alpha) / 2, freedom - learnt)) * variance**0.5
    low, high = min(effect, centre - reach), max(effect, centre + reach)
    if binary:
        effect, low, high = (float(np.clip(each, -1, 1)) for each in (effect, low, high))
    return Estimate(float(effect), float(low), float(high))


def _difference(share: Floats, values: Floats) -> float:
    control, treated = (share * values).sum(axis=0)
    return float(treated - control)


def _with_both_outcomes(cells: _Cells, left: Floats, slope: float) -> tuple[Floats, Floats]:
    """Return shares and residuals with a 0 and a 1 more in each arm, as two more of the units that it is worth."""
    one_row = (cells.share**2).sum(axis=0)
    score = (cells.share * cells.score).sum(axis=0).mean()
    more = np.zeros((4, 2))
    more[:2, 0], more[2:, 1] = one_row
    values = np.zeros((4, 2))
    values[1, 0] = values[3, 1] = 1.0
    return np.concatenate([cells.share, more]) / (1 + 2 * one_row), np.concatenate([left, values - slope * score])


def _spread(share: Floats, values: Floats, times: int) -> tuple[float, float]:
    """Return the variance of the difference, 0 if values do not vary at all, and its degrees of freedom.

    ``times`` is how often an influence's square is divided by the share that centring leaves of it.
    """
    centred = np.where(share > 0, values - (share * values).sum(axis=0), 0.0)
    if np.abs(centred).max() <= ROUNDING * np.abs(values).max():
        return 0.0, 0.0
    square = share**2
    sums = square.sum(axis=0)
    by_arm = (share * centred**2).sum(axis=0) / (1 - sums)
    whole = square @ by_arm
    left = (square * (1 - 2 * share + sums)) @ by_arm
    factor = np.divide(whole, left, out=np.ones(len(whole)), where=left > 0) ** times
    influence = share[:, 1] * centred[:, 1] - share[:, 0] * centred[:, 0]
    # The influences' covariances, were residuals of an arm alike: a diagonal plus a matrix of rank 4.
    diagonal = factor * whole
    parts = np.sqrt(factor)[:, None] * np.column_stack([square, share])
    middle = np.zeros((4, 4))
    for arm in (0, 1):
        middle[arm, 2 + arm] = middle[2 + arm, arm] = -by_arm[arm]
        middle[2 + arm, 2 + arm] = by_arm[arm] * sums[arm]
    inner = middle @ (parts.T @ parts)
    trace = diagonal.sum() + np.trace(inner)
    squared = (diagonal**2).sum() + 2 * np.trace(middle @ (parts.T @ (diagonal[:, None] * parts)))
    freedom = trace**2 / (squared + np.trace(inner @ inner))
    return float(factor @ influence**2), float(freedom)
