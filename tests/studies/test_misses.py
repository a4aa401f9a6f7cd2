"""Whom intervals miss, at a small size; `make study-misses` has the study."""

import numpy as np
import pytest

from confide.models.preprocessing import ridge_on_splines
from decision import assert_covers
from studies.misses import BIASES, COMPARED, NOISE, TENTHS, noise, people, repeat_misses

pytestmark = pytest.mark.slow


def repeated(compared, bias, repetitions=12):
    params = {"n": 500, "m": 100, "n_test": 1000, "base": ridge_on_splines()}
    return [repeat_misses(compared, bias, seed, **params) for seed in range(repetitions)]


def coverages(found, tenth):
    return [part[tenth - 1].coverage for part in found]


def test_results_are_complete_and_seeded():
    one, two = (repeated("transfer", 0.0, 1)[0] for _ in range(2))
    assert one == two
    assert [result.tenth for result in one] == list(range(1, TENTHS + 1))
    assert len({result.width for result in one}) < 3  # one width, up to the rounding of a mean
    X, y = people(20_000, 1.0, np.random.default_rng(0))
    assert (noise(X).min(), noise(X).max()) == pytest.approx(NOISE, rel=1e-2)
    errors = (y - 3 * X[:, 1] - 1) / noise(X)
    assert (errors.mean(), errors.std()) == pytest.approx((0, 1), abs=0.03)


@pytest.mark.parametrize("bias", BIASES)
def test_misses_fall_where_the_page_says(bias):
    found = {name: repeated(name, bias) for name in COMPARED if "cqr" not in name}
    every = {
        name: ([np.mean([tenth.coverage for tenth in part]) for part in parts], 0.9) for name, parts in found.items()
    }
    assert_covers(every)
    for name in ("transfer-centred", "transfer"):
        assert np.mean(coverages(found[name], TENTHS)) < 0.75
        assert np.mean(coverages(found[name], 1)) > 0.97
    assert min(np.mean(coverages(found["prognostic"], tenth)) for tenth in (1, TENTHS)) > 0.8
    easiest = np.mean(coverages(found['transfer, conformity_score="normalised"'], 1))
    assert easiest < 0.7 if bias else easiest > 0.8
    one_width, grounded = (
        min(np.mean(coverages(found[name], tenth)) for tenth in (1, TENTHS))
        for name in ("transfer-centred", 'transfer, conformity_score="normalised", base_on="grounded"')
    )
    assert grounded > one_width + 0.1
