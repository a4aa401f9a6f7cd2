"""scikit-learn's own checks. They call fit(X, y): the classes below add only the mask that it then lacks."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.validation import _num_samples

from checks import with_checks
from confide import METHODS, WCP, WSCPDR, WTCPDR, CounterfactualIntervals, Naive, PooledDR, Prognostic, Transfer, method
from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio
from helpers import arm_rows, study_arrays


class WithMask:
    def fit(self, X, y, *, trial=None):
        return super().fit(X, y, trial=np.arange(_num_samples(X)) % 3 == 0 if trial is None else trial)


class CheckedNaive(WithMask, Naive): ...


class CheckedTransfer(WithMask, Transfer): ...


class CheckedPrognostic(WithMask, Prognostic): ...


class CheckedWCP(WithMask, WCP): ...


class CheckedWTCPDR(WithMask, WTCPDR): ...


class CheckedWSCPDR(WithMask, WSCPDR): ...


class CheckedPooledDR(WithMask, PooledDR): ...


class CheckedCounterfactual(CounterfactualIntervals):
    def fit(self, X, y, treatment=None, trial=None):
        rows = np.arange(_num_samples(X))
        return super().fit(X, y, rows % 2 if treatment is None else treatment, rows % 3 < 2 if trial is None else trial)

    def predict(self, X, treatment=0):
        return super().predict(X, treatment)

    def score(self, X, y, treatment=0):
        return super().score(X, y, treatment)


# One fast base model and level: the checks are about the interface, and their tables have 10 to 200 rows.
FAST = {"base": standardised(Ridge()), "alpha": 0.5, "random_state": 0}
CHECKED = [
    CheckedNaive(**FAST),
    CheckedTransfer(**FAST),
    CheckedWCP(**FAST),
    CheckedWTCPDR(**FAST, ratio=ClassifierRatio(standardised(LogisticRegression()))),
    CheckedPooledDR(**FAST, ratio=ClassifierRatio(standardised(LogisticRegression()))),
    CheckedCounterfactual(Transfer(base=FAST["base"], alpha=0.5)),
]
CHECKED_AT_LENGTH = [
    CheckedPrognostic(**FAST),
    CheckedWTCPDR(**FAST, ratio=ClassifierRatio(standardised(LogisticRegression())), refit=True),
    CheckedWSCPDR(**FAST, ratio=ClassifierRatio(standardised(LogisticRegression())), second_stage=Ridge()),
]


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@pytest.mark.filterwarnings("ignore:the outcome is 0 or 1 in every row")  # some of the checks have such a table
@with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@with_checks(CHECKED_AT_LENGTH)
def test_scikit_learn_checks_of_slower_methods(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_kept_as_given(name):
    base = Ridge()
    arm = method(name, base=base, alpha=0.2, random_state=3)
    assert arm.get_params(deep=False)["base"] is base
    copy = clone(arm).set_params(alpha=0.3)
    assert (arm.alpha, copy.alpha, copy.random_state) == (0.2, 0.3, 3)
    assert copy.base is not base


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), [*((name, {}) for name in METHODS), ("wtcp-dr", {"refit": True})])
def test_joblib_pickles_a_fitted_model(name, params, tmp_path):
    X, y, trial = arm_rows()
    arm = method(name, random_state=0, **params).fit(X, y, trial=trial)
    joblib.dump(arm, tmp_path / "arm.joblib")
    again = joblib.load(tmp_path / "arm.joblib")
    np.testing.assert_array_equal(again.predict_interval(X[:5]), arm.predict_interval(X[:5]))
    np.testing.assert_array_equal(again.predict(X[:5]), arm.predict(X[:5]))


def test_a_fitted_study_model_clones_and_pickles(tmp_path):
    X, y, treatment, trial = study_arrays()
    model = CounterfactualIntervals(Transfer(base=Ridge()), alpha=0.2, random_state=1).fit(X, y, treatment, trial)
    assert not hasattr(clone(model), "arms_")
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict_effect_interval(X[:5]), model.predict_effect_interval(X[:5]))
