"""Threads: one for small work, no more than there are cores, and one place that decides."""

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.neural_network import MLPClassifier
from threadpoolctl import ThreadpoolController, threadpool_limits

from confide import METHODS, CounterfactualIntervals, method
from confide.base import threads
from confide.base.threads import MANY_ROWS, cores, keep_to_one_thread, one_thread, threads_for
from confide.compare import compare_on_held_out
from confide.data.study import Study
from confide.diagnostics import hidden_confounding_test
from confide.models.auto import AutoClassifier, AutoRegressor
from confide.ratio import RATIOS, ClassifierRatio
from confide.recommend import CrossFittedRatio, MatrixFactorization
from helpers import arm_rows, gaussians, study_arrays

ROOT = Path(__file__).parents[2]
LIBRARIES = ThreadpoolController()


def numbers(kind):
    """Return how many threads the libraries of a kind have in the current Python thread."""
    found = {each["num_threads"] for each in LIBRARIES.info() if each["user_api"] == kind}
    assert found
    return found


def both():
    return numbers("openmp"), numbers("blas")


@pytest.fixture
def four(monkeypatch):
    """A machine of four cores, all of which the libraries would use, and whose threads sleep while they wait."""
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    with threadpool_limits(4):
        yield


@pytest.mark.usefixtures("four")
def test_small_work_has_one_thread_and_large_work_the_cores():
    assert both() == ({4}, {4})
    with threads_for(MANY_ROWS - 1):
        assert both() == ({1}, {1})
        with threads_for(np.zeros((MANY_ROWS, 1))):
            assert both() == ({4}, {1})
            with threads_for([0.0] * 3):
                assert both() == ({1}, {1})
            assert both() == ({4}, {1})
        assert both() == ({1}, {1})
    assert both() == ({4}, {4})


@pytest.mark.usefixtures("four")
def test_no_more_than_the_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 3)
    with threads_for(MANY_ROWS):
        assert numbers("openmp") == {3}


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("policy", ["ACTIVE", "", None])
def test_threads_that_would_spin_are_not_used(monkeypatch, policy):
    monkeypatch.delenv("OMP_WAIT_POLICY")
    if policy is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    with threads_for(MANY_ROWS):
        assert both() == ({1}, {1})


@pytest.mark.usefixtures("four")
def test_no_more_than_the_caller_allows():
    with threadpool_limits(2, user_api="openmp"), threads_for(10), threads_for(MANY_ROWS):
        assert numbers("openmp") == {2}


@pytest.mark.usefixtures("four")
def test_one_thread_however_many_rows():
    with one_thread(), threads_for(MANY_ROWS):
        assert both() == ({1}, {1})
    with threads_for(MANY_ROWS):
        with one_thread(), threads_for(MANY_ROWS):
            assert numbers("openmp") == {1}
        assert numbers("openmp") == {4}


@pytest.mark.usefixtures("four")
def test_an_error_leaves_everything_as_it_was():
    with pytest.raises(ValueError, match="inside"), one_thread(), threads_for(MANY_ROWS):
        raise ValueError("inside")
    assert both() == ({4}, {4})
    with threads_for(MANY_ROWS):
        assert numbers("openmp") == {4}


@pytest.mark.usefixtures("four")
def test_the_threads_of_a_pool_have_one_each():
    def asked(rows):
        with threads_for(rows):
            return both()

    with one_thread(), ThreadPoolExecutor(2, initializer=keep_to_one_thread) as pool:
        assert set(map(repr, pool.map(asked, [10, MANY_ROWS] * 4))) == {"({1}, {1})"}


@pytest.mark.usefixtures("four")
def test_python_threads_that_overlap_leave_everything_as_it_was():
    """BLAS has one number for all: who set it sets it back, though another thread still works, and leaves later."""
    entered, left, seen = threading.Event(), threading.Event(), []

    def work():
        with threads_for(10):
            seen.append(both())
            entered.set()
            assert left.wait(60)
            seen.append(numbers("openmp"))

    with threads_for(10):
        other = threading.Thread(target=work)
        other.start()
        assert entered.wait(60)
    assert both() == ({4}, {4})
    left.set()
    other.join()
    assert seen == [({1}, {1}), {1}]
    assert both() == ({4}, {4})


@pytest.mark.parametrize("rows", [None, 3.5, np.float64(2), np.zeros(()), "text"])
def test_what_is_no_table_is_left_to_others_to_refuse(rows):
    with threads_for(rows):
        assert numbers("openmp") == {1}


def group(root, path, **files):
    """Write the files of a control group."""
    folder = root / "sys/fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("quota", "found"), [("max 100000\n", 8), ("300000 100000\n", 3), ("250000 100000\n", 2), ("50000 100000\n", 1)]
)
def test_the_quota_of_a_container(root, quota, found):
    (root / "proc/self/cgroup").write_text("0::/\n")
    group(root, "", cpu_max=quota)
    assert cores(root) == found


def test_the_quota_of_a_group_above(root):
    """The least of a process's group and those above it; a group that is not there, as in a container, is skipped."""
    (root / "proc/self/cgroup").write_text("0::/slice/job/step\n")
    group(root, "slice/job", cpu_max="400000 100000\n")
    group(root, "slice", cpu_max="600000 100000\n")
    group(root, "elsewhere", cpu_max="100000 100000\n")
    assert cores(root) == 4


@pytest.mark.parametrize(("quota", "found"), [("-1\n", 8), ("200000\n", 2)])
def test_the_quota_of_the_first_version(root, quota, found):
    (root / "proc/self/cgroup").write_text("5:memory:/a\n4:cpu,cpuacct:/docker/1f\n3:name=systemd:/a\n0::/a\n")
    group(root, "cpu,cpuacct", cpu_cfs_quota_us=quota, cpu_cfs_period_us="100000\n")
    group(root, "memory/a", cpu_cfs_quota_us="1\n", cpu_cfs_period_us="100000\n")
    assert cores(root) == found


def test_no_more_than_the_affinity(root, monkeypatch):
    assert cores(root) == 8  # no control groups at all
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert cores(root) == 1


# Estimators of the caller's own, which write down how many threads they are given.


class Spy:
    """What the libraries' numbers were in each call, for all spies together."""

    seen: list = []  # noqa: RUF012  (shared, and emptied by each test)

    def note(self, call):
        self.seen.append((type(self).__name__, call, *both()))


class SpyRegressor(Spy, RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        self.note("fit")
        self.model_ = LinearRegression().fit(X, y, sample_weight)
        return self

    def predict(self, X):
        self.note("predict")
        return self.model_.predict(X)


class SpyClassifier(Spy, ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.note("fit")
        self.classes_ = np.unique(y)
        self.model_ = LogisticRegression().fit(X, y)
        return self

    def predict_proba(self, X):
        self.note("predict_proba")
        return self.model_.predict_proba(X)


class SpyTransformer(Spy, TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):  # noqa: ARG002
        self.note("fit")
        self.fitted_ = True
        return self

    def transform(self, X):
        self.note("transform")
        return np.asarray(X, dtype=float)[:, :1]


@pytest.fixture
def seen(four):  # noqa: ARG001
    """What spies noted; at the end all must have had one thread of each kind."""
    Spy.seen.clear()
    yield Spy.seen
    assert Spy.seen
    assert {(name, call): found for name, call, *found in Spy.seen if found != [{1}, {1}]} == {}


@pytest.fixture
def own_learners(seen, monkeypatch):
    """Let scikit-learn's learners note their threads too."""

    def noting(kind, call):
        real = getattr(kind, call)

        def noted(self, *args, **kwargs):
            seen.append((kind.__name__, call, *both()))
            return real(self, *args, **kwargs)

        monkeypatch.setattr(kind, call, noted)

    for kind in (HistGradientBoostingRegressor, RidgeCV, Ridge):
        noting(kind, "fit")
    for kind in (HistGradientBoostingClassifier, LogisticRegression, MLPClassifier):
        noting(kind, "fit")
        noting(kind, "predict_proba")
    noting(HistGradientBoostingRegressor, "predict")
    noting(MatrixFactorization, "_learn")
    return seen


def calls(seen):
    return {(name, call) for name, call, *_ in seen}


X, Y, TREATMENT, TRIAL = study_arrays(n=240, m=80, d=2)
PARTS = {"base": SpyRegressor(), "second_stage": SpyRegressor()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_own_models_have_one_thread(name, seen):
    """Whatever is asked of a fitted model, the caller's regressor, classifier and encoder are called with one."""
    unfitted = method(name)
    parts = {**PARTS, "ratio": ClassifierRatio(SpyClassifier(), on="x" if name == "wcp" else "xy")}
    unfitted.set_params(**{key: part for key, part in parts.items() if key in unfitted.get_params()})
    model = CounterfactualIntervals(unfitted, encoder=SpyTransformer(), effect="nested-exact", random_state=0)
    model.fit(X, Y, TREATMENT, TRIAL)
    model.predict(X[:3], treatment=1)
    model.predict_set(X[:3], treatment=[0, 1, 0])
    model.predict_effect(X[:3])
    model.predict_effect_interval(X[:3])
    model.with_alpha(0.3).predict_interval(X[:3], treatment=0)
    model.summary()
    assert {("SpyRegressor", "fit"), ("SpyRegressor", "predict"), ("SpyTransformer", "transform")} <= calls(seen)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("score", ["absolute", "normalised"])
@pytest.mark.parametrize(("name", "base_on"), [("transfer", "grounded"), ("pooled-dr", "weighted")])
def test_own_models_have_one_thread_with_any_score(name, base_on, score, seen):
    rows, y, trial = arm_rows()
    params = {"base": SpyRegressor(), "conformity_score": score, "base_on": base_on}
    method(name, **params).fit(rows, y, trial=trial).predict_interval(rows[:3])
    assert ("SpyRegressor", "predict") in calls(seen)


@pytest.mark.filterwarnings("ignore")
def test_refits_have_one_thread(seen):
    rows, y, trial = arm_rows(n=60, m=20)
    method("wtcp-dr", base=SpyRegressor(), refit=True).fit(rows, y, trial=trial).predict_set(rows[:1])
    assert ("SpyRegressor", "predict") in calls(seen)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_methods_of_a_comparison_have_one_thread(own_learners):
    few = ["pooled-dr", "wcp", "wscp-dr-exact"]
    list(compare_on_held_out(Study(X, Y, TREATMENT, TRIAL), alpha=0.2, seed=0, names=few))
    assert {("HistGradientBoostingRegressor", "fit"), ("MLPClassifier", "predict_proba")} <= calls(own_learners)


def test_the_confounding_test_has_one_thread(own_learners):
    hidden_confounding_test(X, Y, TREATMENT, TRIAL)
    assert ("HistGradientBoostingClassifier", "predict_proba") in calls(own_learners)


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_have_one_thread(name, own_learners, monkeypatch):
    ratio = RATIOS[name]()
    for call in ("_fit", "_ratio"):
        real = getattr(ratio, call)

        def noted(*given, call=call, real=real):
            own_learners.append((name, call, *both()))
            return real(*given)

        monkeypatch.setattr(ratio, call, noted)
    trial, observational, _ = gaussians(300, 100)
    ratio.fit(trial, observational).predict(observational[:5])
    assert {(name, "_fit"), (name, "_ratio")} <= calls(own_learners)


def test_embeddings_have_one_thread(own_learners):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 20, 400), rng.integers(0, 15, 400), rng.standard_normal(400)])
    CrossFittedRatio(folds=2).fit(rows[:100], rows[100:])
    assert ("MatrixFactorization", "_learn") in calls(own_learners)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("auto", [AutoRegressor, AutoClassifier])
def test_automatic_models_have_one_thread(auto, own_learners):
    auto(random_state=0).fit(X, np.median(Y) < Y).predict(X)
    assert own_learners


@pytest.mark.usefixtures("four")
def test_large_fits_have_the_cores():
    Spy.seen.clear()
    rows, y, trial = arm_rows(n=MANY_ROWS, m=60)
    model = method("transfer", base=SpyRegressor()).fit(rows, y, trial=trial)
    model.predict(rows)
    model.predict(rows[:5])
    fit, predicted = [[found for _, call, *found in Spy.seen if call == each] for each in ("fit", "predict")]
    assert fit == [[{4}, {1}]]
    assert [{4}, {1}] in predicted
    assert [{1}, {1}] in predicted


def test_nothing_else_sets_thread_numbers():
    """One place: no other file limits a library or names its variables."""
    telling = re.compile(r"threadpool_limits|ThreadpoolController|(OMP|OPENBLAS|MKL)_[A-Z_]+|inner_max_num|cpu_count")
    folders = [ROOT / name for name in ("src", "scripts", "studies", "benchmarks")]
    places = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".sh"}]
    places += [ROOT / "Makefile", ROOT / "tests/conftest.py"]
    named = {path.relative_to(ROOT).as_posix() for path in places if telling.search(path.read_text(encoding="utf-8"))}
    assert named == {"src/confide/base/threads.py"}


def test_libraries_are_looked_for_in_another_thread(monkeypatch):
    """threadpoolctl is called back by C, where an interrupt is lost; interrupts come up in the main thread."""
    looked = []

    class Watched(ThreadpoolController):
        def __init__(self):
            looked.append(threading.current_thread())
            super().__init__()

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Watched)
    threads._controllers.cache_clear()
    with threads_for(1):
        pass
    assert looked
    assert threading.current_thread() not in looked
