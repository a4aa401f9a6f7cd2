"""Model files: fitted models saved to a file and loaded without running code from it.

A model file is a zip archive of two members. ``confide.json`` says what the model is: the file's format, the versions
of confide and scikit-learn, method, promise, levels, treatments, covariates with their kinds, the hash of the analysis
if `confide run` fitted it, and the checksum of the other member, ``model.skops``, the fitted parts. Any zip program
shows the first without loading the model.

The checksum detects a damaged file. It does not show who made the file: a forger can compute it too. The protection
against forged files is the list of types in `confide.io.allowed_types`: loading makes instances of these types only,
and calls nothing else. A forged file may still contain a model that predicts nonsense, or, with estimators of
scikit-learn whose compiled code does not check their arrays, one that crashes. Load only files from people you know.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sklearn
from sklearn.exceptions import InconsistentVersionWarning

import confide
from confide.base.atomic import atomic_write
from confide.data.encoding import CategoryColumn, NumberColumn
from confide.io.allowed_types import REVIEWED, check_caches, check_saved_tree, check_tree, check_trees, names, parts
from confide.model import CounterfactualIntervals
from confide.ratio import OracleRatio

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

FORMAT = 1
HEADER, MODEL = "confide.json", "model.skops"
SCHEMA = "schema.json"  # the tree in skops's own archive, beside its arrays
# A member may unpack to this many bytes, or to this many times its packed size, so that no small file fills the memory.
MOST_BYTES = 2**26
MOST_TIMES = 100
# The last record of an archive without a comment.
END_RECORD, END_BYTES = b"PK\x05\x06", 22
# Entries of confide.json about the software versions, not about the model.
MAKERS = ("format", "confide", "scikit-learn", "sha256")


def save(model: CounterfactualIntervals, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, completely or not at all."""
    data = _pack(model)
    with atomic_write(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str], trusted: Sequence[str | type] = ()) -> CounterfactualIntervals:
    """Return the model that `CounterfactualIntervals.save` wrote; its predictions are bit for bit the same.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : sequence of types or of their full names
        Types that the file may hold beyond those that confide and skops know to be harmless: for instance your own
        base model. Loading may call them and runs their ``__setstate__``; predicting runs their methods. Name them only
        for files from people you trust.

    Raises
    ------
    ValueError
        The file is damaged, is not a model, has a later format, or needs a type that is not trusted, which the
        message names. Nothing in it was run.
    OSError
        The file cannot be read.

    Notes
    -----
    The checksum inside detects damage, not forgery; the list of types keeps a forged file from running code.
    A model of another scikit-learn (major or minor version) is loaded with a warning: its predictions may differ.
    """
    own = names(trusted)
    header, model = _unpack(path, Path(path).read_bytes())
    try:
        loaded = _read_model(model, own)
        says = {name: value for name, value in header.items() if name not in MAKERS}
        facts = json.loads(json.dumps(_facts(loaded)))
        if header["confide"] != confide.__version__:  # the wording of promises may have changed
            says.pop("promise"), facts.pop("promise")
        wrong = [name for name in facts if says.get(name) != facts[name]] + [name for name in says if name not in facts]
    except _UntrustedError as error:
        raise ValueError(
            f"{path} asks for types that are not trusted: {', '.join(error.names)}. Nothing was loaded; if you know "
            f"who made the file, and these types, pass trusted={error.names} (--trust on the command line)."
        ) from None
    except Exception as error:
        raise ValueError(f"{path} holds no model that can be read: {_damage(error)}.") from error
    if wrong:
        raise ValueError(f"{path} was altered: {HEADER} says otherwise than the model about {', '.join(wrong)}.")
    if header["scikit-learn"].split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {header['scikit-learn']} and this is {sklearn.__version__}: "
            "predictions may differ. Fit the model again, or install that version.",
            stacklevel=2,
        )
    return loaded


@contextmanager
def naming_the_model(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to errors that only a model with lost or wrong parts raises when it is asked."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError) as error:
        raise ValueError(
            f"{path} holds a model that cannot answer ({_damage(error)}). Ask who made it, or fit and save it again."
        ) from error


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a model file's ``confide.json``; the checksum is verified, the model is not loaded."""
    return _unpack(path, Path(path).read_bytes())[0]


def _pack(model: CounterfactualIntervals) -> bytes:
    """Return the bytes of a model file."""
    import skops.io  # noqa: PLC0415  (imports all of scikit-learn)

    if any(isinstance(part, OracleRatio) for part in parts(model)):
        raise ValueError(
            "this model cannot be saved: OracleRatio holds a function, and a file keeps data only. Save what the "
            "function is made from, and fit again."
        )
    try:
        facts = _facts(model)
        tree = _renumbered(skops.io.dumps(model))
        with zipfile.ZipFile(io.BytesIO(tree)) as members:
            check_saved_tree(json.loads(members.read(SCHEMA)))
        check_caches(parts(model))
    except Exception as error:
        raise ValueError(f"this model cannot be saved: {_culprit(model) or _sentence(error)}.") from error
    header = {
        "format": FORMAT,
        "confide": confide.__version__,
        "scikit-learn": sklearn.__version__,
        **facts,
        "sha256": hashlib.sha256(tree).hexdigest(),
    }
    packed = _archive(header, tree, zipfile.ZIP_DEFLATED)
    return packed if _may_unpack(len(tree), len(packed)) else _archive(header, tree, zipfile.ZIP_STORED)


def _culprit(model: CounterfactualIntervals) -> str | None:
    """Return which parameter, of another library's type, no file can hold, and the remedy; None: something else."""
    import skops.io  # noqa: PLC0415

    for name, value in {**model.get_params(), **next(iter(model.arms_.values())).get_params()}.items():
        if type(value).__module__ == "builtins" or hasattr(value, "get_params"):
            continue  # of these, skops says more
        try:
            skops.io.dumps(value)
        except Exception:  # noqa: BLE001  (whatever skops says, the parameter is the reason)
            kind = f"{type(value).__name__} of {type(value).__module__.partition('.')[0]}"
            return (
                f"its parameter {name} is a {kind}, which a file cannot hold. Give a list, text or number instead, and "
                "fit again"
            )
    return None


def _archive(header: dict[str, Any], tree: bytes, compression: int) -> bytes:
    return _zipped({HEADER: json.dumps(header, indent=2, ensure_ascii=False).encode(), MODEL: tree}, compression)


def _zipped(members: dict[str, bytes], compression: int) -> bytes:
    """Return an archive without time stamps: the same members give the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def _renumbered(tree: bytes) -> bytes:
    """Return a skops archive whose objects are numbered in their order, not by their memory addresses.

    Texts and numbers have one number for each value: whether two equal ones are one object in memory is an accident.
    """
    numbers: dict[str, int] = {}
    files: dict[str, str] = {}

    def renumber(node: dict[str, Any]) -> dict[str, Any]:
        if type(node.get("__id__")) is int:
            plain = node.get("__loader__") == "JsonNode"
            key = f"{node['__class__']} {node['content']}" if plain else str(node["__id__"])
            node["__id__"] = numbers.setdefault(key, len(numbers))
        if isinstance(node.get("file"), str):
            old, dot, kind = node["file"].partition(".")
            new = f"{numbers.setdefault(old, len(numbers))}{dot}{kind}"
            files[node["file"]] = new
            node["file"] = new
        return node

    with zipfile.ZipFile(io.BytesIO(tree)) as members:
        schema = json.loads(members.read(SCHEMA), object_hook=renumber)
        arrays = {new: members.read(old) for old, new in files.items()}
    return _zipped({**arrays, SCHEMA: json.dumps(schema, indent=2).encode()}, zipfile.ZIP_STORED)


def _may_unpack(size: int, packed: int) -> bool:
    return size <= max(MOST_BYTES, MOST_TIMES * packed)


def _facts(model: CounterfactualIntervals) -> dict[str, Any]:
    """Return the entries of ``confide.json`` about a model."""
    return {
        "method": model.method_,
        "promise": str(model.promise_),
        "alpha": float(model.alpha_),
        "effect": model.effect_name_,
        "treatments": model.treatments_.tolist(),
        "control": model.control_,
        "covariates": _covariates(model.encoder_),
        **({} if model.config_hash_ is None else {"config_hash": model.config_hash_}),
    }


def _covariates(encoder: Any) -> list[dict[str, Any]]:
    """Return the name and the kind of each covariate; empty if a custom encoder does not have them."""
    kinds = {NumberColumn: "number", CategoryColumn: "category"}
    columns = getattr(encoder, "columns_", None)
    if columns is None:
        known = getattr(encoder, "feature_names_in_", range(getattr(encoder, "n_features_in_", 0)))
        return [{"name": str(name), "kind": None} for name in known]
    return [
        {"name": column.name, "kind": "date" if getattr(column, "temporal", False) else kinds[type(column)]}
        for column in columns
    ]


def _unpack(path: str | os.PathLike[str], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the bytes of the model, as they were saved."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _members(archive, data)
    except Exception as error:
        if not data:
            raise ValueError(f"{path} is empty.") from None
        raise ValueError(f"{path} is no model that this confide can read: {_damage(error)}.") from error


def _members(archive: zipfile.ZipFile, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return both members of a model file; raise for any other archive."""
    members = archive.infolist()
    if not all(_may_unpack(member.file_size, member.compress_size) for member in members):
        raise ValueError("it would unpack to far more than its size")
    if not members or members[0].filename != HEADER:
        raise ValueError(f"it does not begin with {HEADER}")
    header = json.loads(archive.read(members[0]))
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise ValueError(f"{HEADER} names no format")
    if header["format"] > FORMAT:  # before reading anything that a later format may have changed
        raise ValueError(f"its format is {header['format']}, and up to {FORMAT} is known: install a later confide")
    if [member.filename for member in members[1:]] != [MODEL]:
        raise ValueError(f"it holds other members than {HEADER} and {MODEL}")
    if members[0].header_offset or data[-END_BYTES:][: len(END_RECORD)] != END_RECORD:
        raise ValueError("there are bytes before or after the archive")
    missing = [name for name in MAKERS[1:] if not isinstance(header.get(name), str)]
    if missing:
        raise ValueError(f"{HEADER} does not say {', '.join(missing)}")
    tree = archive.read(members[1])
    if hashlib.sha256(tree).hexdigest() != header["sha256"]:
        raise ValueError("it is damaged, its checksum is not that of the model in it")
    return header, tree


def _read_model(tree: bytes, own: list[str]) -> CounterfactualIntervals:
    """Return the model of a skops archive; raise if it needs a type that is not trusted."""
    import skops.io  # noqa: PLC0415  (imports all of scikit-learn)
    from skops.io.exceptions import UntrustedTypesFoundException  # noqa: PLC0415

    with zipfile.ZipFile(io.BytesIO(tree)) as members:
        found = members.infolist()
        # Parts are stored uncompressed and do not overlap, so that unpacking needs no more memory than the file.
        if any(member.compress_type != zipfile.ZIP_STORED for member in found):
            raise ValueError("its parts are packed twice")
        if len({member.filename for member in found}) < len(found) or sum(each.file_size for each in found) > len(tree):
            raise ValueError("its parts overlap")
        schema = json.loads(members.read(SCHEMA))
    check_tree(schema, own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # one sentence of ours instead of one per part
        try:
            loaded = skops.io.loads(tree, trusted=[*REVIEWED, *own])
        except UntrustedTypesFoundException:  # raised before anything is made
            found_types = skops.io.get_untrusted_types(data=tree)
            raise _UntrustedError(sorted(set(found_types) - {*REVIEWED, *own})) from None
    if not isinstance(loaded, CounterfactualIntervals):
        raise ValueError(f"it is a {type(loaded).__name__}")  # noqa: TRY004  (a bad file)
    found_parts = parts(loaded)
    check_caches(found_parts)
    check_trees(found_parts, own)
    return loaded


class _UntrustedError(Exception):
    """A file needs types that are on no list."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


def _damage(error: Exception) -> str:
    """Return what is wrong with a file that was read; Python's words on a value that is None help nobody."""
    if "NoneType" in str(error):
        return "one of its values is missing"
    return _sentence(error)


def _sentence(error: Exception) -> str:
    """Return an error in one line, without a full stop."""
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(str(error).split()))
    return (text if isinstance(error, ValueError) and text else f"{type(error).__name__} {text}")[:300].rstrip(". ")
