"""A shop: half of the customers spend nothing, the others skewed amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtr

from confide.datasets.oracle import Oracle, OracleSynthetic, check_number, draw, labels, normal_density

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Rows = NDArray[np.float64]

    from confide.typing import RandomState

# Weights of the three terms of the latent spending; their squares add up to 1. What the coupon adds to it.
WEIGHTS = np.array([0.7, 0.5, np.sqrt(1 - 0.7**2 - 0.5**2)])
UPLIFT = 0.2
# Nodes, and how far out, where the hidden cause is integrated over numerically.
NODES, REACH = 100, 12.0


def synthetic_shop(
    n: int,
    randomized: bool = False,
    r2: float = 0.5,
    spread: float = 1.2,
    confounding: float = 0.5,
    random_state: RandomState = None,
) -> OracleSynthetic:
    """Return n customers of a shop, with and without a coupon, and the oracle that knows the truth about each.

    Four independent covariates: ``past`` (logarithm of past spending, standard normal), ``member`` (1 or 0 by a fair
    coin), ``age`` (uniform, 20 to 80) and ``visits`` (Poisson, mean 3, which means nothing). With m(x) the sum of the
    first three, standardised, with the weights 0.7, 0.5 and 0.51, so that its variance is 1, a customer's latent
    spending is L_t = 0.2·t + spread·(√r2·m(x) + √(1 - r2)·Z_t), and Y(t) = exp(max(L_t, 0)) - 1: nothing for half
    of the customers without a coupon, and for fewer with one.

    Z_t = confounding·U + √(1 - confounding²)·V_t with independent normal U, V_0, V_1. In a trial the coupon (treatment
    1) is given by a fair coin. In observational rows it is used by customers with U > 0, who feel like shopping. So the
    bias of observational rows, and their spread, depend on x.

    Parameters
    ----------
    n : int
        Number of rows.
    randomized : bool
        Assign the treatment by a fair coin, as in a trial.
    r2 : float, default 0.5
        Share of the variance of the latent spending that covariates explain, at least 0 and below 1.
    spread : float, default 1.2
        Standard deviation of the latent spending, from 0.1 to 2: how skewed the amounts are.
    confounding : float, default 0.5
        Correlation of the hidden cause with the outcomes, between -1 and 1; 0: nothing is hidden.
    random_state : int, RandomState instance or None
        Decides everything random.

    Returns
    -------
    OracleSynthetic
        As `synthetic_clinic`. ``oracle.interval`` covers at least 1-α, more where no spending is likelier than α/2;
        ``oracle.bias`` and ``oracle.observational_scale`` are integrated numerically, to about nine digits.
    """
    oracle = ShopOracle(
        check_number("r2", r2, 0, 1),
        check_number("spread", spread, 0.1, np.nextafter(2, 3)),
        check_number("confounding", confounding, np.nextafter(-1, 0), 1),
    )
    return draw(oracle, n, randomized, random_state)


@dataclass(frozen=True)
class ShopOracle(Oracle):
    """The truth about the customers of `synthetic_shop`."""

    r2: float
    spread: float
    confounding: float

    columns: ClassVar[tuple[str, ...]] = ("past", "member", "age", "visits")

    def covariates(self, n: int, rng: Any) -> Rows:
        """Return n rows of covariates."""
        return np.column_stack(
            [rng.standard_normal(n), rng.uniform(size=n) < 0.5, rng.uniform(20, 80, n), rng.poisson(3, n)]
        )

    def _location(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return E[L_t | x]."""
        terms = np.column_stack([X[:, 0], 2 * X[:, 1] - 1, (X[:, 2] - 50) / 30 * np.sqrt(3)])
        return np.asarray(UPLIFT * labels(treatment) + self.spread * np.sqrt(self.r2) * (terms @ WEIGHTS))

    @property
    def _noise(self) -> float:
        """The standard deviation of L_t given x."""
        return float(self.spread * np.sqrt(1 - self.r2))

    def outcome(self, X: Rows, treatment: ArrayLike, z: ArrayLike) -> Rows:
        """Return what a customer spends."""
        latent = self._location(X, treatment) + self._noise * np.asarray(z)
        return np.asarray(np.expm1(np.maximum(latent, 0)))

    def cdf(self, X: Rows, treatment: ArrayLike, y: ArrayLike, *, below: bool = False) -> Rows:
        """Return P(Y(t) ≤ y | x); with ``below``, P(Y(t) < y | x)."""
        y = np.asarray(y, dtype=float)
        latent = np.log1p(np.maximum(y, 0))
        none = y <= 0 if below else y < 0
        return np.where(none, 0.0, ndtr((latent - self._location(X, treatment)) / self._noise))

    def mean(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return E[Y(t) | x]."""
        return _moments(self._location(X, treatment), self._noise)[0]

    def scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return the standard deviation of Y(t) given x."""
        first, second = _moments(self._location(X, treatment), self._noise)
        return np.sqrt(second - first**2)

    def threshold(self, X: Rows) -> Rows:
        """Return 0: half of the customers use the coupon."""
        return np.zeros(len(X))

    def correlation(self, X: Rows, treatment: ArrayLike) -> Rows:  # noqa: ARG002
        """Return the confounding."""
        return np.full(len(X), self.confounding)

    def bias(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return E[Y | x, t, observational] - E[Y(t) | x]."""
        return self._selected(X, treatment)[0] - self.mean(X, treatment)

    def observational_scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return the standard deviation of Y given x in observational rows of the treatment."""
        first, second = self._selected(X, treatment)
        return np.sqrt(second - first**2)

    def _selected(self, X: Rows, treatment: ArrayLike) -> tuple[Rows, Rows]:
        """Return E[Y | x, t] and E[Y² | x, t] in observational rows, integrated over U > 0 (t = 1) or U < 0."""
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        hidden = REACH * (nodes + 1) / 2
        weights = weights * REACH * normal_density(hidden)  # the density of |U| is twice that of U
        location, sign = self._location(X, treatment), 2 * labels(treatment) - 1
        rest = self._noise * np.sqrt(1 - self.confounding**2)
        sums = np.zeros((2, len(X)))
        for size, weight in zip(hidden, weights, strict=True):
            moments = _moments(location + sign * self._noise * self.confounding * size, rest)
            sums += weight * np.array(moments)
        return sums[0], sums[1]


def _moments(location: Rows, noise: float) -> tuple[Rows, Rows]:
    """Return E[Y] and E[Y²] of Y = exp(max(L, 0)) - 1 for L ~ N(location, noise²)."""
    ratio = location / noise
    none, once, twice = (
        np.exp(times * location + (times * noise) ** 2 / 2) * ndtr(ratio + times * noise) for times in (0, 1, 2)
    )
    return once - none, twice - 2 * once + none
