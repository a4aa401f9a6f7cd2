"""Helpers of all plots: colours, markers, legends and labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Label

Record = TypeVar("Record")

# The palette of Okabe and Ito, which colour-blind people can distinguish; each with its marker, for print.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "osD^vPX"  # one more than colours, so that many arms get different pairs
GREY, DARK = "#777777", "#222222"
SIZE = (7.0, 4.5)
# An infinite end is drawn this many lengths of the axes away: off the axes however far they are zoomed out.
FAR = 1000.0
# How far a legend is below the axes, and per further line of labels, in inches; how many characters a name may have.
BELOW, LINE, LONGEST = 0.42, 0.17, 36
# How many characters a line of a legend may have.
ACROSS = 84


def one_finite_per_row(values: ArrayLike, rows: int, name: str) -> NDArray[np.float64]:
    """Return the values as one finite number per row; raise otherwise."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (rows,):
        raise ValueError(f"{name} must be {rows} numbers, one per interval, got shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name} must be finite, got {array[bad[0]]} in row {bad[0]}. Leave out such rows.")
    return array


def some_records(found: Any, kind: type[Record], give: str) -> list[Record]:
    """Return the records as a list; raise if there are none, or one of another kind, and say what to give."""
    records = list(found) if isinstance(found, Iterable) else [found]
    strange = [each for each in records if not isinstance(each, kind)]
    if strange or not records:
        what = f"a {type(strange[0]).__name__}" if strange else "none"
        raise ValueError(f"found must be 1 {kind.__name__} or more, got {what}: give {give}.")
    return records


def looks_of(labels: Iterable[Any]) -> dict[Label, tuple[str, str]]:
    """Return a colour and a marker for each treatment, in order."""
    distinct = list(dict.fromkeys(labels))
    if all(isinstance(label, str) for label in distinct) or all(isinstance(label, int | float) for label in distinct):
        distinct.sort()
    return {label: (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]) for at, label in enumerate(distinct)}


def named(label: Label) -> str:
    """Return a treatment's label: text as it is, a number after the word treatment."""
    return label if isinstance(label, str) else f"treatment {label}"


def line_height(ax: Axes) -> float:
    """Return the approximate height of a line of small text, as a share of the axes."""
    return 12 / 72 / float(ax.get_window_extent().height / ax.figure.dpi)


def make_room_for_legend(ax: Axes, columns: int) -> None:
    """Put a legend at the top, with nothing behind it but lines that run off the axes."""
    entries = len(ax.get_legend_handles_labels()[0])
    if entries > 1:
        low, high = ax.get_ylim()
        taken = min(1.25 * line_height(ax) * -(-entries // columns) + 0.05, 0.6)
        ax.set_ylim(low, low + (high - low) / (1 - taken))
        legend = ax.legend(loc="upper left", ncols=columns, fontsize="small", framealpha=0.9, edgecolor="none")
        for handle in filter(None, legend.legend_handles):
            handle.set(markersize=5, linewidth=2.5, alpha=1)  # with many rows the marks in the plot are small and faint


def put_legend_below(ax: Axes, columns: int = 2, lines: int = 1) -> None:
    """Put the legend below the axes and their label, where it hides neither a mark nor a title.

    There are so many columns at most, fewer if entries are long. ``lines`` are those of the ticks' labels.
    """
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415  (optional)

    below = ax.transAxes + ScaledTranslation(0, -BELOW - LINE * (lines - 1), ax.figure.dpi_scale_trans)
    longest = max(len(label) for label in ax.get_legend_handles_labels()[1])
    columns = max(min(columns, ACROSS // longest), 1)
    ax.legend(
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, ncols=columns, fontsize="small", frameon=False
    )


def share_axis(ax: Axes, largest: float) -> None:
    """Let the vertical axis show shares in percent, from 0 to somewhat above the largest."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415  (optional)

    high = min(1.15 * max(largest, 0.05), 1.03)
    ax.set_ylim(-0.03 * high, high)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def in_unit(text: str, unit: str) -> str:
    """Return a label of an axis with the unit, if there is one."""
    return f"{text} ({unit})" if unit else text


def short(name: str) -> str:
    """Return a name in the space that there is: without its middle if it is long, since its end tells levels apart."""
    if len(name) <= LONGEST:
        return name
    kept = (LONGEST - 1) // 2
    return f"{name[:kept].rstrip()}…{name[-kept:].lstrip()}"


def count(rows: NDArray[np.bool_]) -> str:
    """Return how many rows are marked, as text."""
    return f"{int(rows.sum()):,}"


def percent(share: float) -> str:
    """Return a share as a percentage, with a decimal where it is below 10 %."""
    return f"{100 * share:.1f} %" if share < 0.1 and share > 0 else f"{100 * share:.3g} %"
