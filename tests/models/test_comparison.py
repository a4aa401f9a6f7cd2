import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor

from confide.data.splits import Rows
from confide.models import comparison
from confide.models.auto import AutoRegressor
from confide.models.comparison import compare, splits_of


def ask(model, X):
    return model.predict(X)


def losses(answers, y):
    return (y - answers) ** 2


class Off(RegressorMixin, BaseEstimator):
    """The first column plus an error of known size; it counts its fits."""

    fits: list

    def __init__(self, error=0.0):
        self.error = error

    def fit(self, X, y, sample_weight=None):  # noqa: ARG002
        FITS.append(self.error)
        return self

    def predict(self, X):
        return X[:, 0] + self.error


FITS: list[float] = []


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 1))
    return Rows(X, X[:, 0] + rng.standard_normal(rows))


@pytest.mark.parametrize("rows", [0, 9])
def test_few_rows_are_not_held_out(rows):
    assert splits_of(rows, 0) == []


@pytest.mark.parametrize(("rows", "count"), [(10, 5), (101, 5), (5_000, 5), (5_001, 3), (20_000, 3)])
def test_every_row_is_held_out_once(rows, count):
    splits = splits_of(rows, 3)
    assert len(splits) == count
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in splits])), np.arange(rows))
    for learn, held in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([learn, held])), np.arange(rows))


@pytest.mark.parametrize(
    ("rows", "learn", "parts"),
    [(20_001, 10_000, 2), (40_000, 20_000, 2), (40_001, 20_000, 1), (90_000, 20_000, 1), (300_000, 60_000, 1)],
)
def test_of_many_rows_some_are_held_out(rows, learn, parts):
    splits = splits_of(rows, 3)
    assert [(len(learnt), len(held)) for learnt, held in splits] == [(learn, 20_000 // parts)] * parts
    assert len(np.unique(np.concatenate([held for _, held in splits]))) == 20_000
    for learnt, held in splits:
        assert len(np.union1d(learnt, held)) == len(learnt) + len(held)


def test_what_is_clearly_behind_is_fitted_once_and_its_error_told():
    rows = people(1000)
    FITS.clear()
    found = compare({"far": Off(1.0), "near": Off(0.001), "exact": Off(0.0)}, rows, splits_of(1000, 0), ask, losses)
    assert FITS.count(1.0) == 1
    assert FITS.count(0.0) == 5
    assert found.name in ("near", "exact")
    assert found.errors["far"] == pytest.approx(found.errors[found.name] + 1.0, abs=0.3)
    assert len(found.places) == len(found.answers) == 1000
    np.testing.assert_allclose(found.answers, rows.X[found.places, 0], atol=0.002)


def test_few_rows_drop_nothing():
    FITS.clear()
    compare({"far": Off(3.0), "exact": Off(0.0)}, people(99), splits_of(99, 0), ask, losses)
    assert FITS.count(3.0) == 5


def test_it_decides_as_all_folds_do(monkeypatch):
    chosen = []
    for clear in (comparison.CLEAR, 1e9):
        monkeypatch.setattr(comparison, "CLEAR", clear)
        chosen.append(
            [
                compare(
                    {"constant": DummyRegressor(), "a": Off(0.1), "b": Off(-0.3)},
                    people(200, seed),
                    splits_of(200, seed),
                    ask,
                    losses,
                ).name
                for seed in range(30)
            ]
        )
    assert np.mean(np.array(chosen[0]) == np.array(chosen[1])) >= 0.96
    assert len(set(chosen[0])) > 1


def test_equal_candidates_give_the_first():
    rows = people(200)
    found = compare({"one": Off(0.5), "two": Off(0.5)}, rows, splits_of(200, 0), ask, losses)
    assert found.name == "one"
    assert found.errors["one"] == found.errors["two"] == pytest.approx(np.mean((rows.y - rows.X[:, 0] - 0.5) ** 2))


def test_rows_without_weight_decide_nothing():
    rows = people(400)
    spoilt = np.arange(400) < 300
    rows = Rows(rows.X, rows.y + 10.0 * spoilt, np.where(spoilt, 0.0, 1.0))
    found = compare({"ten more": Off(10.0), "exact": Off(0.0)}, rows, splits_of(400, 0), ask, losses)
    assert found.name == "exact"
    nothing = Rows(rows.X, rows.y, np.where(np.arange(400) < 399, 0.0, 1.0))
    splits = splits_of(400, 0)
    assert compare({"ten more": Off(10.0), "exact": Off(0.0)}, nothing, splits, ask, losses).name == "exact"


@pytest.mark.slow
def test_boosting_that_did_not_stop_on_some_rows_learns_from_all(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (21_000, 3))
    y = np.sign(X[:, 0]) * np.sign(X[:, 1]) * X[:, 2]
    model = AutoRegressor(random_state=0).fit(X, y)
    assert model.name_ == "boosting"
    assert not model.model_[-1].early_stopping
    assert len(model.held_out()[0]) == 20_000
    little = AutoRegressor(random_state=0).fit(X, 0.3 * y + rng.standard_normal(len(y)))
    assert little.name_ == "boosting"
    assert little.model_[-1].early_stopping
    assert little.model_[-1].n_iter_ < 100
    monkeypatch.setattr("confide.models.auto.MANY_ROWS", 20_000)
    many = AutoRegressor(random_state=0).fit(X, 0.3 * y + rng.standard_normal(len(y)))
    assert not many.model_[-1].early_stopping
    assert many.model_[-1].n_iter_ == many.model_[-1].max_iter < 100
