"""The paper's setting: n = 10,000, m = 250, d = 1; small here, twenty seeds in `make test-long`."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import Transfer
from decision import assert_covers
from studies.paper_setting import repeat_synthetic


def test_results_are_complete_and_seeded():
    fast = Transfer(base=LinearRegression())
    one, two = (repeat_synthetic("mine", fast, 3, n=300, m=80, d=2, n_test=100) for _ in range(2))
    assert [result.target for result in one] == ["Y(0)", "Y(1)", "effect"]
    assert [(r.coverage, r.width) for r in one] == [(r.coverage, r.width) for r in two]
    assert all(0.5 < r.coverage <= 1 and r.width > 0 and r.infinite == 0 and r.method == "mine" for r in one)


@pytest.mark.long
def test_the_paper_setting_over_twenty_seeds(capsys):
    results = {
        name: [result for seed in range(20) for result in repeat_synthetic(name, name, seed)]
        for name in ("naive", "transfer", "wcp")
    }

    def coverages(name, target):
        return [result.coverage for result in results[name] if result.target == target]

    with capsys.disabled():
        for name, rows in results.items():
            for target in ("Y(0)", "Y(1)", "effect"):
                width = np.mean([result.width for result in rows if result.target == target])
                print(f"{name:9} {target:7} {np.mean(coverages(name, target)):.3f} / {width:.3f}")  # noqa: T201
    promised = [(name, target) for name in ("naive", "transfer") for target in ("Y(0)", "Y(1)", "effect")]
    assert_covers({f"{name} {target}": (coverages(name, target), 0.9) for name, target in promised})
    # Hidden confounding costs wcp its coverage, but by far not as much as the reference code's 0.57 says:
    # that figure comes from calibration rows that were also trained on.
    for target in ("Y(0)", "Y(1)"):
        assert 0.80 < np.mean(coverages("wcp", target)) < 0.88
        with pytest.raises(AssertionError, match="below"):
            assert_covers({"wcp": (coverages("wcp", target), 0.9)})
