"""Axes of a new figure, which a notebook shows as a picture without pyplot."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from confide.plot.canvas import as_png


class ShownAxes(Axes):
    """The axes of a figure that no notebook knows of: as the last line of a cell they show the whole figure."""

    def _repr_png_(self) -> bytes:
        figure: Any = self.figure
        return as_png(figure)
