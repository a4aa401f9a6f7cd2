"""The study of joint intervals: its ways are those of the model, and its table says what the draws say."""

from fractions import Fraction

import numpy as np
import pytest

from confide import CounterfactualIntervals
from studies import joint, joint_study
from studies.default_cells import CELLS
from studies.joint import BACKWARD, BONFERRONI, FORWARD, SHARES, STEPS, Effects

SMALL = "NSW"


@pytest.fixture(scope="module")
def ways():
    """Return the intervals of one draw with half of α for each step, and what they were made of."""
    control, treated = CELLS[SMALL](0)
    people, _ = joint.asked(control, treated)
    model = joint.fitted(control, treated, 0)
    new = {label: joint.NewRows(model.encode(people), arm.base_) for label, arm in model.arms_.items()}
    trained = {label: joint.parted(model, each) for label, each in enumerate((control, treated))}
    found = joint.intervals(model.arms_, trained, new, Fraction(1, 2), model.effect_seed_)
    return model, people, dict(zip(STEPS, found, strict=True))


@pytest.mark.slow
def test_nested_from_the_control_is_the_models_own(ways):
    model, people, found = ways
    np.testing.assert_allclose(np.asarray(found[FORWARD]), np.asarray(model.predict_effect_interval(people)))


@pytest.mark.slow
def test_the_other_ways_are_those_of_models_fitted_so(ways):
    _, people, found = ways
    control, treated = CELLS[SMALL](0)
    X, y, trial = (np.concatenate([getattr(control, name), getattr(treated, name)]) for name in ("X", "y", "trial"))
    treatment = np.repeat([0, 1], [len(control.y), len(treated.y)])
    for steps, parameters in {BONFERRONI: {"effect": "bonferroni"}, BACKWARD: {"control": 1}}.items():
        unfitted = CounterfactualIntervals(effect="nested-exact", alpha=0.1, random_state=0).set_params(**parameters)
        asked = unfitted.fit(X, y, treatment, trial).predict_effect_interval(people, 1, 0)
        np.testing.assert_allclose(np.asarray(found[steps]), np.asarray(asked))


def test_real_people_have_no_known_effects():
    control, treated = CELLS[SMALL](0)
    people, effects = joint.asked(control, treated)
    assert effects is None
    assert len(people) == len(control.test) + len(treated.test)


def drawn(steps, first, seed, width, *, coverage=0.95, infinite=0.0):
    return Effects("paper, d = 1, m = 50", steps, first, seed, coverage, width, infinite)


def test_widths_are_compared_draw_by_draw_and_infinite_draws_are_left_out():
    plain = [drawn(BONFERRONI, "half", seed, width) for seed, width in enumerate((1.0, 2.0, 4.0))]
    others = [
        drawn(FORWARD, "half", 0, 0.5),
        drawn(FORWARD, "half", 1, 1.4),
        drawn(FORWARD, "half", 2, np.inf, infinite=0.3),
    ]
    rows = {row["steps"]: row for row in joint_study.summarised([*plain, *others])}
    assert rows[BONFERRONI]["ratio"] == 1
    assert rows[FORWARD]["ratio"] == pytest.approx((0.5 + 0.7) / 2)
    assert (rows[FORWARD]["finite"], rows[FORWARD]["draws"]) == (2, 3)
    assert rows[FORWARD]["infinite"] == pytest.approx(0.1)


def test_the_page_marks_what_is_below_and_what_is_infinite():
    draws = [
        drawn(
            steps,
            first,
            seed,
            np.inf if first == "a quarter" else 1.0,
            coverage=(0.5 if steps == BACKWARD else 0.95) + 0.001 * seed,
            infinite=float(first == "a quarter"),
        )
        for steps in STEPS
        for first in SHARES
        for seed in range(5)
    ]
    page = joint_study.page(joint_study.summarised(draws))
    assert page.count("**below**") == len(SHARES) + 1  # its reading explains the word
    assert "3 are below the promise" in page
    assert page.count("**∞**") == len(STEPS) + 1
