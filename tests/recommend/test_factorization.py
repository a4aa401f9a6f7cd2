import os

import joblib
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from checks import with_checks
from confide import CounterfactualIntervals, Transfer, load
from confide.datasets import load_coat, simulate_ratings
from confide.recommend import MatrixFactorization, factorization
from confide.recommend.factorization import FEATURES


class OnTheFirstTwoColumns(MatrixFactorization):
    """The tables of scikit-learn's checks have up to 10 columns: take the first two for labels."""

    def _check_columns(self, X):
        if X.shape[1] < 2:
            super()._check_columns(X)


@pytest.mark.slow
@with_checks(
    [OnTheFirstTwoColumns(dimensions=3, random_state=0)],
    lambda _: {
        "check_regressors_train": "every row of the check has labels of its own, so that there is nothing to predict by"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def split(table):
    return np.column_stack([table["user"], table["item"]]).astype(float), table["rating"].to_numpy().astype(float)


def planted(users=150, items=60, count=3000, rank=2, signal=1.0, seed=0):
    """Ratings with tastes of a known strength and noise of 0.5, and others to predict."""
    rng = np.random.default_rng(seed)
    tastes = signal * rng.standard_normal((users, rank)) @ rng.standard_normal((rank, items)) / np.sqrt(rank)
    truth = 3 + 0.5 * rng.standard_normal((users, 1)) + 0.5 * rng.standard_normal(items) + tastes
    noisy = truth + 0.5 * rng.standard_normal(truth.shape)
    X = np.stack(np.unravel_index(rng.permutation(users * items), truth.shape), axis=1)
    y = noisy[X[:, 0], X[:, 1]]
    return X[:count], y[:count], X[count:], y[count:]


def rmse(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def test_it_learns_tastes_that_biases_miss():
    X, y, new, truth = planted()
    model = MatrixFactorization(random_state=0).fit(X, y)
    biases = MatrixFactorization(regularisation=np.inf, random_state=0).fit(X, y)
    constant = np.sqrt(np.mean((truth - y.mean()) ** 2))
    assert rmse(model, new, truth) < 0.75 < rmse(biases, new, truth) < constant
    assert 0 < model.regularisation_ < np.inf
    assert min(model.errors_, key=model.errors_.get) == model.regularisation_
    assert biases.user_factors_.shape == (150, 0)
    assert biases.n_iter_ == 0


@pytest.mark.parametrize("count", [300, 3000])
def test_without_tastes_it_is_no_worse_than_biases(count):
    ratios = []
    for seed in range(5):
        X, y, new, truth = planted(signal=0.0, count=count, seed=seed)
        model, biases = (MatrixFactorization(16, penalty, random_state=0).fit(X, y) for penalty in (None, np.inf))
        ratios.append(rmse(model, new, truth) / rmse(biases, new, truth))
    assert np.mean(ratios) < 1.002
    assert max(ratios) < 1.01


def test_more_dimensions_than_the_data_bear_do_no_harm():
    X, y, new, truth = planted(count=1500)
    errors = [rmse(MatrixFactorization(size, 4.0, 2.0, random_state=0).fit(X, y), new, truth) for size in (8, 64, 200)]
    assert max(errors) < 1.01 * min(errors)


def test_new_labels_fall_back_on_what_is_known():
    X, y, _, _ = planted()
    model = MatrixFactorization(4, 3.0, 2.0, random_state=0).fit(X, y)
    place = 5
    user, item = model.users_[place], model.items_[place]
    known, user_only, item_only, neither = model.predict([[user, item], [user, 999], [999, item], [-1, 0.5]])
    assert neither == model.mean_ == pytest.approx(y.mean())
    assert user_only == model.mean_ + model.user_bias_[place]
    assert item_only == model.mean_ + model.item_bias_[place]
    assert known == pytest.approx(
        model.mean_
        + model.user_bias_[place]
        + model.item_bias_[place]
        + model.user_factors_[place] @ model.item_factors_[place]
    )
    np.testing.assert_array_equal(model.transform([[999, -3]]), np.zeros((1, 5)))
    np.testing.assert_array_equal(model.factors([[999, -3]]), np.zeros((1, 8)))


@pytest.mark.parametrize("relabel", [lambda ids: 7 * ids - 400, lambda ids: ids / 3 - 1e-3, lambda ids: ids * 10**9])
def test_labels_are_any_numbers(relabel):
    X, y, new, _ = planted(count=600)
    model = MatrixFactorization(4, random_state=0)
    expected = clone(model).fit(X, y).predict(new)
    np.testing.assert_array_equal(model.fit(relabel(X), y).predict(relabel(new)), expected)


def test_a_missing_label_is_a_label():
    X, y, new, _ = planted(count=600)
    model = MatrixFactorization(4, random_state=0)
    last = X[:, 0].max()
    expected = clone(model).fit(X, y).predict(new)
    X, new = (np.where(ids == [last, -1], np.nan, ids) for ids in (X, new))
    np.testing.assert_array_equal(model.fit(X, y).predict(new), expected)
    assert np.isnan(model.users_[-1])


def test_transform_says_what_does_not_depend_on_a_rotation():
    X, y, new, _ = planted()
    model = MatrixFactorization(4, 3.0, 2.0, random_state=0).fit(X, y)
    features = model.transform(new)
    assert features.shape == (len(new), len(FEATURES))
    assert model.get_feature_names_out().tolist() == list(FEATURES)
    np.testing.assert_allclose(model.mean_ + features[:, :3].sum(axis=1), model.predict(new))
    np.testing.assert_allclose(features[:, 3], np.log1p([np.sum(X[:, 0] == user) for user in new[:, 0]]))
    np.testing.assert_allclose(features[:, 4], np.log1p([np.sum(X[:, 1] == item) for item in new[:, 1]]))
    factors = model.factors(new)
    np.testing.assert_allclose(np.sum(factors[:, :4] * factors[:, 4:], axis=1), features[:, 2])
    # Another seed turns the factors, and leaves what they say.
    other = MatrixFactorization(4, 3.0, 2.0, iterations=500, random_state=1).fit(X, y)
    assert np.abs(other.factors(new) - factors).mean() > 0.1
    assert np.corrcoef(other.transform(new)[:, 2], features[:, 2])[0, 1] > 0.95


def test_the_seed_decides_everything_and_a_fit_pickles(tmp_path):
    X, y, new, _ = planted(count=600)
    one, two = (MatrixFactorization(8, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(new), two.predict(new))
    assert one.errors_ == two.errors_
    joblib.dump(one, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict(new), one.predict(new))
    assert clone(one).get_params() == one.get_params()


def test_many_ratings_are_chosen_by_one_held_out_tenth(monkeypatch):
    monkeypatch.setattr(factorization, "FOLDED_ROWS", 1000)
    assert [len(held_out) for _, held_out in factorization._held_out(2000, 0)] == [200]
    assert [len(held_out) for _, held_out in factorization._held_out(1000, 0)] == [200] * 5
    X, y, new, truth = planted()
    assert rmse(MatrixFactorization(8, random_state=0).fit(X, y), new, truth) < 0.75


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_few_ratings_and_equal_ones(rows):
    X, y = np.column_stack([np.arange(rows) % 2, np.arange(rows)]), np.arange(rows, dtype=float)
    model = MatrixFactorization().fit(X, y)
    assert model.regularisation_ == np.inf
    assert np.isfinite(model.predict(X)).all()
    equal = MatrixFactorization(2, random_state=0).fit(np.indices((6, 5)).reshape(2, -1).T, np.full(30, 4.0))
    np.testing.assert_allclose(equal.predict([[0, 0], [99, 99]]), 4)
    forced = MatrixFactorization(2, 1.0, random_state=0).fit(X, y)
    assert np.isfinite(forced.predict(X)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dimensions": 0}, "dimensions must be a whole number of at least 1, got 0"),
        ({"dimensions": 2.5}, r"dimensions must be a whole number of at least 1, got 2\.5"),
        ({"iterations": True}, "iterations must be a whole number of at least 1, got True"),
        ({"regularisation": 0}, "regularisation must be a number above 0 or inf, got 0. Use None to choose it"),
        ({"regularisation": -1.0}, "regularisation must be a number above 0 or inf, got -1.0"),
        ({"regularisation": "strong"}, "regularisation must be a number above 0 or inf, got 'strong'"),
        ({"regularisation": np.nan}, "regularisation must be a number above 0 or inf, got nan"),
        ({"regularisation": True}, "regularisation must be a number above 0 or inf, got True"),
        ({"tolerance": -1.0}, r"tolerance must be a number from 0 to below 1, got -1\.0"),
        ({"tolerance": "none"}, "tolerance must be a number from 0 to below 1, got 'none'"),
        ({"bias_regularisation": np.inf}, "bias_regularisation must be a number above 0, got inf. Use None"),
    ],
)
def test_bad_parameters(params, message):
    X, y, _, _ = planted(count=50)
    model = MatrixFactorization(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("columns", [1, 3])
def test_other_columns_than_user_and_item_are_refused(columns):
    with pytest.raises(ValueError, match=f"X must have 2 columns, user and item, got {columns} feature"):
        MatrixFactorization().fit(np.ones((20, columns)), np.ones(20))


def test_a_small_tolerance_reaches_the_minimum():
    """As near as a general minimiser comes to it from several starts."""
    X, y, _, _ = planted(users=6, items=5, count=25)
    penalty, bias_penalty, rank = 2.0, 1.0, 2
    user, item, mean = X[:, 0], X[:, 1], y.mean()

    def objective(parameters):
        user_bias, item_bias, user_factors, item_factors = np.split(parameters, np.cumsum([6, 5, 12]))
        product = (user_factors.reshape(6, rank)[user] * item_factors.reshape(5, rank)[item]).sum(axis=1)
        error = y - mean - user_bias[user] - item_bias[item] - product
        biases, factors = (user_bias**2).sum() + (item_bias**2).sum(), (parameters[11:] ** 2).sum()
        return (error**2).sum() + bias_penalty * biases + penalty * factors

    rng = np.random.default_rng(0)
    least = min(minimize(objective, rng.standard_normal(33)).fun for _ in range(5))
    model = MatrixFactorization(rank, penalty, bias_penalty, 5000, 1e-12, random_state=0).fit(X, y)
    parts = (model.user_bias_, model.item_bias_, model.user_factors_, model.item_factors_)
    assert np.array_equal(model.users_, np.arange(6))
    assert np.array_equal(model.items_, np.arange(5))
    found = objective(np.concatenate([part.ravel() for part in parts]))
    assert found == pytest.approx(least, rel=1e-5)
    sooner = MatrixFactorization(rank, penalty, bias_penalty, random_state=0).fit(X, y)
    assert sooner.n_iter_ < model.n_iter_


def test_text_labels_are_refused_with_a_remedy_that_works():
    users, items = np.array(["ann", "bob", "cem"] * 20), np.array(["film", "book"] * 30)
    X, y = np.column_stack([users, items]).astype(object), np.tile([1.0, 2, 4, 3, 5, 5], 10)
    with pytest.raises(ValueError, match=r"must be numbers: .*'ann'.*OrdinalEncoder\("):
        MatrixFactorization().fit(X, y)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, MatrixFactorization(random_state=0)).fit(X, y)
    assert model.predict(np.array([["dan", "disc"]], dtype=object)) == pytest.approx(model[-1].mean_)
    with pytest.raises(ValueError, match=r"must be numbers: .*'ann'"):
        model[-1].predict(X)
    with pytest.raises(ValueError, match=r"must be numbers: .*'good'"):
        MatrixFactorization().fit(np.ones((60, 2)), np.array(["good", "bad"] * 30))


def arms(data, base):
    """A study of the ratings with two arms, which the user's number decides."""
    X, y = zip(*(split(table) for table in (data.observational, data.trial)), strict=True)
    trial = np.repeat([False, True], [len(each) for each in y])
    X, y = np.concatenate(X), np.concatenate(y)
    model = CounterfactualIntervals(Transfer(base=base), alpha=0.2, random_state=0)
    return model.fit(X, y, (X[:, 0] % 2).astype(int), trial)


def test_as_a_base_model_it_saves_and_loads_without_trust(tmp_path):
    data = simulate_ratings(60, 40, random_state=1)
    model = arms(data, MatrixFactorization(8))
    model.save(tmp_path / "model.confide")
    again = load(tmp_path / "model.confide")
    new = split(data.test)[0]
    for treatment in (0, 1):
        np.testing.assert_array_equal(
            again.predict_interval(new, treatment=treatment), model.predict_interval(new, treatment=treatment)
        )
    assert again.arms_[0].base_[-1].errors_ == model.arms_[0].base_[-1].errors_


@pytest.mark.slow
def test_a_base_model_of_pairs_gives_narrower_intervals_that_cover():
    data = simulate_ratings(300, 100, random_per_user=20, n_observational=12_000)
    X, y = zip(*(split(table) for table in (data.observational, data.trial)), strict=True)
    trial = np.repeat([False, True], [len(each) for each in y])
    new, truth = split(data.test)
    widths = {}
    for name, base in {"pairs": MatrixFactorization(16), "auto": None}.items():
        arm = Transfer(base=base, base_on="centred", random_state=0)
        arm.fit(np.concatenate(X), np.concatenate(y), trial=trial)
        intervals = arm.predict_interval(new)
        widths[name] = intervals.width.mean()
        # 2,400 calibrate and 3,600 are new: 4 standard deviations of the coverage achieved.
        assert abs(intervals.contains(truth).mean() - 0.9) < 4 * np.sqrt(0.09 * (1 / 2400 + 1 / 3600))
    assert widths["pairs"] < 0.98 * widths["auto"]


@pytest.mark.skipif("CONFIDE_COAT" not in os.environ, reason="CONFIDE_COAT names no directory with the original files")
def test_on_coat_it_is_no_worse_than_biases():
    data = load_coat(os.environ["CONFIDE_COAT"])
    X, y = split(data.observational)
    random = [np.concatenate(parts) for parts in zip(split(data.trial), split(data.test), strict=True)]
    for seed in range(3):
        held_out, fit = np.split(np.random.default_rng(seed).permutation(len(y)), [len(y) // 10])
        model, biases = (
            MatrixFactorization(regularisation=penalty, random_state=seed).fit(X[fit], y[fit])
            for penalty in (None, np.inf)
        )
        for rows in ((X[held_out], y[held_out]), random):
            assert rmse(model, *rows) <= rmse(biases, *rows)
