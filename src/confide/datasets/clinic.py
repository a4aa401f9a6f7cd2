"""A clinic: strong covariates, unequal and skewed noise, and an observational table of declared bias."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import erfi, ndtr, ndtri

from confide.datasets.oracle import Oracle, OracleSynthetic, check_number, draw, labels, normal_density

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Rows = NDArray[np.float64]

    from confide.typing import RandomState

# Weights of the nine terms of the prognosis, for treatment 0 and 1; scaled to length 1.
PROGNOSIS = np.array([[6, 3, -3, -3, -3, -2, 3, -4, -3], [5, 4, -2, -4, -2, -1, 4, -5, -3]], dtype=float)
PROGNOSIS /= np.linalg.norm(PROGNOSIS, axis=1, keepdims=True)
# Mean effect; how much wider everything is under treatment 1; how much more often old patients are treated.
EFFECT, WIDER, PREFERENCE = 1.0, 1.25, 0.5
YOUNGEST, OLDEST, SMOKERS, ILLNESSES = 40.0, 90.0, 0.3, 2.0
# Shares of age and smoking in the logarithm of the scale; their squares add up to 1.
AGE_SHARE, SMOKER_SHARE = 0.8, 0.6
# The hidden cause may not determine an outcome entirely.
CLOSEST = 0.99


def synthetic_clinic(
    n: int,
    randomized: bool = False,
    r2: float = 0.6,
    noise_spread: float = 0.4,
    skewness: float = 1.0,
    bias: float = 0.2,
    bias_slope: float = 0.0,
    random_state: RandomState = None,
) -> OracleSynthetic:
    """Return n patients of a clinic, and the oracle that knows the truth about each.

    Nine independent covariates: ``age`` (uniform, 40 to 90), ``baseline`` (normal, 50 ± 10), ``marker`` (log-normal,
    exp(N(0, 1/4))), ``illnesses`` (Poisson, mean 2), ``smoker`` (1 for 30 %, else 0), ``bmi`` (normal, 27 ± 4),
    ``pressure`` (normal, 130 ± 15), ``pain`` (whole numbers from 0 to 10, equally likely) and ``sex`` (0 or 1 by a fair
    coin, which means nothing). With a, b, l, c, s, w, p and q for age, baseline, log marker, illnesses, smoker, bmi,
    pressure and pain, each standardised to mean 0 and variance 1, and v = (age - 40)/50:

    - **Mean.** μ_0(x) = A·m_0(x) and μ_1(x) = 1 + 1.25·A·m_1(x), where A² = r2/(1 - r2) and m_t is a weighted sum, with
      variance 1, of b, l, c, a, q, (a² - 1)/√0.8, s·b, (w² - 1)/√2 and p·a; the weights are in proportion to 6, 3, -3,
      -3, -3, -2, 3, -4, -3 and to 5, 4, -2, -4, -2, -1, 4, -5, -3. Linear terms are 65 % and 56 % of its variance.
    - **Noise.** Y(t) = μ_t(x) + σ_t(x)·g(Z_t), where log σ_0(x) = `noise_spread`·(0.8·(v² - 1/3)·√(45/4) + 0.6·s) plus
      a constant such that E[σ_0(x)²] = 1, and σ_1 = 1.25·σ_0. g(z) = (exp(kz) - exp(k²/2))/√(exp(2k²) - exp(k²)) makes
      the normal score Z_t a shifted log-normal with mean 0, variance 1 and the skewness asked for; g(z) = z if that
      is 0.
    - **Hidden cause.** Z_t = ρ_t(x)·U + √(1 - ρ_t(x)²)·V_t with independent normal U, V_0, V_1. In a trial the
      treatment is a fair coin. In observational rows it is 1 where U > -v/2, so that the share of treated patients
      rises from 50 % at 40 years to 69 % at 90. ρ_t(x) is solved for, in closed form, such that there
      E[Y | x, t = 1] = μ_1(x) + d(x) and E[Y | x, t = 0] = μ_0(x) - d(x), where d(x) = bias·(1 + bias_slope·a).

    So covariates explain the share r2 of the variance of either outcome; one unit is the root mean square of the noise
    of Y(0); and the distribution of covariates and potential outcomes is the same with `randomized` and without.

    Selection also makes observational outcomes less spread than the trial's: whatever the mechanism, where both
    treatments are equally likely the variances of the two arms are on average σ² - d². So a scale learnt from
    observational rows is too small where the noise is small, even if the bias does not depend on x.
    ``oracle.observational_scale`` has the figure, and ``oracle.same_form`` what it does to coverage.

    Parameters
    ----------
    n : int
        Number of rows.
    randomized : bool
        Assign the treatment by a fair coin, as in a trial.
    r2 : float, default 0.6
        Share of the variance of an outcome that the covariates explain, at least 0 and below 1.
    noise_spread : float, default 0.4
        Standard deviation of log σ_t(x) over patients; 0: equal noise. At most 1.
    skewness : float, default 1
        Skewness of the noise, from 0 (normal) to 10.
    bias : float, default 0.2
        Mean bias of observational rows; 0: nothing is hidden; below 0: the treated are those who would do worse.
        Selection alone cannot bias an outcome by more than about 0.8 σ_t(x), and by less where the treatment is more
        likely: where that does not suffice an error says how large the bias may be.
    bias_slope : float, default 0
        How much the bias changes per standard deviation of age, relative to `bias`; 0: it does not depend on x.
    random_state : int, RandomState instance or None
        Decides everything random.

    Returns
    -------
    OracleSynthetic
        ``X``, ``treatment``, ``y``, ``y0``, ``y1``, ``hidden`` (U), ``columns``, ``table()`` and ``oracle``, whose
        ``mean``, ``scale``, ``cdf``, ``quantile``, ``interval`` and ``bias`` are exact.

    Examples
    --------
    >>> from confide.datasets import synthetic_clinic
    >>> trial = synthetic_clinic(1000, randomized=True, random_state=0)
    >>> truth = trial.oracle.interval(trial.X, treatment=1, alpha=0.1)
    >>> round(float(truth.contains(trial.y1).mean()), 2)
    0.9
    """
    oracle = ClinicOracle(
        check_number("r2", r2, 0, 1),
        check_number("noise_spread", noise_spread, 0, np.nextafter(1, 2)),
        check_number("skewness", skewness, 0, np.nextafter(10, 11)),
        check_number("bias", bias, -10, 10),
        check_number("bias_slope", bias_slope, -10, 10),
    )
    oracle.check_bias()
    return draw(oracle, n, randomized, random_state)


@dataclass(frozen=True)
class ClinicOracle(Oracle):
    """The truth about the patients of `synthetic_clinic`."""

    r2: float
    noise_spread: float
    skewness: float
    bias_size: float
    bias_slope: float

    columns: ClassVar[tuple[str, ...]] = (
        "age",
        "baseline",
        "marker",
        "illnesses",
        "smoker",
        "bmi",
        "pressure",
        "pain",
        "sex",
    )

    def covariates(self, n: int, rng: Any) -> Rows:
        """Return n rows of covariates."""
        return np.column_stack(
            [
                rng.uniform(YOUNGEST, OLDEST, n),
                rng.normal(50, 10, n),
                np.exp(rng.normal(0, 0.5, n)),
                rng.poisson(ILLNESSES, n),
                rng.uniform(size=n) < SMOKERS,
                rng.normal(27, 4, n),
                rng.normal(130, 15, n),
                rng.randint(11, size=n),
                rng.uniform(size=n) < 0.5,
            ]
        )

    def mean(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return μ_t(x)."""
        t = labels(treatment)
        age, smoker = _age(X), _smoker(X)
        baseline, marker, illnesses = (X[:, 1] - 50) / 10, np.log(X[:, 2]) / 0.5, (X[:, 3] - ILLNESSES) / ILLNESSES**0.5
        bmi, pressure, pain = (X[:, 5] - 27) / 4, (X[:, 6] - 130) / 15, (X[:, 7] - 5) / 10**0.5
        linear = [baseline, marker, illnesses, age, pain]
        curved = [(age**2 - 1) / 0.8**0.5, smoker * baseline, (bmi**2 - 1) / 2**0.5, pressure * age]
        terms = linear + curved
        prognosis = np.sum(np.column_stack(terms) * PROGNOSIS[t], axis=1)
        amplitude = np.sqrt(self.r2 / (1 - self.r2))
        return np.asarray(np.where(t == 1, EFFECT + WIDER * amplitude * prognosis, amplitude * prognosis))

    def scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return σ_t(x)."""
        difficulty = AGE_SHARE * _late(_years(X)) + SMOKER_SHARE * _smoker(X)
        return np.where(labels(treatment) == 1, WIDER, 1.0) * self._unit * np.exp(self.noise_spread * difficulty)

    @cached_property
    def _unit(self) -> float:
        """The factor that makes the noise of Y(0) have variance 1 over all patients."""
        if not self.noise_spread:
            return 1.0
        twice = 2 * self.noise_spread
        # E exp(cv²) of a uniform v, and the two values of the standardised smoker.
        c = twice * AGE_SHARE * np.sqrt(45 / 4)
        late = np.exp(-c / 3) * np.sqrt(np.pi) * erfi(np.sqrt(c)) / (2 * np.sqrt(c))
        no, yes = _standard_smoker(np.array([0.0, 1.0]))
        smoking = (1 - SMOKERS) * np.exp(twice * SMOKER_SHARE * no) + SMOKERS * np.exp(twice * SMOKER_SHARE * yes)
        return float((late * smoking) ** -0.5)

    @cached_property
    def _k(self) -> float:
        """The k of exp(kz): with w = exp(k²) the skewness is (w + 2)·√(w - 1)."""
        return float(np.sqrt(np.log1p(4 * np.sinh(np.arcsinh(self.skewness / 2) / 3) ** 2)))

    def outcome(self, X: Rows, treatment: ArrayLike, z: ArrayLike) -> Rows:
        """Return μ_t(x) + σ_t(x)·g(z)."""
        k = self._k
        noise = np.expm1(k * np.asarray(z) - k**2 / 2) / np.sqrt(np.expm1(k**2)) if k else np.asarray(z)
        return np.asarray(self.mean(X, treatment) + self.scale(X, treatment) * noise)

    def cdf(self, X: Rows, treatment: ArrayLike, y: ArrayLike, *, below: bool = False) -> Rows:  # noqa: ARG002
        """Return P(Y(t) ≤ y | x), which is P(Y(t) < y | x)."""
        noise = (np.asarray(y) - self.mean(X, treatment)) / self.scale(X, treatment)
        k = self._k
        if k:
            with np.errstate(divide="ignore"):
                inside = np.maximum(noise * np.sqrt(np.expm1(k**2)), -1)
                noise = (np.log1p(inside) + k**2 / 2) / k
        return np.asarray(ndtr(noise))

    def threshold(self, X: Rows) -> Rows:
        """Return h(x) = -v/2."""
        return -PREFERENCE * _years(X)

    def bias(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return d(x) under treatment 1, -d(x) under treatment 0."""
        return _sign(treatment) * self.bias_size * (1 + self.bias_slope * _age(X))

    def correlation(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return ρ_t(x), at which `_selected_mean` is the bias over the scale."""
        sign, h = _sign(treatment), _sign(treatment) * self.threshold(X)
        wanted = self.bias(X, treatment) / self.scale(X, treatment)
        k = self._k
        if not k:
            return np.asarray(sign * wanted * ndtr(-h) / normal_density(h))
        return np.asarray(sign * (h + ndtri(ndtr(-h) * (1 + wanted * np.sqrt(np.expm1(k**2))))) / k)

    def _selected_mean(self, h: Rows, towards: ArrayLike) -> Rows:
        """Return E[g(Z) | U > h] for a Z with this correlation with U.

        E[exp(kZ) | U > h] = exp(k²/2)·Φ(kρ - h)/Φ(-h), and E[Z | U > h] = ρ·φ(h)/Φ(-h).
        """
        k = self._k
        if not k:
            return np.asarray(towards * normal_density(h) / ndtr(-h))
        return np.asarray((ndtr(k * np.asarray(towards) - h) / ndtr(-h) - 1) / np.sqrt(np.expm1(k**2)))

    def observational_scale(self, X: Rows, treatment: ArrayLike) -> Rows:
        """Return the standard deviation of Y given x in observational rows of the treatment."""
        sign, h = _sign(treatment), _sign(treatment) * self.threshold(X)
        towards = sign * self.correlation(X, treatment)
        k = self._k
        if k:
            once, twice = (ndtr(times * k * towards - h) / ndtr(-h) for times in (1, 2))
            variance = (np.exp(k**2) * twice - once**2) / np.expm1(k**2)
        else:
            hazard = normal_density(h) / ndtr(-h)
            variance = 1 - towards**2 * hazard * (hazard - h)
        return np.asarray(self.scale(X, treatment) * np.sqrt(variance))

    def check_bias(self) -> None:
        """Raise unless every patient's correlation with the hidden cause lies within ±0.99."""
        years, smoker = (each.ravel() for each in np.meshgrid(np.linspace(YOUNGEST, OLDEST, 1001), [0.0, 1.0]))
        X = np.column_stack([years, *np.ones((3, len(years))), smoker])  # bias and scale depend on these two
        most = 1.0
        for treatment in (0, 1):
            wanted = self.bias(X, treatment) / self.scale(X, treatment)
            possible = self._selected_mean(
                _sign(treatment) * self.threshold(X), np.where(wanted < 0, -CLOSEST, CLOSEST)
            )
            most = min(most, np.min(possible[wanted != 0] / wanted[wanted != 0], initial=np.inf))
        if most < 1:
            raise ValueError(
                f"bias={self.bias_size:g} is more than selection can cause: at some x it would take a correlation of "
                f"outcome and hidden cause beyond {CLOSEST}. With the other parameters as they are it must lie within "
                f"±{np.floor(1000 * abs(self.bias_size) * most) / 1000:g}; a smaller noise_spread, or a "
                "bias_slope nearer to 0, allows more."
            )


def _years(X: Rows) -> Rows:
    """Return v, the age from 0 to 1."""
    return (X[:, 0] - YOUNGEST) / (OLDEST - YOUNGEST)


def _age(X: Rows) -> Rows:
    """Return a, the standardised age."""
    return np.asarray((2 * _years(X) - 1) * 3**0.5)


def _late(years: Rows) -> Rows:
    """Return v², standardised."""
    return np.asarray((years**2 - 1 / 3) * (45 / 4) ** 0.5)


def _smoker(X: Rows) -> Rows:
    return _standard_smoker(X[:, 4])


def _standard_smoker(smoker: Rows) -> Rows:
    return np.asarray((smoker - SMOKERS) / (SMOKERS * (1 - SMOKERS)) ** 0.5)


def _sign(treatment: ArrayLike) -> NDArray[np.int64]:
    """Return 1 for treatment 1, -1 for treatment 0."""
    return 2 * labels(treatment) - 1
