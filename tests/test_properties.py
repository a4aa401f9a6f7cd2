"""What answers may depend on, and what not: properties of the whole public contract, for every method.

What does not hold for a method is named with its reason; docs/promises.md says it too.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joblib import parallel_config

from confide import METHODS, CounterfactualIntervals, load, method, stack
from confide.data.files import read_study
from confide.data.writing import writing
from confide.predict.batches import answer_file
from small_studies import ALPHAS, answers, members, small_studies, within

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few rows: infinite intervals, unlike people

# Predictions of one row and of many may differ in their last bits, by the order of sums.
CLOSE = {"rtol": 1e-9, "atol": 1e-9, "equal_nan": True}
QUICK = ("naive", "transfer")

# Exceptions, each with its reason.
# Rows are parted at random by their places (those that train and those that calibrate, or the folds of held-out rows),
# so that another order is another random part, and both copies of a row may be on either side.
BY_PLACE = [name for name in METHODS if name not in ("transfer", "transfer-centred")]
# A density ratio is learnt by a classifier that takes columns, and draws at random, one after another.
BY_RATIO = [name for name in METHODS if "dr" in name]
# Sets are searched: each end is known up to a millionth of a range that is a fifth wider than the outcomes' own.
SEARCHED = ["wcp-nb", "wtcp-dr"]
# The candidate is chosen at the level: another level may have another one.
CHOOSES = ["prognostic"]
# The ends of first-stage intervals are regressed anew at each level.
REGRESSES_ENDS = [name for name in METHODS if name.startswith("wscp")]


def every_method(but=()):
    """Return the methods that a property is checked for: two on few examples, all on more."""
    few = [pytest.param(name, 2, id=name) for name in QUICK if name not in but]
    more = [pytest.param(name, 6, id=f"{name}, many", marks=pytest.mark.slow) for name in METHODS if name not in but]
    return pytest.mark.parametrize(("name", "examples"), [*few, *more])


def holds(examples, *strategies):
    """Check a property on so many examples."""

    def check(test):
        quiet = [HealthCheck.too_slow, HealthCheck.differing_executors]
        settings(max_examples=examples, deadline=None, database=None, suppress_health_check=quiet)(
            given(*strategies)(test)
        )()

    return check


def span(study):
    """Return the spread of outcomes, by which differences are measured."""
    return float(np.ptp(np.concatenate([study.observational["y"], study.trial["y"]])))


def same(found, expected, study, rtol=1e-7):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * span(study))


@every_method()
def test_new_rows_in_another_order_or_twice_have_their_own_answers(name, examples):
    @holds(examples, small_studies(), st.randoms(use_true_random=False))
    def check(study, random):
        model = study.fitted(name)
        places = [random.randrange(len(study.new)) for _ in range(2 * len(study.new))]
        np.testing.assert_allclose(answers(model, study.new.iloc[places]), answers(model, study.new)[places], **CLOSE)


@every_method()
def test_batches_answer_as_the_whole(name, examples):
    @holds(examples, small_studies(), st.integers(1, 4))
    def check(study, size):
        model = study.fitted(name)
        batches = [study.new.iloc[start : start + size] for start in range(0, len(study.new), size)]
        parts = [answers(model, batch) for batch in batches]
        np.testing.assert_allclose(np.concatenate(parts), answers(model, study.new), **CLOSE)


@every_method(but=BY_PLACE)
def test_rows_of_the_study_in_another_order(name, examples):
    @holds(examples, small_studies(), st.integers(0, 99))
    def check(study, seed):
        rng = np.random.default_rng(seed)
        shuffled = study.mapped(lambda table: table.iloc[rng.permutation(len(table))])
        same(answers(shuffled.fitted(name), study.new), answers(study.fitted(name), study.new), study)


@every_method()
def test_columns_in_another_order(name, examples):
    @holds(examples, small_studies(), st.permutations(["x", "z", "place", "smoker"]))
    def check(study, order):
        model = study.fitted(name)
        np.testing.assert_array_equal(answers(model, study.new[order]), answers(model, study.new))
        if name not in BY_RATIO:
            moved = study.mapped(lambda table: table[[*order, *(c for c in ("t", "y") if c in table)]])
            same(answers(moved.fitted(name), study.new), answers(model, study.new), study)


@every_method()
def test_labels_have_other_names(name, examples):
    @holds(examples, small_studies(), st.sampled_from([("a", "b"), (2, 10), (0.5, 1.5), (False, True), ("b", "a")]))
    def check(study, labels):
        def renamed(table):
            return table.assign(t=np.array(labels, dtype=object)[table["t"]]) if "t" in table else table

        model = study.mapped(renamed).fitted(name, control=labels[0])
        np.testing.assert_array_equal(answers(model, study.new, labels), answers(study.fitted(name), study.new))


@every_method()
def test_outcomes_in_other_units(name, examples):
    @holds(examples, small_studies(), st.sampled_from([0.001, 1 / 3, 8.0, 1000.0]), st.sampled_from([0.0, -3.0, 40.0]))
    def check(study, factor, shift):
        if name == "wcp-nb":  # outcomes at the ends of its classes: only powers of two keep each on its side
            factor, shift = 8.0, 0.0
        start = shift * span(study)

        def measured(table):
            return table.assign(y=factor * (table["y"] + start)) if "y" in table else table

        other, expected = (
            answers(study.mapped(measured).fitted(name), study.new),
            answers(study.fitted(name), study.new),
        )
        expected[:, :6] += start  # points and intervals of outcomes; effects lose the shift
        same(other / factor, expected, study, 1e-6)


@every_method(but=BY_PLACE)
def test_the_observational_table_twice(name, examples):
    @holds(examples, small_studies())
    def check(study):
        twice = replace(study, observational=pd.concat([study.observational] * 2))
        same(answers(twice.fitted(name), study.new), answers(study.fitted(name), study.new), study)


@every_method(but=CHOOSES + REGRESSES_ENDS)
def test_a_larger_alpha_gives_sets_inside(name, examples):
    @holds(examples, small_studies(), st.lists(st.sampled_from(ALPHAS), min_size=2, max_size=2, unique=True))
    def check(study, alphas):
        nested(study.fitted(name), study, alphas, 3e-6 if name in SEARCHED else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("features", ["slope", "offset", "ridge", "none"])
def test_sets_of_one_candidate_are_nested(features):
    @holds(12, small_studies(), st.lists(st.sampled_from(ALPHAS), min_size=2, max_size=2, unique=True))
    def check(study, alphas):
        arm = method("prognostic", base="linear", features=features, scale="none")
        model = CounterfactualIntervals(arm, alpha=study.alpha, random_state=0)
        nested(model.fit(stack(study.observational, study.trial)), study, alphas)


def nested(model, study, alphas, off=1e-9):
    wide, narrow = (model.with_alpha(alpha) for alpha in sorted(alphas))
    slack = off * span(study)
    for label in (0, 1):
        inner, outer = (each.predict_interval(study.new, label) for each in (narrow, wide))
        assert within(inner, outer, slack).all()
        candidates = np.quantile(study.trial["y"], [0.0, 0.3, 0.5, 0.9, 1.0]) + span(study) / 97
        inside, outside = (members(each, study.new, label, candidates) for each in (narrow, wide))
        assert (inside <= outside).all()
    inner, outer = (each.predict_effect_interval(study.new) for each in (narrow, wide))
    assert within(inner, outer, slack).all()


@every_method()
def test_another_level_is_a_refit_at_that_level(name, examples):
    @holds(examples, small_studies(), st.sampled_from(ALPHAS))
    def check(study, alpha):
        moved, fitted = study.fitted(name).with_alpha(alpha), study.fitted(name, alpha=alpha)
        np.testing.assert_array_equal(answers(moved, study.new), answers(fitted, study.new))
        assert str(moved.promise_) == str(fitted.promise_)


@every_method()
def test_a_saved_model_answers_the_same(name, examples, tmp_path_factory):
    @holds(examples, small_studies())
    def check(study):
        path, model = tmp_path_factory.mktemp("saved") / "model.confide", study.fitted(name)
        model.save(path)
        np.testing.assert_array_equal(answers(load(path), study.new), answers(model, study.new))


@every_method()
def test_the_same_seed_gives_the_same_bytes(name, examples, tmp_path_factory):
    @holds(examples, small_studies())
    def check(study):
        folder = tmp_path_factory.mktemp("bytes")
        written = []
        for number in range(2):
            study.fitted(name).save(folder / f"{number}.confide")
            written.append((folder / f"{number}.confide").read_bytes())
        assert written[0] == written[1]


@every_method()
def test_every_kind_of_table_gives_the_same_answers(name, examples, tmp_path_factory):
    kinds = {
        "polars": pl.from_pandas,
        "pyarrow": lambda table: pa.Table.from_pandas(table, preserve_index=False),
    }

    @holds(examples, small_studies())
    def check(study):
        expected = answers(study.fitted(name), study.new)
        for kind in kinds.values():
            other = study.mapped(kind)
            np.testing.assert_array_equal(answers(other.fitted(name), other.new), expected)
        folder = tmp_path_factory.mktemp("files")
        for ending in ("csv", "parquet"):
            files = {each: str(folder / f"{each}.{ending}") for each in ("observational", "trial", "new")}
            for each, path in files.items():
                write(path, kinds["pyarrow"](getattr(study, each)))
            model = fitted_on(study, name, read_study(files["observational"], files["trial"], "t", "y"))
            found = str(folder / f"answers.{ending}")
            answer_file(model, files["new"], found)
            written = pd.read_csv(found) if ending == "csv" else pd.read_parquet(found)
            columns = ["y_0", "y_0_lower", "y_0_upper", "y_1", "y_1_lower", "y_1_upper"]
            columns += ["effect_1_vs_0", "effect_1_vs_0_lower", "effect_1_vs_0_upper"]
            np.testing.assert_array_equal(written[columns].to_numpy(dtype=float), expected)


@every_method()
def test_arrays_are_tables_of_numbers(name, examples):
    @holds(examples, small_studies(numbers_only=True))
    def check(study):
        both = pd.concat([study.observational, study.trial])
        in_trial = np.repeat([False, True], [len(study.observational), len(study.trial)])
        model = fitted_on(study, name, (both[["x", "z"]].to_numpy(), both["y"], both["t"], in_trial))
        np.testing.assert_array_equal(answers(model, study.new.to_numpy()), answers(study.fitted(name), study.new))


@every_method()
def test_two_workers_give_the_answers_of_one(name, examples):
    @holds(examples, small_studies())
    def check(study):
        with parallel_config(backend="threading"):
            two = study.fitted(name, n_jobs=2)
        np.testing.assert_array_equal(answers(two, study.new), answers(study.fitted(name), study.new))


@pytest.mark.slow
@pytest.mark.parametrize("effect", ["nested-exact", "nested-inexact"])
def test_nested_effects_move_with_the_level_and_the_units_and_are_saved(effect, tmp_path_factory):
    @holds(6, small_studies(), st.sampled_from(ALPHAS))
    def check(study, alpha):
        model, moved = (study.fitted("transfer", effect=effect, alpha=each) for each in (study.alpha, alpha))
        np.testing.assert_array_equal(answers(model.with_alpha(alpha), study.new), answers(moved, study.new))
        path = tmp_path_factory.mktemp("saved") / "model.confide"
        moved.save(path)
        np.testing.assert_array_equal(answers(load(path), study.new), answers(moved, study.new))
        longer = study.mapped(lambda table: table.assign(y=8 * table["y"]) if "y" in table else table)
        other = longer.fitted("transfer", effect=effect, alpha=alpha)
        same(answers(other, study.new) / 8, answers(moved, study.new), study, 1e-6)


SLOWER = ("naive", "transfer-centred", "prognostic")
WHOM = ["transfer", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOWER)]


@pytest.mark.parametrize("name", WHOM)
def test_weights_that_say_nothing_change_nothing(name):
    """One group of everybody, the same probability for everybody, clusters of one, gamma 1.

    With clusters `naive` parts clusters, not rows, at random: another random part.
    """

    @holds(2, small_studies())
    def check(study):
        expected = answers(study.fitted(name), study.new)
        given = [
            study.observational.assign(p=0.5, school=-1),
            study.trial.assign(p=0.5, school=range(len(study.trial))),
        ]
        ways = [({"assignment": "p"}, {}), ({}, {"groups": "z > -1"}), ({}, {"gamma": 1})]
        for carried, model in [*ways, *([({"cluster": "school"}, {})] if name != "naive" else [])]:
            joined = stack(*given, covariates=list(study.new.columns), **carried)
            same(answers(fitted_on(study, name, joined, **model), study.new), expected, study)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prognostic", "wscp-dr-exact"])
def test_two_processes_give_the_answers_of_one(name):
    @holds(2, small_studies())
    def check(study):
        np.testing.assert_array_equal(
            answers(study.fitted(name, n_jobs=2), study.new), answers(study.fitted(name), study.new)
        )


def fitted_on(study, name, given, **model):
    params = {"second_stage": "linear"} if name.startswith("wscp") else {}
    arm = method(name, base="linear", **params)
    model = CounterfactualIntervals(arm, alpha=study.alpha, random_state=0, **model)
    return model.fit(*given) if isinstance(given, tuple) else model.fit(given)


def write(path, table):
    with writing(path, table.schema) as sink:
        sink.write_table(table)
