"""The name of a fitted arm's method, and the coverage it promises with its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.methods.registry import METHODS

if TYPE_CHECKING:
    from confide.methods.base import ArmEstimator
    from confide.methods.registry import Method


def name_and_promise(arm: ArmEstimator) -> tuple[str, str]:
    """Return the name of a fitted arm's method, or its class if it has none, and its promise."""
    known = registered(arm)
    return (type(arm).__name__, "not stated") if known is None else (known.name, _promise(known, arm))


def registered(arm: ArmEstimator) -> Method | None:
    """Return the entry of METHODS that describes a fitted arm; None if there is none."""
    params = arm.get_params(deep=False)
    looks_at = getattr(getattr(arm, "ratio_", None), "on", None)
    found = {}
    for record in METHODS.values():
        named = {name: value for name, value in record.parameters.items() if name != "ratio"}
        own = record.estimator == f"{type(arm).__module__}:{type(arm).__name__}"
        if own and all(params[name] == value for name, value in named.items()):
            found[record.ratio_on or ("y" if "ratio" in record.parameters else None)] = record
    return found.get(looks_at, found.get(None))


def _promise(record: Method, arm: ArmEstimator) -> str:
    """Return the method's promise with this arm's parameters."""
    holds_intervals = record.promise.startswith("≥ 1-2α")
    if holds_intervals and getattr(arm, "refit", False):
        return "none proved with refit=True"
    if getattr(arm, "ratio_rows", "fit") == "all":
        return "none proved with ratio_rows='all'"
    levels = getattr(arm, "levels", None)
    if levels is None or not record.promise.startswith("≥"):
        return record.promise
    first, second = (f"{float(level):g}" for level in levels)
    return record.promise.replace("1-2α", f"1-{first}-{second}").replace("1-α", f"1-{second}")
