"""The life of a model: fitted again, copied, moved to another level, saved, loaded, asked from threads."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import confide
from confide import WSCPDR, CounterfactualIntervals, Transfer, average_effect, diagnostics, load, report, select
from fuzz.attacks._people_bench import (
    Cases,
    answers,
    fitted,
    folder,
    holds,
    new,
    people,
    refused,
    refused_all,
    refused_each,
    same,
    study,
    tables,
    unfitted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Cases()


class OwnBase(RegressorMixin, BaseEstimator):
    """A base model of one's own, without a random_state, which predicts what it is told."""

    def __init__(self, says: str = "mean") -> None:
        self.says = says

    def fit(self, X: Any, y: Any) -> OwnBase:
        """Remember the mean."""
        self.mean_, self.n_features_in_ = float(np.mean(y)), X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        """Return it in some form."""
        mean = np.full(len(X), self.mean_)
        forms: dict[str, Any] = {
            "mean": mean,
            "NaN": mean * np.nan,
            "infinity": mean + np.inf,
            "one column": mean[:, None],
            "two columns": np.column_stack([mean, mean]),
            "one row too few": mean[1:],
            "a number": self.mean_,
            "text": mean.astype(str),
            "nothing": None,
        }
        return forms[self.says]


@CASES.named("asking a model that is not fitted, in 17 ways")
def _() -> str:
    model, rows = unfitted(), new()
    calls: list[Callable[[], Any]] = [
        *(partial(getattr(model, name), rows, 1) for name in ("predict", "predict_interval", "predict_set")),
        *(partial(getattr(model, name), rows) for name in ("predict_effect_interval", "encode", "read")),
        *(partial(getattr, model, name) for name in ("promise_", "whom_", "participant_promise_")),
        *(model.summary, lambda: model.with_alpha(0.1), lambda: model.with_gamma(2.0)),
        *(lambda: model.save("model.confide"), lambda: select(model, rows, 1, above=3)),
        *(lambda: average_effect(model, study()), lambda: report.write_report("page.html", model, rows)),
        lambda: diagnostics.calibration_weights(model),
    ]
    for place, call in enumerate(calls):
        try:
            call()
        except NotFittedError:
            continue
        raise AssertionError(f"question {place} was answered")
    return f"All {len(calls)} questions end in scikit-learn's NotFittedError."


@CASES.named("fit twice, the second time with other columns, labels and arrays")
def _() -> str:
    model = fitted(control=1)
    before = model.summary()
    rows = np.arange(60.0)[:, None]
    model.set_params(control="v").fit(rows, rows[:, 0] ** 2, ["u", "v"] * 30, [0, 0, 1, 1] * 15)
    holds(model.control_ == "v" and list(model.arms_) == ["u", "v"], f"arms {model.arms_}")
    holds(model.summary() != before and "place" not in model.summary(), "the summary is that of the first fit")
    fresh = unfitted(control="v").fit(rows, rows[:, 0] ** 2, ["u", "v"] * 30, [0, 0, 1, 1] * 15)
    same(answers(model, rows[:5], ("u", "v")), answers(fresh, rows[:5], ("u", "v")), "answers of the second fit")
    refused(lambda: model.predict(new(), "u"))
    return "The second fit is that of a new model, and nothing of the first is left."


@CASES.named("a second fit that fails")
def _() -> str:
    model = fitted()
    before = answers(model)
    refused(lambda: model.set_params(alpha=7).fit(study()), "alpha", "7")
    same(answers(model), before, "answers after a failed fit")
    return "The first fit still answers, the same."


@CASES.named("set_params after fit, each parameter")
def _() -> str:
    model = fitted()
    moved = model.with_alpha(0.4)
    others: dict[str, Any] = {
        "alpha": 0.5,
        "arm_alpha": 0.01,
        "base": "ridge",
        "control": 1,
        "effect": "nested-exact",
        "encoder": StandardScaler(),
        "gamma": 3.0,
        "groups": "place",
        "method": "wcp",
        "n_jobs": 2,
        "random_state": 9,
        "side": "lower",
    }
    for name, value in others.items():
        changed = copy.deepcopy(model).set_params(**{name: value})
        same(answers(changed), answers(model), f"answers after set_params({name})")
        holds(changed.summary() == model.summary(), f"the summary after set_params({name})")
        same(answers(changed.with_alpha(0.4)), answers(moved), f"with_alpha after set_params({name})")
    return f"None of {len(others)} parameters changes an answer before the next fit."


@CASES.named("set_params(method=...) after fit, then with_alpha")
def _() -> str:
    model = fitted()
    for method in (WSCPDR(levels=(0.1, 0.1)), Transfer(alpha=0.3), 3, "nonsense"):
        other = copy.deepcopy(model).set_params(method=method).with_alpha(0.4)
        same(answers(other), answers(model.with_alpha(0.4)), f"with_alpha after method={method!r}")
    return "The level moves, whatever the next fit's method is to be."


@CASES.named("clone, get_params and repr after fit")
def _() -> str:
    model = fitted(control=1, groups=["place"], alpha=0.3)
    copied = clone(model)
    holds(not hasattr(copied, "arms_"), "the clone is fitted")
    holds(copied.get_params() == model.get_params(), "the clone has other parameters")
    same(answers(copied.fit(study())), answers(model), "a clone fitted on the same study")
    holds("alpha=0.3" in repr(model), repr(model))
    moved = clone(model.with_alpha(0.1))
    holds(moved.alpha == 0.1, f"a clone of with_alpha(0.1) has alpha {moved.alpha}")
    return "A clone is unfitted, and fitted again gives the same; that of with_alpha has the new level."


@CASES.named("pickle, deepcopy and joblib")
def _() -> str:
    model = fitted(effect="nested-exact")
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for name, copied in {
        "pickle": pickle.loads(pickle.dumps(model)),  # noqa: S301
        "deepcopy": copy.deepcopy(model),
        "joblib": joblib.load(file),
    }.items():
        same(answers(copied), answers(model), name)
        holds(copied.summary() == model.summary(), f"summary after {name}")
    return "The three copies answer bit for bit the same."


@CASES.named("save, load, with_alpha, save, load")
def _() -> str:
    with folder():
        model = fitted(effect="nested-exact", gamma=1.2)
        model.save("one.confide")
        load("one.confide").with_alpha(0.4).save("two.confide")
        other = load("two.confide")
        same(answers(other), answers(model.with_alpha(0.4)), "after two files")
        holds(other.alpha_ == 0.4 and other.gamma_ == Fraction(6, 5), f"{other.alpha_}, {other.gamma_}")
        back = other.with_alpha(0.2)
        same(answers(back), answers(model), "back at the first level")
        back.save("three.confide")
        load("one.confide").save("four.confide")
        holds(Path("one.confide").read_bytes() == Path("four.confide").read_bytes(), "loaded and saved: other bytes")
    return "Levels move through two files and back; to load and save again gives the same bytes."


@CASES.named("load in a fresh process")
def _() -> str:
    code = (
        "import sys, numpy, pandas, confide; model = confide.load('m.confide'); rows = pandas.read_csv('new.csv');"
        "numpy.save('found.npy', numpy.asarray(model.predict_effect_interval(rows)))"
    )
    with folder():
        model = fitted()
        model.save("m.confide")
        new().to_csv("new.csv", index=False)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        holds(done.returncode == 0 and not done.stderr, done.stderr[-300:])
        same(np.load("found.npy"), np.asarray(model.predict_effect_interval(new())), "in another process")
    return "Another process answers bit for bit the same, in silence."


@CASES.named("model files of six methods, loaded with trusted=()")
def _() -> str:
    names = ("naive", "transfer", "transfer-centred", "prognostic", "pooled-dr", "wcp")
    with folder():
        for name in names:
            model = fitted(method=name)
            model.save("m.confide")
            same(answers(load("m.confide", trusted=())), answers(model), name)
    return f"{len(names)} methods load without a trusted type, and answer the same."


@CASES.named("a base model of one's own in a model file")
def _() -> str:
    with folder():
        model = fitted(base=OwnBase())
        model.save("m.confide")
        refused(lambda: load("m.confide"), "not trusted", "OwnBase", "trusted=")
        same(answers(load("m.confide", trusted=[OwnBase])), answers(model), "a trusted base")
    return "Refused by its name, and loaded when it is named."


@CASES.named("parameters of pandas, which no model file can hold")
def _() -> str:
    with folder():
        line = refused(lambda: fitted(groups=pd.Index(["place"])).save("m.confide"), "groups", "Index")
        own = Transfer(outcome_range=pd.Series([-9.0, 99.0]))
        refused(lambda: fitted(method=own).save("m.confide"), "outcome_range", "Series")
        holds(not Path("m.confide").exists(), "half a file is left")
        fitted(groups=np.array(["place"])).save("m.confide")
    return f"Refused by the parameter's name, and no file is left: {line}"


@CASES.named("levels of every kind: 0, 1, text, Fraction, float32, NaN, a list")
def _() -> str:
    model = fitted()
    bad: list[Any] = [0, 1, -0.1, 1.5, "0.1", float("nan"), True, [0.1], np.array([0.1])]
    refused_each(bad, lambda each: fitted(alpha=each), "between 0 and 1")
    refused_each(bad, model.with_alpha, "between 0 and 1")
    refused_each(bad, lambda each: fitted(arm_alpha=each), "arm_alpha")
    expected = answers(model.with_alpha(0.1))
    with folder():
        for each in (Fraction(1, 10), np.float32(0.1), np.float64(0.1)):
            other = fitted(alpha=each)
            same(answers(other), expected, f"alpha={each!r}")
            other.save("m.confide")
            same(answers(load("m.confide")), expected, f"alpha={each!r}, loaded")
    return f"{len(bad)} values are refused three times each; three ways to write 0.1 are one level, also in files."


@CASES.named("alpha, base and random_state in both places")
def _() -> str:
    arm = Transfer(alpha=Fraction(1, 5), base=Ridge(), random_state=0)
    same(
        answers(CounterfactualIntervals(arm, alpha=0.2, base=Ridge(), random_state=0).fit(study())),
        answers(CounterfactualIntervals("transfer", alpha=0.2, base=Ridge(), random_state=0).fit(study())),
        "the same in both places",
    )
    others: list[dict[str, Any]] = [{"alpha": 0.1}, {"base": Ridge(2.0)}, {"random_state": 1}]
    for other in others:
        refused_each([other], lambda given: CounterfactualIntervals(arm, **given).fit(study()), *other, "two places")
    return "The same value twice is one; two values are refused with both named."


@CASES.named("seeds of every kind")
def _() -> str:
    bad: list[Any] = [-1, 2**32, 1.0, "0", np.random.default_rng(0), [0]]
    refused_each(bad, lambda each: fitted(random_state=each), "random_state", "2**32 - 1")
    model = fitted(method="naive")
    same(answers(fitted(method="naive", random_state=np.int64(0))), answers(model), "a seed of numpy")
    drawn = [fitted(method="naive", random_state=np.random.RandomState(5)) for _ in range(2)]
    same(answers(drawn[0]), answers(drawn[1]), "two generators of one state")
    free = [answers(fitted(method="naive", random_state=None)) for _ in range(3)]
    holds(any(not np.array_equal(free[0], each) for each in free[1:]), "random_state=None gave the same three times")
    return f"{len(bad)} that are none are refused in one line; None draws anew, all others decide everything."


@CASES.named("no global random numbers are taken or set")
def _() -> str:
    before: Any = np.random.get_state()  # noqa: NPY002
    answers(fitted(method="prognostic"))
    after: Any = np.random.get_state()  # noqa: NPY002
    holds(np.array_equal(before[1], after[1]) and before[2:] == after[2:], "numpy's own state moved")
    return "numpy's global generator is as it was."


@CASES.named("one process and two")
def _() -> str:
    alone = answers(fitted(method="prognostic"))
    same(answers(fitted(method="prognostic", n_jobs=2)), alone, "n_jobs=2")
    return "n_jobs=2 gives the bits of n_jobs=1."


@CASES.named("four threads fit, ask, save and sum up one study")
def _() -> str:
    model, expected = fitted(), answers(fitted())
    with folder(), ThreadPoolExecutor(4) as pool:

        def work(_: int) -> Any:
            model.save("m.confide")
            return answers(model), answers(fitted()), answers(load("m.confide")), model.summary()

        found = list(pool.map(work, range(8)))
    for asked, again, loaded, summary in found:
        for each in (asked, again, loaded):
            same(each, expected, "in a thread")
        holds(summary == found[0][3], "summaries differ")
    return "32 answers at once, all bit for bit the same; the file is whole each time."


@CASES.named("nothing that is given is changed, and read-only arrays will do")
def _() -> str:
    observational, trial = tables()
    before = observational.copy(), trial.copy(), new()
    rows = new()
    answers(unfitted("prognostic").fit(confide.stack(observational, trial)), rows)
    pairs = zip(before, (observational, trial, rows), strict=True)
    holds(all(one.equals(other) for one, other in pairs), "a table was changed")
    X = people(80, 3)[["age", "dose"]].to_numpy()
    given = X, X[:, 1] * 1.0, np.arange(80) % 2, np.arange(80) % 4 > 1
    expected = answers(unfitted().fit(*(each.copy() for each in given)), X[:5].copy())
    for each in given:
        each.setflags(write=False)
    same(answers(unfitted().fit(*given), X[:5]), expected, "read-only arrays")
    other = np.asfortranarray(X), *given[1:]
    same(answers(unfitted().fit(*other), np.repeat(X, 2, axis=0)[::2][:5]), expected, "strided arrays")
    return "Tables are as they were; read-only and strided arrays give the same answers."


@CASES.named("base models: pipelines, fitted ones, classes, classifiers, and models of one's own")
def _() -> str:
    piped = make_pipeline(StandardScaler(), Ridge())
    same(answers(fitted(base=piped)), answers(fitted(base=clone(piped))), "a pipeline")
    holds(not hasattr(piped[0], "mean_"), "the caller's own pipeline was fitted")
    used = Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
    same(answers(fitted(base=used)), answers(fitted(base=Ridge())), "a base that was fitted before")
    holds(np.isfinite(answers(fitted(base=OwnBase()))).all(), "a constant base without random_state")
    bad: list[Any] = [Ridge, StandardScaler(), 5, "ridgee", make_pipeline(StandardScaler())]
    refused_each(bad, lambda each: fitted(base=each), "base")
    return "Bases are cloned, never fitted in place; what is no regressor is refused by name."


@CASES.named("base models that predict NaN, infinity, columns, text or nothing")
def _() -> str:
    count = 0
    for method in ("transfer", "prognostic", "naive", "wcp"):
        for says in ("NaN", "infinity", "one column", "two columns", "one row too few", "a number", "text", "nothing"):
            call = partial(fitted, method=method, base=OwnBase(says))
            count += refused_all({f"{method}, a base that predicts {says}": call}, "base model")
    return f"{count} fits are refused with what the base predicts; none gives an interval."


@CASES.named("methods: names, objects, classes, and what is no method")
def _() -> str:
    same(answers(fitted(method=Transfer())), answers(fitted(method="transfer")), "an object and its name")
    arm = fitted().arms_[0]
    same(answers(CounterfactualIntervals(arm).fit(study())), answers(fitted()), "a fitted arm is cloned")
    bad: list[Any] = [Transfer, "Transfer", None, Ridge(), unfitted(), 3]
    refused_each(bad, lambda each: CounterfactualIntervals(each).fit(study()))
    return f"A name and an object are one; {len(bad)} other things are refused, with the names that there are."
