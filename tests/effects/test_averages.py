"""Average effects of a study: which rows and scores they use, for whom, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from confide import CounterfactualIntervals, RefusalError, Study, average_effect, stack
from confide.effects.contrast import mean_differences


def tables(seed=0, labels=("drug", "placebo"), rows=(300, 90)):
    """An observational table whose outcomes are far off, and a trial."""
    rng = np.random.default_rng(seed)
    parts = []
    for count, shift in zip(rows, (50, 0), strict=True):
        part = pd.DataFrame({"age": rng.normal(50, 10, count), "sex": rng.choice(["f", "m"], count)})
        part["t"] = np.array(labels)[rng.integers(len(labels), size=count)]
        part["y"] = part.age / 10 + rng.normal(size=count) + (part.t == labels[0]) * (1 + shift)
        parts.append(part)
    return parts


def fitted(study, method="transfer", **more):
    return CounterfactualIntervals(method, base="ridge", control="placebo", random_state=0, **more).fit(study)


@pytest.fixture(scope="module")
def study():
    return stack(*tables())


@pytest.fixture(scope="module")
def model(study):
    return fitted(study)


def trial(study):
    mine = study.trial
    return study.y[mine], study.treatment[mine] == "drug", study.X[mine]


def test_everybody(study, model):
    (found,) = average_effect(model, study)
    y, treated, X = trial(study)
    plain = stats.ttest_ind(y[treated], y[~treated], equal_var=False).confidence_interval()
    assert (found.unadjusted_low, found.unadjusted_high) == pytest.approx(tuple(plain))
    share, encoded = treated.mean(), model.encode(X)
    score = (1 - share) * model.predict(X, "drug") + share * model.predict(X, "placebo")
    assert len(encoded) == found.n == 90
    ((wanted, _),) = mean_differences(y, score, treated)
    assert (found.effect, found.low, found.high) == pytest.approx((wanted.effect, wanted.low, wanted.high))
    assert found.low < 1 < found.high  # although observational outcomes say 51
    assert (found.group, found.treated, found.control) == ("everybody", "drug", "placebo")
    assert found.rows == {"drug": treated.sum(), "placebo": (~treated).sum()}
    assert (found.clusters, found.number_needed_to_treat, found.alpha) == (None, None, 0.05)
    assert found.share_of_width == pytest.approx(
        (found.high - found.low) / (found.unadjusted_high - found.unadjusted_low)
    )
    assert found.share_of_width < 0.9


@pytest.mark.parametrize("method", ["prognostic", "transfer", "transfer-centred"])
def test_observational_outcomes_cannot_move_it_far(method, study, model):
    """Methods that learn nothing from trial rows agree, since all that matters is one score."""
    (one,), (other,) = (average_effect(each, study) for each in (model, fitted(study, method)))
    assert (one.effect, one.low, one.high) == pytest.approx((other.effect, other.low, other.high), abs=0.02)


def test_observational_rows_have_no_part_in_the_comparison(study, model):
    alone = study.take(np.flatnonzero(study.trial))
    assert average_effect(model, alone, by="sex") == average_effect(model, study, by="sex")


def test_groups(study, model):
    found = average_effect(model, study, by="sex", alpha=0.2)
    y, treated, X = trial(study)
    assert [record.group for record in found] == ["everybody", "sex = f", "sex = m"]
    assert found[0] == average_effect(model, study, alpha=0.2)[0]
    for record, value in zip(found[1:], ("f", "m"), strict=True):
        mine = (X.sex == value).to_numpy()
        plain = stats.ttest_ind(y[mine & treated], y[mine & ~treated], equal_var=False).confidence_interval(0.8)
        assert (record.unadjusted_low, record.unadjusted_high) == pytest.approx(tuple(plain))
        assert record.n == mine.sum()
    with pytest.raises(ValueError, match="got 'sexx'; did you mean sex"):
        average_effect(model, study, by="sexx")
    with pytest.raises(ValueError, match="at most 20"):
        average_effect(model, study, by=["age"])


def test_a_group_with_too_few_rows_is_infinite(study, model):
    _, treated, X = trial(study)
    few = (treated & (X.sex == "m")).to_numpy()
    kept = np.flatnonzero(study.trial)[~few | (np.cumsum(few) == 1)]
    found = average_effect(model, study.take(kept), by="sex")[2]
    assert found.rows["drug"] == 1
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert np.isfinite(found.effect)
    assert np.isnan(found.share_of_width)


def test_the_name_of_a_treatment_does_not_matter(study, model):
    codes = Study(study.X, study.y, np.where(study.treatment == "drug", 7, 3), study.trial)
    renamed = CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(codes)
    (one,), (other,) = average_effect(model, study), average_effect(renamed, codes)
    assert (one.effect, one.low, one.high) == pytest.approx((other.effect, other.low, other.high))
    (back,) = average_effect(renamed, codes, treated=3)
    assert (back.treated, back.control) == (3, 7)
    assert (back.effect, back.low, back.high) == pytest.approx((-one.effect, -one.high, -one.low))


def test_of_several_arms_two_are_compared():
    study = stack(*tables(labels=("drug", "placebo", "both"), rows=(450, 150)))
    model = fitted(study)
    with pytest.raises(ValueError, match="there are 3 treatments"):
        average_effect(model, study)
    (found,) = average_effect(model, study, "both")
    assert (found.treated, found.control) == ("both", "placebo")
    two = study.take(np.flatnonzero(study.trial & (study.treatment != "drug")))
    assert average_effect(model, two, "both") == [found]


def test_level_groups_side_and_gamma_of_the_model_have_no_part(study, model):
    other = fitted(study, alpha=0.4, groups="sex", side="lower", gamma=1.5)
    (one,), (two,) = average_effect(model, study), average_effect(other, study)
    assert (one.effect, one.low, one.high) == pytest.approx((two.effect, two.low, two.high))


def test_known_probabilities_weigh_rows():
    observational, trial = tables()
    chance = np.where(trial.sex == "f", 0.8, 0.3)
    trial["p"] = np.where(trial.t == "drug", chance, 1 - chance)
    study = stack(observational, trial, assignment="p")
    (found,) = average_effect(fitted(study), study)
    means = [np.average(part.y, weights=1 / part.p) for _, part in trial.groupby("t")]
    assert found.unadjusted == pytest.approx(means[0] - means[1])
    trial["p"] = 0.5
    study = stack(observational, trial, assignment="p")
    assert average_effect(fitted(study), study) == average_effect(fitted(stack(*tables())), stack(*tables()))


def test_clusters_count_once():
    observational, trial = tables()
    trial["site"] = np.where(trial.t == "drug", "a", "b") + pd.Series(np.arange(90) % 13 % 7).astype(str)
    study = stack(observational, trial, cluster="site")
    (found,) = average_effect(fitted(study, alpha=0.5), study)
    means = trial.groupby(["t", "site"]).y.mean()
    plain = stats.ttest_ind(means["drug"], means["placebo"], equal_var=False).confidence_interval()
    assert (found.unadjusted_low, found.unadjusted_high) == pytest.approx(tuple(plain))
    assert found.clusters == len(means) == 14


def test_risks():
    observational, trial = tables(rows=(400, 200))
    for part in (observational, trial):
        part["y"] = ((part.age > 50) & (part.t == "drug")).astype(float)
    study = stack(observational, trial)
    with pytest.warns(UserWarning, match="the outcome is 0 or 1 in every row"):
        model = fitted(study)
    (found,) = average_effect(model, study)
    needed, low, high = found.number_needed_to_treat
    assert 0 < found.low < 0.5 < found.high < 1
    assert (needed, low, high) == pytest.approx((1 / found.effect, 1 / found.high, 1 / found.low))
    (back,) = average_effect(model, study, treated="placebo")
    assert back.number_needed_to_treat == pytest.approx(found.number_needed_to_treat)
    nobody = Study(study.X, study.y * ~study.trial, study.treatment, study.trial)
    (none,) = average_effect(model, nobody)
    assert none.low < 0 < none.high
    assert none.number_needed_to_treat is None


def test_scores_that_learnt_from_the_trial_are_refused(study):
    with pytest.raises(RefusalError, match="naive learns from trial rows"):
        average_effect(fitted(study, "naive"), study)


def test_other_refusals(study, model):
    observational, trial = tables()
    with pytest.raises(RefusalError, match="average effects are for the trial's people, and this study has a target"):
        average_effect(model, stack(observational, trial, target="observational"))
    trial["p"], trial["site"] = np.linspace(0.2, 0.8, 90), np.arange(90) % 9
    both = stack(observational, trial, assignment="p", cluster="site")
    with pytest.raises(RefusalError, match="cannot be combined with clusters"):
        average_effect(model, both)
    for role, column in {"assignment": "p", "cluster": "site"}.items():
        carried = stack(observational, trial, covariates=["age", "sex"], **{role: column})
        said = rf"fitted with {role}, and this study has none: .* Make the study with {role}= \(--{role}\)"
        with pytest.raises(RefusalError, match=said):
            average_effect(fitted(carried, alpha=0.9), study)
    with pytest.raises(ValueError, match=r"study must be a Study, .* got tuple"):
        average_effect(model, (1, 2))
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 5"):
        average_effect(model, study, alpha=5)


@pytest.mark.parametrize(("count", "told"), [(2, True), (9, True), (10, False)])
def test_a_few_rows_that_stand_for_many_people_are_pointed_out(count, told):
    """Of 100 treated rows so many had a chance of 1 in 10; they stand for a tenth of the people or more."""
    trial = pd.DataFrame({"x": np.arange(200.0), "t": np.tile(["drug", "placebo"], 100), "y": np.arange(200) % 7.0})
    trial["p"] = np.where((trial.t == "drug") & (trial.x < 2 * count), 0.1, 0.5)
    study = stack(trial.drop(columns="p"), trial, treatment="t", outcome="y", assignment="p")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        average_effect(fitted(study), study)
    said = [str(each.message) for each in caught if "whose probability was small" in str(each.message)]
    assert len(said) == told
    assert all(text.startswith(f"treatment drug: {count} rows whose probability was small stand for ") for text in said)
