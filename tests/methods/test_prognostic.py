"""`prognostic`: what it assembles, and that it keeps its level whatever the prognostic score is worth."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from confide import CounterfactualIntervals, Prognostic, Study, Transfer, TrialAloneWarning, load
from confide.data.splits import Rows
from confide.methods.candidates import EVENNESS, FEW_ROWS, PRICE, SYMMETRY, Candidate
from confide.models.prognosis import Prognosis, learn_prognosis
from decision import assert_covers
from helpers import arm_rows, study_arrays


class Fixed(RegressorMixin, BaseEstimator):
    """A prognostic score that learns nothing: a multiple of the first covariate's square."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):  # noqa: ARG002
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.factor * X[:, 0] ** 2


def people(n, m, seed, noise="normal", new=200):
    """Return an arm: n observational rows with a bias, m trial rows, and new people of the trial's population."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m + new, 2))
    draw = {
        "normal": rng.normal,
        "heavy": lambda size: rng.standard_t(1.5, size),
        "skewed": lambda size: rng.lognormal(0, 1.2, size),
    }[noise]
    y = X[:, 0] ** 2 + np.exp(X[:, 1] / 2) * draw(size=len(X))
    y[:n] += 2 * X[:n, 1]
    trial = np.r_[np.zeros(n, dtype=bool), np.ones(m, dtype=bool)]
    return X[: n + m], y[: n + m], trial, X[n + m :], y[n + m :]


def refitted(arm, trial_X, trial_y, x, candidates, alpha):
    """Return which candidates are in one new row's set, by m+1 weighted least squares for each."""
    inside = []
    (candidate,) = arm.candidates_
    X = np.vstack([trial_X, x])
    (rows,) = arm._views(X, arm.base_.predict(X))
    penalty = np.diag(candidate.penalty(arm.columns_))
    weighted = rows.features / rows.scale[:, None]
    for y in candidates:
        target = (np.r_[trial_y, y] / arm.unit_ - rows.offset) / rows.scale
        beta = np.linalg.solve(weighted.T @ weighted + penalty, weighted.T @ target)
        errors = target - weighted @ beta
        scores = np.maximum(-errors / rows.lower, errors / rows.upper)
        inside.append(np.sum(scores[:-1] < scores[-1] - 1e-9) < (1 - alpha) * len(scores))
    return np.array(inside)


@pytest.mark.parametrize("features", ["slope", "offset", "ridge", "none"])
@pytest.mark.parametrize(("scale", "tails"), [("none", "even"), ("root", "even"), ("observational", "learnt")])
def test_a_set_is_what_refits_with_each_outcome_give(features, scale, tails):
    X, y, trial, new, _ = people(300, 25, 1, new=3)
    arm = Prognostic(base=Fixed(), features=features, scale=scale, tails=tails, alpha=0.2, random_state=0)
    arm.fit(X, y, trial=trial)
    assert arm.candidates_ == [Candidate(features, scale, tails)]
    grid = np.linspace(y[trial].min() - 5, y[trial].max() + 5, 801)
    sets = arm.predict_set(new)
    for row, x in enumerate(new):
        brute = refitted(arm, X[trial], y[trial], x, grid, 0.2)
        solved = ((sets[row][:, 0] <= grid[:, None]) & (grid[:, None] <= sets[row][:, 1])).any(axis=1)
        changes = np.flatnonzero(brute != solved)
        ends = sets[row].ravel()
        assert all(np.abs(ends - grid[place]).min() < 2 * (grid[1] - grid[0]) for place in changes)


def test_the_offset_alone_is_transfer_centred():
    """One candidate of equal scale is the earlier default, which has a solver of its own."""
    X, y, trial, new, _ = people(300, 40, 2)
    ours = Prognostic(base=Fixed(), features="offset", scale="none", tails="even", random_state=0)
    theirs = Transfer(base=Fixed(), base_on="centred", random_state=0)
    mine, known = (arm.fit(X, y, trial=trial).predict_interval(new) for arm in (ours, theirs))
    np.testing.assert_allclose(mine, known)


class Size(Fixed):
    """The logarithm of the true size of errors, up to a factor."""

    def predict(self, X):
        return self.factor * X[:, 1] / 2


# Prognoses that are right, useless or wrong about the mean, the size of errors and their tails: none is learnt.
PROGNOSES = {
    "right": Prognosis(Fixed(), Size()),
    "useless": Prognosis(Fixed(0.0)),
    "reversed": Prognosis(Fixed(-1.0), Size(-1.0), tails=(1.8, 0.2)),
    "huge": Prognosis(Fixed(50.0), Size(3.0), tails=(0.2, 1.8)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "tails"), [("normal", "even"), ("heavy", "auto"), ("skewed", "even")])
def test_coverage_whatever_the_prognosis(noise, tails, monkeypatch):
    cells = {}
    for m, alpha, repetitions in [(3, 0.5, 60), (12, 0.1, 50), (30, 0.2, 30), (120, 0.05, 20), (1000, 0.01, 6)]:
        for name, prognosis in PROGNOSES.items():
            monkeypatch.setattr("confide.methods.prognostic.learn_prognosis", lambda *_, given=prognosis: given)
            coverages = []
            for seed in range(repetitions):
                X, y, trial, new, truth = people(20, m, 1000 * m + seed, noise, new=50 if m < 1000 else 400)
                arm = Prognostic(alpha=alpha, random_state=seed, tails=tails).fit(X, y, trial=trial)
                coverages.append(arm.predict_set(new).contains(truth).mean())
            cells[f"{name}, {m} rows, {alpha}"] = (coverages, 1 - alpha)
    assert_covers(cells)


@pytest.mark.slow
def test_coverage_of_one_candidate_has_a_ceiling(monkeypatch):
    monkeypatch.setattr("confide.methods.prognostic.learn_prognosis", lambda *_: PROGNOSES["right"])
    cells, ceilings = {}, {}
    for m, alpha in [(4, 0.5), (19, 0.2), (60, 0.1)]:
        coverages = []
        for seed in range(300):
            X, y, trial, new, truth = people(20, m, 1000 * m + seed, new=100)
            params = {"features": "slope" if m > 5 else "offset", "scale": "observational", "tails": "even"}
            arm = Prognostic(alpha=alpha, random_state=seed, **params).fit(X, y, trial=trial)
            coverages.append(arm.predict_set(new).contains(truth).mean())
        cells[str(m)] = (coverages, 1 - alpha)
        ceilings[str(m)] = 1 - alpha + 1 / (m + 1)
    assert_covers(cells, ceilings)


@pytest.mark.slow
def test_choosing_on_its_own_rows_would_not_keep_the_level(monkeypatch):
    """The candidate that is narrowest on the m trial rows, and calibrated on them: why the rule counts the new row."""
    monkeypatch.setattr("confide.methods.prognostic.learn_prognosis", lambda *_: PROGNOSES["reversed"])
    chosen, invalid = [], []
    for seed in range(300):
        X, y, trial, new, truth = people(20, 22, seed, "skewed", new=60)
        arm = Prognostic(random_state=seed).fit(X, y, trial=trial)
        chosen.append(arm.predict_set(new).contains(truth).mean())
        views = arm._views(new, arm.base_.predict(new))
        widths = [stack.sets(rows, 0.1).measure.mean() for stack, rows in zip(arm.stacks_, views, strict=True)]
        best = int(np.argmin(widths))
        invalid.append(arm.stacks_[best].sets(views[best], 0.1).contains(truth).mean())
    assert_covers({"the rule": (chosen, 0.9)})
    assert np.mean(invalid) < np.mean(chosen) - 0.01
    with pytest.raises(AssertionError):
        assert_covers({"the narrowest": (invalid, 0.9)})


@pytest.mark.slow
def test_discrete_outcomes_are_covered():
    coverages = []
    for seed in range(60):
        X, y, trial, new, truth = people(100, 30, seed)
        arm = Prognostic(base=Fixed(), outcome_values=range(5), random_state=seed)
        arm.fit(X, np.clip(np.round(y), 0, 4), trial=trial)
        sets = arm.predict_set(new)
        assert sets.discrete
        coverages.append(sets.contains(np.clip(np.round(truth), 0, 4)).mean())
    assert_covers({"discrete": (coverages, 0.9)})


def test_few_rows_have_fewer_candidates_by_their_number_alone():
    X, y, trial, *_ = people(300, FEW_ROWS - 1, 3)
    few = Prognostic(base=Fixed(), random_state=0).fit(X, y, trial=trial)
    assert {str(each) for each in few.candidates_} == {
        "a constant",
        "ridge on the trial's covariates",
        "the prognostic score, centred, scaled",
        "the prognostic score, centred, scaled by the root",
        "the prognostic score with a slope",
    }
    X, y, trial, *_ = people(300, FEW_ROWS, 3)
    enough = Prognostic(base=Fixed(), random_state=0).fit(X, y, trial=trial)
    assert enough.candidates_[2:] == [
        Candidate(features, scale) for features in ("offset", "slope") for scale in ("observational", "root")
    ]
    price = 1 + PRICE / np.sum(trial)
    one = [price, EVENNESS * price]
    np.testing.assert_allclose(enough.handicaps_, [1, price, *one, *one])
    tails = Prognostic(base=Fixed(), features="slope", scale="root", tails="auto", random_state=0)
    assert tails.fit(X, y, trial=trial).handicaps_ == [1, SYMMETRY]


def test_a_person_unlike_all_others_has_no_interval_unlike_all_others():
    """A value that is rare in the large table and missing in the trial: ridge would follow it wherever it goes."""
    X, y, trial, new, _ = people(600, 60, 5)
    rare = np.zeros(len(X))
    rare[:2] = 1
    wild = np.vstack([new[:20], [[0.0, 40.0]]])
    arm = Prognostic(random_state=0).fit(np.column_stack([X, rare]), y, trial=trial)
    assert Candidate("ridge") in arm.candidates_
    plain, rare = (arm.predict_interval(np.column_stack([wild, np.full(len(wild), value)])).width for value in (0, 1))
    usual = plain[:-1].max()
    assert plain[-1] < 5 * usual
    assert rare[:-1].max() < 5 * usual


def test_answers_keep_within_declared_bounds():
    X, y, trial, new, _ = people(300, 30, 4)
    y = np.clip(y, 0, 10)
    arm = Prognostic(base=Fixed(), outcome_range=(0, 10), random_state=0).fit(X, y, trial=trial)
    lower, upper = arm.predict_interval(new)
    assert lower.min() == 0
    assert upper.max() <= 10
    assert (arm.predict(new) >= 0).all()


def test_columns_that_are_the_same_for_everybody_change_nothing():
    X, y, trial, new, _ = people(300, 30, 5)
    more, asked = (np.insert(rows, [0, 1], [7.0, np.nan], axis=1) for rows in (X, new))
    plain, other = (Prognostic(base=LinearRegression(), random_state=0).fit(rows, y, trial=trial) for rows in (X, more))
    assert other.columns_ == plain.columns_ == 2
    np.testing.assert_allclose(other.predict_interval(asked), plain.predict_interval(new), rtol=1e-9)
    alone = Prognostic(base=LinearRegression(), random_state=0).fit(np.ones((len(X), 1)), y, trial=trial)
    assert Candidate("ridge") not in alone.candidates_


def test_an_arm_without_observational_rows_takes_the_others_prognosis():
    X, y, treatment, trial = study_arrays()
    kept = trial | (treatment == 0)
    study = Study(X[kept], y[kept], treatment[kept], trial[kept])
    model = CounterfactualIntervals("prognostic", base=LinearRegression(), random_state=0).fit(study)
    assert "offset" in {each.features for each in model.arms_[1].candidates_}
    mine, other = (model.arms_[label].base_.model for label in (0, 1))
    np.testing.assert_allclose(mine.predict(X[:5]), other.predict(X[:5]))
    assert np.isfinite(model.predict_effect_interval(X).width).all()


def test_a_trial_alone_is_split_as_naive_does():
    X, y, trial = arm_rows()
    with pytest.warns(TrialAloneWarning, match="Prognostic found 0 observational rows"):
        arm = Prognostic(base=LinearRegression(), random_state=0).fit(X[trial], y[trial], trial=trial[trial])
    assert np.isfinite(arm.predict_interval(X).width).all()


def test_points_come_from_the_candidate_that_is_narrowest_on_the_trial():
    X, y, trial, new, truth = people(300, 100, 5)
    right, wrong = (Prognostic(base=Fixed(by), random_state=0).fit(X, y, trial=trial) for by in (1.0, 0.0))
    assert right.score(new, truth) > wrong.score(new, truth) + 0.1
    assert right.base_r2_ > wrong.base_r2_
    assert right.candidates_[right.best_].features in ("offset", "slope")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"features": "slop"}, "features='slop' is unknown; did you mean slope"),
        ({"scale": "sigma"}, "scale='sigma' is unknown"),
        ({"tails": "uneven"}, "tails='uneven' is unknown; did you mean even"),
        ({"conformity_score": "cqr"}, "prognostic takes absolute residuals, got conformity_score='cqr'"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y, trial = arm_rows()
    with pytest.raises(ValueError, match=message):
        Prognostic(**params).fit(X, y, trial=trial)


@pytest.mark.slow
@pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
def test_a_saved_model_gives_the_same_bytes(effect, tmp_path):
    X, y, treatment, trial = study_arrays()
    model = CounterfactualIntervals("prognostic", effect=effect, base=LinearRegression(), random_state=0)
    model.fit(X, y, treatment, trial)
    model.save(tmp_path / "model.confide")
    again = load(tmp_path / "model.confide")
    np.testing.assert_array_equal(again.predict_effect_interval(X), model.predict_effect_interval(X))
    moved, other = again.with_alpha(0.3), model.with_alpha(0.3)
    np.testing.assert_array_equal(moved.predict_interval(X, 1), other.predict_interval(X, 1))


def test_the_size_of_errors_is_learnt_from_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    rows = Rows(X, np.exp(X[:, 0]) * rng.normal(size=4000))
    found = learn_prognosis(None, rows, 0)
    assert isinstance(found, Prognosis)
    size = found.predict(np.array([[-1.0], [0.0], [1.0]]))[:, 1]
    np.testing.assert_allclose(np.log(size), [-1, 0, 1], atol=0.35)
    lower, upper = found.tails
    assert lower == pytest.approx(upper, rel=0.2)
    assert (lower + upper) / 2 == pytest.approx(1)


def test_few_or_exact_rows_give_no_size():
    X, y, trial, *_ = people(30, 20, 0)
    arm = Prognostic(base=Fixed(), random_state=0).fit(X, y, trial=trial)
    assert arm.base_.size is None
    assert {each.scale for each in arm.candidates_} == {"none"}
    arm = Prognostic(base=LinearRegression(), random_state=0).fit(X, X[:, 0], trial=trial)
    assert np.isfinite(arm.predict_interval(X).width).all()


@pytest.mark.parametrize("unit", [1e-12, *(pytest.param(unit, marks=pytest.mark.slow) for unit in (1000.0, 1e9))])
def test_units_of_the_outcome_do_not_matter(unit):
    X, y, trial, new, _ = people(300, 30, 6)
    plain, other = (
        Prognostic(base=LinearRegression(), random_state=0).fit(X, each, trial=trial).predict_interval(new[:20])
        for each in (y, unit * y)
    )
    np.testing.assert_allclose(np.asarray(other) / unit, plain, rtol=1e-4)


def test_discrete_members_are_those_of_the_sets():
    X, y, trial, new, _ = people(300, 30, 7)
    y = np.clip(np.round(y), 0, 4)
    discrete = Prognostic(base=Fixed(), outcome_values=range(5), random_state=0).fit(X, y, trial=trial)
    plain = Prognostic(base=Fixed(), random_state=0).fit(X, y, trial=trial)
    sets, known = discrete.predict_set(new), plain.predict_set(new)
    for value in range(5):
        np.testing.assert_array_equal(sets.contains(float(value)), known.contains(float(value)))


def test_points_at_another_level_are_those_of_a_fit_at_that_level():
    """The narrowest candidate on the trial rows is another one at another level, and points come from it."""
    differ = 0
    for seed in (1, 2):
        X, y, trial = arm_rows(n=60, m=24, seed=seed)
        unfitted = (Prognostic(base="linear", alpha=alpha, random_state=0) for alpha in (0.05, 0.5))
        low, high = (arm.fit(X, y, trial=trial) for arm in unfitted)
        moved = low.with_alpha(0.5)
        assert (moved.best_, moved.base_r2_) == (high.best_, high.base_r2_)
        np.testing.assert_array_equal(moved.predict(X[:9]), high.predict(X[:9]))
        differ += low.best_ != high.best_
    assert differ == 1
