"""Weights for a target: what they are learnt from, and how near the true density ratio they come."""

import numpy as np
import pytest

from confide import Study, stack
from confide.models.preprocessing import standardised
from confide.weights.target import TargetRatio, _joined, _regression
from weighted_studies import model, study, tables

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")


class TestTarget:
    def test_its_weights_are_learnt_from_the_other_arms(self):
        one, other = study(["target"]), study(["target"])
        changed = other.X.copy()
        mine = other.trial & (other.treatment == 1)
        changed.loc[mine, "age"] = changed.loc[mine, "age"] + 1
        other = Study(changed, other.y, other.treatment, other.trial, target=other.target)
        ratios = [model("transfer").fit(each).arms_[1].weights_.target for each in (one, other)]
        x = np.random.default_rng(0).normal(size=(20, 3))
        np.testing.assert_allclose(ratios[0].predict(x), ratios[1].predict(x))

    def test_the_ratio_of_two_normal_distributions(self):
        rng = np.random.default_rng(0)
        ratio = TargetRatio().fit(rng.normal(1, 1, (4000, 1)), rng.normal(0, 1, (4000, 1)), np.ones(4000))
        x = np.linspace(-1.5, 2, 8)[:, None]
        np.testing.assert_allclose(ratio.predict(x), np.exp(x[:, 0] - 0.5), rtol=0.15)

    def test_rows_that_stand_for_more_people(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4000, 1))
        kept = rng.random(4000) < np.where(x[:, 0] > 0, 0.9, 0.2)
        weight = 1 / np.where(x[kept, 0] > 0, 0.9, 0.2)
        ratio = TargetRatio().fit(rng.normal(size=(4000, 1)), x[kept], weight)
        np.testing.assert_allclose(ratio.predict(np.array([[-1.0], [0.0], [1.0]])), 1, atol=0.15)

    def test_people_unlike_all_have_infinite_intervals_and_the_summary_says_how_many(self):
        observational, trial, new = tables()
        far = new.assign(age=new.age + 4)
        fitted = model().fit(stack(observational, trial, covariates=["age", "sex"], target=far, assignment="p"))
        assert np.isinf(fitted.predict_interval(far, 1).width).any()
        said = " ".join(fitted.summary().split())
        assert "The target differs from the trial most by age: +" in said
        assert "of the target's people there are too few people like them in the trial" in said
        assert "infinite. If that covariate does not matter for the outcome, leave it out." in said


def test_a_target_like_the_trial_gets_weights_near_1_though_categories_are_rare():
    rng = np.random.default_rng(0)
    rare = lambda rows: (rng.random((rows, 20)) < 0.03).astype(float)  # noqa: E731
    weights = TargetRatio().fit(rare(2000), rare(150), np.ones(150)).predict(rare(500))
    assert weights.sum() ** 2 / (weights**2).sum() > 400


def test_the_kept_function_is_the_regression_on_scaled_columns():
    rng = np.random.default_rng(0)
    target, trial, X = (rng.normal(3, 2, size=(rows, 4)) for rows in (300, 60, 50))
    for rows in (target, trial):
        rows[:, 1] = 5  # a constant, which new rows need not have
        rows[rng.random(len(rows)) < 0.2, 2] = np.nan
    X[:10, 1], X[10:20, 2], X[15:25, 0] = np.nan, np.nan, np.nan  # column 0 was never missing before
    weight = rng.uniform(0.5, 2, 60)
    ratio = TargetRatio().fit(target, trial, weight)
    rows, from_target, share = _joined(target, trial, weight)
    regression = _regression(ratio._strength(target, trial, weight))
    peer = standardised(regression).fit(rows, from_target, logisticregression__sample_weight=share)
    np.testing.assert_allclose(np.log(ratio.predict(X)), peer.decision_function(X), rtol=1e-9)
    assert ratio.slopes_[1] == 0


def test_a_target_far_from_the_trial_gets_the_weights_of_its_distance():
    rng = np.random.default_rng(0)
    trial, target, X = rng.normal(size=(400, 2)), rng.normal(size=(3000, 2)) + 1, rng.normal(size=(500, 2))
    found, true = TargetRatio().fit(target, trial, np.ones(400)).predict(X), np.exp(X.sum(axis=1) - 1)
    assert np.abs(true - found / found.mean()).mean() / 2 < 0.1
