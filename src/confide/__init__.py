"""confide: conformal intervals for individual outcomes and effects under hidden confounding."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confide.conformal.intervals import Intervals, IntervalSets
    from confide.data.large_table import LargeTable
    from confide.data.stacking import stack
    from confide.data.study import Study
    from confide.effects.averages import AverageEffect, average_effect
    from confide.effects.selection import select
    from confide.exceptions import InfiniteIntervalWarning, PopulationWarning, RefusalError, TrialAloneWarning
    from confide.io.model_file import load
    from confide.methods.naive import Naive
    from confide.methods.pooled_dr import PooledDR
    from confide.methods.prognostic import Prognostic
    from confide.methods.registry import METHODS, method
    from confide.methods.transfer import Transfer
    from confide.methods.wcp import WCP
    from confide.methods.wscp_dr import WSCPDR
    from confide.methods.wtcp_dr import WTCPDR
    from confide.model import CounterfactualIntervals

__all__ = [
    "METHODS",
    "WCP",
    "WSCPDR",
    "WTCPDR",
    "AverageEffect",
    "CounterfactualIntervals",
    "InfiniteIntervalWarning",
    "IntervalSets",
    "Intervals",
    "LargeTable",
    "Naive",
    "PooledDR",
    "PopulationWarning",
    "Prognostic",
    "RefusalError",
    "Study",
    "Transfer",
    "TrialAloneWarning",
    "average_effect",
    "load",
    "method",
    "select",
    "stack",
]

__version__ = "0.1.0"

# Names are imported when they are first asked for, so that `import confide` and `confide --help` are quick.
_HOMES = {
    "AverageEffect": "effects.averages",
    "CounterfactualIntervals": "model",
    "InfiniteIntervalWarning": "exceptions",
    "IntervalSets": "conformal.intervals",
    "Intervals": "conformal.intervals",
    "LargeTable": "data.large_table",
    "METHODS": "methods.registry",
    "Naive": "methods.naive",
    "PooledDR": "methods.pooled_dr",
    "PopulationWarning": "exceptions",
    "Prognostic": "methods.prognostic",
    "RefusalError": "exceptions",
    "Study": "data.study",
    "Transfer": "methods.transfer",
    "TrialAloneWarning": "exceptions",
    "WCP": "methods.wcp",
    "WSCPDR": "methods.wscp_dr",
    "WTCPDR": "methods.wtcp_dr",
    "average_effect": "effects.averages",
    "load": "io.model_file",
    "method": "methods.registry",
    "select": "effects.selection",
    "stack": "data.stacking",
}


# Rooms that users enter by name: `confide.datasets` needs no import of its own.
_ROOMS = ("conformal", "datasets", "diagnostics", "plot", "ratio", "recommend", "report")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"confide.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    value = getattr(import_module(f"confide.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS])
