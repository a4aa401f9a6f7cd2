"""Saved models predict the same bits, and a type that is not on the list is refused by name and not run."""

import hashlib
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import confide
from confide import METHODS, CounterfactualIntervals, PopulationWarning, load, method, stack
from confide.effects.registry import EFFECTS
from confide.io import allowed_types, model_file
from confide.io.model_file import HEADER, MODEL, read_header
from confide.models.scores import SCORES
from confide.ratio import RATIOS, OracleRatio
from forging import (
    NEW,
    STUDY,
    answers,
    fitted,
)


def reloaded(model, path, **how):
    model.save(path)
    return load(path, **how)


def parameters(model):
    return re.sub("0x[0-9A-F]+", "", str(model.get_params()))  # a RandomState tells where it is in memory


def check_round_trip(model, path, X=NEW, **how):
    other = reloaded(model, path, **how)
    assert answers(other, X) == answers(model, X)
    assert parameters(other) == parameters(model)
    assert list(other.arms_) == list(model.arms_)
    assert [type(label) for label in other.arms_] == [type(label) for label in model.arms_]
    return other


# What is saved is what is loaded.


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts_the_same_bits(name, path):
    arm = method(name, base=LinearRegression(), **({"second_stage": Ridge()} if name.startswith("wscp") else {}))
    model = fitted(CounterfactualIntervals(arm, random_state=0))
    other = check_round_trip(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert answers(other.with_alpha(0.3)) == answers(model.with_alpha(0.3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfer-centred", "wscp-dr-exact"])
def test_default_models_load_without_trust(name, path):
    model = fitted(CounterfactualIntervals(name, random_state=0))
    assert check_round_trip(model, path).method == name
    assert read_header(path)["promise"] == str(METHODS[name].promise)


@pytest.mark.long
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("name", METHODS)
def test_all_default_models_load_without_trust(name, score, effect, path):
    if name in ("transfer-centred", "prognostic") and score != "absolute":
        pytest.skip("the method takes absolute residuals")
    model = CounterfactualIntervals(method(name, conformity_score=score), effect=effect, random_state=0)
    check_round_trip(fitted(model), path)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_every_ratio_predicts_the_same_bits(ratio, path):
    check_round_trip(
        fitted(CounterfactualIntervals(method("wtcp-dr", base=Ridge(), ratio=ratio), random_state=0)), path
    )


@pytest.mark.slow
@pytest.mark.parametrize("score", ["absolute", "cqr", "normalised"])
@pytest.mark.parametrize("base_on", ["observational", "weighted", "grounded"])
def test_every_score_and_source_predicts_the_same_bits(score, base_on, path):
    arm = method("transfer", base=HistGradientBoostingRegressor(max_iter=2), conformity_score=score, base_on=base_on)
    check_round_trip(fitted(CounterfactualIntervals(arm, random_state=0)), path)


LABELS = {
    "integers": [3, 1, 2],
    "booleans": [True, False],
    "numbers": [0.1, 2.5, 1 / 3],
    "text": ["drug ü", "no drug", "1"],
    "numpy": np.array([7, 8], dtype=np.int8),
}


CASES = [(name, "bonferroni") for name in LABELS] + [("booleans", "nested-exact"), ("text", "nested-inexact")]


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "effect"), CASES)
def test_labels_of_every_kind_and_effects(labels, effect, path):
    X, y, _, trial = STUDY
    labels = np.asarray(LABELS[labels])
    treatment = labels[np.arange(len(y)) % len(labels)]
    model = fitted(study=(X, y, treatment, trial), effect=effect, random_state=0, alpha=0.3)
    other = check_round_trip(model, path)
    assert other.treatments_.dtype == model.treatments_.dtype
    assert answers(other.with_alpha(0.4)) == answers(model.with_alpha(0.4))


@pytest.mark.slow
def test_frames_with_text_dates_and_missing_values(path):
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "größe": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
            "town": pd.Series(rng.choice(["a", "b", "ç"], n)).mask(rng.random(n) < 0.1),
            "seen": pd.Timestamp("2024-01-31") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "written": rng.choice(["2024-01-31", "2023-05-01"], n),
            "is": rng.random(n) < 0.5,
            "t": rng.choice(["old", "new"], n),
            "y": rng.standard_normal(n),
        }
    )
    model = fitted(CounterfactualIntervals(random_state=0), stack(table[:120], table[120:]))
    check_round_trip(model, path, table.drop(columns=["t", "y"]))
    header = read_header(path)
    kinds = {"größe": "number", "town": "category", "seen": "date", "written": "date", "is": "number"}
    assert {column["name"]: column["kind"] for column in header["covariates"]} == kinds
    assert header["treatments"] == ["new", "old"]


def test_exact_levels_and_what_with_alpha_made(path):
    levels = {"levels": (Fraction(1, 7), 0.3), "alpha": 0.2}
    arm = method("wscp-dr-exact", base=Ridge(), ratio="naive-bayes", second_stage=Ridge(), **levels)
    model = fitted(CounterfactualIntervals(arm, random_state=0)).with_alpha(Fraction(1, 3))
    other = check_round_trip(model, path)
    assert other.alpha == Fraction(1, 3)
    assert other.arms_[0].levels == model.arms_[0].levels
    assert all(isinstance(level, Fraction) for level in other.arms_[0].levels)
    assert other.effect_.arms_[0].alpha == Fraction(1, 6)


@pytest.mark.slow
@pytest.mark.parametrize("base", [Ridge(), HistGradientBoostingRegressor(max_iter=2)], ids=["lines", "refits"])
def test_true_refits(base, path):
    arm = method("wtcp-dr", base=base, ratio="naive-bayes", refit=True)
    check_round_trip(fitted(CounterfactualIntervals(arm, random_state=0)), path, NEW[:2])


def test_discrete_outcomes_a_declared_range_and_an_encoder_of_ones_own(path):
    X, y, treatment, trial = STUDY
    grades = np.clip(np.round(y), -3, 3)
    arm = method("pooled-dr", base=Ridge(), ratio="naive-bayes", outcome_values=range(-3, 4), solve="transductive")
    check_round_trip(fitted(CounterfactualIntervals(arm, random_state=0), (X, grades, treatment, trial)), path)
    arm = method("naive", base=Ridge(), outcome_range=(-np.inf, 30), random_state=np.random.RandomState(0))
    model = fitted(CounterfactualIntervals(arm, encoder=StandardScaler(), alpha=np.float64(0.25)))
    check_round_trip(model, path)
    assert read_header(path)["covariates"] == [{"name": "0", "kind": None}]


def test_diagnostics_are_those_of_the_saved_model(path):
    model = fitted(random_state=0)
    summary = model.summary()
    other = reloaded(model, path)
    assert "diagnostics_" not in vars(other)
    assert other.summary() == summary
    with pytest.warns(PopulationWarning) as mine:
        model.predict(NEW + 100, 0)
    with pytest.warns(PopulationWarning, match=re.escape(str(mine[0].message))):
        other.predict(NEW + 100, 0)


def test_parts_that_were_shared_are_shared(path):
    other = reloaded(fitted(random_state=0), path)
    assert other.arms_[0].base_ is other.effect_.arms_[0].base_


@pytest.mark.slow
def test_another_process_predicts_the_same_bits(path):
    model = fitted(CounterfactualIntervals(method("transfer", base=HistGradientBoostingRegressor(max_iter=5))))
    model.save(path)
    code = f"""
import warnings
import numpy as np
from confide import load
warnings.simplefilter("ignore")
print(np.asarray(load({str(path)!r}).predict_effect_interval(np.linspace(-2, 2, 7)[:, None])).tobytes().hex())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        assert done.stdout.strip() == np.asarray(model.predict_effect_interval(NEW)).tobytes().hex()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfer-centred", "wscp-dr-exact"])
def test_the_same_model_gives_the_same_bytes(name, path):
    """Wherever it lay in memory, whenever it is saved."""
    fitted(CounterfactualIntervals(name, random_state=0)).save(path)
    code = f"""
from confide import CounterfactualIntervals
from forging import fitted
keep = [object() for _ in range(10_000)]  # another place in memory
fitted(CounterfactualIntervals({name!r}, random_state=0)).save({f"{path}.again"!r})
"""
    folder = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env={**os.environ, "PYTHONHASHSEED": "1"})
    assert path.with_name(f"{path.name}.again").read_bytes() == path.read_bytes()


def test_any_zip_program_reads_what_the_model_is(path):
    fitted(CounterfactualIntervals("naive", alpha=0.2, random_state=0)).save(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [HEADER, MODEL]
        header, tree = json.loads(archive.read(HEADER)), archive.read(MODEL)
    assert header == read_header(path)
    assert header.pop("sha256") == hashlib.sha256(tree).hexdigest()
    assert header == {
        "format": 1,
        "confide": confide.__version__,
        "scikit-learn": sklearn.__version__,
        "method": "naive",
        "promise": "≥ 1-α",
        "control": 0,
        "alpha": 0.2,
        "effect": "bonferroni",
        "treatments": [0, 1],
        "covariates": [{"name": "x0", "kind": "number"}],
    }


# What a file cannot keep is refused before anything is written.


def half(rows):
    return np.full(len(rows), 0.5)


@pytest.mark.parametrize(
    ("arm", "reason"),
    [
        (method("wtcp-dr", base=Ridge(), ratio=OracleRatio(half)), "OracleRatio holds a function"),
        (
            method("wtcp-dr", base=Ridge(), ratio=OracleRatio(lambda rows: rows[:, 0] ** 2)),
            "OracleRatio holds a function",
        ),
        (method("naive", base=make_pipeline(FunctionTransformer(lambda X: X), Ridge())), "<lambda> cannot be found"),
        (method("naive", base=make_pipeline(StandardScaler(), Ridge(), memory="cache")), "keeps a cache in 'cache'"),
        (method("naive", base=KernelRidge(kernel_params={True: 1, False: 2})), "keys of type bool"),
        (method("naive", base=KernelRidge(kernel_params={(1, 2): 3})), "tuple"),
    ],
)
def test_what_cannot_be_saved_is_refused(arm, reason, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    model = fitted(CounterfactualIntervals(arm, random_state=0))
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="this model cannot be saved") as caught:
        model.save(path)
    assert reason in str(caught.value)
    assert path.read_bytes() == b"old"


def test_an_unfitted_model_is_not_saved(path):
    with pytest.raises(ValueError, match="not fitted"):
        CounterfactualIntervals().save(path)
    assert not path.exists()


# Types beyond the list.


class Halved(Ridge):
    """A base model of one's own."""

    def predict(self, X):
        return super().predict(X) / 2


sys.modules.setdefault("test_model_file", sys.modules[__name__])
Halved.__module__ = half.__module__ = "test_model_file"


def test_a_type_of_ones_own_is_refused_by_name_and_loaded_with_trust(path):
    model = fitted(CounterfactualIntervals(method("transfer", base=Halved()), random_state=0))
    model.save(path)
    with pytest.raises(ValueError, match=r"not trusted: test_model_file.Halved\. .* pass trusted=\['test_model"):
        load(path)
    assert answers(load(path, trusted=["test_model_file.Halved"])) == answers(model)
    assert answers(load(path, trusted=[Halved])) == answers(model)
    with pytest.raises(ValueError, match="trusted must list types"):
        load(path, trusted=[1])


def test_estimators_of_scikit_learn_load_but_for_its_unchecked_trees(path):
    check_round_trip(fitted(CounterfactualIntervals(method("naive", base=KernelRidge()))), path)
    model = fitted(CounterfactualIntervals(method("naive", base=RandomForestRegressor(2)), random_state=0))
    model.save(path)
    with pytest.raises(ValueError, match=r"not trusted: sklearn.tree._tree.Tree\."):
        load(path)
    check_round_trip(model, path, trusted=["sklearn.tree._tree.Tree"])


def test_boosting_on_categories_needs_trust(path):
    X, y, treatment, trial = STUDY
    base = HistGradientBoostingRegressor(max_iter=2, categorical_features=[0])
    study = (np.round(np.abs(X)), y, treatment, trial)
    model = fitted(CounterfactualIntervals(method("naive", base=base), random_state=0), study)
    model.save(path)
    own = ["functools.partial", "sklearn.utils.validation.check_array"]
    if sklearn.__version__.startswith("1.6."):  # the columns that boosting leaves as they are, in a class of their own
        own.insert(1, "sklearn.compose._column_transformer._RemainderColsList")
    with pytest.raises(ValueError, match=re.escape(f"not trusted: {', '.join(own)}.")):
        load(path)
    with pytest.raises(ValueError, match=r"categorical columns .* pass trusted="):
        load(path, trusted=own)
    check_round_trip(model, path, np.abs(np.round(NEW)), trusted=[*own, allowed_types.TREE])


def test_what_packs_too_well_is_stored(path, monkeypatch):
    """A file that is saved is a file that is loaded, whatever its size."""
    monkeypatch.setattr(model_file, "MOST_BYTES", 10)
    monkeypatch.setattr(model_file, "MOST_TIMES", 3)
    check_round_trip(fitted(random_state=0), path)
    with zipfile.ZipFile(path) as archive:
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_a_model_is_saved():
    code = "import confide, confide.model, sys; confide.load; print('skops' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
