"""The four processes of the coverage study: people of a trial, and a confounded table of each treatment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from confide.data.splits import Rows
from confide.datasets import synthetic, synthetic_clinic

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class People:
    """People of the trial's population, with their outcomes under both treatments."""

    X: Floats
    y0: Floats
    y1: Floats

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, places: NDArray[np.bool_] | NDArray[np.intp] | slice) -> People:
        return People(self.X[places], self.y0[places], self.y1[places])

    def under(self, treatment: int | NDArray[np.intp]) -> Floats:
        """Return the outcomes under a treatment, or under each person's own."""
        return np.where(np.asarray(treatment) == 1, self.y1, self.y0)


class Process(ABC):
    """Where people and tables come from."""

    # The values that outcomes may have; None: any number.
    values: ClassVar[tuple[float, ...] | None] = None

    @abstractmethod
    def people(self, rng: np.random.Generator, count: int) -> People:
        """Return people of the trial's population."""

    @abstractmethod
    def table(self, rng: np.random.Generator, count: int, arm: int) -> Rows:
        """Return observational rows that received a treatment."""

    def ratio(self, arm: int) -> Callable[[Floats], Floats] | None:  # noqa: ARG002
        """Return the density ratio r(x, y) of an arm's trial rows to its observational ones, if it is known."""
        return None

    @abstractmethod
    def standing(self, X: Floats) -> Floats:
        """Return a number of mean 0 and spread 1 per person, by the first covariate: weights depend on it."""


def _seeded(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(rng.integers(2**32, size=4, dtype=np.uint32))


@dataclass(frozen=True)
class Known(Process):
    """Two normal covariates, noise that grows with the first, and a bias of the table: r(x, y) is known.

    Attributes
    ----------
    bias : float
        By how many standard deviations of the noise the table's outcomes are too high.
    chosen : bool
        Whether people choose treatment 1 with the probability 1/(1 + exp(-x)), x the first covariate; else nothing but
        the bias tells the tables from the trial.
    """

    bias: float = 0.7
    chosen: bool = False

    def people(self, rng: np.random.Generator, count: int) -> People:
        """Return people of the trial's population."""
        return self._people(rng, rng.normal(size=(count, 2)))

    def _people(self, rng: np.random.Generator, X: Floats) -> People:
        noise = self._scale(X)[:, None] * rng.normal(size=(len(X), 2))
        return People(X, self._mean(X, 0) + noise[:, 0], self._mean(X, 1) + noise[:, 1])

    def table(self, rng: np.random.Generator, count: int, arm: int) -> Rows:
        """Return observational rows that received a treatment."""
        X = rng.normal(size=(count, 2))
        if self.chosen:
            X = rng.normal(size=(8 * count + 100, 2))
            X = X[rng.random(len(X)) < self.propensity(X, arm)][:count]
        return Rows(X, self._people(rng, X).under(arm) + self.bias * self._scale(X))

    @staticmethod
    def propensity(X: Floats, arm: int) -> Floats:
        """Return the probability with which people choose a treatment."""
        probability: Floats = 1 / (1 + np.exp(X[:, 0] * (1 - 2 * arm)))
        return probability

    def ratio(self, arm: int) -> Callable[[Floats], Floats]:
        """Return r(x, y): two normal densities, and P(t)/e(x) where people choose."""

        def known(rows: Floats) -> Floats:
            X, y = rows[:, :2], rows[:, -1]
            z = (y - self._mean(X, arm)) / self._scale(X)
            by_outcome: Floats = np.exp(self.bias**2 / 2 - self.bias * z)
            return by_outcome * (0.5 / self.propensity(X, arm) if self.chosen else 1.0)

        return known

    def standing(self, X: Floats) -> Floats:
        """Return the first covariate."""
        return X[:, 0]

    @staticmethod
    def _mean(X: Floats, arm: int) -> Floats:
        mean: Floats = X[:, 0] + arm * (1 + 0.5 * X[:, 1])
        return mean

    @staticmethod
    def _scale(X: Floats) -> Floats:
        scale: Floats = np.exp(0.4 * X[:, 0])
        return scale


@dataclass(frozen=True)
class Ratings(Process):
    """Two binary covariates and outcomes from 0 to 3: covariates, predictions and scores are tied. r is known."""

    bias: float = 0.7
    values: ClassVar = (0.0, 1.0, 2.0, 3.0)

    def people(self, rng: np.random.Generator, count: int) -> People:
        """Return people of the trial's population."""
        X = rng.integers(2, size=(count, 2)).astype(float)
        return People(X, *(self._drawn(rng, X, arm, 0.0) for arm in (0, 1)))

    def table(self, rng: np.random.Generator, count: int, arm: int) -> Rows:
        """Return observational rows that received a treatment."""
        X = rng.integers(2, size=(count, 2)).astype(float)
        return Rows(X, self._drawn(rng, X, arm, self.bias))

    def ratio(self, arm: int) -> Callable[[Floats], Floats]:
        """Return r(x, y), of outcomes rounded to a value."""

        def known(rows: Floats) -> Floats:
            X, y = rows[:, :2], np.clip(np.round(rows[:, -1]), 0, 3).astype(np.intp)
            every = np.arange(len(rows))
            found: Floats = self._chances(X, arm, 0.0)[every, y] / self._chances(X, arm, self.bias)[every, y]
            return found

        return known

    def standing(self, X: Floats) -> Floats:
        """Return -1 or 1."""
        return 2 * X[:, 0] - 1

    def _drawn(self, rng: np.random.Generator, X: Floats, arm: int, bias: float) -> Floats:
        above = rng.random((len(X), 1)) > self._chances(X, arm, bias).cumsum(axis=1)
        return np.asarray(np.clip(above.sum(axis=1), 0, 3), dtype=np.float64)

    @staticmethod
    def _chances(X: Floats, arm: int, bias: float) -> Floats:
        """Return the probability of each value: in proportion to exp(y·(x/2 - arm/4 + bias))."""
        tilted = np.exp(np.arange(4) * (X[:, :1] / 2 - arm / 4 + bias))
        chances: Floats = tilted / tilted.sum(axis=1, keepdims=True)
        return chances


@dataclass(frozen=True)
class Paper(Process):
    """The paper's synthetic data, whose hidden cause drives treatment and outcome."""

    def people(self, rng: np.random.Generator, count: int) -> People:
        """Return people of the trial's population."""
        drawn = synthetic(count, d=2, randomized=True, random_state=_seeded(rng))
        return People(drawn.X, drawn.y0, drawn.y1)

    def table(self, rng: np.random.Generator, count: int, arm: int) -> Rows:
        """Return observational rows that received a treatment."""
        drawn = synthetic(4 * count + 50, d=2, random_state=_seeded(rng))
        return Rows(drawn.X, drawn.y)[np.flatnonzero(drawn.treatment == arm)[:count]]

    def standing(self, X: Floats) -> Floats:
        """Return the first covariate in units of its spread."""
        standing: Floats = X[:, 0] / 29
        return standing


@dataclass(frozen=True)
class Clinic(Process):
    """The clinic: nine covariates, unequal and skewed noise, a declared bias."""

    def people(self, rng: np.random.Generator, count: int) -> People:
        """Return people of the trial's population."""
        drawn = synthetic_clinic(count, randomized=True, random_state=_seeded(rng))
        return People(drawn.X, drawn.y0, drawn.y1)

    def table(self, rng: np.random.Generator, count: int, arm: int) -> Rows:
        """Return observational rows that received a treatment."""
        drawn = synthetic_clinic(4 * count + 50, random_state=_seeded(rng))
        return Rows(drawn.X, drawn.y)[np.flatnonzero(drawn.treatment == arm)[:count]]

    def standing(self, X: Floats) -> Floats:
        """Return the standardised age."""
        standing: Floats = (X[:, 0] - 65) / (50 / 12**0.5)
        return standing


PROCESSES: dict[str, Process] = {
    "known ratio": Known(),
    "known propensity": Known(bias=0.0, chosen=True),
    "paper": Paper(),
    "discrete": Ratings(),
    "clinic": Clinic(),
}
