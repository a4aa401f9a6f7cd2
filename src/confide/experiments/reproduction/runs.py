"""Repetitions that survive a kill: each is a pure function of its arguments, and writes its own file at the end."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed, parallel_config

from confide import __version__
from confide.files import atomic_write
from confide.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# By kind of repetition, 1 if not named: raise it when what it calculates changes without a new version of confide.
EDITIONS = {"synthetic-cell": 2, "nested-effects": 2}
# A result is that of these libraries too.
LIBRARIES = ("numpy", "scipy", "scikit-learn")

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One repetition.

    Attributes
    ----------
    work : callable
        Module-level function of the arguments, and of ``where`` if there is one, that returns rows.
    label : str
        What it is, for people: the beginning of the part's name.
    arguments : dict
        Everything that the result depends on, in JSON's types.
    where : str or None
        Folder of files that ``arguments`` name by their checksum: moved elsewhere, they are the same.
    """

    work: Callable[..., list[Row]]
    label: str
    arguments: dict[str, Any] = field(hash=False)
    where: str | None = field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """Name of the folder that holds such parts."""
        return self.work.__name__.replace("_", "-")

    @cached_property
    def digest(self) -> str:
        """Digest of everything that the result depends on."""
        versions = {"confide": __version__, **{name: version(name) for name in LIBRARIES}}
        edition = EDITIONS.get(self.kind, 1)
        known = {"edition": edition, "kind": self.kind, "arguments": self.arguments, "versions": versions}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def path(self, folder: Path) -> Path:
        """Return where the part is, or will be."""
        return folder / "parts" / self.kind / f"{self.label}-{self.digest[:16]}.json"


@dataclass(frozen=True)
class Part:
    """What a repetition gave, and how long it took."""

    task: Task
    rows: list[Row]
    seconds: float


def run(tasks: Iterable[Task], folder: Path, jobs: int, tell: Callable[[int], None]) -> dict[str, Part]:
    """Return the parts by digest: those that are there are read, the others made, by as many jobs as are given.

    ``tell`` is called with 1 for each part as it is there.
    """
    unique = {task.digest: task for task in tasks}
    found = {digest: part for digest, task in unique.items() if (part := read(task, folder)) is not None}
    tell(len(found))
    missing = [task for digest, task in unique.items() if digest not in found]
    with parallel_config("loky"):
        parallel = Parallel(n_jobs=min(jobs, len(missing)) or 1, batch_size=1, return_as="generator_unordered")
        try:
            for part in parallel(delayed(make_for)(os.getpid(), task, folder) for task in missing):
                found[part.task.digest] = part
                tell(1)
        except BrokenProcessPool as error:
            raise MemoryError(
                "a process was ended from outside, most likely for want of memory. What is done is kept: start the "
                "same command again, with --jobs 1."
            ) from error
    return found


def make_for(owner: int, task: Task, folder: Path) -> Part:
    """Return the part, made in a process that ends when its owner does, were it killed."""
    if os.getpid() != owner:
        _end_with(owner)
    return make(task, folder)


@cache
def _end_with(owner: int) -> None:
    """Watch the process that owns this one: work that nobody waits for would only be in the way of the next run."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def make(task: Task, folder: Path) -> Part:
    """Do the work on one core, write the part whole, and return it."""
    began = time.perf_counter()
    # One thread, whoever calls: with more, sums come in another order and the last digits differ.
    with one_thread():
        rows = task.work(**task.arguments) if task.where is None else task.work(**task.arguments, where=task.where)
    part = Part(task, rows, time.perf_counter() - began)
    path = task.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "digest": task.digest,
        "arguments": task.arguments,
        "seconds": round(part.seconds, 3),
        "rows": [{key: _as_json(value) for key, value in row.items()} for row in rows],
    }
    with atomic_write(path) as file:
        file.write((json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode())
    written = read(task, folder)
    if written is None:
        raise OSError(f"{path} cannot be read again.")
    return written


def read(task: Task, folder: Path) -> Part | None:
    """Return the part if it is there and is this task's."""
    path = task.path(folder)
    try:
        content = json.loads(path.read_bytes())
        if content["digest"] != task.digest:
            return None
        rows = [{key: _from_json(value) for key, value in row.items()} for row in content["rows"]]
        return Part(task, rows, float(content["seconds"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):  # another program's file: make it anew
        return None


def _as_json(value: Any) -> Any:
    """Return numbers as JSON knows them; infinite ones and NaN are text."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, float) and not abs(value) < float("inf") else value


def _from_json(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value
