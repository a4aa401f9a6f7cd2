"""Effective size, achieved coverage, and what a fitted model says about itself."""

import copy
import json
import pickle
from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from confide import METHODS, WCP, WSCPDR, WTCPDR, CounterfactualIntervals, Naive, PooledDR, Transfer, method
from confide.datasets import synthetic
from confide.diagnostics import calibration_weights, coverage_by_alpha, coverage_report
from confide.exceptions import PopulationWarning
from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio, NaiveBayesRatio, OracleRatio
from decision import assert_covers
from helpers import arm_rows, arms_study, study_arrays

X, Y, TREATMENT, TRIAL = study_arrays(n=600, m=200)
NEW = synthetic(300, randomized=True, random_state=99)
FAST = {"base": LinearRegression()}
LOGISTIC = ClassifierRatio(standardised(LogisticRegression()))


@pytest.fixture(scope="module")
def model():
    return CounterfactualIntervals(Transfer(**FAST), random_state=0).fit(X, Y, TREATMENT, TRIAL)


def test_the_coverage_report_by_hand(model):
    report = coverage_report(model, NEW.X, NEW.y, treatment=NEW.treatment)
    assert [record.treatment for record in report] == [0, 1]
    for record in report:
        rows = NEW.treatment == record.treatment
        intervals = model.predict_interval(NEW.X[rows], record.treatment)
        inside = intervals.contains(NEW.y[rows])
        exact = stats.binomtest(int(inside.sum()), int(rows.sum())).proportion_ci(0.95, method="exact")
        assert (record.n, record.coverage) == (rows.sum(), inside.mean())
        assert (record.low, record.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
        assert record.width == pytest.approx(intervals.width.mean())
        assert record.infinite == 0
    json.dumps([asdict(record) for record in report])
    alone = coverage_report(model, NEW.X[NEW.treatment == 1], NEW.y[NEW.treatment == 1], treatment=1)
    assert alone == report[1:]


def test_the_report_of_infinite_intervals_says_infinite():
    few = np.r_[np.flatnonzero(~TRIAL), np.flatnonzero(TRIAL)[:10]]
    with pytest.warns(UserWarning, match="needs 9 trial calibration rows"):
        short = CounterfactualIntervals(Transfer(**FAST)).fit(X[few], Y[few], TREATMENT[few], TRIAL[few])
    for record in coverage_report(short, NEW.X, NEW.y, NEW.treatment):
        assert (record.coverage, record.high, record.width, record.infinite) == (1, 1, np.inf, 1)


def test_coverage_by_alpha_is_the_report_at_each_level(model):
    found = coverage_by_alpha(model, NEW.X, NEW.y, NEW.treatment, alphas=[0.5, 0.1, 0.25])
    assert list(found) == [0.5, 0.1, 0.25]
    for alpha, report in found.items():
        assert report == coverage_report(model.with_alpha(alpha), NEW.X, NEW.y, NEW.treatment)
    assert found[0.5][0].coverage < found[0.25][0].coverage < found[0.1][0].coverage
    assert len(coverage_by_alpha(model, NEW.X, NEW.y, NEW.treatment)) == 19


def test_coverage_by_alpha_counts_infinite_sets_and_says_once_that_rows_are_unlike(model):
    found = coverage_by_alpha(model, NEW.X, NEW.y, NEW.treatment, alphas=[0.001])
    assert [arm.infinite for arm in found[0.001]] == [1, 1]
    with pytest.warns(PopulationWarning) as said:
        coverage_by_alpha(model, NEW.X + 100, NEW.y, NEW.treatment, alphas=[0.5, 0.1])
    assert len(said) == 1


def test_coverage_by_alpha_leaves_out_what_the_model_refuses_unless_it_is_asked_for():
    arm = PooledDR(**FAST, ratio=OracleRatio(lambda rows: np.ones(len(rows))), floor=0.1)
    floored = CounterfactualIntervals(arm).fit(X, Y, TREATMENT, TRIAL)
    found = coverage_by_alpha(floored, NEW.X, NEW.y, NEW.treatment)
    assert list(found) == [percent / 100 for percent in range(85, 0, -5)]
    with pytest.raises(ValueError, match=r"alpha \+ floor must be below 1, got 1\.05"):
        coverage_by_alpha(floored, NEW.X, NEW.y, NEW.treatment, alphas=[0.5, 0.95])


def test_coverage_by_alpha_refuses_no_level_and_what_is_none(model):
    with pytest.raises(ValueError, match="alphas must have at least one level that the model supports, got none"):
        coverage_by_alpha(model, NEW.X, NEW.y, NEW.treatment, alphas=[])
    with pytest.raises(ValueError, match=r"strictly between 0 and 1, got 1\.5"):
        coverage_by_alpha(model, NEW.X, NEW.y, NEW.treatment, alphas=[0.5, 1.5])
    with pytest.raises(NotFittedError):
        coverage_by_alpha(CounterfactualIntervals(), NEW.X, NEW.y, NEW.treatment)


@pytest.mark.slow
def test_calibration_weights_are_those_of_the_diagnostics(model):
    stages = CounterfactualIntervals(method("wscp-dr-calibrated", ratio=LOGISTIC, **FAST), random_state=0)
    for fitted, names in (
        (model, ["calibration"]),
        (stages.fit(X, Y, TREATMENT, TRIAL), ["first stage", "calibration"]),
    ):
        found = calibration_weights(fitted)
        assert [(each.treatment, each.stage) for each in found] == [(arm, name) for arm in (0, 1) for name in names]
        for each in found:
            record = fitted.diagnostics_[each.treatment]
            said = record.effective_size if each.stage == "calibration" else record.first_stage_size
            assert each.effective_size == said
            assert each.alike is (each.stage == "calibration")
            assert each.shares.sum() == pytest.approx(1)
    with pytest.raises(NotFittedError):
        calibration_weights(CounterfactualIntervals())


def test_discrete_outcomes_are_covered_by_the_set_not_its_hull():
    """Two values far from the prediction's middle: the hull holds the value between them, the set does not."""
    rng = np.random.default_rng(0)
    trial = np.repeat([False, True], [400, 300])
    y = rng.choice([0.0, 1.0, 2.0], size=700, p=[0.45, 0.1, 0.45])
    study = rng.standard_normal((700, 1)), y, rng.integers(0, 2, 700), trial
    ratio = OracleRatio(lambda rows: np.where(rows[:, -1] == 1, 1e-9, 1.0))
    sets = CounterfactualIntervals(WTCPDR(**FAST, ratio=ratio, outcome_values=[0, 1, 2], alpha=0.05)).fit(*study)
    labels = study[2][trial]
    found = coverage_report(sets, study[0][trial], y[trial], labels)
    for record in found:
        mine = labels == record.treatment
        held = sets.predict_set(study[0][trial][mine], record.treatment)
        assert record.coverage == held.contains(y[trial][mine]).mean()
        assert record.width == held.components.mean()


@pytest.mark.parametrize(
    ("X_test", "y_test", "labels", "error"),
    [
        (X[:0], Y[:0], 0, "there are no test rows"),
        (X[:5], Y[:4], 0, "numbers of rows differ: X_test has 5, y_test has 4"),
        (X[:5], Y[:5], 7, "treatment 7 is unknown"),
        (X[:5], np.full(5, np.nan), 0, "outcome must be finite"),
        (X[:5], Y[:5], [0, 1], "one label or 5 labels"),
    ],
)
def test_bad_test_rows(model, X_test, y_test, labels, error):
    with pytest.raises(ValueError, match=error):
        coverage_report(model, X_test, y_test, labels)


def test_the_reported_interval_covers_the_true_coverage():
    """The model's coverage, known from very many rows, lies in the exact interval at least 95 times of 100."""
    big = synthetic(40_000, randomized=True, random_state=5)
    fitted = CounterfactualIntervals(Transfer(**FAST), random_state=0).fit(X, Y, TREATMENT, TRIAL)
    truth = {record.treatment: record.coverage for record in coverage_report(fitted, big.X, big.y, big.treatment)}
    hits = []
    for seed in range(200):
        test = synthetic(100, randomized=True, random_state=1000 + seed)
        records = coverage_report(fitted, test.X, test.y, test.treatment)
        hits.append(np.mean([record.low <= truth[record.treatment] <= record.high for record in records]))
    assert_covers({"Clopper-Pearson": (hits, 0.95)})


def test_diagnostics_are_those_of_the_fit(model):
    assert list(model.diagnostics_) == [0, 1]
    for label, record in model.diagnostics_.items():
        mine = label == TREATMENT
        rows = int((mine & TRIAL).sum())
        assert (record.treatment, record.method, record.promise) == (label, "transfer", METHODS["transfer"].promise)
        assert (record.observational, record.trial) == ((mine & ~TRIAL).sum(), rows)
        assert (record.calibration, record.effective_size, record.largest_share) == (rows, rows, 1 / rows)
        assert (record.first_stage_size, record.clipped, record.at_edge, record.infinite) == (None, None, None, 0)
        assert 0 < record.overlap <= 1
    json.dumps([asdict(record) for record in model.diagnostics_.values()], allow_nan=False)


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
def test_weights_of_each_method_are_looked_at():
    def fitted(arm):
        return CounterfactualIntervals(arm, random_state=0).fit(X, Y, TREATMENT, TRIAL)

    wcp = fitted(WCP(**FAST))
    weights = np.diff(wcp.arms_[0].calibration_.cumulative)
    assert wcp.diagnostics_[0].effective_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert wcp.diagnostics_[0].largest_share == weights.max() / weights.sum()
    assert wcp.diagnostics_[0].clipped == 0
    pooled = fitted(PooledDR(**FAST, ratio=LOGISTIC))
    weights = np.diff(pooled.arms_[0].calibration_.cumulative)
    assert weights.sum() == pytest.approx(len(pooled.arms_[0].trial_calibration_.scores))
    assert pooled.diagnostics_[0].effective_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    two = fitted(WSCPDR(**FAST, ratio=LOGISTIC, second_stage=LinearRegression()))
    weights = np.diff(two.arms_[0].first_stage_.cumulative)
    assert two.diagnostics_[0].first_stage_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert two.diagnostics_[0].effective_size == two.diagnostics_[0].calibration
    inexact = fitted(WSCPDR(**FAST, ratio=LOGISTIC, second_stage=LinearRegression(), exact=False))
    assert (inexact.diagnostics_[0].calibration, inexact.diagnostics_[0].effective_size) == (0, 0)
    assert "0 calibrate;" in inexact.summary()


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_known_by_its_name_however_it_was_given(name):
    """By name or as the estimator: the same record, whose promise is the registry's."""
    fast = {"base": LinearRegression()}
    if "second_stage" in method(name).get_params():
        fast["second_stage"] = LinearRegression()
    rows = arm_rows(n=60, m=40)
    arm = method(name, **fast, random_state=0).fit(rows[0], rows[1], trial=rows[2])
    for each in (arm, clone(arm).fit(rows[0], rows[1], trial=rows[2])):
        assert (each.method_name, each.promise) == (name, METHODS[name].promise)


def test_a_method_of_ones_own_has_no_stated_promise():
    class Mine(Naive):
        def __init__(self, *, alpha=0.1, base=None, conformity_score="absolute", calibration=0.5, random_state=None):
            super().__init__(
                alpha=alpha,
                base=base,
                conformity_score=conformity_score,
                calibration=calibration,
                random_state=random_state,
            )

    fitted = CounterfactualIntervals(Mine(**FAST)).fit(X, Y, TREATMENT, TRIAL)
    assert (fitted.diagnostics_[0].method, str(fitted.diagnostics_[0].promise)) == ("Mine", "none stated")
    assert "Mine promises no coverage" in fitted.summary()
    confounded = CounterfactualIntervals(Mine(**FAST)).fit(*arms_study(n=400, m=200, shift=1.0))
    assert "Whether Mine allows for what it may find is not known." in " ".join(confounded.summary().split())


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
def test_promises_follow_levels_and_refits():
    parts = {"ratio": LOGISTIC, "second_stage": LinearRegression(), "random_state": 0, **FAST}

    def promise(**params):
        model = CounterfactualIntervals(WSCPDR(**parts, **params)).fit(X, Y, TREATMENT, TRIAL)
        return str(model.diagnostics_[1].promise)

    assert promise(levels=(0.05, 0.2)) == "≥ 1-0.05-0.2-Δ, Δ the error of r̂"
    assert promise(levels=(0.05, 0.2), target="outcome") == "≥ 1-0.2, whatever the ratio"
    assert promise(levels=(0.05, 0.2), exact=False) == "none"
    rows = arm_rows(n=12, m=40)
    refit = CounterfactualIntervals(WSCPDR(**parts, refit=True)).fit(rows[0], rows[1], np.zeros(52), rows[2])
    assert str(refit.diagnostics_[0].promise) == "none proved with refit=True"
    letter = CounterfactualIntervals(WTCPDR(ratio=LOGISTIC, ratio_rows="all", random_state=0, **FAST))
    assert str(letter.fit(X, Y, TREATMENT, TRIAL).diagnostics_[1].promise) == "none proved with ratio_rows='all'"


def test_diagnostics_are_lazy_and_follow_copies(model):
    with pytest.raises(NotFittedError):
        CounterfactualIntervals().diagnostics_  # noqa: B018
    with pytest.raises(NotFittedError):
        CounterfactualIntervals().summary()
    assert not hasattr(CounterfactualIntervals(), "diagnostics_")
    fitted = clone(model).fit(X, Y, TREATMENT, TRIAL)
    assert "diagnostics_" not in vars(fitted)
    first = fitted.diagnostics_
    assert fitted.diagnostics_ is first
    assert copy.deepcopy(fitted).diagnostics_ == first == pickle.loads(pickle.dumps(fitted)).diagnostics_  # noqa: S301
    assert clone(fitted).fit(X, Y, TREATMENT, TRIAL).diagnostics_ == first
    other = fitted.with_alpha(0.3)
    assert other.diagnostics_[0].alpha == 0.3
    assert fitted.diagnostics_[0].alpha == 0.1
    fitted.fit(X, Y + 1, 1 - TREATMENT, TRIAL)
    assert fitted.diagnostics_[0].trial == first[1].trial
    half = CounterfactualIntervals(Transfer(**FAST)).fit(X, Y, TREATMENT, TRIAL)
    kept = half.diagnostics_
    with pytest.raises(ValueError, match="alpha"):
        half.set_params(alpha=2).fit(X, Y, TREATMENT, TRIAL)
    assert half.diagnostics_ is kept


def test_what_fit_keeps_is_small():
    rng = np.random.default_rng(0)
    rows, trial = 30_000, 5000
    study = rng.standard_normal((rows, 4)), rng.standard_normal(rows), np.zeros(rows), np.arange(rows) < trial
    fitted = CounterfactualIntervals(Transfer(**FAST)).fit(*study)
    kept = fitted.samples_[0]
    assert (len(kept.observational), len(kept.trial), kept.counts) == (2000, 2000, (rows - trial, trial))
    assert len(fitted.population_.columns) == 2000
    assert len(fitted.asked_) == 200


def test_overlap_is_that_of_the_densities():
    """2∫pq/(p+q) for N(0, 1) and N(δ, 1) in the outcome, by quadrature."""
    grid = np.linspace(-10, 14, 20_001)
    for shift in (0.0, 1.0, 3.0):
        p, q = stats.norm.pdf(grid), stats.norm.pdf(grid - shift)
        expected = np.trapezoid(2 * p * q / (p + q), grid)
        rng = np.random.default_rng(1)
        trial = np.arange(4000) < 2000
        y = rng.standard_normal(4000) + shift * ~trial
        fitted = CounterfactualIntervals(Naive(**FAST)).fit(rng.standard_normal((4000, 1)), y, np.zeros(4000), trial)
        assert fitted.diagnostics_[0].overlap == pytest.approx(expected, abs=0.04)


@pytest.mark.slow
def test_log_loss_with_the_outcome_shows_a_shift_and_no_other():
    shifted = CounterfactualIntervals(Transfer(**FAST)).fit(*arms_study(n=400, m=200, shift=1.0)).diagnostics_[0]
    assert shifted.log_loss_without_outcome - shifted.log_loss > 5 * shifted.log_loss_error
    gains = []
    for seed in range(40):
        X, y, trial = arm_rows(n=200, m=60, shift=0.0, seed=seed)
        same = CounterfactualIntervals(Transfer(**FAST)).fit(X, y, np.zeros(260), trial).diagnostics_[0]
        gains.append((same.log_loss_without_outcome - same.log_loss) / same.log_loss_error)
    # Two standard errors call for a word: about 2.5 % of arms without a shift, and in no case 10 %.
    assert np.mean(np.array(gains) > 2) < 0.1


def test_few_rows_of_a_source_leave_the_sources_uncompared():
    only_control = np.where(TRIAL, TREATMENT, 0)
    naive = CounterfactualIntervals(Naive(**FAST)).fit(X, Y, only_control, TRIAL)
    record = naive.diagnostics_[1]
    assert record.observational == 0
    assert (record.overlap, record.log_loss, record.log_loss_without_outcome, record.log_loss_error) == (None,) * 4
    assert "sources:" in naive.summary().split("Treatment 1")[0]
    assert "sources:" not in naive.summary().split("Treatment 1")[1]


PLAIN = arms_study(n=400, m=200, shift=0.0)


def test_declared_bounds_and_values_have_no_edge():
    ratio = OracleRatio(lambda rows: np.exp(3 * rows[:, -1]))
    searched = WTCPDR(**FAST, ratio=ratio)
    assert CounterfactualIntervals(searched).fit(*PLAIN).diagnostics_[0].at_edge > 0
    declared = WTCPDR(**FAST, ratio=ratio, outcome_range=(-9, 9))
    assert CounterfactualIntervals(declared).fit(*PLAIN).diagnostics_[0].at_edge is None
    rounded = (PLAIN[0], np.round(PLAIN[1]), *PLAIN[2:])
    discrete = WTCPDR(**FAST, ratio=ratio, outcome_values=np.arange(-9, 10))
    assert CounterfactualIntervals(discrete).fit(*rounded).diagnostics_[0].at_edge is None
    by_covariates = WTCPDR(**FAST, ratio=ClassifierRatio(standardised(LogisticRegression()), on="x"))
    assert CounterfactualIntervals(by_covariates).fit(*PLAIN).diagnostics_[0].at_edge is None
    sharp = PooledDR(**FAST, ratio=LOGISTIC, solve="transductive")
    assert CounterfactualIntervals(sharp).fit(*PLAIN).diagnostics_[0].at_edge is not None
    assert CounterfactualIntervals(PooledDR(**FAST, ratio=LOGISTIC)).fit(*PLAIN).diagnostics_[0].at_edge is None


def test_naive_bayes_is_known_as_such():
    arm = WTCPDR(**FAST, ratio=NaiveBayesRatio()).fit(PLAIN[0], PLAIN[1], trial=PLAIN[3])
    assert arm.method_name == "wcp-nb"
