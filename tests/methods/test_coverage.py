"""Validity by Monte Carlo, with the decision rule of `decision.py`."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from confide import (
    WSCPDR,
    WTCPDR,
    CounterfactualIntervals,
    InfiniteIntervalWarning,
    Naive,
    PopulationWarning,
    Transfer,
    method,
    stack,
)
from confide.datasets import synthetic
from confide.ratio import KernelRatio, OracleRatio
from decision import assert_covers

pytestmark = pytest.mark.slow

FRESH = 50


def draw(rng, rows, bias):
    """Covariate x, outcome y = x + bias + noise: the bias stands for hidden confounding."""
    X = rng.standard_normal((rows, 1))
    return X, X[:, 0] + bias + rng.standard_normal(rows)


def coverages(make, alpha, n, m, repetitions, bias=1.0, bound=None):
    """One coverage a repetition, for an arm of n biased observational and m trial rows."""
    result = []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, n, m, int(1000 * alpha)])
        X_obs, y_obs = draw(rng, n, bias)
        X_trial, y_trial = draw(rng, m, 0.0)
        X_new, y_new = draw(rng, FRESH, 0.0)
        arm = make(alpha=alpha, random_state=seed, outcome_range=bound)
        trial = np.repeat([False, True], [n, m])
        arm.fit(np.concatenate([X_obs, X_trial]), np.concatenate([y_obs, y_trial]), trial=trial)
        result.append(arm.predict_set(X_new).contains(y_new).mean())
    return result


LEVELS = (0.05, 0.1, 0.3)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        pytest.param(lambda **p: Naive(base=LinearRegression(), **p), {40: 20, 101: 50, 400: 200}, id="naive"),
        pytest.param(lambda **p: Transfer(base=LinearRegression(), **p), {19: 19, 50: 50, 200: 200}, id="transfer"),
        pytest.param(lambda **p: Transfer(base=DummyRegressor(), **p), {23: 23, 100: 100}, id="transfer-constant"),
        pytest.param(
            lambda **p: Transfer(base=LinearRegression(), base_on="centred", **p),
            {19: 19, 23: 23, 200: 200},
            id="centred",
        ),
        pytest.param(
            lambda **p: Transfer(base=LinearRegression(), base_on="grounded", **p), {46: 23, 100: 50}, id="grounded"
        ),
    ],
)
def test_unweighted_methods_cover_and_not_too_much(make, sizes):
    cells, ceilings = {}, {}
    for alpha in LEVELS:
        for m, calibration in sizes.items():
            name = f"alpha={alpha}, {calibration} calibration rows"
            cells[name] = (coverages(make, alpha, n=60, m=m, repetitions=300), 1 - alpha)
            ceilings[name] = 1 - alpha + 1 / (calibration + 1)
    assert_covers(cells, ceilings)


BIAS = 0.7


def true_ratio(rows):
    """p^I(y|x)/p^O(y|x) = N(y; x, 1)/N(y; x + BIAS, 1)."""
    residual = rows[:, -1] - rows[:, 0]
    return np.exp(-BIAS * residual + BIAS**2 / 2)


def test_wtcp_dr_covers_with_the_true_ratio_and_fails_with_a_blind_one():
    def make(function):
        return lambda **params: WTCPDR(base=LinearRegression(), ratio=OracleRatio(function), tolerance=1e-4, **params)

    bound = (-12.0, 12.0)
    cells = {
        f"alpha={alpha}, n={n}": (coverages(make(true_ratio), alpha, n, 5, 200, BIAS, bound), 1 - alpha)
        for alpha in LEVELS
        for n in (40, 200)
    }
    assert_covers(cells)
    blind = coverages(make(lambda rows: np.ones(len(rows))), 0.1, 200, 5, 100, BIAS, bound)
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"blind": (blind, 0.9)})


def tilt(x, by):
    """The distribution over 0 to 3 that is proportional to exp(y·(x/2 + by)), one row an x."""
    weights = np.exp(np.arange(4) * (x[:, None] / 2 + by))
    return weights / weights.sum(axis=1, keepdims=True)


def draw_tied(rng, rows, bias):
    """Two binary covariates and outcomes 0 to 3: covariates, distances and residuals are tied."""
    X = rng.integers(2, size=(rows, 2)).astype(float)
    return X, (rng.uniform(size=(rows, 1)) > tilt(X[:, 0], bias).cumsum(axis=1)).sum(axis=1).astype(float)


def tied_ratio(rows):
    y = np.clip(np.round(rows[:, -1]), 0, 3).astype(int)
    every = np.arange(len(rows))
    return tilt(rows[:, 0], 0.0)[every, y] / tilt(rows[:, 0], BIAS)[every, y]


def refitted_coverages(base, draw, ratio, alpha, ratio_rows, repetitions, fresh=5, n=40):
    """One coverage a repetition, of new rows whose base model is refitted for every candidate."""
    results = []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, n])
        parts = draw(rng, n, BIAS), draw(rng, 5, 0.0)
        X, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        arm = WTCPDR(base=base, ratio=OracleRatio(ratio), refit=True, ratio_rows=ratio_rows, alpha=alpha)
        arm.set_params(outcome_range=(-12, 12), random_state=seed).fit(X, y, trial=np.arange(n + 5) >= n)
        X_new, y_new = draw(rng, fresh, 0.0)
        results.append(arm.predict_set(X_new).contains(y_new).mean())
    return results


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")  # 20 rows of unequal weight
def test_refits_cover_with_the_true_ratio_and_fail_with_a_blind_one():
    neighbours, tree = KNeighborsRegressor(), DecisionTreeRegressor(max_depth=2)
    cells = {}
    for rows, alpha in (("fit", 0.3), ("all", 0.3), ("all", 0.1)):
        cells |= {
            f"{name}, {rows}, alpha={alpha}": (refitted_coverages(*case, alpha, rows, 300), 1 - alpha)
            for name, case in {
                "least squares": (LinearRegression(), draw, true_ratio),
                "neighbours": (neighbours, draw, true_ratio),
                "neighbours, binary covariates": (neighbours, draw_tied, tied_ratio),
                "ridge, binary covariates": (Ridge(), draw_tied, tied_ratio),
            }.items()
        }
    cells["tree"] = (refitted_coverages(tree, draw, true_ratio, 0.3, "fit", 150, fresh=2), 0.7)
    assert_covers(cells)
    blind = refitted_coverages(LinearRegression(), draw, lambda rows: np.ones(len(rows)), 0.3, "all", 300)
    with pytest.raises(AssertionError, match="below"):
        assert_covers({"blind": (blind, 0.7)})


RATIOS = {
    "oracle": true_ratio,
    "blind": lambda rows: np.ones(len(rows)),
    "reversed": lambda rows: 1 / true_ratio(rows),
}


def wscp(target, ratio, second_stage="linear"):
    def make(**params):
        linear = {"base": LinearRegression(), "second_stage": second_stage}
        return WSCPDR(ratio=OracleRatio(RATIOS[ratio]), target=target, **linear, **params)

    return make


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")  # a first stage may well be infinite
def test_wscp_dr_calibrated_covers_whatever_the_ratio_and_exact_with_the_true_one():
    cells = {
        f"calibrated, {ratio}, alpha={alpha}": (
            coverages(wscp("outcome", ratio), alpha, 200, 60, 200, BIAS),
            1 - alpha,
        )
        for ratio in RATIOS
        for alpha in (0.1, 0.3)
    }
    for alpha in (0.05, 0.1):  # the two levels add up
        cells[f"exact, oracle, alpha={alpha}"] = (
            coverages(wscp("interval", "oracle"), alpha, 200, 100, 200, BIAS),
            1 - 2 * alpha,
        )
    assert_covers(cells)


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
def test_wscp_dr_covers_where_the_quantile_alone_is_regressed():
    cells = {
        f"calibrated, {ratio}": (coverages(wscp("outcome", ratio, None), 0.1, 200, 60, 60, BIAS), 0.9)
        for ratio in RATIOS
    }
    cells["exact, oracle"] = (coverages(wscp("interval", "oracle", None), 0.1, 200, 100, 60, BIAS), 0.8)
    assert_covers(cells)


@pytest.mark.parametrize("second_stage", [None, DummyRegressor()])
def test_wscp_dr_calibrated_covers_where_first_stages_are_infinite(second_stage):
    """A tiny trial without overlap: ends are capped, and calibration rows must have no part in the cap."""
    cells = {}
    for m, share, alpha in [(11, 0.82, 0.1), (20, 0.95, 0.05)]:
        results = []
        for seed in range(400):
            rng = np.random.default_rng(seed)
            trial = np.repeat([False, True], [40, m])
            y = np.where(trial, 1.0, 1e-3) * rng.standard_normal(40 + m)
            ratio = OracleRatio(lambda rows: np.where(np.abs(rows[:, -1]) > 0.01, 1e9, 1.0))
            constant = {"base": DummyRegressor(), "second_stage": second_stage}
            arm = WSCPDR(ratio=ratio, target="outcome", calibration=share, alpha=alpha, random_state=seed, **constant)
            arm.fit(np.ones((40 + m, 1)), y, trial=trial)
            results.append(arm.predict_interval(np.ones((100, 1))).contains(rng.standard_normal(100)).mean())
        cells[f"m={m}"] = (results, 1 - alpha)
    assert_covers(cells)


@pytest.mark.parametrize("base_on", ["observational", "centred"])
def test_atoms_at_the_ends_are_inside(base_on):
    """Outcomes that tie with the quantile, and a base model whose rounding would leave them out."""
    results = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.where(rng.uniform(size=160) < 0.45, -0.1, 0.7)
        arm = Transfer(base=DummyRegressor(), base_on=base_on)
        arm.fit(np.ones((60, 1)), y[:60], trial=np.arange(60) >= 20)
        results.append(arm.predict_interval(np.ones((100, 1))).contains(y[60:]).mean())
    assert_covers({base_on: (results, 0.9)})


@pytest.mark.parametrize("name", ["naive", "transfer", "transfer-centred", "wscp-dr-calibrated"])
def test_small_trials_cover_or_say_why_they_cannot_tell(name):
    """Trials of 10, 20 and 50 rows over both arms: either a warning and infinite intervals, or coverage."""
    params = {"base": LinearRegression()}
    if name.startswith("wscp"):
        params |= {"ratio": OracleRatio(lambda rows: np.ones(len(rows))), "second_stage": LinearRegression()}
    cells = {}
    for m in (10, 20, 50):
        results = []
        for seed in range(40):
            observational, trial, test = (
                synthetic(rows, randomized=randomized, random_state=np.random.RandomState([seed, m, part]))
                for part, (rows, randomized) in enumerate([(300, False), (m, True), (200, True)])
            )
            if np.bincount(trial.treatment, minlength=2).min() < 2:
                continue  # an arm that cannot be split is refused
            columns = [
                np.concatenate([getattr(each, column) for each in (observational, trial)])
                for column in ("X", "y", "treatment")
            ]
            model = CounterfactualIntervals(method(name, **params), random_state=seed)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", InfiniteIntervalWarning)
                model.fit(*columns, np.repeat([False, True], [300, m]))
            said = " ".join(str(each.message) for each in caught)
            for label, truth in ((0, test.y0), (1, test.y1)):
                intervals = model.predict_interval(test.X, label)
                results.append(intervals.contains(truth).mean())
                if intervals.infinite.any():
                    assert "needs 9 trial calibration rows for a finite interval" in said
                    assert "Use a larger alpha or more trial rows" in said
        cells[f"m={m}"] = (results, 0.9)
    assert_covers(cells)


def test_a_relative_kernel_ratio_covers_where_the_raw_one_does_not():
    """Outcomes 2.5 standard deviations apart; the ratio of RuLSIF is bounded by 1/β unless it is converted."""
    n, m, trial = 2000, 500, np.repeat([False, True], [2000, 500])
    found = {False: [], True: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = np.ones((n + m, 1)), rng.standard_normal(n + m) + 2.5 * ~trial
        for raw, results in found.items():
            ratio = KernelRatio(0.1, on="y", raw=raw, random_state=seed)
            arm = WTCPDR(base=DummyRegressor(), ratio=ratio, outcome_range=(-6, 9), random_state=seed)
            fresh = rng.standard_normal(500)
            results.append(arm.fit(X, y, trial=trial).predict_set(np.ones((500, 1))).contains(fresh).mean())
    assert_covers({"converted": (found[False], 0.9)})
    assert np.mean(found[True]) < 0.75


def test_a_category_of_its_own_does_not_tell_a_calibration_row_from_a_new_one():
    """An identifier among the covariates, and a base model that would use it: exchangeability must survive."""
    base = KernelRidge(kernel="rbf", alpha=0.1, gamma=1.0)
    cells = {"transfer": [], "naive": []}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = pd.DataFrame({"id": [f"p{i}" for i in range(138)], "y": 10 + rng.standard_normal(138), "t": 0})
        observational, trial, new = rows[:30], rows[30:88], rows[88:]
        for name, results in cells.items():
            model = CounterfactualIntervals(method(name, base=base), random_state=seed)
            model.fit(*stack(observational, trial, covariates=["id"]))
            with pytest.warns(PopulationWarning, match="that the model does not know: id = "):
                found = model.predict_interval(new, treatment=0)
            results.append(found.contains(new["y"]).mean())
    assert_covers({name: (results, 0.9) for name, results in cells.items()})
