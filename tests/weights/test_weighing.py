"""For whom answers hold: what a study carries, the weights it makes, what is refused, and coverage where it matters."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, Study, load, stack
from confide.conformal.marks import Marks
from confide.exceptions import InfiniteIntervalWarning, RefusalError
from confide.weights.arm_weights import ArmWeights
from confide.weights.weighing import weights_of
from weighted_studies import OTHERS, RANKING, TWO_STAGES, model, study, tables

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")


class TestRefusals:
    @pytest.mark.parametrize("method", OTHERS)
    @pytest.mark.parametrize("carry", ["assignment", "cluster", "target"])
    def test_methods_that_do_not_rank_trial_rows(self, method, carry):
        with pytest.raises(
            RefusalError, match=f"{method} does not calibrate on trial rows alone, so it takes no {carry}"
        ):
            model(method).fit(study([carry]))

    @pytest.mark.parametrize("params", [{"side": "lower"}, {"groups": "sex"}])
    def test_sides_and_groups_of_others(self, params):
        with pytest.raises(RefusalError, match="pooled-dr does not calibrate on trial rows alone"):
            model("pooled-dr", **params).fit(study([]))

    def test_clusters_with_a_target(self):
        with pytest.raises(RefusalError, match="a target cannot be combined with clusters"):
            model().fit(study(["cluster", "target"]))

    def test_clusters_with_probabilities_that_differ(self):
        with pytest.raises(RefusalError, match="cannot be combined with clusters"):
            model().fit(study(["cluster", "assignment"]))

    def test_clusters_with_one_probability(self):
        observational, trial, _ = tables()
        found = stack(observational, trial.assign(p=0.5), covariates=["age", "sex"], cluster="site", assignment="p")
        assert model().fit(found).carries_ == ("assignment", "cluster")

    def test_nested_effects(self):
        with pytest.raises(RefusalError, match="nested effects cannot be combined with a target"):
            model(effect="nested-exact").fit(study(["target"]))
        with pytest.raises(RefusalError, match="nested effects need clusters that are in one arm only"):
            model(effect="nested-exact").fit(study(["cluster"]))

    def test_clusters_of_one_arm_each_may_be_nested(self):
        observational, trial, new = tables()
        trial = trial.assign(site=trial.site + 100 * trial.t)
        found = model("transfer", effect="nested-exact").fit(
            stack(observational, trial, covariates=["age", "sex"], cluster="site")
        )
        assert len(found.predict_effect_interval(new)) == 30

    def test_a_target_needs_another_arm(self):
        observational, trial, _ = tables()
        few = pd.concat([trial[trial.t == 1], trial[trial.t == 0].head(5)])
        with pytest.raises(RefusalError, match="at least 10 trial rows of other treatments"):
            model().fit(stack(observational, few, covariates=["age", "sex"], target="observational"))

    @pytest.mark.parametrize("gamma", [0.5, np.inf, "two", True])
    def test_gamma(self, gamma):
        with pytest.raises(ValueError, match="must be a number of at least 1"):
            model(gamma=gamma).fit(study([]))

    def test_side(self):
        with pytest.raises(ValueError, match="side 'up' is unknown"):
            model(side="up").fit(study([]))

    @pytest.mark.parametrize(
        ("groups", "match"), [("age", "age makes 160 groups"), ("town", "'town'"), ([], "an empty list")]
    )
    def test_groups(self, groups, match):
        with pytest.raises(ValueError, match=match):
            model(groups=groups).fit(study([]))


class TestAssignment:
    def test_weights_are_the_inverse_probabilities(self):
        fitted = model("transfer").fit(study())
        arm = fitted.arms_[1]
        np.testing.assert_allclose(np.unique(arm.weights_.marks.weight), [1.25, 5])
        assert arm.weights_.largest == pytest.approx(5)

    def test_a_new_row_without_one_weighs_the_most(self):
        fitted, new = model().fit(study()), tables()[2]
        default = fitted.predict_interval(new, 1)
        least = fitted.predict_interval(new, 1, assignment=0.2)
        np.testing.assert_allclose(np.asarray(default), np.asarray(least))
        assert (fitted.predict_interval(new, 1, assignment=0.8).width <= default.width).all()

    def test_the_other_arm_tells_of_probabilities_that_no_own_row_has(self):
        observational, trial, _ = tables()
        rare = trial[(trial.t == 0) | (trial.p == 0.8)]
        with pytest.warns(UserWarning, match="treatment 1: .* stand for"):
            fitted = model().fit(stack(observational, rare, covariates=["age", "sex"], assignment="p"))
        assert fitted.arms_[0].weights_.largest == pytest.approx(5)
        assert fitted.arms_[1].weights_.largest == pytest.approx(5)
        new = tables()[2]
        likely, unlikely = (fitted.predict_interval(new, 1, assignment=each) for each in (0.8, 0.2))
        assert (unlikely.width > likely.width).any()

    def test_effects_take_the_treated_arm_s_probability(self):
        fitted, new = model().fit(study()), tables()[2]
        both = fitted.predict_effect_interval(new, assignment={1: 0.3, 0: 0.7})
        one = fitted.predict_effect_interval(new, assignment=0.3)
        reversed_ = fitted.predict_effect_interval(new, 0, 1, assignment=0.7)
        np.testing.assert_allclose(np.asarray(both), np.asarray(one))
        np.testing.assert_allclose(-reversed_.upper, one.lower)
        series = fitted.predict_effect_interval(new, assignment=pd.Series(0.3, index=new.index))
        np.testing.assert_array_equal(np.asarray(series), np.asarray(one))

    def test_not_for_a_study_without(self):
        with pytest.raises(ValueError, match="the model was fitted without it"):
            model().fit(study([])).predict_interval(tables()[2], 1, assignment=0.5)
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            model().fit(study()).predict_interval(tables()[2], 1, assignment=0.0)

    def test_one_probability_changes_nothing(self):
        observational, trial, new = tables()
        plain = model().fit(stack(observational, trial, covariates=["age", "sex"]))
        same = model().fit(stack(observational, trial.assign(p=0.5), covariates=["age", "sex"], assignment="p"))
        np.testing.assert_array_equal(
            np.asarray(plain.predict_interval(new, 1)), np.asarray(same.predict_interval(new, 1))
        )


def whole_clusters(seed=0, trial=400):
    """A study whose clusters were assigned as a whole."""
    observational, rows, _ = tables(seed, trial=trial)
    rows = rows.assign(t=rows.site % 2, y=rows.age + rows.site % 2)
    return stack(observational, rows, covariates=["age", "sex"], cluster="site")


class TestCluster:
    @pytest.mark.parametrize("method", ["transfer", "naive", TWO_STAGES])
    def test_every_cluster_weighs_one_if_assigned_as_a_whole(self, method):
        fitted = model(method).fit(whole_clusters())
        for arm in fitted.arms_.values():
            weights = arm.marks_.weights()
            np.testing.assert_allclose(np.bincount(arm.marks_.cluster, weights)[np.unique(arm.marks_.cluster)], 1)
            assert (weights > 0).all()
            assert arm.calibration_.total == pytest.approx(len(np.unique(arm.marks_.cluster)))

    @pytest.mark.parametrize("method", ["prognostic", "transfer-centred", "transfer"])
    def test_one_row_of_a_cluster_over_all_arms_if_divided(self, method):
        found = study(["cluster"])
        fitted = model(method).fit(found)
        counts = [len(arm.calibration_.scores) for arm in fitted.arms_.values()]
        assert sum(counts) == len(np.unique(found.cluster[found.trial]))

    @pytest.mark.parametrize("method", ["prognostic", "transfer-centred"])
    def test_one_row_per_cluster_where_rows_are_refitted(self, method):
        found = whole_clusters()
        for label, arm in model(method).fit(found).arms_.items():
            mine = found.trial & (found.treatment == label)
            assert len(arm.calibration_.scores) == len(np.unique(found.cluster[mine]))

    def test_no_cluster_fits_and_calibrates(self):
        found = whole_clusters()
        arm = model("naive").fit(found).arms_[1]
        mine = found.trial & (found.treatment == 1)
        assert len(np.unique(arm.marks_.cluster)) == round(len(np.unique(found.cluster[mine])) / 2)

    def test_a_single_cluster_cannot_be_split(self):
        observational, trial, _ = tables()
        with pytest.raises(RefusalError, match="come from 1 cluster"):
            model("naive").fit(
                stack(observational, trial.assign(site=trial.t), covariates=["age", "sex"], cluster="site")
            )

    def test_a_cluster_in_both_tables(self):
        observational, trial, _ = tables()
        with pytest.raises(ValueError, match="clusters of the trial are in the observational table too"):
            stack(observational.assign(site=3), trial, covariates=["age", "sex"], cluster="site")

    def test_small_clusters_that_are_not_in_every_arm(self):
        """Households of one or six people, those of one varying more: each is asked about as often as the other."""
        covered = []
        for seed in range(25):
            rng = np.random.default_rng(seed)

            def households(count, rng=rng):
                sizes = rng.choice([1, 6], count)
                home = np.repeat(np.arange(count), sizes)
                return home, np.where(sizes == 1, 10.0, 1.0)[home] * rng.normal(size=len(home))

            home, y = households(120)
            rows = len(home)
            X, t = rng.normal(size=(rows + 200, 1)), rng.integers(2, size=rows + 200)
            fitted = model("transfer").fit(
                X,
                np.concatenate([rng.normal(size=200), y]),
                t,
                np.arange(rows + 200) >= 200,
                cluster=np.concatenate([np.full(200, -1), home]),
            )
            others, outcome = households(400)
            first = np.unique(others, return_index=True)[1]
            new = rng.normal(size=(400, 1))
            covered += [fitted.predict_interval(new, arm).contains(outcome[first]).mean() for arm in (0, 1)]
        assert np.mean(covered) > 0.9 - 3 * np.std(covered) / len(covered) ** 0.5


@pytest.mark.parametrize(
    ("carry", "effect"),
    [
        (["assignment"], "bonferroni"),
        (["assignment"], "nested-exact"),
        (["cluster"], "bonferroni"),
        (["assignment", "target"], "bonferroni"),
    ],
)
@pytest.mark.slow
def test_saved_and_loaded_the_same(tmp_path, carry, effect):
    fitted, new = model(groups="sex", side="lower", effect=effect).fit(study(carry, trial=300)), tables()[2]
    fitted.save(tmp_path / "m.confide")
    again = load(tmp_path / "m.confide")
    np.testing.assert_array_equal(
        np.asarray(fitted.predict_effect_interval(new)), np.asarray(again.predict_effect_interval(new))
    )
    assert again.summary() == fitted.summary()


@pytest.mark.parametrize("method", RANKING)
def test_weights_of_an_arm_as_numbers(method):
    from confide import method as method_by_name

    rng = np.random.default_rng(0)
    X, trial = rng.normal(size=(300, 1)), np.arange(300) >= 150
    y = X[:, 0] + rng.normal(size=300)
    arm = method_by_name(method, base=Ridge(), random_state=0)
    weighted = arm.fit(X, y, trial=trial, weights=np.full(300, 2.0)).predict_interval(X[:5])
    plain = arm.fit(X, y, trial=trial).predict_interval(X[:5])
    np.testing.assert_allclose(np.asarray(weighted), np.asarray(plain))
    with pytest.raises(ValueError, match="one number per row"):
        arm.fit(X, y, trial=trial, weights=np.ones(3))
    with pytest.raises(ValueError, match="0 for all 150 trial rows"):
        arm.fit(X, y, trial=trial, weights=np.zeros(300))


def test_own_weights():
    weights = ArmWeights(Marks(weight=np.array([1.0, 4.0])), largest=4.0)
    np.testing.assert_allclose(weights.own(np.zeros((2, 1))), [4, 4])
    np.testing.assert_allclose(weights.own(np.zeros((2, 1)), [0.5, 0.25]), [2, 4])


def test_rows_of_other_arms_tell_what_they_left():
    """Of three arms only the probability of the one received is known: no other had more than the rest."""
    chance = np.array([0.5, 0.25, 0.25, 0.9, 0.5, 0.5] * 3)
    label = np.array([0, 1, 2, 0, 1, 2] * 3)
    found = Study(np.arange(18.0)[:, None], np.zeros(18), label, [True] * 18, assignment=chance)
    for arm, largest in ((0, 2.0), (1, 10.0), (2, 10.0)):
        weights = weights_of(found, arm, 0, found.X, None, None, None)
        assert weights.largest == pytest.approx(largest)


def test_probabilities_of_something_else_are_pointed_out():
    rng = np.random.default_rng(0)
    X, trial = rng.normal(size=(400, 1)), np.arange(400) >= 100
    chance = np.where(X[:, 0] > 0, 0.8, 0.2)
    treatment = (rng.random(400) < chance).astype(int)
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, X[:, 0], treatment, trial, assignment=np.where(treatment == 1, chance, 1 - chance))
    with pytest.warns(UserWarning, match=r"treatment 0: .* stand for .* and the trial has 300"):
        model.fit(X, X[:, 0], treatment, trial, assignment=chance)


def test_with_three_arms_the_promise_says_what_it_assumes_of_unknown_probabilities():
    rng = np.random.default_rng(0)
    X, trial, treatment = rng.normal(size=(600, 1)), np.arange(600) >= 150, rng.integers(3, size=600)
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.3, random_state=0)
    assignment = np.full(600, 1 / 3)
    assert "smaller" not in str(model.fit(X, X[:, 0], treatment, trial, assignment=assignment).promise_)
    assignment[X[:, 0] > 0] += 0.001
    assert "probability is smaller" in str(model.fit(X, X[:, 0], treatment, trial, assignment=assignment).promise_)


@pytest.mark.parametrize("method", ["transfer", "prognostic", "naive"])
@pytest.mark.parametrize("whole", [True, False])
def test_too_few_clusters_are_told_as_clusters(method, whole):
    """More rows of the same clusters would not help."""
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(160, 1)), np.arange(160) % 2
    site = np.where(np.arange(160) < 100, -1, np.arange(160) % 10 if whole else np.arange(160) // 2 % 10)
    with pytest.warns(InfiniteIntervalWarning, match=r"calibration clusters.*more trial clusters\.$"):
        model(method).fit(X, rng.normal(size=160), t, np.arange(160) >= 100, cluster=site)
