"""Limits on the number of threads: every fit and prediction in confide runs inside one of these ``with`` blocks.

scikit-learn runs on OpenMP and BLAS, which start a thread per core however small the work is. Threads that wait for
each other use CPU time (they spin). If a core is busy with something else, or not available to this process, a second
of work becomes a minute. So:

- BLAS has one thread. Its matrices are small here, a batch of a perceptron or a user's ratings, even where the table
  is large. This also makes all digits the same on machines with more or fewer cores.
- OpenMP, which boosting uses, has one thread too, unless there are many rows *and* its threads sleep while they wait.
  Then it has one per core that this process may use. The command line makes them sleep. Elsewhere the user must set
  ``OMP_WAIT_POLICY=PASSIVE`` before Python starts, since OpenMP reads it once, when it is loaded.

More threads than the caller allows are never used: ``OMP_NUM_THREADS`` and an enclosing ``threadpool_limits`` hold.

Nothing heavy is imported here, because the command line imports this module before numpy.
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

# From this many rows on, several threads are faster, and next to busy processes cost little more CPU time than one.
MANY_ROWS = 200_000
# Read by the libraries when they are loaded: the number of threads, and how threads wait (GCC's and LLVM's OpenMP).
OPENMP = "OMP_NUM_THREADS"
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}


class _Here(threading.local):
    """The limits in the current Python thread; OpenMP has a thread number of its own for each.

    Attributes
    ----------
    most : int or None
        The most threads that OpenMP may have; None outside of all blocks.
    now : int
        The limit that the innermost block asks for.
    """

    most: int | None = None
    now: int = 0


_here = _Here()
# Held by the Python thread that has set BLAS's number of threads, which is one per process, until it is reset.
_blas = threading.Lock()


def threads_for(rows: Any) -> AbstractContextManager[None]:
    """Limit the threads inside a block to what suits the rows, a number or a table; the innermost block decides."""
    return _at_most(cores() if _count(rows) >= MANY_ROWS and _sleep() else 1)


def _sleep() -> bool:
    """Return whether waiting threads sleep."""
    return os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE"


def _count(rows: Any) -> int:
    """Return the number of rows of an array or a frame; 0 for anything else, which later checks reject."""
    if isinstance(rows, int):
        return rows
    shape = getattr(rows, "shape", None)
    with suppress(TypeError):
        return int(shape[0]) if shape else len(rows)
    return 0


def threads_now() -> int:
    """Return how many threads code may have here that is told their number and does not ask OpenMP."""
    return max(1, min(_here.now, _here.now if _here.most is None else _here.most))


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit a block to one thread for any number of rows: for work that already runs on all cores."""
    with _at_most(1):
        most, _here.most = _here.most, 1
        try:
            yield
        finally:
            _here.most = most


def keep_to_one_thread() -> None:
    """Limit this Python thread to one thread while it lives: for the workers of a pool started inside `one_thread`."""
    _here.most = _here.now = 1
    _controllers(len(sys.modules))[0].limit(limits=1)


def environment(count: int) -> dict[str, str]:
    """Return the environment variables that give a new process ``count`` threads of OpenMP and one of BLAS."""
    return {OPENMP: str(count), **dict.fromkeys(BLAS, "1")}


def one_thread_from_the_start() -> None:
    """Limit this process and its child processes to one thread; call it before numpy is loaded."""
    _set_unless_set(environment(1))


def wait_passively() -> None:
    """Make waiting threads sleep, in this process and its child processes; no effect once numpy is loaded."""
    if "numpy" not in sys.modules:
        _set_unless_set({**PASSIVE, **dict.fromkeys(BLAS, "1")})


def _set_unless_set(variables: dict[str, str]) -> None:
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def cores(root: Path = Path("/")) -> int:
    """Return the number of cores this process may use, by its affinity and its container's quota; at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(allowed, *_quotas(root), inf)))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the CPU quota of each control group of this process, in cores (Linux)."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and "cpu" not in kinds.split(","):
                continue
            top = root / "sys/fs/cgroup" / kinds
            group = top / path.lstrip("/")
            # In a container the path may be the one outside of it, with its own group at the top.
            yield from (_quota(folder) for folder in (group, *group.parents) if folder.is_relative_to(top))


def _quota(group: Path) -> float:
    """Return the CPU quota of a control group (version 1 or 2), in cores."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with suppress(OSError, ValueError):
            quota, period = map(float, " ".join((group / name).read_text(encoding="utf-8") for name in names).split())
            if quota > 0 and period > 0:  # -1 is no quota, as is the word "max"
                return quota / period
    return inf


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Limit OpenMP to ``count`` threads, and to no more than it had outside of all blocks; limit BLAS to one."""
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
    """Return the current number of OpenMP threads; the smallest if several OpenMP libraries are loaded."""
    return min((library["num_threads"] for library in openmp.info()), default=1)


@lru_cache(maxsize=1)
def _controllers(loaded: int) -> tuple[Any, Any]:  # noqa: ARG001  (more modules may have brought more libraries)
    """Return the controller of the OpenMP libraries and that of the BLAS libraries."""
    # Slow to import for the command line.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    # It looks for libraries in a callback of C, before version 3.7 for some 30 ms. An interrupt that comes up in one is
    # lost, so it is left to another Python thread: interrupts come up in the main one, which waits here.
    with ThreadPoolExecutor(max_workers=1) as other:
        found = other.submit(ThreadpoolController).result()
    return found.select(user_api="openmp"), found.select(user_api="blas")
