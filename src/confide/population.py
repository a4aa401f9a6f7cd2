"""Whether new rows look like the trial's: the promises are for the trial's population."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
# The same for single absurd rows, supposing what Population says of the tails.
ABSURD_LEVEL = 0.005
# The tail is the trial's outermost rows^TAIL_POWER values, or as many as hold TAIL_VALUES different ones.
TAIL_POWER = 0.4
TAIL_VALUES = 3


class PopulationWarning(UserWarning):
    """New rows look unlike the trial's, whose population the promises are for. The message names the columns.

    Rows from the trial's population are called unlike it in at most 6 calls of a thousand, whatever the number of rows
    and columns. 1 of these 6 is for tests that suppose nothing. 5 are for single absurd rows, and suppose that a
    column's tails are those of a power law or lighter, and do not become heavier farther out. docs/population.md says
    it exactly, with the rates measured for columns of many kinds, and what an absurd row must be like to be seen.
    """


@dataclass(frozen=True)
class Population:
    """The trial's covariates, all arms together, as new rows are compared with them.

    Three things are looked at in each column, a missing value being larger than all others:

    - its distribution, by the two-sample Kolmogorov–Smirnov test;
    - how many new rows lie beyond the trial's largest or smallest value, by the probability that so many do;
    - whether a row is absurd: farther out than any of so many rows should be, judged from the spacings of the trial's
      most extreme values (`farther_out`). No judgement where these have too few different values.

    The first two suppose nothing of the distribution: together they call rows from the trial's population unlike it in
    at most one call of a thousand, be it one row or many. The third does so in at most one call of two hundred if, in
    each tail, the hazard on the scale of log|x - median| does not fall: beyond the tail's beginning, x·f(x)/(1 - F(x))
    does not decrease, x counted from the trial's median. That allows every power law, however heavy, and whatever is
    lighter: normal, exponential, lognormal and Student's distributions, Cauchy's, and all of them among any share of
    zeros. It excludes a small group of people, far from all others, of whom the trial happens to have nobody: a share q
    of the population, met by one new row and by none of m trial rows with probability q·(1 - q)^m, at most 1/(e·m).
    Whole numbers and rounded values are not covered by the proof; there the rate was measured (docs/population.md).

    Attributes
    ----------
    names : tuple of str
        A name for each column.
    columns : (rows, columns) array
        The trial's values, each column in increasing order, missing ones as +∞.
    """

    names: tuple[str, ...]
    columns: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], names: Any, seed: int) -> Population:
        """Keep a random sample of the trial's covariates."""
        chosen = np.random.default_rng(seed).permutation(len(X))[:TRIAL_ROWS]
        return cls(tuple(str(name) for name in names), np.sort(_missing_last(X[chosen]), axis=0))

    def unlike(self, X: NDArray[np.float64]) -> str | None:
        """Return how the rows differ from the trial's; None where they need not."""
        return self.judge(self.look(X))

    def look(self, X: NDArray[np.float64], start: int = 0) -> Look:
        """Return what of new rows is compared with the trial; ``start`` is the number of rows before them.

        Looks at parts of the rows can be joined, and give the look at all of them.
        """
        if len(self.columns) < LEAST_ROWS or not X.size:
            return Look.at_nothing(self)
        first, last = self.columns[[0, -1]]
        ends = np.array([np.fmin.reduce(X), np.fmax.reduce(X)])
        missing = np.isnan(X).sum(axis=0)
        beyond_ends = np.array([np.where(np.isinf(last), 0, missing), np.zeros(len(last))])
        for column in np.flatnonzero(ends[1] > last):
            beyond_ends[0, column] += np.sum(X[:, column] > last[column])
        for column in np.flatnonzero(ends[0] < first):
            beyond_ends[1, column] += np.sum(X[:, column] < first[column])
        return Look(len(X), beyond_ends, ends, len(X) - missing, X, _lots(start, len(X))).thinned()

    def judge(self, look: Look) -> str | None:
        """Return how rows that were looked at differ from the trial's; None where they need not."""
        if not look.rows:
            return None
        level = LEVEL / (3 * len(self.names))
        outside, shifted = [], []
        columns = zip(self.names, self.columns.T, look.beyond.T, _missing_last(look.sample).T, strict=True)
        for column, (name, trial, counts, sample) in enumerate(columns):
            rare = min(beyond(int(count), look.rows, len(trial)) for count in counts) < level
            ends, known = look.ends[:, column], int(look.known[column])
            if rare or _absurd(trial, ends, known, ABSURD_LEVEL / (2 * len(self.names))):
                outside.append(f"{name} ({int(counts.sum())} of {look.rows} rows)")
            elif _same_distribution(trial, sample) < level:
                shifted.append(name)
        found = [f"outside the trial's range: {examples(outside)}"] * bool(outside)
        found += [f"distributed otherwise than in the trial: {examples(shifted)}"] * bool(shifted)
        if not found:
            return None
        return (
            f"new rows look unlike the trial's; {'; '.join(found)}. Every promise is for rows from the trial's "
            "population: do not rely on it for these, or ask about rows like the trial's."
        )


@dataclass(frozen=True)
class Look:
    """What of new rows is compared with the trial's, in memory that does not grow with them.

    Attributes
    ----------
    rows : int
        How many rows there are.
    beyond : (2, columns) array
        How many lie above the trial's largest and below its smallest value.
    ends : (2, columns) array
        Smallest and largest value that is not missing.
    known : (columns,) array
        How many values are not missing.
    sample : (at most NEW_ROWS, columns) array
        Rows drawn by lot: those with the smallest lots.
    lots : array
        The lots of the sample. They depend on a row's place alone, so that a sample does not depend on the parts in
        which rows are looked at, nor on an order in which they were sorted.
    """

    rows: int
    beyond: NDArray[np.float64]
    ends: NDArray[np.float64]
    known: NDArray[np.float64]
    sample: NDArray[np.float64]
    lots: NDArray[np.uint64]

    @classmethod
    def at_nothing(cls, population: Population) -> Look:
        """Return the look at no rows."""
        none = np.zeros((2, len(population.names)))
        return cls(0, none, np.full_like(none, np.nan), none[0], none[:0], _lots(0, 0))

    def thinned(self) -> Look:
        """Return the look with a sample that is small enough."""
        if len(self.lots) <= NEW_ROWS:
            return self
        chosen = np.sort(np.argpartition(self.lots, NEW_ROWS)[:NEW_ROWS])
        return replace(self, sample=self.sample[chosen], lots=self.lots[chosen])

    def joined(self, other: Look) -> Look:
        """Return the look at both parts together."""
        ends = np.fmin(self.ends[0], other.ends[0]), np.fmax(self.ends[1], other.ends[1])
        return Look(
            self.rows + other.rows,
            self.beyond + other.beyond,
            np.array(ends),
            self.known + other.known,
            np.concatenate([self.sample, other.sample]),
            np.concatenate([self.lots, other.lots]),
        ).thinned()


def _lots(start: int, count: int) -> NDArray[np.uint64]:
    """Return a number for each row that looks random and depends on its place alone (the mixing of SplitMix64)."""
    lots = (np.arange(start, start + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    lots = (lots ^ (lots >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    lots = (lots ^ (lots >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = lots ^ (lots >> np.uint64(31))
    return mixed


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


def _absurd(trial: NDArray[np.float64], ends: NDArray[np.float64], known: int, level: float) -> bool:
    """Return whether an end of the known new values is farther out than one of so many is but with that probability."""
    trial = trial[np.isfinite(trial)]
    if not known or not len(trial):
        return False
    lowest, highest = ends
    return min(farther_out(trial, highest, known), farther_out(-trial[::-1], -lowest, known)) < level


def farther_out(trial: NDArray[np.float64], value: float, new: int) -> float:
    """Return a bound of the probability that the largest of ``new`` values lies as far beyond the trial's, or farther.

    The trial's values are sorted. The k of them above a threshold u, and a new value above it, are k + 1 draws from one
    distribution; a new value is above u with probability (k+1)/(m+1). With E = log((x - median)/(u - median)) for each,
    a power law makes them exponential of one unknown scale, and P(E_new ≥ c·ΣE_trial) = (1 + c)^(-k) whatever the
    scale. Where the hazard of E increases, E is a concave function of such a variable, which brings the largest of them
    nearer to the others: then the probability that the new value is the largest and E_new ≥ c·ΣE_trial is smaller. So
    new·(k+1)/(m+1)·(1 + c)^(-k) is a bound; it is 1 where too few different values lie beyond the median.
    """
    if not value > trial[-1]:
        return 1.0
    median = trial[len(trial) // 2]
    outermost = max(TAIL_VALUES, round(len(trial) ** TAIL_POWER))
    different = np.unique(trial[trial > median])
    if len(different) <= TAIL_VALUES or trial[-outermost - 1] <= median:
        return 1.0
    threshold = min(different[-TAIL_VALUES - 1], trial[-outermost - 1])
    tail = trial[trial > threshold]
    # Halves, because differences of the largest numbers overflow.
    excess = np.log(np.append(tail, value) / 2 - median / 2) - np.log(threshold / 2 - median / 2)
    chance = (1 + excess[-1] / excess[:-1].sum()) ** -len(tail)
    return min(float(new * (len(tail) + 1) / (len(trial) + 1) * chance), 1.0)


def _same_distribution(trial: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the Kolmogorov–Smirnov p-value; the trial's values are sorted. Ties make it larger, never smaller."""
    new = np.sort(new)
    points = np.concatenate([trial, new])
    shares = [np.searchsorted(values, points, side="right") / len(values) for values in (trial, new)]
    distance = np.abs(shares[0] - shares[1]).max()
    return float(kstwobign.sf(distance * np.sqrt(len(trial) * len(new) / len(points))))
