"""A small study in files and frames, for the attack on tables: what is asked of it, and when an answer holds."""

from __future__ import annotations

import contextlib
import csv
import io
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from confide import CounterfactualIntervals, stack
from confide.predict.answer import answer
from fuzz.commands import Ran, differences, judge, run_here, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    # Columns of text by their name: a table before it is written.
    Columns = dict[str, list[str]]
    Answers = dict[str, NDArray[np.float64]]
    Cases = dict[str, Callable[[], str]]

ROLES = {"--observational": "obs.csv", "--trial": "trial.csv", "--treatment": "t", "--outcome": "y"}
SETTINGS = ["--method", "transfer", "--base", "ridge", "--alpha", "0.2", "--id", "who"]
FIRST_DAY = np.datetime64("2024-01-01")
NO_FILES: Mapping[str, bytes] = {}


@cache
def _drawn() -> dict[str, Columns]:
    rng = np.random.default_rng(25)

    def people(name: str, size: int) -> Columns:
        x, n = np.round(rng.normal(size=size), 3), rng.integers(1, 9, size)
        treated, town = rng.permutation(np.arange(size) % 2), rng.integers(0, 3, size)
        flag, day = rng.integers(0, 2, size), rng.integers(0, 300, size)
        y = np.round(x + 0.2 * n + treated + town + flag + day / 100 + 0.3 * rng.normal(size=size), 3)
        return {
            "who": [f"{name}{place}" for place in range(size)],
            "x": [f"{each:g}" for each in x],
            "n": [str(each) for each in n],
            "town": [("Nord", "Süd", "Café")[each] for each in town],
            "flag": [("false", "true")[each] for each in flag],
            "day": [str(FIRST_DAY + int(each)) for each in day],
            "t": [("drug", "placebo")[each] for each in treated],
            "y": [f"{each:g}" for each in y],
        }

    found = {"obs": people("o", 80), "trial": people("r", 60), "new": people("p", 6)}
    del found["new"]["t"], found["new"]["y"]
    return found


def table(name: str, **changed: Callable[[str], str]) -> Columns:
    """Return a table of the clean study, "obs", "trial" or "new", with the cells of some columns changed."""
    return {column: [changed.get(column, str)(cell) for cell in cells] for column, cells in _drawn()[name].items()}


def every(name: str, column: str, step: int, change: Callable[[str], str]) -> Columns:
    """Return a table with one of so many cells of a column changed."""
    columns = table(name)
    columns[column] = [change(cell) if place % step == 0 else cell for place, cell in enumerate(columns[column])]
    return columns


def text_of(columns: Columns, separator: str = ",", end: str = "\n", *, quoted: bool = False) -> str:
    """Return a table as CSV."""
    text = io.StringIO(newline="")
    style: Any = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=separator, lineterminator=end, quoting=style)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def file_of(columns: Columns, separator: str = ",", end: str = "\n", *, quoted: bool = False) -> bytes:
    """Return a table as a CSV file in UTF-8."""
    return text_of(columns, separator, end, quoted=quoted).encode()


def files(**changed: Callable[[str], str]) -> dict[str, bytes]:
    """Return the three files of the study, with the cells of some columns changed in all of them."""
    return {f"{name}.csv": file_of(table(name, **changed)) for name in ("obs", "trial", "new")}


@contextlib.contextmanager
def folder(given: Mapping[str, bytes] = NO_FILES) -> Iterator[Path]:
    """Work in a new folder with the clean study, some of its files replaced and others added."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for path, content in {**files(), **given}.items():
            Path(path).write_bytes(content)
        yield Path()


def words(*options: str, out: str = "out.csv") -> list[str]:
    """Return the words of `confide run`; of an option that is given twice the last one counts."""
    given = [word for pair in ROLES.items() for word in pair]
    return ["run", *given, *SETTINGS, "--predict", "new.csv", "--out", out, *options]


def ran(asked: Sequence[str], status: int) -> Ran:
    """Run a command in the current folder; break unless it ends with this status and as a command should."""
    before = state(Path())
    done = run_here(list(asked))
    faults = judge(list(asked), done, before, state(Path()))
    assert not faults, "; ".join(faults)
    assert done.status == status, f"status {done.status}: {done.err[-400:]}"
    return done


def read_answers(path: str = "out.csv", encoding: str = "utf-8") -> Answers:
    """Return the intervals of a CSV file that a command has written, in whatever format its input had."""
    with Path(path).open(encoding=encoding, newline="") as file:
        separator = max(",;\t|", key=file.readline().count)
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=separator))
    names = [name for name in rows[0] if name.startswith(("y_", "effect_"))]
    return {name: np.array([float(row[name].replace(",", ".")) for row in rows]) for name in names}


@cache
def clean() -> Answers:
    """Return the answers to the clean study."""
    with folder():
        ran(words(), 0)
        found = read_answers()
    assert all(np.isfinite(each).all() for each in found.values())
    return found


def check_same(found: Answers, wanted: Answers | None = None, names: Mapping[str, str] | None = None) -> None:
    """Break unless answers are those of the clean study; ``names`` are treatments under another name."""
    wanted = clean() if wanted is None else wanted
    for old, new in (names or {}).items():
        wanted = {_renamed(name, old, new): each for name, each in wanted.items()}
    assert found.keys() == wanted.keys(), f"columns {sorted(found)}, not {sorted(wanted)}"
    for name, each in wanted.items():
        assert np.allclose(found[name], each, rtol=1e-9, atol=1e-9), f"{name} is {found[name]}, not {each}"


def _renamed(name: str, old: str, new: str) -> str:
    return "_".join(new if part == old else part for part in name.split("_"))


def same(given: Mapping[str, bytes], *options: str, names: Mapping[str, str] | None = None) -> Ran:
    """Break unless the command answers files as it answers the clean ones."""
    with folder(given):
        done = ran(words(*options), 0)
        encoding = options[options.index("--encoding") + 1] if "--encoding" in options else "utf-8"
        check_same(read_answers(encoding=encoding), names=names)
    return done


def refused(given: Mapping[str, bytes], *options: str, says: Sequence[str]) -> str:
    """Break unless the command refuses files in one line with these words, and touches no file; return the line."""
    with folder(given):
        return refused_here(words(*options), says)


def refused_here(asked: Sequence[str], says: Sequence[str]) -> str:
    """Break unless a command in the current folder is refused in one line with these words; return the line."""
    before = state(Path())
    done = ran(asked, 2)
    assert not differences(before, state(Path()))
    line = next(each for each in done.err.splitlines() if not each.startswith("note: "))
    for word in says:
        assert word in line, f"it does not say {word!r}: {line}"
    return f"Refused: {line.removeprefix('confide: ')}"


def notes(done: Ran) -> list[str]:
    """Return the notes of a command."""
    return [each.removeprefix("note: ") for each in done.err.splitlines() if each.startswith("note: ")]


def noted(done: Ran, *said: str) -> str:
    """Break unless a note has these words; return it."""
    for note in notes(done):
        if all(word in note for word in said):
            return f"Answered, with a note: {note}"
    raise AssertionError(f"no note says {said}: {notes(done)}")


def arrow(name: str) -> pa.Table:
    """Return a table of the clean study with types: numbers, booleans and dates."""
    columns = table(name)
    types = {"x": pa.float64(), "n": pa.int64(), "flag": pa.bool_(), "day": pa.date32(), "y": pa.float64()}
    return pa.table({name: pa.array(cells).cast(types.get(name, pa.string())) for name, cells in columns.items()})


def answered(obs: Any, trial: Any, new: Any, *, categories: Sequence[str] = (), treatment: str = "t") -> Answers:
    """Return the answers to three frames."""
    columns = ["x", "n", "town", "flag", "day"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = stack(obs, trial, treatment, "y", columns, categories=categories)
        model = CounterfactualIntervals(method="transfer", base="ridge", alpha=0.2, random_state=0).fit(study)
        found = answer(model, model.read(new)).table
    return {name: found[name].to_numpy() for name in found.column_names}


def refused_frames(obs: Any, trial: Any, new: Any, *says: str) -> str:
    """Break unless frames are refused in one line with these words; return the line."""
    try:
        answered(obs, trial, new)
    except ValueError as error:
        line = str(error)
    else:
        raise AssertionError("it was answered")
    assert "\n" not in line, line
    for word in says:
        assert word in line, f"it does not say {word!r}: {line}"
    return f"Refused: {line}"
