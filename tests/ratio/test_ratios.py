import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio, OracleRatio, PropensityRatio, check_ratio
from confide.ratio.classifier import LIMITS
from confide.ratio.propensity import others_than
from helpers import delta, gaussians


@pytest.mark.parametrize("classifier", [None, standardised(LogisticRegression())])
def test_a_classifier_recovers_a_known_ratio(classifier):
    trial, observational, truth = gaussians()
    ratio = ClassifierRatio(classifier, random_state=0).fit(trial, observational)
    fresh = gaussians(seed=1)[1]
    assert delta(ratio, fresh, truth) < 0.08
    assert ratio.predict(fresh).mean() == pytest.approx(1, abs=0.1)


def test_a_balanced_classifier_gets_no_factor():
    trial, observational, _ = gaussians(n=4000, m=200)
    plain = ClassifierRatio(LogisticRegression(C=1e6)).fit(trial, observational)
    balanced = ClassifierRatio(LogisticRegression(C=1e6, class_weight="balanced")).fit(trial, observational)
    assert plain.factor_ == 20
    assert balanced.factor_ == 1
    rows = observational[:200]
    np.testing.assert_allclose(np.log(plain.predict(rows)), np.log(balanced.predict(rows)), atol=0.4)


@pytest.mark.parametrize(("on", "same", "differ"), [("x", 1, 0), ("y", 0, 1)])
def test_on_selects_the_columns(on, same, differ):
    trial, observational, _ = gaussians(200, 100)
    ratio = ClassifierRatio(on=on, random_state=0).fit(trial, observational)
    rows = observational[:5].copy()
    before = ratio.predict(rows)
    rows[:, same] += 3
    np.testing.assert_array_equal(ratio.predict(rows), before)
    rows[:, differ] += 3
    assert (ratio.predict(rows) != before).all()


def test_extreme_probabilities_are_clipped_by_constants():
    ratio = ClassifierRatio(LogisticRegression(C=1e9)).fit(np.full((5, 1), 10.0), np.full((10, 1), -10.0))
    np.testing.assert_array_equal(ratio.predict([[1e9], [-1e9]]), LIMITS[::-1])
    assert ratio.clipped_ == 15


def test_missing_values_do_not_break_the_default():
    trial, observational, _ = gaussians(300, 100)
    observational[::5, 0] = np.nan
    ratio = ClassifierRatio(random_state=0).fit(trial, observational)
    assert np.isfinite(ratio.predict([[np.nan, 0.0]])).all()


def test_the_propensity_is_logistic_in_the_arm():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 1))
    treated = rng.uniform(size=20_000) < 1 / (1 + np.exp(-X[:, 0] - 0.5))
    rows = np.column_stack([X, np.full(20_000, np.nan)])
    ratio = PropensityRatio().fit(rows, rows[treated])
    points = np.column_stack([np.linspace(-2, 2, 9), np.full(9, np.nan)])
    truth = treated.mean() * (1 + np.exp(-points[:, 0] - 0.5))
    np.testing.assert_allclose(ratio.predict(points), truth, rtol=0.1)
    assert ratio.predict(rows[treated]).mean() == pytest.approx(1, abs=0.02)


def test_the_propensity_of_the_only_arm_is_one():
    rows = np.random.default_rng(0).standard_normal((10, 2))
    np.testing.assert_array_equal(PropensityRatio().fit(rows, rows).predict(rows), np.ones(10))


def test_each_row_of_an_arm_stands_for_one_of_the_population():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    np.testing.assert_array_equal(others_than(rows[[0, 2]], rows), [False, True, False, True])
    np.testing.assert_array_equal(others_than(rows[2:], rows), [True, True, False, False])
    np.testing.assert_array_equal(others_than(np.array([[0.0, 3.0]]), np.array([[1, 2], [-0.0, 3]])), [True, False])
    with pytest.raises(ValueError, match="1 of the arm's 1 observational rows are not in the population"):
        others_than(np.array([[9.0, 9.0]]), rows)


def test_the_oracle_is_the_function():
    trial, observational, truth = gaussians(20, 10)
    ratio = clone(OracleRatio(truth)).fit(trial, observational)
    np.testing.assert_array_equal(ratio.predict(observational), truth(observational))
    x_only = OracleRatio(lambda X: stats.norm.pdf(X[:, 0]), on="x").fit(trial, observational)
    assert x_only.predict(observational).shape == (20,)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rows: -np.ones(len(rows)), "OracleRatio's ratio must be finite and at least 0, got -1"),
        (lambda rows: np.full(len(rows), np.nan), "got nan"),
        (lambda rows: np.full(len(rows), np.inf), "got inf"),
        (lambda rows: rows, "must be finite|one value per row"),
        (lambda _: 1.0, "one value per row"),
    ],
)
def test_a_bad_ratio_is_refused(function, message):
    rows = np.ones((3, 2))
    with pytest.raises(ValueError, match=message):
        OracleRatio(function).fit(rows, rows).predict(rows)


@pytest.mark.parametrize(
    ("numerator", "denominator", "message"),
    [
        (np.ones((0, 2)), np.ones((3, 2)), "numerator must be a table with at least one row"),
        (np.ones((3, 2)), np.ones(3), "denominator must be a table"),
        (np.ones((3, 2)), np.ones((3, 1)), "same columns, got 2 and 1"),
    ],
)
def test_bad_rows(numerator, denominator, message):
    with pytest.raises(ValueError, match=message):
        ClassifierRatio().fit(numerator, denominator)


def test_other_bad_use():
    rows = np.ones((3, 2))
    with pytest.raises(ValueError, match="on='xz' is unknown"):
        ClassifierRatio(on="xz").fit(rows, rows)
    with pytest.raises(ValueError, match="2 columns of fit"):
        OracleRatio(lambda r: r[:, 0]).fit(rows, rows).predict(np.ones((3, 5)))
    with pytest.raises(ValueError, match="ratio 'clasifier' is unknown; did you mean classifier"):
        check_ratio("clasifier")
    with pytest.raises(ValueError, match="a name or a density-ratio estimator, got 3"):
        check_ratio(3)
