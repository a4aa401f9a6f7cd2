"""What the tests of plots look at."""

import numpy as np

from confide import Intervals
from confide.diagnostics import Coverage

LOWER, UPPER = np.array([2.0, -3.0, -1.0, 0.5]), np.array([4.0, -2.0, 1.0, 3.0])
FOUR = Intervals(LOWER, UPPER)
ARM = Coverage(treatment=0, n=100, coverage=0.92, low=0.85, high=0.97, width=2.0, infinite=0.0)


def drawn(ax):
    """Draw it for real: what cannot be drawn, or warns, fails here."""
    ax.figure.canvas.draw()
    return ax


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks(axis):
    """Return the labels of an axis."""
    return [text.get_text() for text in axis.get_ticklabels()]


def is_whole(ax):
    """Return whether the legend is inside the figure and below the axis' label."""
    box, figure = ax.get_legend().get_window_extent(), ax.figure.bbox
    label = ax.xaxis.label.get_window_extent()
    return box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.width and box.y1 <= label.y0


def dots(ax):
    """Return x, y, and the ends of the bar of each point, in the order drawn."""
    found = []
    for container in ax.containers:
        data, _, (bar,) = container.lines
        (x,), (y,) = data.get_data()
        ((_, low), (_, high)) = bar.get_segments()[0]
        found.append((float(x), float(y), low, high))
    return found


def line(ax, label):
    """Return x and y of the line whose label starts so."""
    (found,) = [each for each in ax.lines if str(each.get_label()).startswith(label)]
    return tuple(np.asarray(values, dtype=float).tolist() for values in found.get_data())
