import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from confide import METHODS, CounterfactualIntervals, InfiniteIntervalWarning, Naive, Transfer, method
from confide.conformal import weighted_quantile
from confide.models.auto import AutoRegressor
from decision import assert_covers
from helpers import study_arrays

X, Y, TREATMENT, TRIAL = study_arrays()
FAST = Transfer(base=LinearRegression(), random_state=0)


def nested(effect="nested-exact", arm=FAST, treatment=TREATMENT, **params):
    return CounterfactualIntervals(arm, effect=effect, **params).fit(X, Y, treatment, TRIAL)


@pytest.mark.slow
def test_nested_by_hand():
    model = nested(alpha=0.2)
    control = model.with_alpha(0.1)
    treated = TREATMENT == 1

    def effects(rows):
        lower, upper = control.predict_interval(X[rows], 0)
        return Y[rows] - upper, Y[rows] - lower

    fit, calibration = treated & ~TRIAL, treated & TRIAL
    low, high = (AutoRegressor(random_state=model.effect_seed_).fit(X[fit], end) for end in effects(fit))
    truth = effects(calibration)
    scores = np.maximum(low.predict(X[calibration]) - truth[0], truth[1] - high.predict(X[calibration]))
    offset = weighted_quantile(scores, np.ones(len(scores)), 0.1)
    expected = np.column_stack([low.predict(X) - offset, high.predict(X) + offset])
    np.testing.assert_allclose(model.predict_effect_interval(X), expected)
    inexact = nested("nested-inexact", alpha=0.2).predict_effect_interval(X)
    np.testing.assert_allclose(inexact, np.column_stack([low.predict(X), high.predict(X)]))


def test_a_pair_turned_round_is_the_negative():
    labels = np.array(["a", "b", "c"])[np.arange(len(Y)) % 3]
    model = nested(treatment=labels)
    for treated, control in [("b", "a"), ("c", "a"), ("c", "b")]:
        forth = np.asarray(model.predict_effect_interval(X[:5], treated=treated, control=control))
        back = np.asarray(model.predict_effect_interval(X[:5], treated=control, control=treated))
        np.testing.assert_array_equal(back, -forth[:, ::-1])


def test_a_treated_arm_without_observational_rows():
    only_control = np.where(TRIAL, TREATMENT, 0)
    model = nested(arm=Naive(base=LinearRegression(), random_state=0), treatment=only_control, alpha=0.3)
    assert len(model.effect_.pairs_[1, 0].scores["both"]) == pytest.approx(np.sum(TRIAL & (TREATMENT == 1)) / 2, abs=1)
    assert np.isfinite(model.predict_effect_interval(X)).all()


@pytest.mark.slow
def test_with_alpha_equals_a_fit_at_that_level():
    np.testing.assert_allclose(
        nested(alpha=0.2).with_alpha(0.4).predict_effect_interval(X), nested(alpha=0.4).predict_effect_interval(X)
    )
    np.testing.assert_allclose(
        nested(arm_alpha=0.2).predict_effect_interval(X), nested(alpha=0.4).predict_effect_interval(X)
    )


def test_declared_ranges_bound_the_effect():
    model = nested(arm=Transfer(base=LinearRegression(), outcome_range=(-1.0, 2.0), random_state=0), alpha=0.05)
    lower, upper = model.predict_effect_interval(X)
    assert (lower >= -3).all()
    assert (upper <= 3).all()


def test_too_few_rows_are_explained():
    keep = ~TRIAL | (np.cumsum(TRIAL) <= 24)
    with pytest.warns(InfiniteIntervalWarning, match="effect intervals, alpha=0.05 needs 19 trial calibration rows"):
        model = CounterfactualIntervals(FAST, effect="nested-exact").fit(X[keep], Y[keep], TREATMENT[keep], TRIAL[keep])
    assert model.predict_effect_interval(X).infinite.all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")  # a weighted method may say so here
@pytest.mark.parametrize("name", METHODS)
def test_nested_takes_every_method(name):
    linear = {"second_stage": LinearRegression()} if name.startswith("wscp") else {}
    arm = method(name, base=LinearRegression(), random_state=0, **linear)
    model = nested(arm=arm, alpha=0.3)
    exact, inexact = (m.predict_effect_interval(X) for m in (model, nested("nested-inexact", arm=arm, alpha=0.3)))
    assert (exact.upper - exact.lower >= inexact.width).mean() > 0.9
    assert inexact.contains(model.predict_effect(X)).mean() > 0.8


def study(seed, n=300, m=120):
    """Two arms, x seen, u hidden: treatment follows u in the observational rows, and so does the outcome."""
    rng = np.random.default_rng(seed)
    x, u, noise = rng.standard_normal((3, n + m + 200))
    trial = np.arange(len(x)) >= n
    treatment = (rng.uniform(size=len(x)) < np.where(trial, 0.5, 1 / (1 + np.exp(-3 * u)))).astype(int)
    y0 = x + u + 0.5 * noise
    y1 = y0 + 1 + 0.5 * x + 0.5 * rng.standard_normal(len(x))
    rows = slice(0, n + m)
    observed = np.where(treatment == 1, y1, y0)
    return (x[rows, None], observed[rows], treatment[rows], trial[rows]), x[n + m :, None], (y1 - y0)[n + m :]


# Hundreds of calls with rows of the trial's own population: one of them may be called unlike it.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.PopulationWarning")
@pytest.mark.parametrize(
    ("arm_alpha", "repetitions"),
    [(0.1, 40), pytest.param(0.05, 200, marks=pytest.mark.long), pytest.param(0.15, 200, marks=pytest.mark.long)],
)
def test_effects_cover_under_hidden_confounding(arm_alpha, repetitions):
    cells = {"bonferroni": [], "nested-exact": [], "nested-inexact": []}
    for seed in range(repetitions):
        data, new, effects = study(seed)
        for effect, coverages in cells.items():
            model = CounterfactualIntervals(FAST, effect=effect, arm_alpha=arm_alpha).fit(*data)
            coverages.append(model.predict_effect_interval(new).contains(effects).mean())
    inexact = cells.pop("nested-inexact")  # no promise: it is only here to be narrower
    assert_covers({effect: (coverages, 1 - 2 * arm_alpha) for effect, coverages in cells.items()})
    assert np.mean(inexact) < np.mean(cells["nested-exact"])
