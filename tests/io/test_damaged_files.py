"""Files that are damaged, forged or of another kind are refused in one sentence, and nothing in them is run."""

import hashlib
import json
import warnings
import zipfile

import numpy as np
import pytest
import sklearn

from confide import load
from confide.io import allowed_types, model_file
from confide.io.model_file import HEADER, MODEL, naming_the_model, read_header
from forging import (
    NEW,
    answers,
    archived,
    boosted,
    fewer,
    flipped,
    forged,
    loaded_or_refused,
    members,
    predictions,
    saved,
)


def edited_json(rng, data):
    """Change, drop or add one thing in confide.json; the archive stays in order."""
    outer = members(data)
    header = json.loads(outer[HEADER])
    name = str(rng.choice(list(header)))
    values = [None, 2, -1, "x", [], {}, 0.05, [0, 1, 2], True, [{"name": "x1", "kind": "number"}]]
    header[name] = values[rng.integers(len(values))]
    if rng.random() < 0.3:
        del header[name]
    if rng.random() < 0.2:
        header["more"] = 1
    return archived([(HEADER, json.dumps(header)), (MODEL, outer[MODEL])])


def flipped_near_the_records(rng, data):
    """Flip where zip keeps its names, sizes and offsets, and where confide.json is."""
    changed = bytearray(data)
    place = rng.integers(1000)
    changed[place if rng.random() < 0.5 else -1 - place % 200] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut(rng, data):
    return data[: rng.integers(len(data))]


def appended(rng, data):
    garbage = rng.bytes(rng.integers(1, 200))
    return garbage + data if rng.random() < 0.3 else data + garbage


def swapped(rng, data):
    """Members exchanged, twice there, missing, joined by others, or from another model."""
    outer = list(members(data).items())
    other = list(members(saved(fewer)).items())
    mixed = [
        outer[::-1],
        [outer[0], other[1]],
        [other[0], outer[1]],
        [*outer, outer[1]],
        [*outer, (MODEL, other[1][1])],
        [outer[0], *outer],
        outer[:1],
        outer[1:],
        [*outer, ("extra", b"")],
        [(HEADER, outer[1][1]), (MODEL, outer[0][1])],
        [("../" + HEADER, outer[0][1]), outer[1]],
    ]
    return archived(mixed[rng.integers(len(mixed))])


MUTATIONS = {flipped: 400, flipped_near_the_records: 300, cut: 100, appended: 80, edited_json: 80, swapped: 40}


@pytest.mark.slow
def test_a_thousand_damaged_files_are_refused_or_predict_the_same(good, path):
    rng = np.random.default_rng(0)
    expected = answers(boosted())
    assert answers(loaded_or_refused(path, good)) == expected
    assert sum(MUTATIONS.values()) == 1000
    refused = dict.fromkeys(MUTATIONS, 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*predictions may differ")
        for mutate, count in MUTATIONS.items():
            for _ in range(count):
                model = loaded_or_refused(path, mutate(rng, good))
                refused[mutate] += model is None
                assert model is None or answers(model) == expected
    assert refused[cut] == MUTATIONS[cut]
    assert refused[swapped] == MUTATIONS[swapped]
    assert refused[appended] == MUTATIONS[appended]
    assert refused[flipped] > 0.95 * MUTATIONS[flipped]


def test_forged_archives_are_refused(good, path, monkeypatch):
    outer = members(good)

    def refused(data, reason):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=reason):
            load(path)

    refused(forged(good, lambda _: None, zipfile.ZIP_DEFLATED), "packed twice")
    refused(forged(good, lambda inner: inner["schema.json"].update(protocol=1)), "skops protocol 1")
    refused(forged(good, lambda inner: inner["schema.json"].update(protocol=99)), "skops protocol 99")
    refused(forged(good, lambda inner: inner["schema.json"].pop("protocol") and None), "skops protocol None")
    tree = archived([*members(outer[MODEL]).items(), ("schema.json", b"{}")])
    header = {**json.loads(outer[HEADER]), "sha256": hashlib.sha256(tree).hexdigest()}
    refused(archived([(HEADER, json.dumps(header)), (MODEL, tree)]), "overlap")

    def share(inner):
        arrays = [each for each in allowed_types._nodes(inner["schema.json"]) if each.get("file", "").endswith(".npy")]
        for each in arrays:
            each["file"] = arrays[0]["file"]

    refused(forged(good, share), "share one array")
    deep = forged(good, lambda _: {"schema.json": 0})
    nested = "[" * 100_000 + "]" * 100_000
    tree = archived([("schema.json", nested)])
    header["sha256"] = hashlib.sha256(tree).hexdigest()
    refused(deep, "holds no model")
    refused(archived([(HEADER, json.dumps(header)), (MODEL, tree)]), "holds no model")
    bomb = archived([(HEADER, outer[HEADER]), (MODEL, bytes(10**6))], zipfile.ZIP_DEFLATED)
    refused(bomb, "checksum")
    monkeypatch.setattr(model_file, "MOST_BYTES", 10**5)
    refused(bomb, "far more than its size")


@pytest.mark.parametrize("name", ["method", "promise", "alpha", "effect", "treatments", "covariates"])
def test_a_header_that_says_otherwise_than_the_model_is_refused(name, good, path):
    outer = members(good)
    header = {**json.loads(outer[HEADER]), name: "better"}
    path.write_bytes(archived([(HEADER, json.dumps(header)), (MODEL, outer[MODEL])]))
    with pytest.raises(ValueError, match=f"was altered: .* about {name}"):
        load(path)


def test_what_is_no_model_file(tmp_path, good):
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    outer = members(good)
    header = json.loads(outer[HEADER])
    for data, reason in [
        (b"", "is empty"),
        (b"x,y\n1,2\n", "not a zip file"),
        (archived([]), "does not begin with confide.json"),
        (archived([("word/document.xml", b"")]), "does not begin with confide.json"),
        (archived([(HEADER, b"[]")]), "names no format"),
        (archived([(HEADER, json.dumps({**header, "format": 2}))]), "its format is 2, .* install a later confide"),
        (archived([(HEADER, json.dumps({**header, "format": "1"})), (MODEL, b"")]), "names no format"),
        (archived([(HEADER, outer[HEADER]), (MODEL, b"")]), "it is damaged, its checksum"),
    ]:
        path.write_bytes(data)
        for read in (load, read_header):
            with pytest.raises(ValueError, match=reason):
                read(path)


def test_another_scikit_learn_is_a_warning(good, path):
    outer = members(good)

    def write(version):
        header = {**json.loads(outer[HEADER]), "scikit-learn": version}
        path.write_bytes(archived([(HEADER, json.dumps(header)), (MODEL, outer[MODEL])]))

    write("1.2.3")
    with pytest.warns(UserWarning, match=f"saved with scikit-learn 1.2.3 and this is {sklearn.__version__}"):
        load(path)
    major, minor = sklearn.__version__.split(".")[:2]
    write(f"{major}.{minor}.99")
    load(path)  # warnings are errors here


def test_parts_of_another_scikit_learn_do_not_warn_one_by_one(good, path):
    def edit(inner):
        for each in allowed_types._nodes(inner["schema.json"]):
            if isinstance(content := each.get("content"), dict) and "_sklearn_version" in content:
                content["_sklearn_version"]["content"] = '"1.2.3"'

    assert loaded_or_refused(path, forged(good, edit)) is not None


def test_a_forged_model_that_cannot_answer_is_named(good, path):
    """A file with lost parts may be loaded; asking it is one sentence, not a traceback."""

    def edit(inner):
        for each in allowed_types._nodes(inner["schema.json"]):
            content = each.get("content")
            if isinstance(content, dict) and isinstance(content.get("content"), dict):
                content["content"].pop("side_", None)

    model = loaded_or_refused(path, forged(good, edit))
    assert model is not None
    with (
        pytest.raises(ValueError, match=r"model\.confide holds a model that cannot answer .*side_"),
        naming_the_model(path),
    ):
        predictions(model, NEW)


def test_refusals_do_not_speak_of_addresses():
    assert model_file._sentence(ValueError("an <ast.Name object at 0x7f26> here.")) == "an <ast.Name object> here"


def test_refusals_do_not_speak_of_none():
    assert (
        model_file._damage(AttributeError("'NoneType' object has no attribute 'get'")) == "one of its values is missing"
    )
    assert model_file._damage(ValueError("no such node.")) == "no such node"
