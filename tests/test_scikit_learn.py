"""The estimators as a scikit-learn user uses them: cross-validation, searches, pipelines, clones and pickles."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.metadata_routing import MetadataRequest

from confide import CounterfactualIntervals, Naive, Prognostic, Transfer
from helpers import arm_rows, study_arrays

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_the_score_of_an_arm_is_r2_of_its_points():
    X, y, trial = arm_rows()
    arm = Transfer(base=Ridge(), random_state=0).fit(X, y, trial=trial)
    assert arm.score(X, y) == r2_score(y, arm.predict(X))
    assert arm.score(X, y, sample_weight=trial) == r2_score(y[trial], arm.predict(X[trial]))


def test_cross_val_score_of_an_arm():
    X, y, trial = arm_rows()
    scores = cross_val_score(Transfer(base=Ridge(), random_state=0), X, y, cv=FOLDS, params={"trial": trial})
    assert len(scores) == 3
    assert np.isfinite(scores).all()


def test_a_search_over_the_base_models_parameters():
    X, y, trial = arm_rows()
    arm = Naive(base=make_pipeline(StandardScaler(), Ridge()), random_state=0)
    search = GridSearchCV(arm, {"base__ridge__alpha": [1e-3, 1e3]}, cv=FOLDS, error_score="raise")
    search.fit(X, y, trial=trial)
    assert search.best_params_ == {"base__ridge__alpha": 1e-3}
    assert search.best_estimator_.predict_interval(X[:4]).width.min() > 0


@pytest.mark.usefixtures("routing")
def test_a_search_over_base_models():
    X, y, trial = arm_rows()
    arm = Transfer(random_state=0).set_fit_request(trial=True)
    bases = [LinearRegression(), HistGradientBoostingRegressor(max_iter=5), "constant"]
    search = GridSearchCV(arm, {"base": bases}, cv=FOLDS, error_score="raise").fit(X, y, trial=trial)
    assert isinstance(search.best_params_["base"], LinearRegression)


def routed(**params):
    model = CounterfactualIntervals(base=Ridge(), random_state=0, **params)
    return model.set_fit_request(treatment=True, trial=True).set_score_request(treatment=True)


@pytest.mark.usefixtures("routing")
def test_a_search_over_methods_of_a_study():
    X, y, treatment, trial = study_arrays()
    frame = pd.DataFrame(X, columns=["a"])
    grid = {"method": ["naive", "transfer", Transfer(base_on="grounded")], "alpha": [0.2]}
    search = GridSearchCV(routed(), grid, cv=FOLDS, error_score="raise").fit(frame, y, treatment=treatment, trial=trial)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.alpha_ == 0.2
    assert search.best_estimator_.predict_effect_interval(frame[:5]).width.min() > 0


@pytest.mark.usefixtures("routing")
@pytest.mark.slow
def test_a_scorer_of_ones_own():
    """The mean width at a fixed level, by which one may rather choose."""
    X, y, treatment, trial = study_arrays()

    class Narrow:
        _accept_sample_weight = False

        def __call__(self, model, X, _, treatment):
            return -model.predict_interval(X, treatment).width.mean()

        def get_metadata_routing(self):
            return MetadataRequest(owner=self)

    scorer = Narrow()
    request = MetadataRequest(owner=scorer)
    request.score.add_request(param="treatment", alias=True)
    scorer.get_metadata_routing = lambda: request
    found = cross_validate(
        routed(), X, y, cv=FOLDS, params={"treatment": treatment, "trial": trial}, scoring=scorer, error_score="raise"
    )
    assert (found["test_score"] < 0).all()


def test_without_routing_the_score_says_what_it_needs():
    X, y, treatment, trial = study_arrays()
    model = CounterfactualIntervals(base=Ridge(), random_state=0).fit(X, y, treatment, trial)
    with pytest.raises(ValueError, match=r"call set_score_request\(treatment=True\)"):
        model.score(X, y)
    assert model.score(X, y, treatment) == r2_score(y, model.predict(X, treatment))


def test_a_pipeline_as_base():
    X, y, treatment, trial = study_arrays()
    base = make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge())
    model = CounterfactualIntervals(base=base, random_state=0).fit(X, y, treatment, trial)
    np.testing.assert_array_equal(
        model.predict_interval(X, 1),
        CounterfactualIntervals(Prognostic(base=base), random_state=0)
        .fit(X, y, treatment, trial)
        .predict_interval(X, 1),
    )
    assert "base model: Ridge; R² " in model.summary()


def test_clones_and_pickles():
    X, y, treatment, trial = study_arrays()
    model = CounterfactualIntervals(Transfer(base=Ridge()), control=1, random_state=0).fit(X, y, treatment, trial)
    copied = clone(model)
    assert not hasattr(copied, "alpha_")
    assert copied.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    for fitted in (copied.fit(X, y, treatment, trial), again):
        assert fitted.control_ == 1
        np.testing.assert_array_equal(fitted.predict_effect_interval(X), model.predict_effect_interval(X))
