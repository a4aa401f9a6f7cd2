"""Declared analyses: the options of `run` in a TOML file, and the hash of those that decide the answers.

What the options are is read from the command itself: a new one is a key of the file and part of the hash, unless it is
named below.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import typer

from confide import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

# They are about one call, and never in a file.
NOT_KEYS = {"config", "save_config", "as_json"}
# Paths, which a file gives relative to its folder.
PATHS = {"observational", "trial", "predict", "target", "out", "save", "report", "participants"}
# What the report calls things.
NAMES = {"outcome_label", "unit", "treatment_label"}
# Where tables come from, how they are written, which cluster reads them, where answers go, and what things are called;
# of a target, only whether it is a file.
NOT_HASHED = PATHS - {"target"} | {"sep", "decimal", "encoding", "dask"} | NAMES
# Values of paths that are not files.
NO_FILES = {("target", "observational")}
# The key of the version that wrote a file.
VERSION = "confide"
EXAMPLES = {
    float: "a number, such as 0.1",
    int: "a whole number, such as 0",
    bool: "true or false",
}


@dataclass(frozen=True)
class Option:
    """An option that a file may set: the parameter, its key in the file, and what it takes."""

    name: str
    key: str
    kind: Any
    default: Any
    least: float | None
    most: float | None


def options_of(context: typer.Context) -> list[Option]:
    """Return the options that a file may set, in the order of the command's own."""
    hints = get_type_hints(context.command.callback, include_extras=True)
    return [
        _option(parameter, *get_args(hints[str(parameter.name)]))
        for parameter in context.command.params
        if parameter.name not in NOT_KEYS
    ]


def use_config(context: typer.Context, path: str | None) -> str | None:
    """Take the defaults of all options from a file (called by typer before it reads the other options)."""
    if path is not None:
        context.default_map = _read(path, options_of(context))
    return path


def config_hash(context: typer.Context) -> str:
    """Return the SHA-256 of the options that decide the answers, in force now, whatever set them.

    It is that of a JSON object without spaces, its keys sorted. Options that are not set are not in it.
    """
    decide = {option.key: value for option, value in _set(context) if _hashed(option)}
    if decide.get("target", "observational") != "observational":
        decide["target"] = "file"
    return hashlib.sha256(json.dumps(decide, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def say_changes(context: typer.Context, path: str | None) -> None:
    """Print a note for each option that is given on the command line otherwise than in the file, if there is one."""
    if path is None:
        return
    declared = context.default_map or {}
    for option in options_of(context):
        was, now = _plain(declared.get(option.name, option.default)), _plain(context.params[option.name])
        files = _is_path(option, was) and _is_path(option, now)
        if was == now or (files and _same_file(was, now)) or not (_hashed(option) or option.name in declared):
            continue
        before = f"instead of {_toml(was)} in {path}" if option.name in declared else f"and is not in {path}"
        decides = _hashed(option) and not files  # another file of a target has the same hash
        so = ": this is not the analysis declared there, and has another hash." if decides else "."
        typer.echo(f"note: --{option.key} is {_toml(now)} {before}{so}", err=True)


def write_config(context: typer.Context, path: str) -> None:
    """Write the options in force to a new file."""
    from confide.base.atomic import atomic_write

    if Path(path).exists():
        raise ValueError(f"{path} exists, and a declared analysis is not replaced: remove it, or name another file.")
    if path == "-":
        raise ValueError("--save-config needs a file to write to.")
    given = [(option, value) for option, value in _set(context) if _hashed(option) or value != option.default]
    named = {option.key for option, _ in given}
    unset = [option.key for option in options_of(context) if _hashed(option) and option.key not in named]
    lines = [
        f"# An analysis, to be run by: confide run --config {Path(path).name}",
        "# Keys are options of confide run. Paths are relative to the folder of this file.",
        f"{VERSION} = {_toml(__version__)}",
        "",
        f"# What decides the answers. SHA-256: {config_hash(context)}",
        *(f"{option.key} = {_toml(_kept(option, value, path))}" for option, value in given if _hashed(option)),
        *([f"# Not set: {', '.join(unset)}"] if unset else []),
        "",
        "# Where tables come from and answers go, and what things are called, which is not in the hash.",
        *(f"{option.key} = {_toml(_kept(option, value, path))}" for option, value in given if not _hashed(option)),
    ]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())


def _option(parameter: Any, kind: Any, info: Any) -> Option:
    """Return an option by its type, such as list[str] | None, and what typer was told of it."""
    if isinstance(kind, UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    return Option(parameter.name, parameter.opts[0].lstrip("-"), kind, parameter.default, info.min, info.max)


def _hashed(option: Option) -> bool:
    return option.name not in NOT_HASHED


def _set(context: typer.Context) -> Iterator[tuple[Option, Any]]:
    """Yield the options that are set, by whatever, with their values."""
    for option in options_of(context):
        value = _plain(context.params[option.name])
        if value is not None and (value is not False or option.default is None):
            yield option, value


def _plain(value: Any) -> Any:
    """Return a list as a list, and an empty one as what is not set."""
    return (list(value) or None) if isinstance(value, tuple | list) else value


def _read(path: str, options: list[Option]) -> dict[str, Any]:
    """Return the values in a file by parameter; raise for what is no option, or is not what the option takes."""
    import tomllib

    with Path(path).open("rb") as file:
        try:
            found = tomllib.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is not TOML: {error}. Write an option a line, such as alpha = 0.1.") from error
    known = {option.key: option for option in options}
    version = found.pop(VERSION, __version__)
    values = {}
    for key, value in found.items():
        if key not in known:
            from confide.base.validation import suggest

            raise ValueError(
                f"{path}: {key} is not an option of confide run that a file can set; {suggest(key, known)}"
            )
        values[known[key].name] = _found(known[key], _checked(path, known[key], value), path)
    if version != __version__:
        typer.echo(f"note: {path} is of confide {version}, and this is {__version__}: defaults may differ.", err=True)
    return values


def _checked(path: str, option: Option, value: Any) -> Any:
    """Return a value as the option takes it; raise if it is of another type or out of bounds."""
    what = f"{path}: {option.key} = {_toml(value)}"
    if option.kind is float and type(value) is int:
        value = float(value)
    if option.kind == list[str]:
        if not isinstance(value, list) or not all(type(each) is str for each in value):
            texts = [str(each) for each in (value if isinstance(value, list) else [value])]
            raise ValueError(f"{what} must be a list of texts: {option.key} = {_toml(texts)}.")
    elif option.kind is str and type(value) is not str:
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        raise ValueError(f"{what} must be text in quotes: {option.key} = {_toml(text)}.")
    elif type(value) is not option.kind:
        raise ValueError(f"{what} must be {EXAMPLES[option.kind]}.")
    elif option.least is not None and option.most is not None and not option.least <= value <= option.most:
        raise ValueError(f"{what} must be from {option.least} to {option.most}.")
    return value


def _is_path(option: Option, value: Any) -> bool:
    return option.name in PATHS and isinstance(value, str) and value != "-" and (option.name, value) not in NO_FILES


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _found(option: Option, value: Any, path: str) -> Any:
    """Return a file's value for the current folder: paths in it are relative to its own."""
    if not _is_path(option, value):
        return value
    joined = str(Path(path).parent / value)
    short = os.path.normpath(joined)
    return short if _same_file(short, joined) else joined  # after a link, ".." is where it leads


def _kept(option: Option, value: Any, path: str) -> Any:
    """Return a value as a file keeps it: relative paths relative to its folder."""
    if not _is_path(option, value) or Path(value).is_absolute():
        return value
    return os.path.relpath(Path(value).parent.resolve() / Path(value).name, Path(path).parent.resolve())


def _toml(value: Any) -> str:
    """Return a value as TOML: that of text, numbers, booleans and lists of them is JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
