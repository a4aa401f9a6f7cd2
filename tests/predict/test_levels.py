"""Anchors and offsets give the intervals that a model gives, at every level, or there are none and it is said why."""

import numpy as np
import pytest

from confide import Naive, PooledDR, Transfer
from confide.conformal.intervals import Intervals, IntervalSets, moved_apart
from confide.models.preprocessing import ridge_on_splines
from confide.predict.levels import LEVELS, offsets_of, why_no_offsets
from confide.ratio import OracleRatio
from report_pages import expected, fitted, new_patients, study_of

NEW = new_patients(50)


def unit_ratio(rows):
    return np.ones(len(rows))


def intervals(arm, offsets):
    """The formula that the report page has too."""
    below, above = (moved_apart(arm.lower, arm.upper, offset) for offset in offsets)
    found = Intervals(below.lower, above.upper)
    return found if arm.bounds is None else found.clip(*arm.bounds)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [(None, {}), (None, {"arm_alpha": 0.2}), (Naive(outcome_range=(-20.0, 30.0)), {"alpha": 0.15})],
)
def test_offsets_give_the_intervals_at_every_level(method, parameters):
    model = fitted(method, **parameters)
    found = offsets_of(model, new_rows(model))
    assert found.levels == tuple(sorted({*LEVELS, parameters.get("alpha", 0.1)}))
    assert list(found.arms) == list(model.arms_)
    for place in (0, 5, 13, len(found.levels) - 1):
        says = expected(model, NEW, found.levels[place])
        inside = {}
        for label, arm in found.arms.items():
            lower, upper = intervals(arm, arm.outcome[place])
            np.testing.assert_array_equal(lower, says[f"y_{label}_lower"])
            np.testing.assert_array_equal(upper, says[f"y_{label}_upper"])
            inside[label] = intervals(arm, arm.effect[place])
        lower = inside["placebo"].lower - inside["drug"].upper
        np.testing.assert_array_equal(lower, says["effect_placebo_vs_drug_lower"])


def test_a_level_that_the_model_refuses_is_left_out():
    model = fitted(PooledDR(ratio=OracleRatio(unit_ratio), floor=0.6), alpha=0.1)
    found = offsets_of(model, new_rows(model))
    assert max(found.levels) == 0.39


def test_offsets_are_infinite_where_rows_are_few():
    model = fitted(study=study_of(200, 40), alpha=0.2)
    (first, *_) = offsets_of(model, new_rows(model)).arms.values()
    assert np.isinf(first.outcome[0]).all()
    assert np.isfinite(first.outcome[-1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "parameters", "reason"),
    [
        ("wcp", {}, "with this method each new row"),
        ("wscp-dr-calibrated", {}, "with this method each new row"),
        (PooledDR(ratio=OracleRatio(unit_ratio), solve="transductive"), {}, "the transductive set of each row"),
        (Naive(conformity_score="normalised"), {}, "with the score 'normalised'"),
        ("naive", {"effect": "nested-inexact"}, "effects by nested-inexact"),
    ],
)
def test_why_there_are_none(method, parameters, reason):
    model = fitted(method, **parameters)
    assert reason in why_no_offsets(model, new_rows(model))


def new_rows(model):
    return model._new_rows(model.read(NEW), model.arms_)


def test_there_are_some():
    model = fitted()
    assert why_no_offsets(model, new_rows(model)) is None


class Wider(Transfer):
    """An estimator of one's own that inherits anchors and offsets, and adds 1 at each end."""

    def _sets(self, rows):
        lower, upper = super()._sets(rows).hull()
        return IntervalSets.of(Intervals(lower - 1, upper + 1))


def test_inherited_offsets_are_not_believed():
    model = fitted(Wider(base=ridge_on_splines()))
    assert "not what one offset for all rows gives" in why_no_offsets(
        model, model._new_rows(model.read(NEW), model.arms_)
    )


def test_any_other_error_is_not_taken_for_a_refused_level(monkeypatch):
    model = fitted()
    real = Transfer._offsets

    def broken(arm):
        if arm.alpha_ == 0.3:
            raise ValueError("a fault of ours")
        return real(arm)

    monkeypatch.setattr(Transfer, "_offsets", broken)
    with pytest.raises(ValueError, match="a fault of ours"):
        offsets_of(model, new_rows(model))
