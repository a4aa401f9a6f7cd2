"""Model files, and files that someone has made to look like them."""

import functools
import hashlib
import io
import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, PopulationWarning, load, method
from confide.io.model_file import HEADER, MODEL
from helpers import study_arrays

STUDY = study_arrays(n=120, m=60)
NEW = np.linspace(-2, 2, 7)[:, None]


def fitted(model=None, study=STUDY, **params):
    model = CounterfactualIntervals(method("transfer", base=Ridge()), **params) if model is None else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*study)


@functools.cache
def boosted():
    """A model with trees of gradient boosting."""
    arm = method("transfer", base=HistGradientBoostingRegressor(max_iter=2))
    return fitted(CounterfactualIntervals(arm, alpha=0.2, random_state=0))


@functools.cache
def fewer():
    """A model of another kind, on the same data."""
    return fitted(random_state=1)


@functools.cache
def saved(make):
    """That model's file."""
    with tempfile.TemporaryDirectory() as folder:
        make().save(Path(folder) / "model.confide")
        return (Path(folder) / "model.confide").read_bytes()


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(parts, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names may be there twice
        for name, data in parts:
            archive.writestr(name, data)
    return file.getvalue()


def forged(data, edit, compression=zipfile.ZIP_STORED):
    """Return the file with its skops members edited and the right checksum."""
    outer = members(data)
    inner = members(outer[MODEL])
    inner["schema.json"] = json.loads(inner["schema.json"])
    inner = edit(inner) or inner
    inner["schema.json"] = json.dumps(inner["schema.json"])
    tree = archived(inner.items(), compression)
    header = {**json.loads(outer[HEADER]), "sha256": hashlib.sha256(tree).hexdigest()}
    return archived([(HEADER, json.dumps(header)), (MODEL, tree)])


def loaded_or_refused(path, data):
    """Return the model, or None if the file is refused in one sentence."""
    path.write_bytes(data)
    try:
        return load(path)
    except ValueError as error:
        text = str(error)
        assert str(path) in text
        assert "\n" not in text
        assert text.endswith(".")
        return None


def flipped(rng, data):
    """Flip one to three bits."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 4)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def node(loader, module, name, **content):
    return {"__loader__": loader, "__module__": module, "__class__": name, **content}


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def listed(*values, kind="tuple"):
    return node(f"{kind.title()}Node", "builtins", kind, content=list(values))


def mapped(**values):
    kinds = listed(*[node("TypeNode", "builtins", "str") for _ in values], kind="list")
    return node("DictNode", "builtins", "dict", content=values, key_types=kinds)


def answers(model, X=NEW):
    """All that a model predicts for X, in bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        return [(each.dtype.str, each.tobytes()) for each in predictions(model, X)]


def predictions(model, X):
    treatments = model.treatments_.tolist()
    found = [model.treatments_]
    for label in treatments:
        sets = model.predict_set(X, label)
        found += [model.predict(X, label), np.asarray(model.predict_interval(X, label)), sets.lower, sets.upper]
    found += [model.predict_effect(X, treatments[1], treatments[0])]
    found += [np.asarray(model.predict_effect_interval(X, a, b)) for a in treatments for b in treatments if a != b]
    return found
