"""Every method on held-out rows of a trial: the same rows for all, none of them seen."""

from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from confide import METHODS, WSCPDR, WTCPDR, CounterfactualIntervals, Study, stack
from confide import compare as held_out
from confide.base import cache
from confide.base.cache import sharing_fits
from confide.compare import HELD_OUT, compare, compare_on_held_out, held_out_rows, hold_out, on_held_out
from confide.diagnostics import coverage_report
from confide.models.interval_ends import IntervalEnds
from helpers import study_arrays
from tables import people


def study(n=300, m=120):
    return Study(*study_arrays(n=n, m=m))


@pytest.mark.slow
def test_every_method_is_told_on_the_same_rows():
    found = list(compare_on_held_out(study(), alpha=0.1, seed=0))
    assert [each.method for each in found] == list(METHODS)
    sizes = {tuple(arm.n for arm in each.arms) for each in found}
    assert len(sizes) == 1
    assert sum(sizes.pop()) == pytest.approx(HELD_OUT * 120, abs=1)
    for each in found:
        assert each.promise == METHODS[each.method].promise
        assert each.refused is None


def test_no_held_out_row_is_seen(monkeypatch):
    """What a model is fitted on and what it is asked are all rows of the study, and no row is both."""
    whole = study()
    fitted, asked = [], []
    real = CounterfactualIntervals.fit
    monkeypatch.setattr(
        CounterfactualIntervals, "fit", lambda model, given: (fitted.append(given.X), real(model, given))[1]
    )
    monkeypatch.setattr(
        held_out, "coverage_report", lambda model, X, *rest, **_: (asked.append(X), coverage_report(model, X, *rest))[1]
    )
    list(compare_on_held_out(whole, alpha=0.1, seed=0, names=["naive", "transfer"]))
    assert len(fitted) == len(asked) == 2
    for seen, new in zip(fitted, asked, strict=True):
        assert not set(seen[:, 0]) & set(new[:, 0])
        assert sorted([*seen[:, 0], *new[:, 0]]) == sorted(whole.X[:, 0])
        assert set(new[:, 0]) <= set(whole.X[whole.trial, 0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")
@pytest.mark.parametrize("name", ["transfer", "wcp", "wscp-dr-inexact", "wscp-dr-exact"])
def test_what_calibration_rests_on_is_told_as_in_the_diagnostics(name):
    """The smaller n_eff of the stages that calibrate: the last quantile's, and the first stage's where there is one."""
    kept, test = hold_out(study(), 0)
    (found,) = compare(kept, test, 0.1, 0, [name])
    model = CounterfactualIntervals(name, alpha=0.1, random_state=0).fit(*kept)
    records = model.diagnostics_
    two_stages = name.startswith("wscp-dr")
    for label, each in records.items():
        sizes = [each.effective_size] * bool(each.calibration) + [each.first_stage_size] * two_stages
        assert found.effective_sizes[label] == min(sizes) > 0
        assert (each.calibration == 0) == (name == "wscp-dr-inexact")


def test_a_method_that_refuses_says_why():
    X, y, treatment, trial = study_arrays(n=300, m=60)
    only = Study(X[trial], y[trial], treatment[trial], trial[trial])
    found = {each.method: each for each in compare_on_held_out(only, alpha=0.2, seed=0, names=["naive", "wtcp-dr"])}
    assert found["naive"].refused is None
    assert "observational" in found["wtcp-dr"].refused
    assert found["wtcp-dr"].arms == []
    assert found["wtcp-dr"].effective_sizes == {}


@pytest.mark.parametrize("name", ["naive", "transfer"])
def test_who_asks_is_not_inside_the_cache_of_the_comparison(name):
    X, y, treatment, trial = study_arrays(n=300, m=60)
    only = Study(X[trial], y[trial], treatment[trial], trial[trial])
    table = pd.DataFrame(only.X, columns=[f"x{number}" for number in range(only.X.shape[1])])
    model = CounterfactualIntervals("naive", alpha=0.4, base=LinearRegression(), random_state=0)
    model.fit(table, only.y, only.treatment, only.trial)
    found = next(results := compare_on_held_out(only, alpha=0.2, seed=0, names=[name]))
    assert (found.refused is not None) == (name == "transfer")
    before = model.predict(table, 1)
    table["x0"] += 10.0  # in place: whoever looks it up by its identity answers for the old one
    assert not np.allclose(model.predict(table, 1), before)
    assert list(results) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "estimator", "promise"),
    [
        ("wtcp-dr", WTCPDR(ratio_rows="all", refit=True, base=LinearRegression()), "none proved with ratio_rows='all'"),
        ("wscp-dr-exact", WSCPDR(levels=(0.05, 0.15)), "≥ 1-0.05-0.15-Δ, Δ the error of r̂"),
    ],
)
def test_the_promise_is_that_of_the_parameters(name, estimator, promise):
    models = {name: CounterfactualIntervals(estimator)}
    (found,) = compare(*hold_out(study(), 0), 0.1, 0, [name], models)
    assert found.refused is None
    assert str(found.promise) == promise


def tables(n=200, m=100):
    """Return a study of two tables with text, dates and gaps."""
    return stack(*(people(rows, seed).drop_columns(["who"]) for seed, rows in enumerate((n, m))))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.exceptions.InfiniteIntervalWarning")
def test_shared_models_give_to_the_last_bit_what_separate_fits_give():
    kept, test = hold_out(tables(300, 120), 0)
    for found in compare(kept, test, 0.2, 0):
        alone = CounterfactualIntervals(found.method, alpha=0.2, random_state=0).fit(kept)
        assert found.arms == coverage_report(alone, test.X, test.y, test.treatment), found.method


@pytest.mark.slow
def test_models_of_the_large_table_are_learnt_once_for_all_methods(monkeypatch):
    """Per arm 8 fits on observational rows for all methods; one base and one quantile learn from the trial alone."""
    kept, test = hold_out(tables(300, 120), 0)
    fits, rows, real = {}, {}, joblib.hash

    def remembered(fit, **how):
        key = real(fit, **how)
        if isinstance(fit, tuple):  # a model, its rows and parameters; an encoder otherwise
            rows[key] = type(fit[0]).__name__, [len(each) for each in fit[1]]
        return key

    monkeypatch.setattr(cache.joblib, "hash", remembered)
    with sharing_fits(fits):
        assert [each.refused for each in compare(kept, test, 0.2, 0)] == [None] * len(METHODS)
    arms = len(kept.arms)
    most = max(int((kept.trial & (kept.treatment == label)).sum()) for label in kept.arms)
    large = Counter(name for name, counts in (rows[key] for key in fits) if counts[-1] > most)
    assert large == {"Learner": 3 * arms, "ClassifierRatio": 3 * arms, "PropensityRatio": arms, "NaiveBayesRatio": arms}
    assert len(fits) - large.total() == 2 * arms
    assert len(fits) == 10 * arms


def test_a_model_that_was_fitted_before_is_shared_with_its_comparison(monkeypatch):
    """Rows held out are the trial's: what is learnt from the large table alone is the same, and is not learnt again."""
    whole = tables()
    learnt = []
    real = LinearRegression.fit
    monkeypatch.setattr(LinearRegression, "fit", lambda model, X, y: (learnt.append(len(y)), real(model, X, y))[1])
    model = CounterfactualIntervals("transfer", base="linear", random_state=0)
    with sharing_fits():
        model.fit(whole)
        separate = list(learnt)
        found = on_held_out(model, whole, 0)
    assert learnt == separate == [int((~whole.trial & (whole.treatment == label)).sum()) for label in whole.arms]
    assert found == on_held_out(model, whole, 0)
    assert len(learnt) == 2 * len(separate)


def test_no_effect_is_fitted_for_a_comparison(monkeypatch):
    learnt = []
    real = IntervalEnds.fit
    monkeypatch.setattr(IntervalEnds, "fit", lambda ends, *args: (learnt.append(ends), real(ends, *args))[1])
    arm = WSCPDR(base="linear", second_stage=LinearRegression())
    (found,) = compare(*hold_out(study(), 0), 0.2, 0, ["two"], {"two": CounterfactualIntervals(arm)})
    assert len(learnt) == len(found.arms) == 2


def test_tables_are_compared_as_arrays_are():
    (found,) = compare_on_held_out(tables(), alpha=0.1, seed=0, names=["transfer"])
    assert [arm.treatment for arm in found.arms] == ["drug", "placebo"]
    assert all(arm.coverage > 0.5 for arm in found.arms)


def volunteers(carry=(), rows=300):
    """Return a study of people with groups, whose trial favoured some and had sites."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=rows), "sex": rng.choice(["f", "m"], rows)})
    chance = np.where(table.age > 0, 0.7, 0.3)
    treated = (rng.random(rows) < chance).astype(int)
    y = (table.age + treated + np.where(table.sex == "m", 3.0, 1.0) * rng.normal(size=rows)).to_numpy()
    given = {
        "assignment": np.where(treated == 1, chance, 1 - chance),
        "cluster": rng.integers(60, size=rows),
        "target": "observational",
    }
    return Study(table, y, treated, np.arange(rows) >= 100, **{name: given[name] for name in carry})


def test_coverage_by_group_is_that_of_the_report():
    kept, test = hold_out(volunteers(), 0)
    model = CounterfactualIntervals("transfer", base="ridge", groups="sex")
    (found,) = compare(kept, test, 0.2, 0, ["transfer"], {"transfer": model}, "sex")
    again = clone(model).set_params(alpha=0.2, random_state=0).fit(kept)
    assert found.by_group == coverage_report(again, test.X, test.y, test.treatment, "sex")
    assert [each.group for each in found.by_group] == ["sex = f", "sex = m"] * 2
    assert found.arms == coverage_report(again, test.X, test.y, test.treatment)
    (without,) = compare(kept, test, 0.2, 0, ["transfer"], {"transfer": model})
    assert without.by_group == []


def test_held_out_rows_are_asked_with_their_probabilities():
    kept, test = hold_out(volunteers(["assignment"]), 0)
    model = CounterfactualIntervals("transfer", base="ridge")
    (found,) = compare(kept, test, 0.2, 0, ["transfer"], {"transfer": model})
    again = clone(model).set_params(alpha=0.2, random_state=0).fit(kept)
    assert found.arms == coverage_report(again, test.X, test.y, test.treatment, assignment=test.assignment)
    assert found.arms != coverage_report(again, test.X, test.y, test.treatment)


@pytest.mark.filterwarnings("error")
def test_a_group_that_only_the_held_out_rows_have_is_counted_without_a_warning():
    kept, test = hold_out(volunteers(), 0)
    object.__setattr__(test, "X", test.X.assign(sex=np.where(np.arange(len(test)) < 6, "x", test.X.sex)))
    model = CounterfactualIntervals("transfer", base="ridge", groups="sex")
    (found,) = compare(kept, test, 0.3, 0, ["transfer"], {"transfer": model}, "sex")
    strange = [each for each in found.by_group if each.group == "sex = x"]
    assert sum(each.n for each in strange) == 6
    assert all(each.infinite == 1 for each in strange)


def test_the_models_own_method_is_fitted_again_on_the_same_rows():
    study = volunteers()
    model = CounterfactualIntervals("transfer", base="ridge", alpha=0.2, groups="sex", random_state=7).fit(study)
    found = on_held_out(model, study, 3, "sex")
    assert [found] == list(compare_on_held_out(study, 0.2, 3, ["transfer"], {"transfer": model}, "sex"))
    refused = on_held_out(model, volunteers(["target"]), 3, "sex")
    assert refused.refused.startswith("held-out rows are the trial's people")
    assert (refused.method, refused.arms, refused.by_group) == ("transfer", [], [])


@pytest.mark.parametrize(
    ("carry", "words"),
    [
        ([], "On 30% of the trial's rows"),
        (["cluster"], "On 30% of the trial's clusters, one row of each"),
        (["assignment"], "On 30% of the trial's rows, fewer of people who were likely to get their treatment"),
    ],
)
def test_which_rows_are_shown_is_said(carry, words):
    assert held_out_rows(volunteers(carry)).startswith(words)
