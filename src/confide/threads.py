"""How many threads learners use: whatever fits or asks a model in confide does it inside a block from here.

scikit-learn runs on OpenMP and BLAS, which start a thread per core however small the work is. Threads that wait for
each other spin, and where a core is busy with something else, or may not be used by this process, a second of work
becomes a minute. So:

- BLAS has one thread. Its matrices are small here, a batch of a perceptron or a user's ratings, even where the table
  is large; and so all digits are the same on a machine with more cores.
- OpenMP, which boosting uses, has one thread too, unless there are many rows *and* its threads sleep while they wait.
  Then it has one per core that this process may use. The command line lets them sleep; elsewhere that is for whoever
  starts Python, since OpenMP reads ``OMP_WAIT_POLICY=PASSIVE`` once, when it is loaded.

More threads than the caller allows are never used: ``OMP_NUM_THREADS`` and an enclosing ``threadpool_limits`` hold.

Nothing heavy is imported here: the command line comes here before numpy is loaded.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

# From so many rows on several threads help, and beside busy processes cost little more CPU time than one.
MANY_ROWS = 200_000
# Read by the libraries when they are loaded: how many threads, and how those that wait do it (GCC's and LLVM's OpenMP).
OPENMP = "OMP_NUM_THREADS"
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}


class _Here(threading.local):
    """What holds in the current Python thread, for each of which OpenMP has a number of its own.

    Attributes
    ----------
    most : int or None
        The most threads that OpenMP may have; None outside of all blocks.
    now : int
        How many the innermost block lets it have, if it may.
    """

    most: int | None = None
    now: int = 0


_here = _Here()
# Held by the Python thread that has set BLAS's number, one for the whole process, and will set it back.
_blas = threading.Lock()


def threads_for(rows: Any) -> AbstractContextManager[None]:
    """Limit the threads while a block lasts to what helps with so many rows, or with these; the innermost decides."""
    return _at_most(cores() if _count(rows) >= MANY_ROWS and _sleep() else 1)


def _sleep() -> bool:
    """Return whether threads that wait sleep."""
    return os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"


def _count(rows: Any) -> int:
    """Return the number of rows of an array or a frame; 0 for what is neither, which others refuse."""
    if isinstance(rows, int):
        return rows
    shape = getattr(rows, "shape", None)
    with suppress(TypeError):
        return int(shape[0]) if shape else len(rows)
    return 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep to one thread, however many rows: where the cores are shared already."""
    with _at_most(1):
        most, _here.most = _here.most, 1
        try:
            yield
        finally:
            _here.most = most


def keep_to_one_thread() -> None:
    """Keep this Python thread to one thread while it lives: for those of a pool, started inside `one_thread`."""
    _here.most = _here.now = 1
    _controllers(len(sys.modules))[0].limit(limits=1)


def environment(count: int) -> dict[str, str]:
    """Return the variables that give a process, when it starts, so many threads of OpenMP and one of BLAS."""
    return {OPENMP: str(count), **dict.fromkeys(BLAS, "1")}


def one_thread_from_the_start() -> None:
    """Keep this process and those it starts to one thread; to be called before numpy is loaded."""
    _set_unless_set(environment(1))


def wait_passively() -> None:
    """Let threads that wait sleep, in this process and those it starts, unless it is too late: numpy is loaded."""
    if "numpy" not in sys.modules:
        _set_unless_set({**PASSIVE, **dict.fromkeys(BLAS, "1")})


def _set_unless_set(variables: dict[str, str]) -> None:
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def cores(root: Path = Path("/")) -> int:
    """Return how many cores this process may use, by its affinity and by the quota of its container; at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(allowed, *_quotas(root), inf)))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the cores' worth of time that each control group of this process grants it (Linux)."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and "cpu" not in kinds.split(","):
                continue
            top = root / "sys/fs/cgroup" / kinds
            group = top / path.lstrip("/")
            # In a container the path may be that outside of it, and its own group at the top.
            yield from (_quota(folder) for folder in (group, *group.parents) if folder.is_relative_to(top))


def _quota(group: Path) -> float:
    """Return the cores' worth of time of a control group, of either version."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with suppress(OSError, ValueError):
            quota, period = map(float, " ".join((group / name).read_text(encoding="utf-8") for name in names).split())
            if quota > 0 and period > 0:  # -1 is no quota, as is the word "max"
                return quota / period
    return inf


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Limit OpenMP to so many threads, and to no more than it had outside of all blocks; BLAS to one."""
    if count == _here.now:
        yield
        return
    (openmp, blas), most, now = _controllers(len(sys.modules)), _here.most, _here.now
    owns_blas = most is None and _blas.acquire(blocking=False)
    try:
        allowed = _allowed(openmp) if most is None else most
        _here.most, _here.now = allowed, count
        with openmp.limit(limits=min(count, allowed)), blas.limit(limits=1) if owns_blas else nullcontext():
            yield
    finally:
        _here.most, _here.now = most, now
        if owns_blas:
            _blas.release()


def _allowed(openmp: Any) -> int:
    """Return how many threads OpenMP has now, the fewest where several libraries bring one."""
    return min((library["num_threads"] for library in openmp.info()), default=1)


@lru_cache(maxsize=1)
def _controllers(loaded: int) -> tuple[Any, Any]:  # noqa: ARG001  (more modules may have brought more libraries)
    """Return what controls the libraries of OpenMP, and those of BLAS, each of them alone."""
    # The command line is not to wait for these.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    # It looks for libraries in a callback of C, before version 3.7 for some 30 ms. An interrupt that comes up in one is
    # lost, so it is left to another Python thread: interrupts come up in the main one, which waits here.
    with ThreadPoolExecutor(max_workers=1) as other:
        found = other.submit(ThreadpoolController).result()
    return found.select(user_api="openmp"), found.select(user_api="blas")
