"""The oracle's width, computed once more by brute force."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from confide.datasets import synthetic
from confide.paper.oracle_width import oracle_values, oracle_width, population, shortest_lengths

pytestmark = pytest.mark.paper


def draws(d, count, seed=0):
    """Hidden causes, the scale of X given them, and outcomes, straight from the paper's Eq. 13."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((count, d))
    mean = hidden.mean(axis=1)
    y0, y1 = (1 / (1 + np.exp(-3 * (mean + shift))) + 0.1 * rng.standard_normal(count) for shift in (-2, 2))
    return hidden, np.abs(25 - 16 * hidden), {"Y(0)": y0, "Y(1)": y1, "ITE": y1 - y0}


@pytest.mark.parametrize("target", ["Y(0)", "Y(1)", "ITE"])
@pytest.mark.parametrize("x", [[-10.0], [3.0], [40.0], [-5.0, 20.0]])
def test_the_shortest_interval_by_weighted_draws(target, x):
    """A million draws from the prior, each with the likelihood of x as its weight."""
    hidden, scale, outcomes = draws(len(x), 1_000_000)
    weight = norm.pdf(np.array(x), hidden, scale).prod(axis=1)
    order = np.argsort(outcomes[target])
    y, held = outcomes[target][order], np.cumsum(weight[order]) / weight.sum()
    ends = np.searchsorted(held, held + 0.9)
    brute = (y[np.minimum(ends, len(y) - 1)] - y)[ends < len(y)].min()
    assert shortest_lengths(np.array([x]), target)[0] == pytest.approx(brute, abs=0.012)


def test_the_least_mean_length_by_a_histogram():
    """Cells of (x, y) by their density in y given x, the likeliest first, until 90 % of all draws are held."""
    hidden, _, outcomes = draws(1, 4_000_000)
    rng = np.random.default_rng(1)
    x = hidden[:, 0] + rng.standard_normal(len(hidden)) * (25 - 16 * hidden[:, 0])
    edges = np.quantile(x, np.linspace(0, 1, 201))
    step = 0.02
    counts, _, _ = np.histogram2d(x, outcomes["Y(0)"], [edges, np.arange(-0.7, 1.8, step)])
    likeliest = np.sort(counts.ravel())[::-1]  # each column of x has the same share of the draws
    taken = np.searchsorted(np.cumsum(likeliest), 0.9 * counts.sum())
    assert oracle_width("Y(0)") == pytest.approx(taken * step / 200, abs=0.004)


def test_knowing_more_and_asking_less_is_shorter():
    assert oracle_width("Y(0)", rows=512) < oracle_width("Y(0)", everywhere=True, rows=512)
    assert oracle_width("Y(1)", 3, rows=256) < oracle_width("Y(1)", 1, rows=256)
    assert oracle_width("ITE", alpha=0.05, rows=256) > oracle_width("ITE", alpha=0.2, rows=256)


def test_the_population_is_the_generators():
    X, drawn = population(4096, 2), synthetic(400_000, d=2, random_state=0).X
    assert X.shape == (4096, 2)
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    np.testing.assert_allclose(np.quantile(X, shares, axis=0), np.quantile(drawn, shares, axis=0), atol=0.5)


def test_an_unknown_target():
    with pytest.raises(ValueError, match=r"target 'Y\(2\)' is unknown; did you mean"):
        oracle_width("Y(2)", rows=2)


def test_the_fewest_values_by_trying_all_sets():
    """Three x of three values: no choice of sets that holds as much has fewer values."""
    probabilities = np.random.default_rng(0).dirichlet([1, 1, 1], 3)
    taken = oracle_values(probabilities, 0.2)
    held = probabilities[taken].sum() / 3
    assert held >= 0.8
    every = np.array(list(itertools.product([False, True], repeat=9))).reshape(-1, 3, 3)
    enough = [each.sum() for each in every if (probabilities * each).sum() / 3 >= 0.8]
    assert taken.sum() == min(enough)
