"""The memory of this process."""

from __future__ import annotations

import sys


def peak_memory() -> int | None:
    """Return the most bytes that this process has held so far; None where the system does not tell."""
    try:
        import resource  # noqa: PLC0415  (not on every system)
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
