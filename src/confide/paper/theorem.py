"""Theorem 1 of the paper in its Gaussian case study: what it claims, and whether that is so.

The theorem says that with probability at least 1 - δ₁ - δ₂ - δ₃ - δ₄ the offset of `wtcp-dr` is at most that of `naive`
plus 2σ√(log n / n). Both use least squares; features are N(0, I) in both sources, outcomes are N(θᴼ·φ, σ²) in the n
observational rows and N(θᴵ·φ, σ²) in the m trial rows, of which half fit and half calibrate. Where Σδ ≥ 1 nothing is
claimed: always if d = 1, where δ₃ = 1.

`paper_deltas` takes the formulas to the letter. They do not follow from the proof, for these reasons among others:

- δ₄ rests on the weighted scores |y - θ̂ᴼ·φ| having quantiles of |N(0, σ²)|. The weights depend on y, and under them the
  scores are those of trial rows about the observational regression: |N(0, σ² + C₂)|, C₂ = (θᴵ-θᴼ)ᵀΣ(θᴵ-θᴼ). With many
  observational rows `wtcp-dr` is therefore the narrower one only if C₂/σ² is below what `naive` loses by fitting d
  coefficients on few rows. `limit_probability` is exact there, and may lie far below the claim.
- δ₁: the new row's own weight is bounded with |2y - (θᴵ+θᴼ)·φ| of variance C₁, which is C₂ + 4σ²; "without loss of
  generality C₁ = 1" turns the exponent 4σ²/√(C₁C₂) into 4σ²√(C₁/C₂), which changes with the unit of y; p^O(x)/p^I(x)
  stands where its inverse should; and an error Δ_r of the ratio makes δ₁ smaller, since p̂ ≤ α is drawn from
  p ≤ α + Δ_r/(Δ_r+1) instead of from a difference.
- δ₂ = 2/n: the proof has twice n^(-2/(πd))/√π, which is larger than 2/n, and for one row, not for all of them.
- δ₃ counts m rows that fit and the same m that calibrate, where Algorithm 1 has m/2 of each.
- δ₄'s exponent is four times what the normal tail gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import erfinv
from scipy.stats import binom, f, norm

from confide.conformal.quantile import check_alpha, weighted_quantile

# One-sided level at which a simulation refutes a claim.
TEST_LEVEL = 0.01


@dataclass(frozen=True)
class Case:
    """A Gaussian case study.

    Attributes
    ----------
    n, m, d : int
        Observational rows, trial rows, features.
    difference : float
        √C₂/σ: length of θᴵ - θᴼ in units of the noise, the hidden confounding.
    total : float
        √C₁/σ: length of θᴵ + θᴼ.
    alpha : float
        The level.
    sigma : float
        Standard deviation of the noise.
    """

    n: int
    m: int
    d: int
    difference: float
    total: float
    alpha: float = 0.1
    sigma: float = 1.0

    @property
    def effective_size(self) -> float:
        """n_eff = n/(1 + χ²) of the true ratio, for large n; 0 where the divergence is infinite (C₂ ≥ σ²/2)."""
        return self.n * math.sqrt(max(1 - 2 * self.difference**2, 0.0))


@dataclass(frozen=True)
class Deltas:
    """The four terms of the probability that the theorem leaves unclaimed."""

    delta1: float
    delta2: float
    delta3: float
    delta4: float

    @property
    def total(self) -> float:
        """δ₁ + δ₂ + δ₃ + δ₄."""
        return self.delta1 + self.delta2 + self.delta3 + self.delta4

    @property
    def claim(self) -> float | None:
        """The claimed probability; None where the theorem claims nothing."""
        return 1 - self.total if self.total < 1 else None


def paper_deltas(case: Case, ratio_error: float = 0.0, density_ratio: float = 1.0) -> Deltas:
    """Return δ₁ to δ₄ as Theorem 1 states them, with L and C_α from its proof.

    Parameters
    ----------
    case : Case
        The setting.
    ratio_error : float
        Δ_r = E|r - r̂| over observational rows.
    density_ratio : float
        p^O(x)/p^I(x) at the new row.
    """
    alpha = float(check_alpha(case.alpha))
    if case.m <= case.d:
        raise ValueError(f"the theorem needs more trial rows than features, got m={case.m} and d={case.d}.")
    if not 0 <= ratio_error < (1 - alpha) / alpha:
        raise ValueError(f"the theorem assumes a ratio error below (1 - alpha)/alpha, got {ratio_error}.")
    lost = ratio_error / (ratio_error + 1)
    base = 2 / case.n * (1 - alpha - lost) / (alpha + lost) * density_ratio
    exponent = 4 * case.sigma**2 * case.total / case.difference if case.difference else math.inf
    inverse = float(erfinv(1 - alpha))
    slope = 2 / math.sqrt(math.pi) * math.exp(-(inverse**2))
    constant = math.sqrt(2 / math.pi) * math.exp(-(inverse**2)) * inverse / math.sqrt(alpha * (1 - alpha))
    return Deltas(
        delta1=base**exponent,
        delta2=2 / case.n,
        delta3=math.exp(-0.5 * (slope * inverse) ** 2 * (case.d - 1) ** 2 / (case.m - 1)),
        delta4=math.exp(-(constant**2) * case.effective_size / (case.m - case.d) ** 2),
    )


def limit_probability(case: Case, slack: float = 0.0) -> float:
    """Return the probability of the theorem's event as the observational table grows without bound, exactly.

    The offset of `wtcp-dr` then is the (1-α)-quantile of |N(0, σ² + C₂)|. That of `naive` is an order statistic of
    scores |N(0, σ²(1+V))|, where V = ‖θ̂ - θᴵ‖²/σ² is d/(h-d+1) times an F variable with d and h-d+1 degrees of
    freedom for h fit rows. The expectation over V is a quadrature. ``slack``, in units of σ, is what may be added to
    the offset of `naive`: none in the limit.
    """
    fit = case.m // 2
    rows = case.m - fit
    if fit < case.d:
        raise ValueError(f"least squares needs {case.d} fit rows for {case.d} features, got {fit} of m={case.m}.")
    rank = math.ceil((1 - check_alpha(case.alpha)) * Fraction(rows + 1))
    if rank > rows:
        return 1.0
    offset = norm.isf(float(case.alpha) / 2) * math.sqrt(1 + case.difference**2) - slack
    nodes, weights = np.polynomial.legendre.leggauss(200)
    freedom = fit - case.d + 1
    lost = case.d / freedom * f.ppf((nodes + 1) / 2, case.d, freedom)
    below = 1 - 2 * norm.sf(offset / np.sqrt(1 + lost))
    return float(weights @ binom.cdf(rank - 1, rows, below) / 2)


@dataclass(frozen=True)
class Verdict:
    """What the theorem claims in a case, beside what is true.

    Attributes
    ----------
    case : Case
        The setting.
    deltas : Deltas
        The theorem's δ₁ to δ₄.
    limit : float
        Probability of the event for an unbounded observational table, exact.
    simulated_n : int
        Observational rows of the simulation.
    repetitions, held : int
        Number of draws, and number of draws in which the event happened.
    """

    case: Case
    deltas: Deltas
    limit: float
    simulated_n: int
    repetitions: int
    held: int

    @property
    def p_value(self) -> float:
        """Probability of so few draws with the event, or fewer, if the claim were true; 1 if nothing is claimed."""
        claim = self.deltas.claim
        return 1.0 if claim is None else float(binom.cdf(self.held, self.repetitions, claim))

    @property
    def verdict(self) -> str:
        """Whether there is a claim, and whether the simulation rejects it at 1 %."""
        if self.deltas.claim is None:
            return "no claim"
        return "refuted" if self.p_value < TEST_LEVEL else "not refuted"


def check_claim(case: Case, repetitions: int, seed: int = 0, simulated_n: int | None = None) -> Verdict:
    """Run both algorithms as written, with the true ratio, and count how often the theorem's event happens.

    ``simulated_n`` observational rows may replace n if n is too large to draw: the event's probability is
    near its limit long before the claim is near its own.
    """
    rows = simulated_n or case.n
    rng = np.random.default_rng([seed, rows, case.m, case.d])
    held = sum(happens(replace(case, n=rows), rng) for _ in range(repetitions))
    return Verdict(case, paper_deltas(case), limit_probability(case), rows, repetitions, held)


def happens(case: Case, rng: np.random.Generator) -> bool:
    """Return whether, in one draw, the offset of `wtcp-dr` is at most that of `naive` plus 2σ√(log n / n)."""
    slack = 2 * case.sigma * math.sqrt(math.log(case.n) / case.n)
    return transductive_offset(case, rng) <= naive_offset(case, rng) + slack


def coefficients(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return θᴼ and θᴵ: their sum along the last feature, their difference along the first."""
    along = np.eye(case.d)
    half_sum = case.total * case.sigma / 2 * along[-1]
    half_difference = case.difference * case.sigma / 2 * along[0]
    return half_sum - half_difference, half_sum + half_difference


def naive_offset(case: Case, rng: np.random.Generator) -> float:
    """Return the offset of Algorithm 1: half of the trial rows fit, half calibrate."""
    features = rng.standard_normal((case.m, case.d))
    y = features @ coefficients(case)[1] + case.sigma * rng.standard_normal(case.m)
    fit = case.m // 2
    theta = np.linalg.lstsq(features[:fit], y[:fit])[0]
    scores = np.abs(y[fit:] - features[fit:] @ theta)
    return float(weighted_quantile(scores, np.ones(len(scores)), case.alpha))


def transductive_offset(case: Case, rng: np.random.Generator) -> float:
    """Return the offset of Algorithm 2 at a new row's own outcome, refitted with that row, by the true ratio."""
    observational, trial = coefficients(case)
    features = rng.standard_normal((case.n + 1, case.d))
    y = case.sigma * rng.standard_normal(case.n + 1)
    y[:-1] += features[:-1] @ observational
    y[-1] += features[-1] @ trial
    theta = np.linalg.solve(features.T @ features, features.T @ y)
    scores = np.abs(y[:-1] - features[:-1] @ theta)
    middle = features @ (observational + trial) / 2
    ratio = np.exp((y - middle) * (features @ (trial - observational)) / case.sigma**2)
    return float(weighted_quantile(scores, ratio[:-1], case.alpha, test_weight=ratio[-1]))
