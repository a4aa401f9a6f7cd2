"""Whether new rows look like the trial's: the promises are for the trial's population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import kstwobign

from confide.checks import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

# At most this many trial rows are kept, drawn at random, and this many new rows' distributions compared with them.
TRIAL_ROWS = 2000
NEW_ROWS = 10_000
# Fewer trial rows than this say too little of their population.
LEAST_ROWS = 10
# Probability, over all columns of one call, that rows from the trial's population are called unlike it.
LEVEL = 0.001


class PopulationWarning(UserWarning):
    """New rows look unlike the trial's, whose population the promises are for. The message names the columns."""


@dataclass(frozen=True)
class Population:
    """The trial's covariates, all arms together, as new rows are compared with them.

    Three things are looked at in each column, a missing value being larger than all others:

    - its distribution, by the two-sample Kolmogorov–Smirnov test;
    - how many new rows lie beyond the trial's largest or smallest value, by the probability that so many do;
    - whether a row is absurd: beyond twice the trial's range on the scale of asinh((x - median)/(quartiles' distance)),
      which is some 15 standard deviations for a normal column, and farther the heavier its tails.

    The first two suppose nothing of the distribution: together they call rows from the trial's population unlike it in
    at most one call of a thousand, be it one row or many. The third could do so often only where tails are so heavy
    that there is no mean.

    Attributes
    ----------
    names : tuple of str
        A name for each column.
    columns : (rows, columns) array
        The trial's values, each column in increasing order.
    reach : (2, columns) array
        The values that are absurd below and above; infinite where a column has few distinct values.
    """

    names: tuple[str, ...]
    columns: NDArray[np.float64]
    reach: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], names: Any, seed: int) -> Population:
        """Keep a random sample of the trial's covariates."""
        chosen = np.random.default_rng(seed).permutation(len(X))[:TRIAL_ROWS]
        columns = np.sort(_missing_last(X[chosen]), axis=0)
        reach = np.array([_reach(column) for column in columns.T]).reshape(-1, 2).T
        return cls(tuple(str(name) for name in names), columns, reach)

    def unlike(self, X: NDArray[np.float64]) -> str | None:
        """Return how the rows differ from the trial's; None where they need not."""
        if len(self.columns) < LEAST_ROWS or not X.size:
            return None
        X = _missing_last(X)
        compared = X[:: -(-len(X) // NEW_ROWS)]
        level = LEVEL / (3 * X.shape[1])
        outside, shifted = [], []
        for name, trial, (low, high), new, some in zip(
            self.names, self.columns.T, self.reach.T, X.T, compared.T, strict=True
        ):
            ends = int(np.sum(new > trial[-1])), int(np.sum(new < trial[0]))
            absurd = ((new < low) | (new > high)) & np.isfinite(new)
            if absurd.any() or min(beyond(count, len(new), len(trial)) for count in ends) < level:
                outside.append(f"{name} ({sum(ends)} of {len(new)} rows)")
            elif _same_distribution(trial, some) < level:
                shifted.append(name)
        found = [f"outside the trial's range: {examples(outside)}"] * bool(outside)
        found += [f"distributed otherwise than in the trial: {examples(shifted)}"] * bool(shifted)
        if not found:
            return None
        return (
            f"new rows look unlike the trial's; {'; '.join(found)}. Every promise is for rows from the trial's "
            "population: do not rely on it for these, or ask about rows like the trial's."
        )


def beyond(count: int, new: int, trial: int) -> float:
    """Return the probability that at least ``count`` of the new rows are larger than all trial rows.

    All orders of the rows being equally likely, it is that of the ``count`` largest all being new ones.
    """
    both = new + trial
    chance = gammaln(new + 1) - gammaln(new - count + 1) - gammaln(both + 1) + gammaln(both - count + 1)
    return float(np.exp(chance))


def _missing_last(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with +∞ where one is missing."""
    return np.where(np.isnan(X), np.inf, X)


def _reach(column: NDArray[np.float64]) -> tuple[float, float]:
    """Return the values below and above which a row is absurd."""
    known = column[np.isfinite(column)]
    if len(np.unique(known)) < LEAST_ROWS:
        return -np.inf, np.inf
    first, median, third = np.quantile(known, [0.25, 0.5, 0.75])
    scale = (third - first) or known.std()
    # An end at the median itself, as of a column that is mostly 0, still leaves room.
    below, above = np.maximum(np.abs(known[[0, -1]] - median) / scale, 1.0)
    return float(median - scale * np.sinh(2 * np.arcsinh(below))), float(
        median + scale * np.sinh(2 * np.arcsinh(above))
    )


def _same_distribution(trial: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the Kolmogorov–Smirnov p-value; the trial's values are sorted. Ties make it larger, never smaller."""
    new = np.sort(new)
    points = np.concatenate([trial, new])
    shares = [np.searchsorted(values, points, side="right") / len(values) for values in (trial, new)]
    distance = np.abs(shares[0] - shares[1]).max()
    return float(kstwobign.sf(distance * np.sqrt(len(trial) * len(new) / len(points))))
