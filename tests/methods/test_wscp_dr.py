import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from confide import WSCPDR, CounterfactualIntervals, InfiniteIntervalWarning, load, method
from confide.conformal import weighted_quantile
from confide.data.splits import Rows
from confide.models.base_model import learn
from confide.models.interval_ends import MovedEnds
from confide.models.scores import ConformalisedQuantiles
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arm_rows

X, Y, TRIAL = arm_rows(n=300, m=80)
TILTED = OracleRatio(lambda rows: np.exp(-0.5 * rows[:, -1]))
LINEAR = {"base": LinearRegression(), "second_stage": LinearRegression(), "ratio": TILTED, "random_state": 0}


def fitted(**params):
    return WSCPDR(**{**LINEAR, **params}).fit(X, Y, trial=TRIAL)


def by_hand(arm, rows, alpha=0.1):
    """The first stage's intervals, from the definition."""
    weights = np.diff(arm.first_stage_.cumulative)
    own = np.exp(-0.5 * rows.y)
    q = weighted_quantile(arm.first_stage_.scores, weights, alpha, test_weight=own)
    centre = arm.base_.predict(rows.X)
    return centre - q, centre + q


@pytest.mark.parametrize(("exact", "target"), [(False, "interval"), (True, "interval"), (True, "outcome")])
def test_both_stages_by_hand(exact, target):
    arm = fitted(exact=exact, target=target)
    rows, calibration = arm.end_rows_, arm.calibration_rows_
    lower, upper = by_hand(arm, rows)
    low, high = (LinearRegression().fit(rows.X, end) for end in (lower, upper))
    offset = 0.0
    if exact:
        truth = by_hand(arm, calibration) if target == "interval" else (calibration.y, calibration.y)
        scores = np.maximum(low.predict(calibration.X) - truth[0], truth[1] - high.predict(calibration.X))
        offset = weighted_quantile(scores, np.ones(len(scores)), 0.1)
    expected = np.column_stack([low.predict(X) - offset, high.predict(X) + offset])
    np.testing.assert_allclose(arm.predict_interval(X), expected)


def test_no_row_does_two_things():
    exact, inexact = fitted(), fitted(exact=False)
    assert len(exact.end_rows_) == len(exact.calibration_rows_) == 40
    assert not set(exact.end_rows_.y) & set(exact.calibration_rows_.y)
    assert sorted(inexact.end_rows_.y) == sorted(Y[TRIAL])
    assert len(exact.first_stage_.scores) == 150
    moved = fitted(exact=False, second_stage=None)
    assert set(moved.end_rows_.y) == set(exact.end_rows_.y)


# A quantile that changes with x: of a ratio on both, which has to be regressed, and of one on covariates alone.
SHIFTED = {"xy": lambda rows: np.exp(2.5 * rows[:, 0] - 0.5 * rows[:, -1]), "x": lambda rows: np.exp(2.5 * rows[:, 0])}


def moved_by_hand(arm, ratio, rows, alpha=0.1):
    """Return the first stage's quantiles at rows."""
    weights = np.diff(arm.first_stage_.cumulative)
    own = ratio(np.column_stack([rows.X, rows.y]))
    return weighted_quantile(arm.first_stage_.scores, weights, alpha, test_weight=own)


@pytest.mark.parametrize(("exact", "target"), [(False, "interval"), (True, "interval"), (True, "outcome")])
@pytest.mark.parametrize("on", SHIFTED)
def test_the_quantile_alone_is_regressed_and_nothing_if_it_is_known(on, exact, target):
    arm = fitted(exact=exact, target=target, second_stage=None, ratio=OracleRatio(SHIFTED[on], on=on), alpha=0.1)
    fit, calibration = arm.end_rows_, arm.calibration_rows_
    quantiles = moved_by_hand(arm, SHIFTED[on], fit)
    assert np.unique(quantiles).size > 2
    if on == "xy":
        model = learn(None, Rows(fit.X, quantiles), arm.end_seed_)

        def q(rows):
            return np.clip(model.predict(rows.X), quantiles.min(), quantiles.max())
    else:

        def q(rows):
            """The quantile; where it is infinite, it reaches to both ends of the domain."""
            found, points = moved_by_hand(arm, SHIFTED[on], rows), arm.base_.predict(rows.X)
            far = np.maximum(points - arm.domain_[0], arm.domain_[1] - points)
            return np.where(np.isinf(found), far, found)

    offset = 0.0
    if exact:
        off = np.abs(calibration.y - arm.base_.predict(calibration.X))
        missed = (moved_by_hand(arm, SHIFTED[on], calibration) if target == "interval" else off) - q(calibration)
        offset = weighted_quantile(missed, np.ones(len(missed)), 0.1)
    centre, new = arm.base_.predict(X), Rows(X, Y)
    expected = np.column_stack([centre - q(new) - offset, centre + q(new) + offset])
    np.testing.assert_allclose(arm.predict_interval(X), expected, atol=1e-9)
    if (on, target) == ("x", "interval"):
        assert offset == 0


@pytest.mark.parametrize("on", SHIFTED)
def test_the_moved_ends_follow_the_level_and_are_kept_in_a_file(on, tmp_path):
    study = (X, Y, (X[:, 1] > 0).astype(int), TRIAL)
    arm = WSCPDR(base="linear", ratio=ClassifierRatio(LogisticRegression(), on=on), target="outcome")
    model = CounterfactualIntervals(arm, alpha=0.2, random_state=0).fit(*study)
    later = model.with_alpha(0.4)
    again = CounterfactualIntervals(arm, alpha=0.4, random_state=0).fit(*study)
    np.testing.assert_array_equal(later.predict_interval(X, 1), again.predict_interval(X, 1))
    later.save(tmp_path / "model.confide")
    np.testing.assert_array_equal(load(tmp_path / "model.confide").predict_interval(X, 1), again.predict_interval(X, 1))


def test_moved_ends_of_an_empty_interval_are_its_point():
    """Quantile models may cross, and a negative quantile draws them together: the ends stay numbers."""
    model, score = Crossed(), ConformalisedQuantiles()
    ends = MovedEnds(model, score, (-5.0, 5.0), None).fit(X, np.zeros(len(X)))
    lower, upper = ends.predict(X)
    np.testing.assert_array_equal(lower, X[:, 0])
    np.testing.assert_array_equal(upper, X[:, 0])
    far = MovedEnds(model, score, (-5.0, 5.0), None).fit(X, np.full(len(X), np.inf))
    assert far.capped_ == 2 * len(X)
    low, high = far.predict(X)
    assert low.max() <= -4.9
    assert high.min() >= 4.9


class Crossed:
    """A lower quantile above the upper one."""

    def predict(self, X):
        return np.column_stack([X[:, 0] + 1, X[:, 0], X[:, 0] - 1])


def test_with_alpha_regresses_the_ends_anew():
    one = fitted(alpha=0.1).with_alpha(0.3)
    np.testing.assert_allclose(one.predict_interval(X), fitted(alpha=0.3).predict_interval(X))
    levels = fitted(alpha=0.1, levels=(0.02, 0.08)).with_alpha(0.3)
    np.testing.assert_allclose(levels.predict_interval(X), fitted(alpha=0.3, levels=(0.06, 0.24)).predict_interval(X))


def test_levels_of_the_stages():
    wide, narrow = fitted(levels=(0.05, 0.05)), fitted(levels=(0.2, 0.2))
    assert wide.predict_interval(X).width.mean() > narrow.predict_interval(X).width.mean()
    np.testing.assert_array_equal(fitted(levels=(0.1, 0.1)).predict_interval(X), fitted().predict_interval(X))
    for bad, message in [((0.1,), "a pair"), (3, "a pair"), ((0.1, 2), r"levels\[1\] must lie strictly")]:
        with pytest.raises(ValueError, match=message):
            fitted(levels=bad)


@pytest.mark.slow
def test_refit_is_the_letter_of_the_algorithm():
    arm = fitted(refit=True)
    observational = ~TRIAL
    rows = arm.end_rows_
    weights = np.exp(-0.5 * Y[observational])
    lower = []
    for x, y in zip(rows.X, rows.y, strict=True):
        model = LinearRegression().fit(np.r_[X[observational], [x]], np.r_[Y[observational], y])
        scores = np.abs(Y[observational] - model.predict(X[observational]))
        q = weighted_quantile(scores, weights, 0.1, test_weight=np.exp(-0.5 * y))
        lower.append(model.predict([x])[0] - q)
    expected = LinearRegression().fit(rows.X, lower).predict(X)
    np.testing.assert_allclose(arm.ends_.predict(X)[0], expected)
    assert np.isfinite(arm.with_alpha(0.3).predict_interval(X)).all()


def test_infinite_first_stage_intervals_are_capped_counted_and_explained():
    # Every trial row outweighs all observational rows together.
    heavy = OracleRatio(lambda rows: np.where(np.isin(rows[:, -1], Y[TRIAL]), 1e9, 1.0))
    inexact = fitted(ratio=heavy, exact=False)
    assert inexact.ends_.capped_ == 2 * 80
    margin = 0.1 * np.ptp(Y)
    np.testing.assert_allclose(inexact.predict_interval(X[:2]), [[Y.min() - margin, Y.max() + margin]] * 2)
    moved = fitted(ratio=heavy, exact=False, second_stage=None)
    assert moved.ends_.capped_ == 2 * 40
    assert np.isfinite(moved.predict_interval(X)).all()
    bounded = fitted(ratio=heavy, exact=False, second_stage=None, outcome_range=(-20, 20))
    assert bounded.ends_.capped_ == 0
    assert bounded.predict_interval(X).width.min() > 38
    with pytest.warns(InfiniteIntervalWarning, match="infinite at 40 of 40 trial calibration rows.*target='outcome'"):
        exact = fitted(ratio=heavy)
    assert exact.predict_interval(X).infinite.all()
    assert np.isfinite(fitted(ratio=heavy, target="outcome").predict_interval(X)).all()


def test_levels_move_with_alpha():
    arm = WSCPDR(**LINEAR, levels=(0.05, 0.05))
    study = (X, Y, (X[:, 1] > 0).astype(int), TRIAL)
    with pytest.warns(InfiniteIntervalWarning, match="alpha=0.025 needs 39"):
        later = CounterfactualIntervals(arm, alpha=0.1).fit(*study).with_alpha(0.3)
    assert [float(level) for level in later.method.levels] == pytest.approx([0.15, 0.15])
    refitted = clone(later).fit(*study)
    np.testing.assert_array_equal(refitted.predict_interval(X, 0), later.predict_interval(X, 0))
    assert arm.levels == (0.05, 0.05)
    with pytest.raises(ValueError, match=r"would reach 1 at alpha=0\.4; it must stay below 0\.333333"):
        fitted(levels=(0.3, 0.3)).with_alpha(0.4)


def test_a_ratio_given_to_a_starred_name_is_not_changed():
    ratio = ClassifierRatio()
    assert method("wscp-dr*-exact", ratio=ratio).ratio.on == "x"
    assert ratio.on == "xy"
    with pytest.raises(ValueError, match="NaiveBayesRatio has no parameter `on`"):
        method("wscp-dr*-exact", ratio="naive-bayes")


@pytest.mark.slow
def test_first_stages_are_computed_only_where_they_are_needed():
    for params, stages in [({"exact": False}, 1), ({"target": "outcome"}, 1), ({"target": "interval"}, 2)]:
        assert len(fitted(refit=True, **params).refits_) == stages


def test_names_are_settings():
    assert method("wscp-dr-exact").get_params()["target"] == "interval"
    assert method("wscp-dr-calibrated").get_params()["target"] == "outcome"
    assert method("wscp-dr-inexact").exact is False
    assert method("wscp-dr*-exact").ratio.on == "x"
    assert method("wscp-dr*-exact", ratio="kernel").ratio.on == "x"
    assert method("wscp-dr-exact").ratio is None
    with pytest.raises(ValueError, match="target='outcom' is unknown; did you mean outcome"):
        fitted(target="outcom")


class Bounded(RegressorMixin, BaseEstimator):
    """A model that predicts infinity where the second covariate is beyond 5."""

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return np.where(X[:, 1] > 5, np.inf, self.model_.predict(X))


@pytest.mark.parametrize("on", ["xy", "x"])
def test_an_infinite_prediction_of_a_new_row_is_refused(on):
    arm = fitted(base=Bounded(), second_stage=None, ratio=OracleRatio(lambda rows: np.exp(0.3 * rows[:, 0]), on=on))
    with pytest.raises(ValueError, match="the base model predicts infinity for 1 rows"):
        arm.predict_interval(np.full((1, X.shape[1]), 6.0))


class Unchecked(BaseEstimator):
    """A ratio of one's own, on covariates, whose values nobody checks, beyond 5 below zero."""

    on = "x"

    def fit(self, *rows):
        self.rows_ = rows
        return self

    def predict(self, rows):
        return np.where(rows[:, 1] > 5, -1.0, 1.0)


def test_a_negative_weight_of_a_new_row_is_refused():
    arm = fitted(exact=False, second_stage=None, ratio=Unchecked())
    with pytest.raises(ValueError, match="the ratio must be finite and at least 0"):
        arm.predict_interval(np.full((1, X.shape[1]), 6.0))


@pytest.mark.parametrize(("bounds", "endless"), [(None, 2), ((-50.0, np.inf), 1), ((-50.0, 50.0), 0)])
def test_ends_that_a_range_leaves_infinite_are_counted(bounds, endless):
    only_trial = OracleRatio(lambda rows: np.where(np.isin(rows[:, -1], Y[TRIAL]), 1e9, 1.0))
    arm = fitted(exact=False, second_stage=None, ratio=only_trial, outcome_range=bounds)
    assert arm.ends_.capped_ == endless * len(arm.end_rows_)
    assert np.isfinite(arm.predict_interval(X)).all()


def test_the_base_model_predicts_new_rows_once():
    arm = fitted(second_stage=None)
    rows = arm._new_rows(X)
    known = rows.prediction
    arm.base_ = None  # whoever asks it again has nothing to ask
    arm.ends_.model = None
    assert np.isfinite(arm.predict_interval(rows)).all()
    assert rows.prediction is known
