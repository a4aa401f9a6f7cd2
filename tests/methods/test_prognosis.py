"""The prognostic score of an arm: learnt from observational rows alone, or refused."""

import numpy as np
import pytest

from confide import RefusalError, method


def rows(seed, trial_y=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 2))
    trial = np.arange(240) >= 200
    return X, X[:, 0] + rng.normal(size=240) + trial * trial_y, trial


@pytest.mark.parametrize("name", ["prognostic", "transfer", "transfer-centred"])
def test_outcomes_of_trial_rows_have_no_part_in_it_but_for_a_constant(name):
    found = []
    for changed in (0.0, np.linspace(0, 9, 240)):
        X, y, trial = rows(0, changed)
        arm = method(name, base="ridge", random_state=0).fit(X, y, trial=trial)
        scores = arm._prognosis(X[:20])
        found.append(scores - scores[0])
        assert np.corrcoef(scores, X[:20, 0])[0, 1] > 0.9
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


@pytest.mark.parametrize("name", ["naive", "wscp-dr-calibrated"])
def test_methods_that_learn_from_trial_rows_have_none(name):
    X, y, trial = rows(0)
    with pytest.raises(RefusalError, match="learns from trial rows"):
        method(name, base="ridge", random_state=0).fit(X, y, trial=trial)._prognosis(X)
