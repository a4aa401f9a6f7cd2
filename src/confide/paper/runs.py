"""Repetitions that can be resumed: each is a pure function of its arguments, and writes its own file at the end."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed, parallel_config

from confide import __version__
from confide.base.atomic import atomic_write
from confide.base.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from confide.base.csv_rows import Row

# Edition per kind of repetition, 1 by default: raise it if the computation changes without a new version of confide.
EDITIONS = {"synthetic-cell": 2, "nested-effects": 2}
# Results depend on the versions of these libraries too.
LIBRARIES = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Task:
    """One repetition.

    Attributes
    ----------
    work : callable
        Module-level function of the arguments, and of ``where`` if there is one, that returns rows.
    label : str
        A readable name: the beginning of the part's file name.
    arguments : dict
        Everything that the result depends on, in JSON's types.
    where : str or None
        Folder of files that ``arguments`` identify by checksum, so that they can be moved.
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
        """Return the path of the part's file."""
        return folder / "parts" / self.kind / f"{self.label}-{self.digest[:16]}.json"


@dataclass(frozen=True)
class Part:
    """The rows of a repetition, and how long it took."""

    task: Task
    rows: list[Row]
    seconds: float


def run(tasks: Iterable[Task], folder: Path, jobs: int, report_progress: Callable[[int], None]) -> dict[str, Part]:
    """Return the parts by digest: existing ones are read, the others are computed by ``jobs`` processes.

    ``report_progress`` is called with the number of existing parts, then with 1 for each new one.
    """
    unique = {task.digest: task for task in tasks}
    found = {digest: part for digest, task in unique.items() if (part := read(task, folder)) is not None}
    report_progress(len(found))
    missing = [task for digest, task in unique.items() if digest not in found]
    with parallel_config("loky"), _quiet_tracker():
        parallel = Parallel(n_jobs=min(jobs, len(missing)) or 1, batch_size=1, return_as="generator_unordered")
        try:
            for part in parallel(delayed(make_for)(os.getpid(), task, folder) for task in missing):
                found[part.task.digest] = part
                report_progress(1)
        except BrokenProcessPool as error:
            raise MemoryError(
                "a process was ended from outside, most likely for lack of memory. Finished parts are kept: start the "
                "same command again, with --jobs 1."
            ) from error
    return found


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Keep joblib's tracker, a process that removes what a lost worker left behind, from warning of each such thing."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, "ignore:resource_tracker:UserWarning"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def make_for(owner: int, task: Task, folder: Path) -> Part:
    """Return the part, computed in a process that ends when its owner ends, even if that is killed."""
    if os.getpid() != owner:
        _end_with(owner)
    return make(task, folder)


@cache
def _end_with(owner: int) -> None:
    """End this process when its owner ends: unused work would only slow down the next run."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def make(task: Task, folder: Path) -> Part:
    """Do the work on one core, write the part atomically, and return it."""
    began = time.perf_counter()
    # One thread always: with more, the order of sums and so the last digits would differ.
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
    """Return the part if its file exists and belongs to this task."""
    path = task.path(folder)
    try:
        content = json.loads(path.read_bytes())
        if content["digest"] != task.digest:
            return None
        rows = [{key: _from_json(value) for key, value in row.items()} for row in content["rows"]]
        return Part(task, rows, float(content["seconds"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):  # another program's file: compute it again
        return None


def _as_json(value: Any) -> Any:
    """Return numbers as plain JSON values; infinite ones and NaN become text."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, float) and not abs(value) < float("inf") else value


def _from_json(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value
