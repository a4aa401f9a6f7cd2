import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, QuantileRegressor

from confide import Naive, method
from confide.data.splits import Rows
from confide.models.auto import AutoRegressor
from confide.models.scores import (
    SCORES,
    AbsoluteResidual,
    ConformalisedQuantiles,
    NormalisedResidual,
    check_score,
    quantile_model,
)
from decision import assert_covers
from helpers import arm_rows

numbers = st.floats(-100, 100)
PREDICTIONS = {
    "absolute": st.tuples(numbers),
    "cqr": st.tuples(numbers, numbers, numbers),
    "normalised": st.tuples(numbers, st.floats(0.1, 10)),
}


@pytest.mark.parametrize("name", SCORES)
@given(st.data())
def test_the_interval_is_the_outcomes_whose_score_is_at_most_the_quantile(name, data):
    score = SCORES[name]()
    prediction = np.array([data.draw(PREDICTIONS[name])])
    prediction = prediction[:, 0] if name == "absolute" else prediction
    quantile = data.draw(st.floats(-50, 50) if name == "cqr" else st.floats(0, 50))
    lower, upper = score.interval(prediction, np.float64(quantile))
    if np.isnan(lower[0]):
        middle = (prediction[:, 0] + prediction[:, 2]) / 2
        assert score.score(prediction, middle)[0] > quantile
        return
    for inside in (lower + 1e-9 * (upper - lower), (lower + upper) / 2, upper - 1e-9 * (upper - lower)):
        assert score.score(prediction, inside)[0] <= quantile + 1e-9
    for outside in (lower - 0.01, upper + 0.01):
        assert score.score(prediction, outside)[0] > quantile


@pytest.mark.parametrize("name", SCORES)
@given(st.data())
def test_the_outcome_that_sets_the_quantile_is_inside(name, data):
    score = SCORES[name]()
    prediction = np.array([data.draw(PREDICTIONS[name])])
    prediction = prediction[:, 0] if name == "absolute" else prediction
    y = np.array([data.draw(numbers)])
    assert score.interval(prediction, score.score(prediction, y)).contains(y)[0]


@pytest.mark.parametrize("distance", [5e-324, 1.5e-323, 1e-310])
@pytest.mark.parametrize("size", [0.3, 2.0, 7.0])
def test_a_normalised_score_that_vanishes_holds_its_outcome(distance, size):
    """The smallest numbers lose digits when they are divided."""
    score, prediction, y = SCORES["normalised"](), np.array([[distance, size]]), np.array([0.0])
    assert score.interval(prediction, score.score(prediction, y)).contains(y)[0]


def skewed(rows, seed=0):
    """Noise that grows with x, and is one-sided."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (rows, 1))
    return Rows(X, X[:, 0] * rng.exponential(size=rows))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cqr", "normalised"])
def test_intervals_are_wider_where_the_noise_is(name):
    rows, new = skewed(3000), skewed(3000, seed=1)
    arm = Naive(conformity_score=name, random_state=0).fit(rows.X, rows.y, trial=np.ones(3000, dtype=bool))
    intervals = arm.predict_interval(new.X)
    calm, noisy = new.X[:, 0] < 0.4, new.X[:, 0] > 1.6
    assert intervals.width[noisy].mean() > 3 * intervals.width[calm].mean()
    assert intervals.contains(new.y).mean() == pytest.approx(0.9, abs=0.02)
    constant = Naive(random_state=0).fit(rows.X, rows.y, trial=np.ones(3000, dtype=bool)).predict_interval(new.X)
    assert intervals.width.mean() < constant.width.mean()


@pytest.mark.slow
def test_quantiles_are_trained_at_the_level_of_fit_and_kept():
    rows = skewed(1000)
    arm = Naive(conformity_score="cqr", alpha=0.2, random_state=0).fit(rows.X, rows.y, trial=np.ones(1000, dtype=bool))
    assert [model[-1].quantile for model in arm.base_.models] == [0.1, 0.5, 0.9]
    assert arm.with_alpha(0.4).base_ is arm.base_
    np.testing.assert_array_equal(arm.predict(rows.X), arm.base_.predict(rows.X)[:, 1])


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (None, {"quantile": 0.3}),
        (HistGradientBoostingRegressor(), {"loss": "quantile", "quantile": 0.3}),
        (GradientBoostingRegressor(), {"loss": "quantile", "alpha": 0.3}),
        (QuantileRegressor(), {"quantile": 0.3}),
    ],
)
def test_base_models_of_quantiles(base, expected):
    assert expected.items() <= quantile_model(base, 0.3).get_params().items()


def test_a_constant_base_is_set_to_quantiles_and_a_bad_one_refused():
    assert quantile_model(DummyRegressor(), 0.3).get_params()["strategy"] == "quantile"
    with pytest.raises(ValueError, match="base must be an unfitted scikit-learn regressor"):
        quantile_model(QuantileRegressor, 0.3)
    with pytest.raises(ValueError, match="base 'rigde' is unknown; did you mean ridge"):
        quantile_model("rigde", 0.3)


@pytest.mark.parametrize("base", [LinearRegression(), RandomForestRegressor()])
def test_a_base_without_quantiles_is_refused(base):
    X, y, trial = arm_rows()
    with pytest.raises(ValueError, match="has no parameter for one"):
        Naive(conformity_score="cqr", base=base).fit(X, y, trial=trial)


def test_the_automatic_quantile_is_a_constant_where_nothing_is_said():
    rng = np.random.default_rng(0)
    model = AutoRegressor(quantile=0.9, random_state=0).fit(rng.standard_normal((200, 1)), np.arange(200.0))
    assert model.name_ == "constant"
    assert model.predict([[0.0]])[0] == pytest.approx(179, abs=1)


def test_the_size_of_errors_is_never_zero():
    rows = Rows(np.arange(20.0)[:, None], np.full(20, 3.0))
    model = NormalisedResidual().learn(LinearRegression(), rows, 0.1, seed=0)
    assert (model.predict(rows.X)[:, 1] > 0).all()
    one = NormalisedResidual().learn(None, Rows(np.ones((1, 1)), np.ones(1)), 0.1, seed=0)
    assert one.predict(np.ones((1, 1))).tolist() == [[1, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cqr", "normalised"])
def test_scores_cover(name):
    bases = {"cqr": QuantileRegressor(alpha=0.0), "normalised": LinearRegression()}
    coverages = []
    for seed in range(150):
        rows, new = skewed(90, seed=seed), skewed(60, seed=1000 + seed)
        arm = Naive(conformity_score=name, base=bases[name], random_state=seed)
        coverages.append(
            arm.fit(rows.X, rows.y, trial=np.ones(90, dtype=bool)).predict_interval(new.X).contains(new.y).mean()
        )
    assert_covers({name: (coverages, 0.9)}, {name: 0.9 + 1 / 46})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["naive", "transfer", "wcp", "wcp-nb", "wtcp-dr", "wscp-dr-calibrated", "wscp-dr-exact"]
)
@pytest.mark.parametrize("score", ["cqr", "normalised", ConformalisedQuantiles()])
def test_every_method_takes_every_score(name, score):
    X, y, trial = arm_rows(n=300, m=120)
    params = {"ratio": "classifier"} if "-dr" in name else {}
    arm = method(name, conformity_score=score, random_state=0, **params).fit(X, y, trial=trial)
    new_X, new_y, _ = arm_rows(n=0, m=400, seed=5)
    assert arm.predict_interval(new_X).contains(new_y).mean() > 0.75


def test_unknown_scores():
    assert isinstance(check_score(AbsoluteResidual()), AbsoluteResidual)
    with pytest.raises(ValueError, match="score must be a name or have learn"):
        check_score(["absolute"])
