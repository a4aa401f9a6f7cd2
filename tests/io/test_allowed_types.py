"""Whatever a model file says, nothing is made but what was reviewed, and nothing is called."""

import io
import json
import warnings

import numpy as np
import pytest

from confide import load
from confide.io import allowed_types
from forging import flipped, forged, listed, loaded_or_refused, mapped, node, text


def test_the_list_names_what_exists():
    from importlib import import_module

    for name in allowed_types.REVIEWED:
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last)
    assert "confide.ratio.oracle.OracleRatio" not in allowed_types.REVIEWED


def touching(path):
    """Nodes that would write to the path if anything in them were called, and what the refusal must name."""
    command, code = f"touch {path}", f"open({str(path)!r}, 'w')"
    yield node("ConstructorFromReduceNode", "os", "system", content=listed(text(command))), "os.system"
    yield node("ConstructorFromReduceNode", "builtins", "eval", content=listed(text(code))), "builtins.eval"
    popen = listed(listed(text("touch"), text(str(path)), kind="list"))
    yield node("ConstructorFromReduceNode", "subprocess", "Popen", content=popen), "subprocess.Popen"
    yield node("ListNode", "subprocess", "Popen", content=popen["content"][0]["content"]), "subprocess.Popen"
    yield node("ObjectNode", "subprocess", "Popen", content=mapped(args=text("touch"))), "subprocess.Popen"
    yield node("FunctionNode", "os", "system"), "os.system"
    yield node("TypeNode", "os", "system"), "os.system"
    function = node("FunctionNode", "os", "system")
    content = {"func": function, "args": listed(text(command)), "kwds": mapped(), "namespace": text(None)}
    yield node("PartialNode", "functools", "partial", content=content), "functools.partial, os.system"
    yield (
        node("OperatorFuncNode", "operator", "methodcaller", attrs=listed(text("save"), text(str(path)))),
        "methodcaller",
    )
    ridge = node("ObjectNode", "sklearn.linear_model._ridge", "Ridge", content=mapped(alpha=text(1)))
    bound = {"func": "fit", "obj": ridge}
    yield node("MethodNode", "sklearn.linear_model._ridge", "Ridge", content=bound), "Ridge.fit"
    # A key's type is called with the key.
    called = node("DictNode", "builtins", "dict", content={command: text(1)}, key_types=listed(function, kind="list"))
    yield called, "os.system"
    yield node("NdArrayNode", "os", "system", type="json", content=[], shape=listed(text(0))), "os.system"
    yield (
        node("LossNode", "os", "system", __reduce__={"args": listed(text(command))}, content=mapped()),
        "os.system",
    )
    state = mapped(function=function, on=text("x"), n_columns_=text(1))
    yield node("ObjectNode", "confide.ratio.oracle", "OracleRatio", content=state), "OracleRatio, os.system"
    yield node("FunctionNode", "confide.io.model_file", "save"), "confide.io.model_file.save"


def place_in(inner, hostile):
    """Put the node where a parameter of the model was."""
    inner["schema.json"]["content"]["content"]["encoder"] = {**hostile, "__id__": 10**9}


HOSTILE = range(len(list(touching("x"))))


@pytest.mark.parametrize("number", HOSTILE)
@pytest.mark.parametrize("trusted", [(), ["test_model_file.Halved"]], ids=["plain", "trusting another"])
def test_hostile_types_are_refused_by_name_and_not_run(number, trusted, good, path, tmp_path):
    marker = tmp_path / "marker"
    hostile, named = list(touching(marker))[number]
    path.write_bytes(forged(good, lambda inner: place_in(inner, hostile)))
    with pytest.raises(ValueError, match="not trusted") as caught:
        load(path, trusted=trusted)
    assert named.split(", ")[0] in str(caught.value)
    assert all(name in str(caught.value) for name in named.split(", "))
    assert not marker.exists()


def test_the_root_may_be_nothing_but_a_model(good, path, tmp_path):
    for hostile, _ in touching(tmp_path / "marker"):
        path.write_bytes(forged(good, lambda _, hostile=hostile: {"schema.json": {**hostile, "protocol": 2}}))
        with pytest.raises(ValueError, match="not trusted"):
            load(path)
    root = {**listed(text(1)), "protocol": 2}
    path.write_bytes(forged(good, lambda _: {"schema.json": root}))
    with pytest.raises(ValueError, match="it is a tuple"):
        load(path)
    assert not (tmp_path / "marker").exists()


def misuses():
    naive = {"module": "confide.methods.naive", "name": "Naive"}
    yield node("ConstructorFromReduceNode", **naive, content=listed()), "confide.methods.naive.Naive as a Constr"
    yield node("ListNode", **naive, content=[]), "Naive as a ListNode"
    yield node("TypeNode", **naive), "Naive as a TypeNode"
    endless = node("ConstructorFromReduceNode", "fractions", "Fraction", content=listed(text("1e999999999")))
    yield endless, "not made of digits"
    yield node("ObjectNode", "fractions", "Fraction", content=mapped()), "Fraction as a ObjectNode"
    pipeline = mapped(steps=listed(kind="list"), memory=text("elsewhere"))
    yield node("ObjectNode", "sklearn.pipeline", "Pipeline", content=pipeline), "cache in 'elsewhere'"
    yield node("NoSuchNode", "builtins", "str"), "NoSuchNode"
    yield node("CachedNode", "builtins", "str"), "unknown object"


@pytest.mark.parametrize(("hostile", "reason"), list(misuses()))
def test_trusted_names_are_used_only_as_reviewed(hostile, reason, good, path):
    path.write_bytes(forged(good, lambda inner: place_in(inner, hostile)))
    with pytest.raises(ValueError, match="holds no model that can be read") as caught:
        load(path)
    assert reason in str(caught.value)


def test_arrays_are_no_pickles(good, path, tmp_path):
    class Run:
        def __reduce__(self):
            return (open, (str(tmp_path / "marker"), "w"))

    file = io.BytesIO()
    np.save(file, np.array([Run()], dtype=object), allow_pickle=True)

    def edit(inner):
        arrays = [name for name in inner if name.endswith(".npy")]
        return {**inner, **dict.fromkeys(arrays, file.getvalue())}

    assert loaded_or_refused(path, forged(good, edit)) is None
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("field", ["left", "right", "feature_idx", "is_categorical", "cycle", "empty", "columns"])
def test_trees_that_lead_outside_are_refused(field, good, path):
    """scikit-learn follows these indices without a check: the process would crash."""

    def edit(inner):
        for name, data in inner.items():
            if not name.endswith(".npy"):
                continue
            array = np.load(io.BytesIO(data))
            if array.dtype.names is None:
                continue
            values = {"left": 10**6, "right": 10**6, "feature_idx": -(10**6), "is_categorical": 1}
            if field in values:
                array[field][0] = values[field]
            elif field == "cycle":
                array["left"][0] = 0
            elif field == "empty":
                array = array[:0]
            file = io.BytesIO()
            np.save(file, array)
            inner[name] = file.getvalue()
        for each in allowed_types._nodes(inner["schema.json"]):
            if field == "columns" and each["__class__"] == "HistGradientBoostingRegressor":
                each["content"]["content"]["n_features_in_"] = {**text(0), "__id__": 10**9 + 1}

    path.write_bytes(forged(good, edit))
    with pytest.raises(ValueError, match="leads outside"):
        load(path)


def test_a_tree_on_its_own_is_refused(good, path):
    def edit(inner):
        found = next(
            each for each in allowed_types._nodes(inner["schema.json"]) if each["__class__"] == "TreePredictor"
        )
        place_in(inner, json.loads(json.dumps(found).replace('"__id__": ', '"__id__": 99999')))
        for each in allowed_types._nodes(inner["schema.json"]):
            if each["__class__"] == "HistGradientBoostingRegressor":
                each["content"]["content"]["_predictors"] = {**listed(kind="list"), "__id__": 10**9 + 1}

    def separate(inner):
        edit(inner)
        copies = {f"9{name}": data for name, data in inner.items() if name.endswith(".npy")}
        inner.update(copies)
        inner["schema.json"] = json.loads(json.dumps(inner["schema.json"]))

    path.write_bytes(forged(good, separate))
    with pytest.raises(ValueError, match="outside of its model"):
        load(path)


@pytest.mark.slow
def test_forged_files_raise_nothing_but_value_errors(good, path):
    """Bytes of the fitted parts changed and the checksum made to fit: refused, or a model that may be wrong."""
    rng = np.random.default_rng(1)
    found = []

    def edit(inner):
        name = str(rng.choice(list(inner))) if rng.random() < 0.3 else "schema.json"
        if name == "schema.json":
            nodes = list(allowed_types._nodes(inner[name]))
            node = nodes[rng.integers(len(nodes))]
            key = str(rng.choice(list(node)))
            other = nodes[rng.integers(len(nodes))]
            node[key] = other.get(key, None if rng.random() < 0.5 else "x")
        else:
            inner[name] = flipped(rng, inner[name])

    for _ in range(150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                data = forged(good, edit)
            except (RecursionError, ValueError):  # a node inside itself cannot be written
                continue
            found.append(loaded_or_refused(path, data) is None)
    assert len(found) > 100
    assert any(found)
