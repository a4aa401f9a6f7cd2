"""What the coverage study could have found: detectable shortfalls, and the pooled test."""

import numpy as np
import pytest
from scipy import stats

from studies.coverage_power import POWER, pooled, pooled_in_words, shortfalls


def cell(coverage=0.9, promised=0.9, ceiling=0.9, error=0.004, draws=100, **more):
    facts = {"case": "a", "told": "", "process": "p", "rows": 9, "coverage": coverage, "promised": promised}
    return facts | {"promised_error": error, "ceiling": ceiling, "draws": draws, **more}


def test_a_shortfall_is_found_as_often_as_it_says():
    (shortfall,) = shortfalls([cell()], 0.001)
    means = np.random.default_rng(0).normal(-shortfall, 0.004, 20_000)
    assert np.mean(means / 0.004 < stats.t.ppf(0.001, 99)) == pytest.approx(POWER, abs=0.02)
    assert shortfalls([cell(error=0.0), cell(promised=float("nan"))], 0.001) == []


def test_pooled_cells_are_tight_and_those_of_the_same_draws_go_together():
    wide = cell(coverage=0.99, ceiling=1.0)
    same = [cell(0.89), cell(0.896)]
    assert pooled([wide]) is None
    assert pooled_in_words([wide]) == "–"
    cells, mean, error, p_value = pooled([wide, *same])
    assert (cells, mean, error) == (2, pytest.approx(-0.007), pytest.approx(0.004))
    assert p_value == pytest.approx(stats.norm.cdf(-0.007 / 0.004))
    assert pooled([cell(0.89), cell(0.896, rows=19)])[2] == pytest.approx(0.004 / 2**0.5)
    assert pooled_in_words([cell(0.89)]) == "-1.00 ± 0.40 (1 cell, p = 0.01)"
