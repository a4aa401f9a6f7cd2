"""The bound gamma: the level of the arms, of all answers and of what is promised."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals
from weighted_studies import model, study, tables

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")


class TestGamma:
    @pytest.mark.parametrize(
        "method",
        ["pooled-dr", *(pytest.param(each, marks=pytest.mark.slow) for each in ("prognostic", "wscp-dr-exact"))],
    )
    def test_answers_are_those_of_the_smaller_level(self, method):
        found, new = study([], trial=300), tables()[2]
        worse = model(method, alpha=0.2, gamma=2).fit(found)
        plain = model(method, alpha=0.1).fit(found)
        np.testing.assert_array_equal(
            np.asarray(worse.predict_interval(new, 1)), np.asarray(plain.predict_interval(new, 1))
        )
        np.testing.assert_array_equal(
            np.asarray(worse.predict_effect_interval(new)), np.asarray(plain.predict_effect_interval(new))
        )
        assert worse.alpha_ == 0.2
        other = worse.with_alpha(0.4)
        assert other.alpha_ == 0.4
        np.testing.assert_array_equal(
            np.asarray(other.predict_interval(new, 1)), np.asarray(plain.with_alpha(0.2).predict_interval(new, 1))
        )

    def test_what_is_lost_counts_gamma_times(self):
        from confide import PooledDR

        guarded = CounterfactualIntervals(PooledDR(base=Ridge(), floor=0.05), gamma=2, random_state=0)
        assert "also ≥ 1-α-0.1, whatever" in str(guarded.fit(study([], trial=300)).promise_)
        assert "≥ 1-α-2·½E|w-ŵ/Eŵ| if outcomes given" in str(model(gamma=2).fit(study(["target"])).promise_)

    def test_the_promise_names_the_bound(self):
        found = model(gamma=1.5).fit(study([]))
        assert "if nobody asked about is more than 1.5 times as frequent as in the trial" in str(found.promise_)
        assert found.promise_.level(found.alpha_) == pytest.approx(0.9)
        assert found.effect_promise_.level(found.alpha_) == pytest.approx(0.9)
