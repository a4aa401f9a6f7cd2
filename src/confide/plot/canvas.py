"""Figures of matplotlib, which is optional: no pyplot, no global state, and PNG files of the same bytes each time."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from confide.base.atomic import atomic_write

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without a screen; raise an ImportError without matplotlib."""
    if not can_draw():
        raise ImportError("plots need matplotlib, which is not installed: pip install 'confide[plot]'.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  (optional)
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def axes_or_new(ax: Any, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure for None."""
    if ax is None:
        from confide.plot.notebook import ShownAxes  # noqa: PLC0415  (it needs matplotlib, which is optional)

        return new_figure(width, height).add_subplot(axes_class=ShownAxes)
    if not (hasattr(ax, "add_collection") and hasattr(ax, "transAxes")):
        raise ValueError(f"ax must be the Axes of a matplotlib figure or None, got {type(ax).__name__}.")
    made: Axes = ax
    return made


def write_png(figure: Figure, path: str | os.PathLike[str], dpi: float = 100) -> None:
    """Write the figure, completely or not at all, without a date or a version in it."""
    content = as_png(figure, dpi)
    with atomic_write(path) as file:
        file.write(content)


def as_png(figure: Figure, dpi: float = 100) -> bytes:
    """Return the figure as a PNG file, without a date or a version in it."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=dpi, metadata={"Software": None})
    return content.getvalue()
