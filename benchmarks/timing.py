"""How the benchmarks measure, and how they say that a bound does not hold."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

failures: list[str] = []


def seconds(work: Callable[[], Any], runs: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of a few runs; ``clock=time.process_time`` leaves out what others do on the machine."""
    best = float("inf")
    for _ in range(runs):
        started = clock()
        work()
        best = min(best, clock() - started)
    return best


def require(what: str, value: float, bound: float, unit: str, *, at_least: bool = False) -> None:
    """Print a figure beside its bound, and remember it where it does not hold."""
    holds = value >= bound if at_least else value <= bound
    print(f"{what}: {value:.3g} {unit} (asked for: {'at least' if at_least else 'at most'} {bound:g} {unit})")
    if not holds:
        failures.append(what)
        print("  DOES NOT HOLD")


def peak_mebibytes() -> float:
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def current_mebibytes() -> float:
    """Return the memory that this process holds now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20
