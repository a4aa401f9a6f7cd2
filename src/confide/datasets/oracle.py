"""Generators that know the truth: outcomes that rise with a normal score, part of which is the hidden cause.

Y(t) rises with Z_t ~ N(0, 1), which is independent of x. Z_t = ρ_t(x)·U + √(1-ρ_t(x)²)·V_t, where U, V_0 and V_1 are
independent N(0, 1). In a trial the treatment is a fair coin; in observational rows it is 1 where U exceeds h(x). So U
is a hidden cause of outcome and treatment there, and nothing else differs between the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy.special import ndtri
from sklearn.utils import check_random_state

from confide.conformal.intervals import Intervals
from confide.conformal.quantile import check_alpha
from confide.datasets.synthetic import Synthetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Rows = NDArray[np.float64]

    from confide.typing import RandomState

# Rows that stand for the population in `Oracle.same_form`, and halvings of the bracket of a quantile.
POPULATION = 20_000
HALVINGS = 45


class Oracle(ABC):
    """What is true of each row, given its covariates x and a treatment: one label for all rows, or one per row.

    ``mean``, ``scale``, ``cdf``, ``quantile``, ``interval`` and ``coverage`` are those of Y(t) given x in the trial's
    population. ``bias`` and ``observational_scale`` are about observational rows that have the treatment.
    """

    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def mean(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return E[Y(t) | x]."""

    @abstractmethod
    def scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return σ_t(x), the standard deviation of Y(t) given x."""

    @abstractmethod
    def bias(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return E[Y | x, t, observational] - E[Y(t) | x]."""

    @abstractmethod
    def observational_scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return the standard deviation of Y given x in observational rows of the treatment."""

    @abstractmethod
    def correlation(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return ρ_t(x), the correlation of the hidden cause with the normal score of Y(t)."""

    @abstractmethod
    def threshold(self, X: Rows) -> Rows:
        """Return h(x): observational rows are treated where the hidden cause exceeds it."""

    @abstractmethod
    def outcome(self, X: Rows, treatment: ArrayLike, z: ArrayLike) -> Rows:
        """Return Y(t) where its normal score is z."""

    @abstractmethod
    def cdf(self, X: Rows, treatment: ArrayLike, y: ArrayLike, *, below: bool = False) -> Rows:
        """Return P(Y(t) ≤ y | x); with ``below``, P(Y(t) < y | x)."""

    @abstractmethod
    def covariates(self, n: int, rng: Any) -> Rows:
        """Return n rows of covariates."""

    def quantile(self, X: Rows, treatment: ArrayLike, level: ArrayLike) -> Rows:
        """Return the quantile of Y(t) given x."""
        return self.outcome(X, treatment, ndtri(np.asarray(level, dtype=float)))

    def interval(self, X: Rows, treatment: ArrayLike, alpha: float = 0.1) -> Intervals:
        """Return the intervals from the α/2 to the 1-α/2 quantile of Y(t) given x, which cover 1-α at every x."""
        tail = float(check_alpha(alpha)) / 2
        return Intervals(self.quantile(X, treatment, tail), self.quantile(X, treatment, 1 - tail))

    def coverage(self, X: Rows, treatment: ArrayLike, intervals: Intervals) -> Rows:
        """Return the probability, given x, that each row's interval contains Y(t); whoever made the interval."""
        lower, upper = intervals
        inside = self.cdf(X, treatment, upper) - self.cdf(X, treatment, lower, below=True)
        return np.where(np.isnan(lower), 0.0, inside)

    def same_form(
        self,
        X: Rows,
        treatment: int,
        alpha: float = 0.1,
        *,
        slope: bool = True,
        scaled: bool = True,
        tails: bool = False,
    ) -> Intervals:
        """Return what stacking, scaling and calibrating reach with endless data.

        The intervals are c(x) + [-ℓ, u]·s(x). Known without error are m(x), the mean in observational rows of the
        treatment, and s(x), the standard deviation there. With endless trial rows c(x) = β_0 + β_1·m(x) fits
        E[Y(t) | x] best by weighted least squares (weights 1/s²), and ℓ, u make the intervals cover 1-α on average over
        the population: what the bias and the selection do to m and s stays in the coverage at an x.

        Parameters
        ----------
        X : (n, d) array
            Covariates.
        treatment : int
            The treatment, one for all rows.
        alpha : float
            Miscoverage level.
        slope : bool
            False: β_1 = 1.
        scaled : bool
            False: s(x) = 1.
        tails : bool
            False: ℓ = u. True: either tail misses α/2.
        """
        population = self._population
        prognosis = self.mean(population, treatment) + self.bias(population, treatment)
        spread = self.observational_scale(population, treatment) if scaled else np.ones(len(population))
        truth = self.mean(population, treatment)
        weights = 1 / spread**2
        middle = np.average(prognosis, weights=weights)
        level = np.average(truth, weights=weights)
        rise = 1.0
        if slope and np.ptp(prognosis):
            rise = np.average((prognosis - middle) * truth, weights=weights) / np.average(
                (prognosis - middle) ** 2, weights=weights
            )
        centre = level + rise * (prognosis - middle)

        def covered(low: float, high: float) -> float:
            ends = Intervals(centre + low * spread, centre + high * spread)
            return float(self.coverage(population, treatment, ends).mean())

        target = 1 - float(check_alpha(alpha))
        if tails:
            low = -_smallest(lambda size: covered(-size, np.inf), (1 + target) / 2)
            high = _smallest(lambda size: covered(-np.inf, size), (1 + target) / 2)
        else:
            high = _smallest(lambda size: covered(-size, size), target)
            low = -high
        mine = level + rise * (self.mean(X, treatment) + self.bias(X, treatment) - middle)
        size = self.observational_scale(X, treatment) if scaled else np.ones(len(X))
        return Intervals(mine + low * size, mine + high * size)

    @cached_property
    def _population(self) -> Rows:
        return self.covariates(POPULATION, check_random_state(0))


def _smallest(share: Callable[[float], float], target: float) -> float:
    """Return the smallest size whose share reaches the target, of a share that does not fall with the size."""
    low, high = -1.0, 1.0
    while share(low) >= target:
        low *= 2
    while share(high) < target:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= target else (middle, high)
    return high


@dataclass(frozen=True)
class OracleSynthetic(Synthetic):
    """Generated rows as in `Synthetic`, with what was hidden and what is true of them.

    Attributes
    ----------
    hidden : (n,) array
        The hidden cause U.
    oracle : Oracle
        Conditional mean, scale and quantiles of each potential outcome, and the bias of observational rows.
    """

    hidden: NDArray[np.float64]
    oracle: Oracle

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        return self.oracle.columns

    def table(self) -> pa.Table:
        """Return what is observed: the covariates under their names, ``treatment`` and ``outcome``."""
        named = {name: self.X[:, column] for column, name in enumerate(self.columns)}
        return pa.table({**named, "treatment": self.treatment, "outcome": self.y})


def draw(oracle: Oracle, n: int, randomized: bool, random_state: RandomState) -> OracleSynthetic:
    """Return n rows; with the same seed, a trial differs from observational rows by the treatment only."""
    rng = check_random_state(random_state)
    X = oracle.covariates(n, rng)
    hidden, own0, own1 = rng.standard_normal((3, n))
    coin = rng.uniform(size=n) < 0.5
    y0, y1 = (_outcome(oracle, X, treatment, hidden, own) for treatment, own in enumerate((own0, own1)))
    chosen = (coin if randomized else hidden > oracle.threshold(X)).astype(int)
    return OracleSynthetic(X, chosen, np.where(chosen == 1, y1, y0), y0, y1, hidden, oracle)


def _outcome(oracle: Oracle, X: Rows, treatment: int, hidden: Rows, own: Rows) -> Rows:
    """Return Y(t), whose normal score is made of the hidden cause and its own noise."""
    correlation = oracle.correlation(X, treatment)
    return oracle.outcome(X, treatment, correlation * hidden + np.sqrt(1 - correlation**2) * own)


def labels(treatment: ArrayLike) -> NDArray[np.int64]:
    """Return the treatment as integers; raise unless it is 0 or 1."""
    found = np.asarray(treatment)
    if not np.isin(found, (0, 1)).all():
        raise ValueError(f"treatment must be 0 or 1, one for all rows or one per row, got {treatment!r}.")
    return found.astype(np.int64)


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """Return the parameter as a float; raise unless it is a number with low ≤ value < high."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a number, got {value!r}.") from error
    if not low <= number < high:
        raise ValueError(f"{name} must be at least {low:g} and below {high:g}, got {value!r}.")
    return number


def normal_density(z: Any) -> Any:
    """Return the density of N(0, 1)."""
    return np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi)
