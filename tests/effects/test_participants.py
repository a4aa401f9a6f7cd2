"""Effects of trial participants: what they are made of, for whom they hold, and who is refused."""

import numpy as np
import pytest

from confide import CounterfactualIntervals, RefusalError
from tests.decision import LEVEL, assert_covers, p_value_below


def draw(rng, trial_rows=160, chance=None, rows=300):
    """Return observational and trial rows, their treatments, both outcomes, and probabilities of treatment 1."""
    X = rng.normal(size=(rows + trial_rows, 2))
    hidden = rng.normal(size=len(X))
    trial = np.arange(len(X)) >= rows
    pi = np.full(len(X), 0.5) if chance is None else chance(X[:, 0])
    treatment = np.where(trial, rng.random(len(X)) < pi, hidden > 0).astype(int)
    noise = np.exp(0.7 * X[:, 0]) * rng.normal(size=len(X))
    y0 = X[:, 0] + np.where(trial, 0, hidden) + noise
    y1 = y0 + 1 + rng.normal(size=len(X))
    return X, treatment, trial, y0, y1, pi


def fitted(X, treatment, trial, y0, y1, pi=None, name="transfer", **params):
    y = np.where(treatment == 1, y1, y0)
    assignment = None if pi is None else np.where(trial, np.where(treatment == 1, pi, 1 - pi), np.nan)
    model = CounterfactualIntervals(name, base="ridge", alpha=0.2, random_state=0, **params)
    return model.fit(X, y, treatment, trial, assignment=assignment)


@pytest.mark.parametrize("name", ["transfer", "transfer-centred", "prognostic"])
@pytest.mark.parametrize("side", ["both", "lower"])
@pytest.mark.slow
def test_the_effect_is_the_known_outcome_against_the_other_arms_interval_at_the_whole_level(name, side):
    X, treatment, trial, y0, y1, _ = draw(np.random.default_rng(1))
    model = fitted(X, treatment, trial, y0, y1, name=name, side=side)
    some = np.flatnonzero(trial)[:30]
    y = np.where(treatment == 1, y1, y0)[some]
    found = model.predict_effect_interval(X[some], received=treatment[some], outcome=y)
    two = fitted(X, treatment, trial, y0, y1, name=name)
    treated = treatment[some] == 1
    for mine, arm in ((treated, 0), (~treated, 1)):
        ends = [model.arms_[arm]._on_side(each).predict_interval(X[some][mine]) for each in ("lower", "upper")]
        other = two.predict_interval(X[some][mine], arm) if side == "both" else None
        low, high = (other.lower, other.upper) if side == "both" else (ends[0].lower, ends[1].upper)
        lower = y[mine] - high if arm == 0 else low - y[mine]
        upper = y[mine] - low if arm == 0 else high - y[mine]
        np.testing.assert_allclose(found.lower[mine], lower)
        np.testing.assert_allclose(found.upper[mine], upper if side == "both" else np.inf)


def test_other_rows_weigh_the_ratio_of_both_probabilities():
    X, treatment, trial, y0, y1, pi = draw(np.random.default_rng(2), chance=lambda x: 0.5 + 0.3 * np.tanh(x))
    model = fitted(X, treatment, trial, y0, y1, pi)
    arm = model.arms_[0]._for_others()
    mine = trial & (treatment == 0)
    np.testing.assert_allclose(arm.marks_.weight, pi[mine] / (1 - pi[mine]))
    np.testing.assert_allclose(arm.weights_.own(X[:5], 1 - pi[:5]), pi[:5] / (1 - pi[:5]))
    assert arm.weights_.own(X[:1])[0] >= (pi[trial] / (1 - pi[trial])).max() * (1 - 1e-12)  # unknown: the largest
    assert model.arms_[0].marks_.weight.min() > 1  # the model itself is as it was


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfer", "prognostic"])
def test_participants_are_covered_where_probabilities_differ_and_without_the_ratio_they_are_not(name):
    def one(seed, *, known):
        X, treatment, trial, y0, y1, pi = draw(
            np.random.default_rng(seed), 200, lambda x: 0.5 + 0.4 * np.clip(2 * x, -1, 1)
        )
        model = fitted(X, treatment, trial, y0, y1, pi if known else None, name)
        mine = np.flatnonzero(trial)
        y = np.where(treatment == 1, y1, y0)[mine]
        more = {"assignment": pi[mine]} if known else {}
        found = model.predict_effect_interval(X[mine], received=treatment[mine], outcome=y, **more)
        return found.contains((y1 - y0)[mine])[treatment[mine] == 1].mean()

    assert_covers({name: ([one(seed, known=True) for seed in range(25)], 0.8)})
    assert p_value_below([one(seed, known=False) for seed in range(25)], 0.8) < LEVEL


def test_the_promise_says_for_whom():
    X, treatment, trial, y0, y1, _ = draw(np.random.default_rng(3))
    promise = fitted(X, treatment, trial, y0, y1).participant_promise_
    assert promise.keeps_level
    assert "randomised in this trial" in promise.whom


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"received": 1}, "give outcome too"),
        ({"outcome": np.zeros(4)}, "give received too"),
        ({"received": [0, 1, 2, 1], "outcome": np.zeros(4)}, "such as .*2.*rows 2"),
        ({"received": 1, "outcome": np.zeros(3)}, "outcome"),
        ({"received": 1, "outcome": [0.0, np.nan, 0.0, 0.0]}, "NaN|finite|missing"),
    ],
)
def test_what_is_no_participant_is_named(given, message):
    X, treatment, trial, y0, y1, _ = draw(np.random.default_rng(4))
    with pytest.raises(ValueError, match=message):
        fitted(X, treatment, trial, y0, y1).predict_effect_interval(X[:4], **given)


@pytest.mark.parametrize("name", ["naive", "transfer"])
def test_a_notebook_shows_models_for_which_nothing_is_proved(name):
    X, treatment, trial, y0, y1, _ = draw(np.random.default_rng(5))
    model = fitted(X, treatment, trial, y0, y1, name=name)
    proved = name == "transfer"
    assert ("participant_promise_" in dir(model)) == proved
    assert ("participant_promise_" in model._repr_html_()) == proved
    if not proved:
        with pytest.raises(RefusalError, match="learns from trial rows"):
            _ = model.participant_promise_


def test_models_for_which_nothing_is_proved_refuse():
    X, treatment, trial, y0, y1, _ = draw(np.random.default_rng(5))
    y = np.where(treatment == 1, y1, y0)
    ask = {"received": 1, "outcome": y[:3]}
    with pytest.raises(RefusalError, match="learns from trial rows"):
        fitted(X, treatment, trial, y0, y1, name="naive").predict_effect_interval(X[:3], **ask)
    model = CounterfactualIntervals("transfer", base="ridge", random_state=0)
    with pytest.raises(RefusalError, match="with a target"):
        model.fit(X, y, treatment, trial, target=X[:50]).predict_effect_interval(X[:3], **ask)
    with pytest.raises(RefusalError, match="with a cluster"):
        model.fit(X, y, treatment, trial, cluster=np.arange(len(X)) // 2).predict_effect_interval(X[:3], **ask)
    arms = np.where(np.arange(len(X)) % 3 == 0, 2, treatment)
    assignment = np.where(X[:, 0] > 0, 0.3, 0.4)
    with pytest.raises(RefusalError, match="two treatments"):
        model.fit(X, y, arms, trial, assignment=assignment).predict_effect_interval(X[:3], 1, 0, **ask)
