"""Scores that are equal but for rounding are tied: a row is covered alike alone and in a table."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

from confide import METHODS, Intervals, IntervalSets, Naive, Transfer, method
from confide.base.rounding import LARGEST, ROUNDING, predictions_off, slack
from confide.conformal import Calibration
from confide.models.interval_ends import IntervalEnds
from confide.models.preprocessing import ridge_on_splines, standardised
from confide.models.scores import SCORES, AbsoluteResidual
from confide.ratio import OracleRatio
from decision import assert_covers


def regression(rows=1000, columns=5, mean=0.0, seed=0):
    """Covariates whose mean is so many standard deviations, and an outcome of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    return X + mean, X @ rng.standard_normal(columns) / np.sqrt(columns) + rng.standard_normal(rows)


class SinglePrecision(LinearRegression):
    """A model that adds up in single precision, as most neural networks do."""

    def predict(self, X):
        return np.asarray(X, dtype=np.float32) @ self.coef_.astype(np.float32) + np.float32(self.intercept_)


MODELS = {
    "least squares, 5 columns": (LinearRegression(), 5, 0.0),
    "least squares, 200 columns": (LinearRegression(), 200, 0.0),
    "least squares, unscaled": (LinearRegression(), 50, 1e3),
    "least squares, far off": (LinearRegression(), 10, 1e6),
    "least squares, single precision": (SinglePrecision(), 50, 0.0),
    "ridge on splines": (ridge_on_splines(), 20, 0.0),
    "network": (standardised(MLPRegressor(hidden_layer_sizes=(50,), solver="lbfgs", max_iter=20)), 20, 0.0),
    "kernel ridge": (KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.05), 20, 0.0),
    "linear kernel ridge": (KernelRidge(), 20, 0.0),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.slow
def test_no_prediction_is_off_by_more(name):
    model, columns, mean = MODELS[name]
    X, y = regression(columns=columns, mean=mean)
    model.fit(X[:500], y[:500])
    calibration, new = X[500:700], X[700:1000]
    off = predictions_off(model.predict, calibration, np.asarray(model.predict(calibration), dtype=float))
    together = model.predict(new)
    for size in (1, 2, 3, 7, 33, 200):
        parts = np.concatenate([model.predict(new[start : start + size]) for start in range(0, len(new), size)])
        assert np.abs(parts - together).max() <= off
    assert off <= 1e-4 * np.abs(together).max()


def test_a_model_that_never_differs_costs_the_least():
    X, y = regression()
    forest = RandomForestRegressor(10, random_state=0).fit(X[:500], y[:500])
    predicted = forest.predict(X[500:])
    assert predictions_off(forest.predict, X[500:], predicted) == ROUNDING * np.abs(predicted).max()


def test_predictions_drawn_at_random_are_no_rounding():
    rng = np.random.default_rng(0)
    predicted = rng.standard_normal(50)
    off = predictions_off(lambda X: rng.standard_normal(len(X)), np.zeros((50, 1)), predicted)
    assert off == pytest.approx(LARGEST * np.abs(predicted).max(), rel=1e-6)


def exact_score(name, prediction, y):
    """The score in rational arithmetic."""
    if name == "cqr":
        return max(prediction[0] - y, y - prediction[2])
    return abs(y - prediction[0]) / (prediction[1] if name == "normalised" else 1)


numbers = st.floats(-100, 100)
PREDICTIONS = {
    "absolute": st.tuples(numbers),
    "cqr": st.tuples(numbers, numbers, numbers),
    "normalised": st.tuples(numbers, st.floats(0.1, 10)),
}


@pytest.mark.parametrize("name", SCORES)
@given(st.data())
def test_no_score_changes_by_more_where_predictions_move_by_what_they_may(name, data):
    prediction, y = data.draw(PREDICTIONS[name]), data.draw(numbers)
    off = np.array([data.draw(st.floats(1e-13, 1e-9)) for _ in prediction])
    moves = [data.draw(st.floats(-1, 1)) for _ in prediction]
    rows, outcomes = np.array([prediction]), np.array([y])
    rows, off = (rows[:, 0], off[0]) if name == "absolute" else (rows, off)
    allowed = slack(SCORES[name]().score, rows, off, outcomes)
    at = [Fraction(number) for number in prediction]
    steps = zip(at, moves, np.atleast_1d(off), strict=True)
    moved = [number + Fraction(move) * Fraction(float(most)) for number, move, most in steps]
    change = abs(exact_score(name, moved, Fraction(y)) - exact_score(name, at, Fraction(y)))
    # To first order, and up to what the slack itself is rounded by.
    assert change <= Fraction(allowed) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**12)


def test_infinite_scores_do_not_count_and_none_makes_no_slack():
    ends = np.array([[0.0, 1.0], [0.0, 1.0]])

    def missed(ends, lower, upper):
        return np.maximum(ends[:, 0] - lower, upper - ends[:, 1])

    off = np.array([1e-9, 1e-9])
    found = slack(missed, ends, off, np.array([-np.inf, -1.0]), np.array([np.inf, 2.0]))
    # The second row alone: both of its ends miss by 1, and either may be off.
    assert found == pytest.approx(2e-9, rel=1e-4)
    assert slack(missed, ends[:0], off, np.empty(0), np.empty(0)) == 0


def alike(seed, observational=300, trial=80, kinds=3, columns=30, mean=1e5):
    """Binary outcomes of people of three kinds, told by columns that are far from 0."""
    rng = np.random.default_rng(seed)
    people = rng.standard_normal((kinds, columns)) + mean
    kind = rng.integers(kinds, size=observational + trial)
    y = (rng.uniform(size=len(kind)) < 0.3 + 0.2 * kind).astype(float)
    return people[kind], y, np.arange(len(kind)) >= observational, people


# The inexact forms calibrate nothing, and the starred ones differ by their ratio alone.
CALIBRATED = [name for name in METHODS if "inexact" not in name and "*" not in name]
CASES = [(name, {"conformity_score": score}) for name in CALIBRATED for score in ("absolute", "normalised")]
for centred in ("transfer-centred", "prognostic"):  # they take absolute residuals
    CASES.remove((centred, {"conformity_score": "normalised"}))
CASES += [
    ("pooled-dr", {"solve": "transductive", "floor": 0.0}),
    ("wscp-dr-calibrated", {"refit": True, "calibration": (0.5, 0.9)}),
]


def blind(rows):
    return np.ones(len(rows))


def told_apart(sets, people):
    """The outcomes 0 and 1 of people who are in the set of some who are alike, and not in that of others."""
    together = sets(np.repeat(people, 25, axis=0))
    found = 0
    for kind, person in enumerate(people):
        alone, among = sets(person[None]), together.take(np.arange(25 * kind, 25 * (kind + 1)))
        found += sum(len({*among.contains(value), *alone.contains(value)}) > 1 for value in (0, 1))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("values", [None, [0, 1]])
@pytest.mark.parametrize(("name", "params"), CASES)
def test_a_row_has_one_set_alone_and_among_others(name, params, values):
    params = {"ratio": OracleRatio(blind)} | params if "-dr" in name else dict(params)
    params |= {"second_stage": LinearRegression()} if name.startswith("wscp") else {}
    for seed in range(8):
        X, y, trial, people = alike(seed)
        arm = method(name, base=LinearRegression(), outcome_values=values, random_state=seed, **params)
        assert told_apart(arm.fit(X, y, trial=trial).predict_set, people) == 0


class Halved(AbsoluteResidual):
    """A score of one's own, which says nothing of rounding."""

    def score(self, prediction, y):
        return super().score(prediction, y) / 2

    def interval(self, prediction, quantile):
        return super().interval(prediction, 2 * quantile)


def test_a_score_of_ones_own_has_its_slack():
    for seed in range(8):
        X, y, trial, people = alike(seed)
        arm = Transfer(base=LinearRegression(), conformity_score=Halved(), outcome_values=[0, 1]).fit(X, y, trial=trial)
        assert told_apart(arm.predict_set, people) == 0


def test_second_stages_have_their_slack():
    """Ends regressed on covariates, as wSCP-DR and nested effects calibrate them."""
    for seed in range(8):
        X, y, trial, people = alike(seed)
        ends = IntervalEnds(LinearRegression()).fit(X[~trial], Intervals(y[~trial] - 0.1, y[~trial] + 0.1), (0, 1))
        missed = ends.miss(X[trial], Intervals(y[trial], y[trial]))
        offset = float(Calibration.of(missed).quantile(0.1))
        assert (
            told_apart(lambda rows, ends=ends, offset=offset: IntervalSets.of(ends.widened(rows, offset)), people) == 0
        )


@pytest.mark.slow
@pytest.mark.parametrize(("values", "repetitions"), [([0, 1], 300), (None, 150)])
def test_tied_outcomes_are_covered_one_row_at_a_time(values, repetitions):
    """People who are alike, asked about one by one: scores compared to the last bit covered .71 of them."""
    covered = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((460, 100)) + 1e5
        X[400:] = X[-1]
        y = (rng.uniform(size=461) < 0.5).astype(float)
        arm = Transfer(base=LinearRegression(), conformity_score="normalised", outcome_values=values, random_state=seed)
        arm.fit(X, y[:-1], trial=np.arange(460) >= 400)
        covered.append(arm.predict_set(X[-1:]).contains(y[-1])[0])
    assert_covers({f"outcome_values={values}": (covered, 0.9)})


@pytest.mark.parametrize("score", ["absolute", "normalised"])
def test_large_outcomes_with_little_noise_are_hardly_wider(score):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    noise = 1e-3 * rng.standard_normal(4000)
    arm = Naive(base=ridge_on_splines(), conformity_score=score, random_state=0)
    small = arm.fit(X, X[:, 0] + noise, trial=np.ones(4000, dtype=bool)).predict_interval(X).width.mean()
    large = arm.fit(X, 1e9 + noise, trial=np.ones(4000, dtype=bool)).predict_interval(X).width.mean()
    assert large == pytest.approx(2 * 1.645e-3, rel=0.05)
    assert small == pytest.approx(large, rel=0.05)
