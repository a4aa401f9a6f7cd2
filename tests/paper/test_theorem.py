"""Theorem 1: its formulas, computed once more by other means, and its claim by Monte Carlo."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from confide.paper.theorem import (
    Case,
    Deltas,
    check_claim,
    coefficients,
    limit_probability,
    naive_offset,
    paper_deltas,
    transductive_offset,
)

pytestmark = pytest.mark.paper


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_the_deltas_by_other_means(alpha):
    """erf, its inverse and its slope by quadrature, bisection and finite differences."""

    def erf(x):
        return integrate.quad(lambda t: 2 / np.sqrt(np.pi) * np.exp(-(t**2)), 0, x)[0]

    case = Case(n=5000, m=80, d=20, difference=0.4, total=1.5, alpha=alpha, sigma=0.7)
    inverse = optimize.brentq(lambda x: erf(x) - (1 - alpha), 0, 5, xtol=1e-13)
    slope = (erf(inverse + 1e-5) - erf(inverse - 1e-5)) / 2e-5
    density = np.sqrt(2 / np.pi) * np.exp(-(inverse**2))
    constant = density * inverse / np.sqrt(alpha * (1 - alpha))
    error = 0.2
    lost = error / (1 + error)
    theta = coefficients(case)
    c1, c2 = (np.sum((theta[1] + sign * theta[0]) ** 2) for sign in (1, -1))
    divergence = integrate.quad(lambda u: np.exp(u**2) * stats.norm.pdf(u, scale=0.4), -20, 20)[0]  # E r² = 1 + χ²
    found = paper_deltas(case, ratio_error=error, density_ratio=1.3)
    base = 2 / 5000 * (1 - alpha - lost) / (alpha + lost) * 1.3
    assert found.delta1 == pytest.approx(base ** (4 * 0.7**2 * np.sqrt(c1 / c2)))
    assert found.delta2 == 2 / 5000
    assert found.delta3 == pytest.approx(np.exp(-0.5 * slope**2 * inverse**2 * 19**2 / 79), rel=1e-6)
    assert found.delta4 == pytest.approx(np.exp(-(constant**2) * 5000 / divergence / 60**2), rel=1e-6)


def test_no_claim_where_the_deltas_reach_one():
    paper = paper_deltas(Case(n=10_000, m=250, d=1, difference=0.5, total=5))
    assert paper.delta3 == 1
    assert paper.claim is None
    assert Deltas(0.1, 0.2, 0.3, 0.15).claim == pytest.approx(0.25)
    assert Deltas(0.5, 0.2, 0.3, 0.0).claim is None


def test_the_effective_size_is_that_of_the_true_ratio():
    case = Case(n=400_000, m=10, d=2, difference=0.4, total=1)
    rng = np.random.default_rng(0)
    u, z = rng.normal(scale=0.4, size=case.n), rng.standard_normal(case.n)
    ratio = np.exp(u * z - u**2 / 2)  # observational rows
    assert ratio.sum() ** 2 / (ratio**2).sum() == pytest.approx(case.effective_size, rel=0.02)
    assert Case(100, 10, 2, difference=0.8, total=1).effective_size == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: paper_deltas(Case(100, 5, 5, 0.1, 1)), "more trial rows than features, got m=5 and d=5"),
        (lambda: paper_deltas(Case(100, 50, 5, 0.1, 1), ratio_error=9.0), "ratio error below"),
        (lambda: paper_deltas(Case(100, 50, 5, 0.1, 1, alpha=1.0)), "alpha must lie strictly"),
        (lambda: limit_probability(Case(100, 8, 5, 0.1, 1)), "least squares needs 5 fit rows"),
    ],
)
def test_bad_cases(call, error):
    with pytest.raises(ValueError, match=error):
        call()


def test_equal_coefficients_have_no_first_delta():
    assert paper_deltas(Case(1000, 50, 5, difference=0.0, total=1)).delta1 == 0


@pytest.mark.parametrize(("m", "d", "alpha"), [(60, 10, 0.1), (200, 3, 0.3), (101, 40, 0.2)])
def test_the_naive_offset_has_the_distribution_of_the_limit(m, d, alpha):
    """The quadrature over V against draws of Algorithm 1."""
    case = Case(n=10, m=m, d=d, difference=0.5, total=3, alpha=alpha, sigma=2.0)
    rng = np.random.default_rng(1)
    offset = 2.0 * stats.norm.isf(alpha / 2) * np.sqrt(1.25)
    above = sum(naive_offset(case, rng) >= offset for _ in range(2000))
    assert stats.binomtest(above, 2000, limit_probability(case)).pvalue > 0.001


def test_too_few_trial_rows_make_naive_infinite_and_the_event_certain():
    assert limit_probability(Case(n=100, m=16, d=2, difference=0.5, total=1)) == 1


def test_weighted_scores_are_those_of_trial_rows_not_of_noise():
    """The offset of wtcp-dr tends to the quantile of |N(0, σ² + C₂)|; the proof has |N(0, σ²)|."""
    case = Case(n=100_000, m=10, d=3, difference=0.6, total=2, sigma=2.0)
    rng = np.random.default_rng(2)
    found = np.mean([transductive_offset(case, rng) for _ in range(10)])
    assert found == pytest.approx(2.0 * stats.norm.isf(0.05) * np.sqrt(1.36), rel=0.01)
    assert found > 1.1 * 2.0 * stats.norm.isf(0.05)


def test_a_claim_that_holds():
    verdict = check_claim(Case(n=5000, m=70, d=32, difference=0.2, total=5, alpha=0.3), repetitions=60)
    assert verdict.deltas.claim > 0.5
    assert verdict.verdict == "not refuted"
    assert verdict.held / verdict.repetitions > 0.9


def test_a_claim_that_is_false():
    """Confounding above what naive loses: the exact limit is below the claim, and draws refute it."""
    case = Case(n=10_000_000, m=900, d=100, difference=0.67, total=5, alpha=0.3)
    verdict = check_claim(case, repetitions=25, simulated_n=40_000)
    assert verdict.deltas.claim > 0.6
    assert verdict.limit < 0.2
    assert verdict.verdict == "refuted"
    slack = 2 * np.sqrt(np.log(40_000) / 40_000)
    assert stats.binomtest(verdict.held, 25, limit_probability(case, slack)).pvalue > 0.001


def test_no_claim_no_verdict():
    verdict = check_claim(Case(n=500, m=50, d=1, difference=0.2, total=5), repetitions=3)
    assert verdict.verdict == "no claim"
    assert verdict.p_value == 1
