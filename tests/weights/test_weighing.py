"""For whom answers hold: what a study carries, the weights it makes, what is refused, and coverage where it matters."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, Study, load, stack
from confide.conformal.marks import Marks
from confide.data.encoding import kinds_of
from confide.exceptions import InfiniteIntervalWarning, RefusalError
from confide.models.preprocessing import standardised
from confide.weights.arm_weights import ArmWeights
from confide.weights.groups import Groups
from confide.weights.target import TargetRatio, _joined, _regression
from confide.weights.weighing import weights_of

pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")
TWO_STAGES = pytest.param("wscp-dr-calibrated", marks=pytest.mark.slow)
RANKING = ("prognostic", "transfer", "transfer-centred", "naive", TWO_STAGES)
OTHERS = ("pooled-dr", "wcp", "wtcp-dr", "wscp-dr-exact", "wscp-dr-inexact")


def tables(seed=0, observational=400, trial=160):
    """An observational table, and a trial that was stratified by age and had sites."""
    rng = np.random.default_rng(seed)
    count = observational + trial
    frame = pd.DataFrame({"age": rng.normal(size=count), "sex": rng.choice(["f", "m"], count)})
    hidden, chance = rng.normal(size=count), np.where(frame.age > 0, 0.8, 0.2)
    by_lot = np.arange(count) >= observational
    treated = np.where(by_lot, rng.random(count) < chance, hidden + rng.normal(size=count) > 0)
    frame["t"] = treated.astype(int)
    frame["y"] = frame.age + treated + hidden + rng.normal(size=count)
    frame["p"] = np.where(treated, chance, 1 - chance)
    frame["site"] = rng.integers(20, size=count)
    return frame[~by_lot].drop(columns=["p", "site"]), frame[by_lot], frame[["age", "sex"]].head(30)


def model(method="prognostic", **params):
    return CounterfactualIntervals(method, base=Ridge(), random_state=0, **params)


def study(carry=("assignment",), seed=0, **params):
    observational, trial, _ = tables(seed, **params)
    given = {"assignment": "p", "cluster": "site", "target": "observational"}
    return stack(observational, trial, covariates=["age", "sex"], **{name: given[name] for name in carry})


class TestStudy:
    def test_columns_with_a_role_are_no_covariates(self):
        observational, trial, _ = tables()
        with pytest.warns(UserWarning, match="site"):
            found = stack(observational, trial, assignment="p")
        assert list(found.X.columns) == ["age", "sex"]
        assert found.carries == ["assignment"]
        assert np.isnan(found.assignment[~found.trial]).all()
        np.testing.assert_allclose(found.assignment[found.trial], trial.p)

    @pytest.mark.parametrize("carry", ["assignment", "cluster", "target"])
    def test_what_it_carries_is_not_lost(self, carry):
        found = study([carry])
        with pytest.raises(ValueError, match=f"carries {carry}, which would be lost"):
            tuple(found)
        assert found.take(np.arange(len(found))).carries == [carry]

    def test_clusters_are_numbered_in_the_trial(self):
        found = study(["cluster"])
        assert (found.cluster[~found.trial] == -1).all()
        assert len(np.unique(found.cluster[found.trial])) == 20

    def test_a_target_of_any_frame(self):
        observational, trial, new = tables()
        found = stack(observational, trial, covariates=["age", "sex"], target=pl.DataFrame(new))
        assert found.target.columns == ["age", "sex"]

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"assignment": "q"}, r"no column 'q' \(assignment\); there are"),
            ({"assignment": "t"}, "assignment must be a column of its own"),
            ({"assignment": "p", "cluster": "p"}, "of its own"),
            ({"assignment": "town"}, "must hold probabilities, and holds"),
            ({"target": "trial"}, "or 'observational', got 'trial'"),
            ({"target": pd.DataFrame({"age": [1.0]})}, "the target has no column sex"),
            ({"target": np.ones((3, 2))}, "must be a data frame of covariates"),
            ({"covariates": ["age", "p"], "assignment": "p"}, "'p' cannot be a covariate"),
        ],
    )
    def test_bad_roles(self, given, match):
        observational, trial, _ = tables()
        with pytest.raises(ValueError, match=match):
            stack(observational, trial.assign(town="Öst"), **{"covariates": ["age", "sex"], **given})

    def test_nobody_may_be_certain_of_a_treatment(self):
        observational, trial, _ = tables()
        trial = trial.assign(p=np.where(np.arange(len(trial)) == 3, 1.0, trial.p))
        with pytest.raises(ValueError, match="1 trial rows had a probability of 1"):
            stack(observational, trial, covariates=["age", "sex"], assignment="p")

    @pytest.mark.parametrize("bad", [0.0, 1.2, -0.1, np.nan])
    def test_a_probability_that_is_none(self, bad):
        observational, trial, _ = tables()
        trial = trial.assign(p=np.where(np.arange(len(trial)) == 3, bad, trial.p))
        with pytest.raises(ValueError, match="above 0 and at most 1: 1 of 160 are not"):
            stack(observational, trial, covariates=["age", "sex"], assignment="p")

    def test_a_missing_cluster(self):
        observational, trial, _ = tables()
        trial = trial.assign(site=trial.site.astype(object).where(trial.site > 0, None))
        with pytest.raises(ValueError, match=r"the cluster of .* trial rows is missing"):
            stack(observational, trial, covariates=["age", "sex"], cluster="site")

    def test_given_twice(self):
        with pytest.raises(ValueError, match="the study has its own cluster"):
            model().fit(study(), cluster=[1])

    def test_a_target_without_observational_rows(self):
        with pytest.raises(ValueError, match="needs observational rows"):
            Study(np.ones((4, 1)), [1, 2, 3, 4], [0, 0, 1, 1], [True] * 4, target="observational")


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
        ("groups", "match"), [("age", "make 160 groups"), ("town", "'town'"), ([], "an empty list")]
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


class TestGroups:
    @pytest.mark.parametrize("method", RANKING)
    def test_an_answer_is_that_of_the_group_s_own_rows(self, method):
        found, new = study([], trial=300), tables()[2]
        fitted = model(method, groups="sex").fit(found)
        assert fitted.groups_.names == ("sex = f", "sex = m")
        everybody = fitted.predict_interval(new, 1)
        for sex in ("f", "m"):
            mine = (new.sex == sex).to_numpy()
            some = fitted.predict_interval(new[mine], 1)
            np.testing.assert_allclose(np.asarray(some), np.asarray(everybody)[mine])
        assert "in each group of sex" in fitted.promise_.whom

    def test_split_by_group_is_the_quantile_within_it(self):
        found = study([], trial=300)
        fitted = model("transfer", groups=["sex"]).fit(found)
        arm = fitted.arms_[1]
        sex = (found.X.sex[found.trial & (found.treatment == 1)] == "m").to_numpy().astype(int)
        np.testing.assert_array_equal(arm.marks_.group, sex)
        scores = np.sort(arm.scores_["both"][sex == 1])
        rank = int(np.ceil(0.9 * (len(scores) + 1)))
        man = pd.DataFrame({"age": [0.0], "sex": ["m"]})
        low, high = fitted.predict_interval(man, 1)[0]
        assert (high - low) / 2 == pytest.approx(scores[rank - 1])

    def test_points_of_effects_need_no_group(self):
        fitted, new = model(groups="sex").fit(study([])), tables()[2]
        np.testing.assert_allclose(fitted.predict_effect(new), fitted.predict(new, 1) - fitted.predict(new, 0))

    def test_an_unseen_group_is_infinite_with_one_warning(self):
        fitted = model(groups="sex").fit(study([]))
        strange = pd.DataFrame({"age": [0.0, 0.1], "sex": ["f", "x"]})
        with pytest.warns(InfiniteIntervalWarning, match="1 of 2 rows belong to groups of sex that the trial does not"):
            found = fitted.predict_interval(strange, 1)
        np.testing.assert_array_equal(np.isinf(found.width), [False, True])

    def test_too_few_rows_of_a_group_are_told(self):
        observational, trial, _ = tables()
        rare = trial.assign(sex=np.where(np.arange(len(trial)) < 8, "x", trial.sex))
        with pytest.warns(InfiniteIntervalWarning, match=r"In 1 of 3 groups: group sex = x has \d trial"):
            model(groups="sex").fit(stack(observational, rare, covariates=["age", "sex"]))

    def test_nested_effects_tell_of_too_few_rows_of_a_group(self):
        observational, trial, _ = tables(trial=300)
        rare = trial.assign(sex=np.where(np.arange(len(trial)) < 30, "x", trial.sex))
        fitted = model("transfer", groups="sex", effect="nested-exact").fit(
            stack(observational, rare, covariates=["age", "sex"])
        )
        assert "Effect intervals: In 1 of 3 groups: group sex = x has" in " ".join(fitted.summary().split())

    def test_columns_are_crossed(self):
        observational, trial, _ = tables()
        for each in (observational, trial):
            each["old"] = each.age > 0
        fitted = model(groups=["old", "sex"]).fit(stack(observational, trial, covariates=["age", "sex", "old"]))
        assert fitted.groups_.names[0] == "old = no, sex = f"
        assert len(fitted.groups_.names) == 4

    def test_columns_of_an_array(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=200), rng.integers(2, size=200)])
        fitted = model(groups=1).fit(X, rng.normal(size=200), rng.integers(2, size=200), np.arange(200) > 100)
        assert fitted.groups_.names == ("x1 = 0", "x1 = 1")
        assert len(fitted.predict_interval(X, 1)) == 200


class TestSide:
    @pytest.mark.parametrize("method", RANKING)
    @pytest.mark.parametrize("side", ["lower", "upper"])
    def test_the_end_is_nearer_than_that_of_two(self, method, side):
        found, new = study([], trial=300), tables()[2]
        two, one = (model(method, side=each).fit(found).predict_interval(new, 1) for each in ("both", side))
        assert np.isinf(getattr(one, "upper" if side == "lower" else "lower")).all()
        if side == "lower":
            assert (one.lower >= two.lower - 1e-9).all()
            assert (one.lower > two.lower + 1e-3).any() or method == "wscp-dr-calibrated"  # where upper ends never miss
        else:
            assert (one.upper <= two.upper + 1e-9).all()
            assert (one.upper < two.upper - 1e-3).any()

    @pytest.mark.slow
    @pytest.mark.parametrize("effect", ["bonferroni", "nested-exact"])
    def test_effects(self, effect):
        found, new = study([], trial=300), tables()[2]
        low = model(side="lower", effect=effect).fit(found)
        high = model(side="upper", effect=effect).fit(found)
        lower, upper = low.predict_effect_interval(new), high.predict_effect_interval(new)
        assert np.isposinf(lower.upper).all()
        assert np.isneginf(upper.lower).all()
        # The other way round, a lower bound is an upper one.
        np.testing.assert_allclose(low.predict_effect_interval(new, 0, 1).lower, -upper.upper)

    @pytest.mark.slow
    def test_a_bonferroni_bound_is_the_difference_of_two(self):
        found, new = study([], trial=300), tables()[2]
        bound = model(side="lower").fit(found).predict_effect_interval(new).lower
        treated, control = (
            model(side=side, alpha=0.05).fit(found).predict_interval(new, label)
            for side, label in (("lower", 1), ("upper", 0))
        )
        np.testing.assert_allclose(bound, treated.lower - control.upper)

    def test_the_other_end_is_that_of_the_declared_range(self):
        from confide import Transfer

        found, new = study([], trial=300), tables()[2]
        arm = Transfer(base=Ridge(), outcome_range=(-100, 100), random_state=0)
        assert (CounterfactualIntervals(arm, side="lower").fit(found).predict_interval(new, 1).upper == 100).all()

    def test_discrete_outcomes(self):
        from confide import Naive

        rng = np.random.default_rng(0)
        X, t = rng.normal(size=(300, 1)), rng.integers(2, size=300)
        y = np.clip(np.round(X[:, 0] + rng.normal(size=300)), -2, 2)
        arm = Naive(base=Ridge(), outcome_values=[-2, -1, 0, 1, 2], random_state=0)
        found = CounterfactualIntervals(arm, side="upper").fit(X, y, t, np.ones(300, dtype=bool))
        sets = found.predict_set(X[:20], 1)
        assert (sets.hull().lower == -2).all()
        assert (sets.hull().upper < 2).any()

    def test_a_score_without_ends(self):
        from confide import Naive
        from confide.models.scores import AbsoluteResidual

        class Own:
            def __init__(self):
                self.inner = AbsoluteResidual()

            def __getattr__(self, name):
                if name in ("learn", "score", "interval", "point", "shift"):
                    return getattr(AbsoluteResidual(), name)
                raise AttributeError(name)

        fitted = CounterfactualIntervals(Naive(base=Ridge(), conformity_score=Own(), random_state=0), side="lower")
        with pytest.raises(ValueError, match="needs a score that measures from two ends"):
            fitted.fit(study([])).predict_interval(tables()[2], 1)


class TestGamma:
    @pytest.mark.parametrize(
        "method",
        ["pooled-dr", *(pytest.param(each, marks=pytest.mark.slow) for each in ("prognostic", "wscp-dr-exact"))],
    )
    def test_answers_are_those_of_the_smaller_level(self, method):
        found, new = study([], trial=300), tables()[2]
        worse = model(method, alpha=0.2, gamma=2).fit(found)
        plain = model(method, alpha=0.1).fit(found)
        np.testing.assert_array_equal(
            np.asarray(worse.predict_interval(new, 1)), np.asarray(plain.predict_interval(new, 1))
        )
        np.testing.assert_array_equal(
            np.asarray(worse.predict_effect_interval(new)), np.asarray(plain.predict_effect_interval(new))
        )
        assert worse.alpha_ == 0.2
        other = worse.with_alpha(0.4)
        assert other.alpha_ == 0.4
        np.testing.assert_array_equal(
            np.asarray(other.predict_interval(new, 1)), np.asarray(plain.with_alpha(0.2).predict_interval(new, 1))
        )

    def test_what_is_lost_counts_gamma_times(self):
        from confide import PooledDR

        guarded = CounterfactualIntervals(PooledDR(base=Ridge(), floor=0.05), gamma=2, random_state=0)
        assert "also ≥ 1-α-0.1, whatever" in str(guarded.fit(study([], trial=300)).promise_)
        assert "≥ 1-α-2·½E|w-ŵ/Eŵ| if outcomes given" in str(model(gamma=2).fit(study(["target"])).promise_)

    def test_the_promise_names_the_bound(self):
        found = model(gamma=1.5).fit(study([]))
        assert "if nobody asked about is more than 1.5 times as frequent as in the trial" in str(found.promise_)
        assert found.promise_.level(found.alpha_) == pytest.approx(0.9)
        assert found.effect_promise_.level(found.alpha_) == pytest.approx(0.9)


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


class TestProbabilitiesInATable:
    def found(self, fitted, **columns):
        return fitted.assignment_in(pa.table({"age": [0.1, 0.2], **columns}))

    def test_one_of_two_is_enough(self):
        fitted = model("transfer").fit(study())
        both = self.found(fitted, p_1=["0.3", "0.4"], p_0=[0.7, 0.6])
        assert set(both) == {0, 1}
        for given in ({"p_1": [0.3, 0.4]}, {"p_0": [0.7, 0.6]}):
            found = self.found(fitted, **given)
            for label in (0, 1):
                np.testing.assert_allclose(found[label], both[label])

    def test_none(self):
        assert self.found(model("transfer").fit(study())) == {}
        assert self.found(model("transfer").fit(study(())), p_1=[0.3, 0.4]) == {}

    def test_some_of_three(self):
        observational, trial, _ = tables()
        thirds = [table.assign(t=np.arange(len(table)) % 3) for table in (observational, trial)]
        fitted = model("transfer").fit(stack(*thirds, covariates=["age", "sex"], assignment="p"))
        with pytest.raises(ValueError, match="have p_1 and no column p_0, p_2: give the probabilities of all 3"):
            self.found(fitted, p_1=[0.3, 0.4])


def test_groups_of_numbers_are_in_their_order():
    X = np.array([[10.0], [9.0], [2.0], [np.nan]])
    groups = Groups.of([0], X, np.ones(4, dtype=bool), kinds_of(X))
    assert groups.names == ("x0 = 2", "x0 = 9", "x0 = 10", "x0 = missing")
    assert groups.codes(X).tolist() == [2, 1, 0, 3]


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
