"""`wtcp-dr` with refit=True against Algorithm 2 as it reads: a refit for every candidate."""

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from confide import WTCPDR, CounterfactualIntervals
from confide.data.splits import Rows
from confide.models.base_model import settled
from confide.models.refits import Refits, refitted_set
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arm_rows, study_arrays

X, Y, TRIAL = arm_rows(n=160, m=40)
NEW = arm_rows(n=1, m=30, seed=1)[0]
TREE = DecisionTreeRegressor(max_depth=3, min_samples_leaf=5)


def tilted(rows):
    """A ratio that depends on x and, not monotonously, on y."""
    return np.exp(0.5 * rows[:, 0] - 0.8 * rows[:, -1] + np.sin(4 * rows[:, -1]))


def algorithm_2(arm, base, x, candidates, ratio, calibrates=None):
    """Whether each candidate is in the set, line by line of the paper; the order of rows is the arm's own."""
    rows, place = arm.refits_.rows, arm.refits_.place
    calibrates = arm.refits_.calibrates if calibrates is None else calibrates
    weights = ratio(np.column_stack([rows.X, rows.y]))[calibrates]
    inside = []
    for candidate in candidates:
        augmented_X, augmented_y = np.insert(rows.X, place, x, axis=0), np.insert(rows.y, place, candidate)
        scores = np.abs(clone(base).fit(augmented_X, augmented_y).predict(augmented_X) - augmented_y)
        own, others = scores[place], np.delete(scores, place)[calibrates]
        total = weights.sum() + ratio(np.array([[*x, candidate]]))[0]
        inside.append(weights[others < own - 1e-9].sum() < (1 - arm.alpha_) * total * (1 - 1e-12))
    return np.array(inside)


class OrderedNeighbours(RegressorMixin, BaseEstimator):
    """k nearest neighbours; of tied rows the first in order."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        distances = ((X[:, None] - self.X_[None]) ** 2).sum(axis=2)
        return self.y_[np.argsort(distances, axis=1, kind="stable")[:, :5]].mean(axis=1)


def assert_same(sets, row, candidates, truth, within):
    """Compare a set with the truth at candidates, but for those nearer than ``within`` to one of its ends."""
    found = ((sets[row][:, :1] <= candidates) & (candidates <= sets[row][:, 1:])).any(axis=0)
    ends = np.append(sets[row].ravel(), np.inf)
    near = np.abs(candidates[:, None] - ends).min(axis=1) <= within
    assert (found | near | ~truth).all()
    assert (truth | near | ~found).all()


BASES = {
    "least squares": LinearRegression(),
    "ridge": Ridge(5.0),
    "ridge without intercept": Ridge(5.0, fit_intercept=False),
    "scaled ridge": make_pipeline(StandardScaler(), Ridge(5.0)),
    "ridge on splines": make_pipeline(SplineTransformer(4), Ridge()),
    "kernel ridge": KernelRidge(kernel="rbf", alpha=0.5),
    "neighbours": KNeighborsRegressor(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(20, 60),
    alpha=st.sampled_from([0.1, 0.3]),
    ratio_rows=st.sampled_from(["fit", "all"]),
    values=st.sampled_from([None, 2]),
)
@settings(max_examples=6, deadline=None)
@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")  # few rows of unequal weight
def test_the_closed_form_equals_a_refit_for_every_candidate(name, seed, rows, alpha, ratio_rows, values):
    """Continuous covariates, and binary ones, whose distances are tied and whose outcomes are."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows + 5, 2)) if values is None else rng.integers(values, size=(rows + 5, 2)).astype(float)
    y = X[:, 0] + rng.standard_normal(rows + 5)
    y = y if values is None else np.round(y)
    base = BASES[name]
    arm = WTCPDR(
        base=base, ratio=OracleRatio(tilted), refit=True, ratio_rows=ratio_rows, alpha=alpha, random_state=seed
    )
    arm.fit(X, y, trial=np.arange(rows + 5) >= rows)
    assert len(arm.refits_.weights) == (rows if ratio_rows == "all" else round(rows / 2))
    refitted = OrderedNeighbours() if name == "neighbours" else base
    sets = arm.predict_set(X[-2:])
    candidates = np.concatenate([np.linspace(arm.grid_[0], arm.grid_[-1], 120), np.unique(y)])
    for row, x in enumerate(X[-2:]):
        truth = algorithm_2(arm, refitted, x, candidates, tilted)
        assert_same(sets, row, candidates, truth, within=2e-6 * np.ptp(arm.grid_))
    assert not sets.approximate


def test_rows_that_train_the_ratio_and_rows_that_calibrate():
    seen = []

    class Spy(OracleRatio):
        def fit(self, numerator, denominator):
            seen.append(denominator)
            return super().fit(numerator, denominator)

    for ratio_rows in ("fit", "all"):
        WTCPDR(base=Ridge(), ratio=Spy(tilted), refit=True, ratio_rows=ratio_rows, random_state=0).fit(
            X, Y, trial=TRIAL
        )
    assert [len(rows) for rows in seen] == [80, 160]
    arm = WTCPDR(base=Ridge(), ratio=OracleRatio(tilted), refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    assert sorted(arm.refits_.rows.y) == sorted(Y[~TRIAL])
    trained = {float(y) for y in seen[0][:, -1]}
    assert not trained & set(arm.refits_.rows.y[arm.refits_.calibrates].tolist())
    split = WTCPDR(base=Ridge(), ratio=Spy(tilted), ratio_rows="all", random_state=0).fit(X, Y, trial=TRIAL)
    assert len(seen[-1]) == 160
    assert len(split.calibration_.scores) == 80
    with pytest.raises(ValueError, match="ratio_rows='some' is unknown; there are: fit, all"):
        WTCPDR(ratio_rows="some").fit(X, Y, trial=TRIAL)


def test_the_new_row_stands_at_a_place_drawn_like_the_others():
    rows = Rows(np.arange(9.0)[:, None], np.arange(9.0))
    settings = {"base": Ridge(), "score": None, "alpha": 0.1, "ratio": None, "slack": 0.0}
    drawn = [Refits.of(rows[:4], rows[4:], np.arange(5.0), seed=seed, **settings) for seed in range(2000)]
    counts = np.bincount([each.place for each in drawn], minlength=10)
    assert counts.min() > 140  # 200 ± 4 standard deviations
    assert counts.max() < 260
    for each in drawn[:20]:
        np.testing.assert_array_equal(each.rows.y[each.calibrates], each.weights + 4)
    assert len({tuple(each.rows.y) for each in drawn[:20]}) == 20


@pytest.mark.slow
@pytest.mark.parametrize("score", ["absolute", "normalised", "cqr"])
def test_any_other_regressor_is_refitted_a_few_times(score, monkeypatch):
    asked = []
    contains = Refits.contains
    monkeypatch.setattr(Refits, "contains", lambda *args: asked.append(args[2]) or contains(*args))
    X, Y, TRIAL = arm_rows(n=1000, m=40)
    base = GradientBoostingRegressor(n_estimators=5) if score == "cqr" else TREE
    arm = WTCPDR(base=base, conformity_score=score, ratio=OracleRatio(lambda rows: np.exp(-rows[:, -1])), refit=True)
    arm.set_params(random_state=0, outcome_range=(-5, 5)).fit(X, Y, trial=TRIAL)
    sets = arm.predict_set(NEW[:2])
    assert sets.approximate
    assert len(asked) / 2 <= (16 if score == "absolute" else 30)  # each end that was guessed wrong costs a bisection
    candidates = np.linspace(-5, 5, 61)
    for row, x in enumerate(NEW[:2]):
        truth = np.array([contains(arm.refits_, x, candidate, arm.alpha_) for candidate in candidates.tolist()])
        found = ((sets[row][:, :1] <= candidates) & (candidates <= sets[row][:, 1:])).any(axis=0)
        assert (truth != found).mean() < 0.05  # of trees, whose sets have holes that few candidates miss


def test_a_refit_is_algorithm_2():
    arm = WTCPDR(base=TREE, ratio=OracleRatio(tilted), refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    seeded_tree = clone(TREE).set_params(random_state=arm.refits_.seed)
    candidates = np.linspace(arm.grid_[0], arm.grid_[-1], 60)
    truth = algorithm_2(arm, seeded_tree, NEW[0], candidates, tilted)
    found = [arm.refits_.contains(NEW[0], candidate, 0.1) for candidate in candidates.tolist()]
    np.testing.assert_array_equal(found, truth)
    assert truth.any()
    assert not truth.all()


def test_scan_and_bisection_find_the_ends_whatever_the_guess(monkeypatch):
    def is_in(_, x, outcome, alpha):
        return abs(outcome - x[0]) <= alpha or 6.0 <= outcome <= 8.2

    monkeypatch.setattr(Refits, "contains", is_in)
    rows = Rows(np.ones((2, 1)), np.ones(2))
    refits = Refits.of(rows, rows, np.ones(2), base=Ridge(), score=None, alpha=0.1, seed=0, ratio=None, slack=0.0)
    for guess in ([[1.6, 2.4]], [[0.3, 9.0], [9.5, 9.7]], np.empty((0, 2))):
        found = refitted_set(refits, np.array([2.0]), 2.1, np.asarray(guess), (0.0, 10.0), 0.01, 0.4)
        np.testing.assert_allclose(found[0], [[1.6, 2.4], [6.0, 8.2]], atol=0.0101)
        assert (found[0] != [[1.6, 2.4], [6.0, 8.2]]).all()
        assert (np.sign(found[0] - [[1.6, 2.4], [6.0, 8.2]]) == [-1, 1]).all()  # outwards
        assert found.whole.tolist() == [False]


@pytest.mark.parametrize("base", [Ridge(), TREE])
def test_empty_disconnected_and_whole_are_reported(base):
    ratio = OracleRatio(lambda rows: np.where(rows[:, 0] > 8, 1e9, 1.0))
    arm = WTCPDR(base=base, ratio=ratio, refit=True, random_state=0, outcome_range=(-4.0, 6.0))
    arm.fit(X, Y, trial=TRIAL)
    whole = arm.predict_set([[9.0, 0.0]])
    assert whole[0].tolist() == [[-4, 6]]
    assert whole.whole.tolist() == [True]
    # The calibration rows of a far-away base model: nothing in the declared range conforms to it.
    far = WTCPDR(base=LinearRegression(), ratio=ratio, refit=True, random_state=0, outcome_range=(-4.0, 6.0))
    empty = far.fit(X, Y, trial=TRIAL).predict_set([[7.9, 0.0]])
    assert empty.empty.tolist() == [True]
    assert np.isnan(np.asarray(far.predict_interval([[7.9, 0.0]]))).all()
    heavy = OracleRatio(lambda rows: np.where(rows[:, -1] > 5, 1e9, 1.0))
    union = WTCPDR(base=base, ratio=heavy, refit=True, random_state=0, outcome_range=(-4.0, 6.0))
    sets = union.fit(X, Y, trial=TRIAL).predict_set(NEW[:1])
    assert sets.disconnected.tolist() == [True]
    assert sets[0][-1] == pytest.approx([5, 6], abs=0.11)
    assert "1 of several intervals" in sets.summary()


def test_a_ratio_on_covariates_needs_no_bounds():
    ratio = OracleRatio(lambda rows: np.exp(rows[:, 0]), on="x")
    arm = WTCPDR(base=LinearRegression(), ratio=ratio, refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    searched = WTCPDR(base=LinearRegression(), ratio=OracleRatio(ratio.function), refit=True, random_state=0)
    exact, found = arm.predict_interval(NEW), searched.fit(X, Y, trial=TRIAL).predict_interval(NEW)
    low, high = searched.grid_[0], searched.grid_[-1]
    np.testing.assert_allclose(exact.clip(low, high), found, atol=1e-9)
    assert arm.predict_interval([[50.0, 0.0]]).infinite.all()


@pytest.mark.parametrize("base", [KNeighborsRegressor(), TREE])
@pytest.mark.parametrize("ratio_rows", ["fit", "all"])
def test_discrete_outcomes_take_one_answer_a_value(base, ratio_rows):
    y = np.clip(np.round(3 + Y), 1, 5)
    ratio = OracleRatio(lambda rows: np.exp(-0.3 * rows[:, -1]))
    arm = WTCPDR(base=base, ratio=ratio, refit=True, ratio_rows=ratio_rows, outcome_values=range(1, 6), random_state=0)
    sets = arm.fit(X, y, trial=TRIAL).predict_set(NEW[:10])
    assert sets.discrete
    refitted = clone(base).set_params(random_state=arm.refits_.seed) if base is TREE else base
    values = np.arange(1.0, 6)
    for row, x in enumerate(NEW[:10]):
        truth = algorithm_2(arm, refitted, x, values, ratio.function)
        assert sets[row][:, 0].tolist() == values[truth].tolist()
    assert set(sets.components) - {5}


def test_with_alpha_keeps_everything_but_the_level():
    arm = WTCPDR(base=Ridge(), ratio=OracleRatio(tilted), refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    direct = WTCPDR(base=Ridge(), ratio=OracleRatio(tilted), refit=True, random_state=0, alpha=0.3)
    other = arm.with_alpha(0.3)
    assert other.refits_ is arm.refits_
    np.testing.assert_array_equal(other.predict_interval(NEW), direct.fit(X, Y, trial=TRIAL).predict_interval(NEW))
    assert (other.predict_set(NEW).measure < arm.predict_set(NEW).measure).all()


def test_quantile_models_keep_the_level_they_were_trained_for():
    base = GradientBoostingRegressor(n_estimators=5)
    arm = WTCPDR(base=base, conformity_score="cqr", ratio=OracleRatio(tilted), refit=True, alpha=0.2, random_state=0)
    assert arm.fit(X, Y, trial=TRIAL).with_alpha(0.4).refits_.alpha == 0.2
    with pytest.raises(ValueError, match="refit=True with conformity_score='cqr' needs a base model"):
        WTCPDR(conformity_score="cqr", refit=True).fit(X, Y, trial=TRIAL)


def test_new_rows_and_missing_values_do_not_disturb_each_other():
    arm = WTCPDR(base=Ridge(), ratio=OracleRatio(lambda rows: np.exp(-rows[:, -1])), refit=True, random_state=0)
    missing = X.copy()
    missing[::7, 1] = np.nan
    arm.fit(missing, Y, trial=TRIAL)
    whole = np.asarray(arm.predict_interval(missing[:20]))
    alone = np.concatenate([np.asarray(arm.predict_interval(row[None])) for row in missing[:20]])
    np.testing.assert_array_equal(whole, alone)
    assert arm.predict_interval(np.empty((0, 2))).lower.shape == (0,)


def test_the_automatic_base_chooses_once_and_keeps_its_choice():
    arm = WTCPDR(ratio=OracleRatio(tilted), refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    assert isinstance(arm.refits_.base[-1], Ridge)  # the data are linear: ridge on splines, its penalty fixed
    assert arm.refits_.smoother is not None
    assert np.isfinite(arm.predict(NEW)).all()


@pytest.mark.parametrize(
    ("base", "name", "value"),
    [
        (HistGradientBoostingRegressor(early_stopping=True), "early_stopping", False),
        (GradientBoostingRegressor(n_iter_no_change=3), "n_iter_no_change", None),
        (make_pipeline(StandardScaler(), HistGradientBoostingRegressor()), "early_stopping", False),
    ],
)
def test_early_stopping_is_turned_off(base, name, value):
    off = settled(base, Rows(X, Y), 0)
    assert next(found for key, found in off.get_params().items() if key.endswith(name)) is value
    assert off is not base


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.slow
def test_rows_in_parallel_equal_rows_in_turn(backend):
    arm = WTCPDR(base=TREE, ratio="naive-bayes", refit=True, random_state=0).fit(X, Y, trial=TRIAL)
    in_turn = arm.predict_interval(NEW[:4])
    with joblib.parallel_config(backend=backend):
        np.testing.assert_array_equal(arm.set_params(n_jobs=2).predict_interval(NEW[:4]), in_turn)


@pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
@pytest.mark.parametrize("base", [make_pipeline(StandardScaler(), Ridge()), TREE])
@pytest.mark.slow
def test_in_a_study_and_its_effects(effect, base):
    X, y, treatment, trial = study_arrays(n=80, m=40)
    method = WTCPDR(base=base, ratio=ClassifierRatio(), refit=True)
    model = CounterfactualIntervals(method, alpha=0.4, effect=effect, random_state=0).fit(X, y, treatment, trial)
    effects = model.predict_effect_interval(X[:4])
    assert (effects.width > 0).all()
    sets = model.predict_set(X[:4], treatment=[0, 1, 0, 1])
    assert sets.approximate == (base is TREE)
    hull = np.asarray(model.predict_interval(X[:4], treatment=[0, 1, 0, 1]))
    np.testing.assert_array_equal(hull, np.asarray(sets.hull()))
    assert sets.whole.shape == (4,)
