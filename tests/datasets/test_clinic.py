import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from confide import stack
from confide.datasets import synthetic_clinic
from confide.diagnostics import hidden_confounding_test

ROWS = 200_000


def test_columns_are_of_several_kinds():
    data = synthetic_clinic(20_000, random_state=0)
    columns = dict(zip(data.columns, data.X.T, strict=True))
    assert list(columns) == ["age", "baseline", "marker", "illnesses", "smoker", "bmi", "pressure", "pain", "sex"]
    assert 40 <= columns["age"].min() < columns["age"].max() <= 90
    assert stats.skew(columns["marker"]) > 1
    assert set(np.unique(columns["smoker"])) == set(np.unique(columns["sex"])) == {0, 1}
    for name in ("illnesses", "pain"):
        np.testing.assert_array_equal(columns[name], columns[name].round())
    assert (columns["pain"].min(), columns["pain"].max()) == (0, 10)
    correlations = np.corrcoef(data.X.T) - np.eye(9)
    assert np.abs(correlations).max() < stats.norm.isf(0.001 / 72) / np.sqrt(20_000)


@pytest.mark.parametrize("r2", [0.0, 0.3, 0.6, 0.9])
def test_covariates_explain_the_share_asked_for(r2):
    data = synthetic_clinic(ROWS, r2=r2, random_state=1)
    for treatment, outcome in enumerate((data.y0, data.y1)):
        assert data.oracle.mean(data.X, treatment).var() / outcome.var() == pytest.approx(r2, abs=0.01)


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.4, 1.0])
def test_noise_is_as_unequal_as_asked_for_and_has_variance_1(spread):
    data = synthetic_clinic(ROWS, noise_spread=spread, bias=0.05, random_state=2)
    scales = [data.oracle.scale(data.X, treatment) for treatment in (0, 1)]
    assert np.log(scales[0]).std() == pytest.approx(spread, rel=0.02)
    assert np.mean(scales[0] ** 2) == pytest.approx(1, rel=0.02)
    np.testing.assert_allclose(scales[1], 1.25 * scales[0])


@pytest.mark.parametrize("skewness", [0.0, 0.001, 0.5, 1.0, 2.0])
def test_noise_is_as_skewed_as_asked_for(skewness):
    oracle = synthetic_clinic(1, skewness=skewness, random_state=0).oracle
    X = np.array([[65.0, 50, 1, 2, 0, 27, 130, 5, 0]])
    # Integrated over the normal score.
    nodes, weights = np.polynomial.legendre.leggauss(400)
    z, weights = 12 * nodes, 12 * weights * stats.norm.pdf(12 * nodes)
    noise = (oracle.outcome(np.repeat(X, 400, axis=0), 0, z) - oracle.mean(X, 0)) / oracle.scale(X, 0)
    moments = [np.sum(weights * noise**power) for power in (1, 2, 3)]
    np.testing.assert_allclose(moments, [0, 1, skewness], atol=1e-8)


def test_the_bias_is_the_declared_function_of_age():
    data = synthetic_clinic(1000, bias=0.2, bias_slope=-0.5, random_state=3)
    age = (data.X[:, 0] - 65) / (50 / np.sqrt(12))
    np.testing.assert_allclose(data.oracle.bias(data.X, 1), 0.2 * (1 - 0.5 * age))
    np.testing.assert_allclose(data.oracle.bias(data.X, 0), -0.2 * (1 - 0.5 * age))
    flat = synthetic_clinic(1000, bias=0.2, random_state=3)
    np.testing.assert_array_equal(flat.oracle.bias(flat.X, 1), 0.2)


@pytest.mark.parametrize("slope", [0.0, -0.5])
def test_a_regression_on_observational_rows_finds_the_bias(slope):
    # What is left of the outcomes after the true mean, regressed on age: intercept and slope are as declared.
    data = synthetic_clinic(ROWS, bias_slope=slope, random_state=4)
    for treatment in (0, 1):
        mine = data.treatment == treatment
        X = data.X[mine]
        age = (X[:, [0]] - 65) / (50 / np.sqrt(12))
        rest = (2 * treatment - 1) * (data.y[mine] - data.oracle.mean(X, treatment))
        model = LinearRegression().fit(age, rest)
        # Standard errors are about 0.005.
        assert model.intercept_ == pytest.approx(0.2, abs=0.02)
        assert model.coef_[0] == pytest.approx(0.2 * slope, abs=0.02)


def test_older_patients_are_treated_more_often():
    data = synthetic_clinic(ROWS, random_state=5)
    young, old = data.X[:, 0] < 45, data.X[:, 0] > 85
    assert data.treatment[young].mean() == pytest.approx(stats.norm.cdf(0.025), abs=0.015)
    assert data.treatment[old].mean() == pytest.approx(stats.norm.cdf(0.475), abs=0.015)


def test_the_two_arms_of_observational_rows_lose_the_variance_of_the_bias():
    # Where both treatments are equally likely (40 years): the mean of the two variances is σ² - d².
    oracle = synthetic_clinic(1, random_state=0).oracle
    X = np.array([[40.0, 50, 1, 2, 0, 27, 130, 5, 0]])
    for treatment in (0, 1):
        # The share of either side is ½, so that the other side of the same outcome has the opposite bias.
        scale, seen = oracle.scale(X, treatment)[0], oracle.observational_scale(X, treatment)[0]
        flipped = synthetic_clinic(1, bias=-0.2, random_state=0).oracle.observational_scale(X, treatment)[0]
        assert (seen**2 + flipped**2) / 2 == pytest.approx(scale**2 - 0.2**2, rel=1e-9)


@pytest.mark.slow
def test_hidden_confounding_is_found_where_it_is_and_not_where_it_is_not():
    def p_values(bias):
        parts = [synthetic_clinic(3000, r, bias=bias, random_state=r + 10).table() for r in (False, True)]
        study = stack(*parts, treatment="treatment", outcome="outcome")
        return [record.p_value for record in hidden_confounding_test(*study)]

    assert max(p_values(0.2)) < 0.001
    assert min(p_values(0.0)) > 0.005


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"r2": 1}, "r2 must be at least 0 and below 1, got 1"),
        ({"r2": "much"}, "r2 must be a number, got 'much'"),
        ({"noise_spread": -0.1}, "noise_spread must be at least 0 .* got -0.1"),
        ({"skewness": 11}, "skewness must be at least 0 and below 10, got 11"),
        ({"bias": float("nan")}, "bias must be at least -10 and below 10, got nan"),
        ({"bias": 0.5}, r"bias=0\.5 is more than selection can cause.*within ±0\.38;"),
        ({"bias": -0.5}, r"bias=-0\.5 is more than selection can cause.*within ±0\.3"),
        ({"bias_slope": 3}, r"bias=0\.2 is more.*within ±0\.09;"),
    ],
)
def test_bad_arguments_are_named(argument, message):
    with pytest.raises(ValueError, match=message):
        synthetic_clinic(10, **argument)


def test_the_bound_that_the_error_names_is_allowed():
    for data in (synthetic_clinic(1000, bias=0.38, random_state=0), synthetic_clinic(1000, bias=0.09, bias_slope=3)):
        for treatment in (0, 1):
            assert np.abs(data.oracle.correlation(data.X, treatment)).max() < 1


def test_outcomes_follow_the_documented_formulas():
    data = synthetic_clinic(500, bias=0, skewness=2, random_state=6)
    age, baseline, marker, illnesses, smoker, bmi, pressure, pain, _ = data.X.T
    a, b, c = (age - 65) / (50 / np.sqrt(12)), (baseline - 50) / 10, (illnesses - 2) / np.sqrt(2)
    s, w, p, q = (smoker - 0.3) / np.sqrt(0.21), (bmi - 27) / 4, (pressure - 130) / 15, (pain - 5) / np.sqrt(10)
    terms = [b, 2 * np.log(marker), c, a, q, (a**2 - 1) / np.sqrt(0.8), s * b, (w**2 - 1) / np.sqrt(2), p * a]
    weights = np.array([[6, 3, -3, -3, -3, -2, 3, -4, -3], [5, 4, -2, -4, -2, -1, 4, -5, -3]])
    for treatment, stretch in ((0, 1.0), (1, 1.25)):
        mean = weights[treatment] @ np.array(terms) / np.sqrt(np.sum(weights[treatment] ** 2))
        expected = treatment + stretch * np.sqrt(0.6 / 0.4) * mean
        np.testing.assert_allclose(data.oracle.mean(data.X, treatment), expected, atol=1e-12)
        v = (age - 40) / 50
        rest = np.log(data.oracle.scale(data.X, treatment)) - 0.4 * (0.8 * (v**2 - 1 / 3) * np.sqrt(45 / 4) + 0.6 * s)
        np.testing.assert_allclose(rest, rest[0], atol=1e-12)
        # The noise is a shifted log-normal: its logarithm, after the shift, is linear in the normal score.
        z = np.linspace(-2, 2, 500)
        k = np.sqrt(np.log(1 + 4 * np.sinh(np.arcsinh(1) / 3) ** 2))
        noise = (np.exp(k * z) - np.exp(k**2 / 2)) / np.sqrt(np.exp(2 * k**2) - np.exp(k**2))
        found = (data.oracle.outcome(data.X, treatment, z) - expected) / data.oracle.scale(data.X, treatment)
        np.testing.assert_allclose(found, noise, atol=1e-9)
