import numpy as np
import pytest
from scipy import stats

from confide.datasets import synthetic_shop

ROWS = 200_000


def test_half_of_the_customers_without_a_coupon_spend_nothing_and_the_others_skewed_amounts():
    data = synthetic_shop(ROWS, random_state=0)
    assert data.columns == ("past", "member", "age", "visits")
    assert stats.binomtest(int((data.y0 == 0).sum()), ROWS).pvalue > 0.001
    assert (data.y1 == 0).mean() < 0.45
    assert min(data.y0.min(), data.y1.min()) == 0
    assert stats.skew(data.y0) > 3


def test_the_chance_of_no_spending_is_that_of_the_latent_normal():
    data = synthetic_shop(ROWS, random_state=1)
    for treatment, outcome in enumerate((data.y0, data.y1)):
        chance = data.oracle.cdf(data.X, treatment, 0)
        excess = (outcome == 0) - chance
        assert abs(excess.mean()) < stats.norm.isf(0.001) * excess.std() / np.sqrt(ROWS)
        np.testing.assert_array_equal(data.oracle.cdf(data.X, treatment, 0, below=True), 0)


def test_latent_spending_is_explained_as_asked_for():
    data = synthetic_shop(ROWS, r2=0.3, spread=1.5, random_state=2)
    spent = data.y1[data.y1 > 0]
    latent = np.log1p(spent)
    whole = stats.norm(0.2, 1.5)
    # m(x) is not normal, but nearly: the latent spending above 0 has about the mean of a cut normal.
    assert latent.mean() == pytest.approx(whole.expect(lambda value: value, lb=0) / whole.sf(0), rel=0.02)


def test_the_bias_flatters_the_coupon_and_depends_on_x():
    data = synthetic_shop(1000, random_state=3)
    with_coupon, without = (data.oracle.bias(data.X, treatment) for treatment in (1, 0))
    assert (with_coupon > 0).all()
    assert (without < 0).all()
    assert with_coupon.max() > 5 * with_coupon.min()


def test_the_numerical_integral_is_exact_where_the_answer_is_known():
    # Half of the rows have U > 0 and half U < 0: the mean of both sides is the moment of all.
    for confounding in (-0.9, 0.5, 0.99):
        oracle = synthetic_shop(1, confounding=confounding, spread=2.0, random_state=0).oracle
        X = oracle.covariates(500, np.random.RandomState(0))
        other = synthetic_shop(1, confounding=-confounding, spread=2.0, random_state=0).oracle
        for treatment in (0, 1):
            sides = (oracle.bias(X, treatment) + other.bias(X, treatment)) / 2
            np.testing.assert_allclose(sides, 0, atol=1e-8 * oracle.mean(X, treatment).max())


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"r2": 1}, "r2 must be at least 0 and below 1, got 1"),
        ({"spread": 0}, r"spread must be at least 0\.1 and below 2, got 0"),
        ({"confounding": 1}, "confounding must be at least -1 and below 1, got 1"),
        ({"confounding": -1}, "confounding must be at least -1 and below 1, got -1"),
    ],
)
def test_bad_arguments_are_named(argument, message):
    with pytest.raises(ValueError, match=message):
        synthetic_shop(10, **argument)
