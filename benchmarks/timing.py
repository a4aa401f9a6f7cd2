"""How the benchmarks measure, and how they tell a figure and whether its bound holds."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Figure:
    """What was measured, and what was asked for; no bound where nothing was."""

    what: str
    value: float
    unit: str
    bound: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the bound holds."""
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        told = f"{self.what}: {self.value:.3g} {self.unit}".rstrip()
        if self.bound is None:
            return told
        asked = f"{told} (asked for: {'at least' if self.at_least else 'at most'} {self.bound:g} {self.unit}".rstrip()
        return f"{asked})" if self.holds else f"{asked})\n  DOES NOT HOLD"


# Everything that was told since the benchmark began; `run.py` takes it from here.
figures: list[Figure] = []


def seconds(work: Callable[[], Any], runs: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of a few runs; ``clock=time.process_time`` leaves out what others do on the machine."""
    best = float("inf")
    for _ in range(runs):
        started = clock()
        work()
        best = min(best, clock() - started)
    return best


def tell(what: str, value: float, unit: str) -> None:
    """Print a figure and keep it."""
    _keep(Figure(what, float(value), unit))


def require(what: str, value: float, bound: float, unit: str, *, at_least: bool = False) -> None:
    """Print a figure beside its bound and keep it."""
    _keep(Figure(what, float(value), unit, bound, at_least))


def _keep(figure: Figure) -> None:
    print(figure, flush=True)
    figures.append(figure)


def peak_mebibytes() -> float:
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def current_mebibytes() -> float:
    """Return the memory that this process holds now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20
