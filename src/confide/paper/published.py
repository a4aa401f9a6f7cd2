"""The paper's own figures, as data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

# A pair: mean, and standard deviation over the paper's repetitions.
Figure = tuple[float, float]


@cache
def published() -> dict[str, Any]:
    """Return the paper's published figures by table, and those of its code with a defect removed."""
    text = (files("confide.paper") / "published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def published_figure(table: str, group: str, method: str, target: str, metric: str) -> Figure | None:
    """Return the paper's figure for a line of a table; None if it has none, or only a curve.

    ``group`` is the ratio of the table "ratio", the form of "nested"; ``metric`` is "coverage" or "width".
    """
    lines = _lines(table, group)
    suffix = {"Y(0)": "_y0", "Y(1)": "_y1", "ITE": "_ite", "rating": ""}[target]
    if table == "nested":
        suffix += f"_nested_{group}"
    found = lines.get(method, {}).get(f"{metric}{suffix}")
    return None if found is None else (float(found[0]), float(found[1]))


def _lines(table: str, group: str) -> dict[str, Any]:
    """Return the paper's lines of a table by method."""
    every = published()
    if table == "ratio":
        name = {"MLP": "mlp", "kernel": "densratio"}.get(group, "")
        return dict(every["ratio"].get(name, {}))
    if table in ("coat", "yahoo"):
        return dict(every["recommendation"][table])
    # The transductive method is published once: with refits.
    lines = dict(every.get(table, {}))
    if table == "table2":
        lines["wtcp-dr, refits"] = lines.get("wtcp-dr", {})
    return lines if table in ("table2", "nested") else {}
