"""Intervals with one end: nearer than that of two, with every method that has them, for outcomes and effects."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals
from weighted_studies import RANKING, model, study, tables

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")


class TestSide:
    @pytest.mark.parametrize("method", RANKING)
    @pytest.mark.parametrize("side", ["lower", "upper"])
    def test_the_end_is_nearer_than_that_of_two(self, method, side):
        found, new = study([], trial=300), tables()[2]
        two, one = (model(method, side=each).fit(found).predict_interval(new, 1) for each in ("both", side))
        assert np.isinf(getattr(one, "upper" if side == "lower" else "lower")).all()
        if side == "lower":
            assert (one.lower >= two.lower - 1e-9).all()
            assert (one.lower > two.lower + 1e-3).any() or method == "wscp-dr-calibrated"  # where upper ends never miss
        else:
            assert (one.upper <= two.upper + 1e-9).all()
            assert (one.upper < two.upper - 1e-3).any()

    @pytest.mark.slow
    @pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
    def test_effects(self, effect):
        found, new = study([], trial=300), tables()[2]
        low = model(side="lower", effect=effect).fit(found)
        high = model(side="upper", effect=effect).fit(found)
        lower, upper = low.predict_effect_interval(new), high.predict_effect_interval(new)
        assert np.isposinf(lower.upper).all()
        assert np.isneginf(upper.lower).all()
        # The other way round, a lower bound is an upper one.
        np.testing.assert_allclose(low.predict_effect_interval(new, 0, 1).lower, -upper.upper)

    @pytest.mark.slow
    def test_a_bonferroni_bound_is_the_difference_of_two(self):
        found, new = study([], trial=300), tables()[2]
        bound = model(side="lower").fit(found).predict_effect_interval(new).lower
        treated, control = (
            model(side=side, alpha=0.05).fit(found).predict_interval(new, label)
            for side, label in (("lower", 1), ("upper", 0))
        )
        np.testing.assert_allclose(bound, treated.lower - control.upper)

    def test_the_other_end_is_that_of_the_declared_range(self):
        from confide import Transfer

        found, new = study([], trial=300), tables()[2]
        arm = Transfer(base=Ridge(), outcome_range=(-100, 100), random_state=0)
        assert (CounterfactualIntervals(arm, side="lower").fit(found).predict_interval(new, 1).upper == 100).all()

    def test_discrete_outcomes(self):
        from confide import Naive

        rng = np.random.default_rng(0)
        X, t = rng.normal(size=(300, 1)), rng.integers(2, size=300)
        y = np.clip(np.round(X[:, 0] + rng.normal(size=300)), -2, 2)
        arm = Naive(base=Ridge(), outcome_values=[-2, -1, 0, 1, 2], random_state=0)
        found = CounterfactualIntervals(arm, side="upper").fit(X, y, t, np.ones(300, dtype=bool))
        sets = found.predict_set(X[:20], 1)
        assert (sets.hull().lower == -2).all()
        assert (sets.hull().upper < 2).any()

    def test_a_score_without_ends(self):
        from confide import Naive
        from confide.models.scores import AbsoluteResidual

        class Own:
            def __init__(self):
                self.inner = AbsoluteResidual()

            def __getattr__(self, name):
                if name in ("learn", "score", "interval", "point", "shift"):
                    return getattr(AbsoluteResidual(), name)
                raise AttributeError(name)

        fitted = CounterfactualIntervals(Naive(base=Ridge(), conformity_score=Own(), random_state=0), side="lower")
        with pytest.raises(ValueError, match="needs a score that measures from two ends"):
            fitted.fit(study([])).predict_interval(tables()[2], 1)
