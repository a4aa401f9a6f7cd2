"""Model files that are damaged or forged: refused in one line, or a model; nothing is run, and no crash follows.

A damaged file (its checksum not made right) is refused or gives the very same answers. A forged one may be a model of
the forger's choice; then its predictions are numbers or an error that the command line turns into one line.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingRegressor

from confide import CounterfactualIntervals, load, method, stack
from confide.io.model_file import HEADER, MODEL, SCHEMA, naming_the_model
from confide.predict.answer import answer
from fuzz.verdict import ANSWERED, DEFECT, REFUSED, Verdict, fault_of_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = 27
# Names that a forger would like to have called, and names that are trusted in another place.
TARGETS = (
    *(("os", "system"), ("posix", "system"), ("builtins", "eval"), ("builtins", "exec"), ("subprocess", "Popen")),
    *(("builtins", "getattr"), ("builtins", "__import__"), ("pickle", "loads"), ("shutil", "rmtree"), ("io", "open")),
    *(("builtins", "range"), ("fractions", "Fraction"), ("numpy", "ndarray"), ("numpy", "load"), ("numpy", "add")),
    *(("sklearn.preprocessing", "FunctionTransformer"), ("sklearn.pipeline", "Pipeline"), ("builtins", "dict")),
    *(("confide.model", "CounterfactualIntervals"), ("confide.ratio.oracle", "OracleRatio"), ("functools", "partial")),
    *(("joblib.memory", "Memory"), ("sklearn.linear_model", "Ridge"), ("confide.data.encoding", "TableEncoder")),
)
LOADERS = ("ObjectNode", "FunctionNode", "ConstructorFromReduceNode", "TypeNode", "ListNode", "TupleNode", "DictNode")
MORE_LOADERS = ("NdArrayNode", "JsonNode", "MethodNode", "PartialNode", "OperatorFuncNode", "SetNode", "BytesNode")
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**63,
    1e308,
    "",
    "x",
    "\x00",
    [],
    {},
    [[]],
    {"a": 1},
    "1e999999999",
    '"x"',
)
# Events of the interpreter that loading a model never needs.
FORBIDDEN: tuple[str, ...] = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "socket.",
    "ctypes.",
)
FORBIDDEN += (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "shutil.",
    "pickle.find_class",
    "urllib.",
    "webbrowser.",
    "os.chmod",
)


def attempt(case: int) -> Verdict:
    """Return what came of one case."""
    rng = np.random.default_rng([SEED, case])
    name = str(rng.choice(list(MUTATIONS)))
    good = _good(bool(rng.random() < 0.5))
    data = MUTATIONS[name](rng, good)
    path = Path(_folder()) / "model.confide"
    path.write_bytes(data)
    forged = name in FORGED
    with _watched() as events, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except Exception as error:  # noqa: BLE001  (each is judged)
            fault = fault_of_error(error) or (
                None if str(path) in str(error) else f"a refusal without the file: {error}"
            )
            outcome = Verdict(name, DEFECT if fault else REFUSED, fault or str(error))
        else:
            outcome = _asked(name, model, good, forged=forged)
    if events:
        return Verdict(name, DEFECT, f"the file had the interpreter do {events[:3]}")
    return outcome


def _asked(name: str, model: Any, good: bytes, *, forged: bool) -> Verdict:
    """Return what came of asking a model that was loaded."""
    try:
        with naming_the_model("model.confide"):
            found = _answers(model)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if not forged:
            return Verdict(name, DEFECT, f"a damaged file is loaded and then fails: {error}")
        return Verdict(name, REFUSED, str(error))
    except Exception as error:  # noqa: BLE001  (it would be a traceback)
        return Verdict(name, DEFECT, f"loaded, and asking is {type(error).__name__}: {str(error)[:200]}")
    if not forged and found != _answers_of(good):
        return Verdict(name, DEFECT, "a damaged file gives other answers")
    return Verdict(name, ANSWERED)


def _answers(model: Any) -> bytes:
    table = answer(model, model.read(_new())).table
    return b"".join(np.asarray(column).tobytes() for column in table.columns)


@cache
def _answers_of(good: bytes) -> bytes:
    path = Path(_folder()) / "good.confide"
    path.write_bytes(good)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _answers(load(path))


@contextlib.contextmanager
def _watched() -> Iterator[list[str]]:
    """Yield what the interpreter does in the block that no model needs."""
    events = _hook()
    events.clear()
    _State.watching = True
    try:
        yield events
    finally:
        _State.watching = False


class _State:
    watching = False


@cache
def _hook() -> list[str]:
    """Watch the interpreter from now on; a hook cannot be taken away, so there is one."""
    for boosted in (True, False):
        _answers_of(_good(boosted))  # whatever is imported at first is imported before
    events: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not _State.watching:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or event.startswith(FORBIDDEN):
            events.append(f"{event} {str(arguments)[:80]}")

    sys.addaudithook(hook)
    return events


@cache
def _folder() -> str:
    made = tempfile.TemporaryDirectory()
    _KEPT.append(made)
    return made.name


_KEPT: list[Any] = []


def _table(size: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    x, town = rng.standard_normal(size), rng.choice(["a", "b"], size)
    treatment = np.arange(size) % 2
    return pa.table({"x": x, "town": town, "t": treatment, "y": x + treatment + rng.standard_normal(size)})


@cache
def _new() -> pa.Table:
    return _table(5, 2).drop_columns(["t", "y"])


@cache
def _good(boosted: bool) -> bytes:
    """Return the file of a small model, of trees or of lines."""
    base = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=4) if boosted else "ridge"
    arm = method("transfer", base=base)
    path = Path(_folder()) / "saved.confide"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CounterfactualIntervals(arm, random_state=0).fit(stack(_table(80, 0), _table(40, 1))).save(path)
    return path.read_bytes()


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archived(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _sealed(data: bytes, inner: dict[str, bytes]) -> bytes:
    """Return the file with other parts and the right checksum."""
    tree = _archived(inner)
    header = {**json.loads(_members(data)[HEADER]), "sha256": hashlib.sha256(tree).hexdigest()}
    return _archived({HEADER: json.dumps(header).encode(), MODEL: tree})


def flipped_bits(rng: np.random.Generator, data: bytes) -> bytes:
    """Some bits of the file are others."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 5)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flipped_records(rng: np.random.Generator, data: bytes) -> bytes:
    """Bits of the archive's own records, at its beginning and its end."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(200))
        changed[place if rng.random() < 0.3 else -1 - place] = int(rng.integers(256))
    return bytes(changed)


def cut_or_joined(rng: np.random.Generator, data: bytes) -> bytes:
    """The file ends early, lacks a piece, or has a piece twice."""
    first, last = np.sort(rng.integers(len(data), size=2)).tolist()
    return [data[:first], data[:first] + data[last:], data[:last] + data[first:]][int(rng.integers(3))]


def random_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """No archive at all, or the beginning of one."""
    noise = rng.bytes(int(rng.integers(0, 3000)))
    return noise if rng.random() < 0.5 else data[: int(rng.integers(64))] + noise


def edited_header(rng: np.random.Generator, data: bytes) -> bytes:
    """An entry of confide.json is another, or lost."""
    members = _members(data)
    header = json.loads(members[HEADER])
    name = str(rng.choice(list(header)))
    value = VALUES[rng.integers(len(VALUES))]
    if rng.random() < 0.2:
        del header[name]
    elif header[name] == value:
        header["more"] = 1
    else:
        header[name] = value
    members[HEADER] = json.dumps(header).encode()
    return _archived(members)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every entry of a tree of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _edited(rng: np.random.Generator, data: bytes, edit: Callable[[np.random.Generator, Any, Any, Any], None]) -> bytes:
    """Return the file with one or two edits in the tree of its objects."""
    inner = _members(_members(data)[MODEL])
    schema = json.loads(inner[SCHEMA])
    for _ in range(int(rng.integers(1, 3))):
        paths = list(_paths(schema))
        path = paths[rng.integers(len(paths))]
        edit(rng, schema, path, paths)
    inner[SCHEMA] = json.dumps(schema).encode()
    return _sealed(data, inner)


def forged_values(rng: np.random.Generator, data: bytes) -> bytes:
    """An entry of the tree is another value, lost, or a copy of another entry."""

    def edit(rng: np.random.Generator, schema: Any, path: Any, paths: Any) -> None:
        parent, key, how = _at(schema, path[:-1]), path[-1], rng.integers(3)
        if how == 0:
            parent[key] = VALUES[rng.integers(len(VALUES))]
        elif how == 1:
            del parent[key]
        else:
            parent[key] = json.loads(json.dumps(_at(schema, paths[rng.integers(len(paths))])))

    return _edited(rng, data, edit)


def forged_types(rng: np.random.Generator, data: bytes) -> bytes:
    """A node names another type, or another way of making its instance."""

    def edit(rng: np.random.Generator, schema: Any, _: Any, paths: Any) -> None:
        nodes = [
            each for each in ((), *paths) if isinstance(_at(schema, each), dict) and "__loader__" in _at(schema, each)
        ]
        node = _at(schema, nodes[rng.integers(len(nodes))])
        if rng.random() < 0.7:
            node["__module__"], node["__class__"] = TARGETS[rng.integers(len(TARGETS))]
        if rng.random() < 0.6:
            node["__loader__"] = str(rng.choice(LOADERS + MORE_LOADERS))

    return _edited(rng, data, edit)


def forged_arrays(rng: np.random.Generator, data: bytes) -> bytes:
    """An array has other bytes, another type or another shape, perhaps far too large a one."""
    inner = _members(_members(data)[MODEL])
    name = str(rng.choice([each for each in inner if each.endswith(".npy")]))
    array = np.load(io.BytesIO(inner[name]))
    how = int(rng.integers(6))
    if how == 0:
        changed = bytearray(inner[name])
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
        inner[name] = bytes(changed)
        return _sealed(data, inner)
    if how == 1:  # a header that asks for far more than there is
        text = inner[name]
        start = text.find(b"'shape': (")
        inner[name] = text[:start] + b"'shape': (99999999999,)".ljust(24) + text[start + 24 :]
        return _sealed(data, inner)
    others = [
        np.zeros(0),
        np.array([["x"]]),
        np.full(array.shape, -1, array.dtype) if array.dtype.kind in "if" else array.reshape(-1)[:0],
        np.full(array.shape, np.nan) if array.dtype.kind == "f" else array.reshape(-1)[:1],
        rng.permutation(array.reshape(-1)),
    ]
    file = io.BytesIO()
    np.save(file, others[rng.integers(len(others))], allow_pickle=False)
    inner[name] = file.getvalue()
    return _sealed(data, inner)


def bombs(rng: np.random.Generator, data: bytes) -> bytes:
    """A small file that unpacks to much, or that is nested without end."""
    how = int(rng.integers(4))
    members = _members(data)
    size = int(rng.choice([10**6, 10**7, 2 * 10**8]))
    if how == 0:
        return _archived({HEADER: members[HEADER], MODEL: bytes(size)}, zipfile.ZIP_DEFLATED)
    if how == 1:
        return _archived({HEADER: b" " * size + members[HEADER], MODEL: members[MODEL]}, zipfile.ZIP_DEFLATED)
    depth = int(rng.choice([500, 10_000, 200_000]))
    nested = b"[" * depth + b"]" * depth
    if how == 2:
        return _sealed(data, {SCHEMA: nested})
    return _archived({HEADER: nested, MODEL: members[MODEL]})


FORGED: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    "forged values": forged_values,
    "forged types": forged_types,
    "forged arrays": forged_arrays,
}
MUTATIONS: dict[str, Callable[[np.random.Generator, bytes], bytes]] = {
    "flipped bits": flipped_bits,
    "flipped bits of the archive's records": flipped_records,
    "cut or joined": cut_or_joined,
    "random bytes": random_bytes,
    "an edited header": edited_header,
    "bombs": bombs,
    **FORGED,
}
