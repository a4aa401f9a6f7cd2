"""The Love plot: standardised mean differences, one line per covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.diagnostics.covariate_balance import CUSTOMARY, Balance
from confide.plot.canvas import axes_or_new
from confide.plot.style import COLOURS, DARK, GREY, MARKERS, SIZE, put_legend_below, short, some_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# At most so many covariates are drawn.
MOST = 40
# Height of a covariate's line, and of all else, in inches.
LINE, REST = 0.21, 1.2
# Where infinite differences are drawn, and the line that separates them, as shares of the largest value on the axis.
AT_INFINITY, BEFORE_INFINITY = 0.97, 0.94


def love_plot(found: Iterable[Balance], *, most: int = MOST, ax: Axes | None = None) -> Axes:
    """Draw the absolute standardised mean difference of each covariate, the largest at the top (a Love plot).

    One colour and one mark per comparison: full for the difference as it is, hollow for the weighted one, joined by a
    thin line. The dashed line is the customary 0.1. Infinite differences, of two constants, are at the right edge. What
    one comparison lacks, or what cannot be compared for want of values, has no mark.

    Parameters
    ----------
    found : list of Balance
        What `confide.diagnostics.balance` returns, or some of it.
    most : int, default 40
        Number of covariates that are drawn at most: those with the largest differences.
    ax : Axes, default None
        Axes to draw on. None: a new figure, as high as the covariates need.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Balance
    >>> ax = plot.love_plot([Balance("age", "trial against observational", -0.3, None, "age", (60, 900))])
    """
    records = some_records(found, Balance, "balance(study)")
    if most < 1:
        raise ValueError(f"most, the number of covariates that are drawn, must be at least 1, got {most}.")
    largest: dict[str, float] = {}
    for each in records:
        largest[each.covariate] = np.fmax(largest.get(each.covariate, 0.0), abs(each.smd))
    names = sorted(largest, key=lambda name: -largest[name])
    shown = names[:most]
    places = {name: place for place, name in enumerate(reversed(shown))}
    ax = axes_or_new(ax, SIZE[0] + 0.5, max(LINE * len(shown) + REST, 2.2))
    ax.hlines(range(len(shown)), 0, 1, transform=ax.get_yaxis_transform(), color=GREY, linewidth=0.3, alpha=0.5)
    ax.axvline(CUSTOMARY, color=DARK, linewidth=0.8, linestyle="--", label=f"customary line, {CUSTOMARY}")
    drawn = [each for each in records if each.covariate in places]
    edge = _set_limits(ax, drawn)
    weighted = False
    for number, comparison in enumerate(dict.fromkeys(each.comparison for each in records)):
        mine = [each for each in drawn if each.comparison == comparison]
        heights = np.array([places[each.covariate] for each in mine], dtype=np.float64)
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        plain = _cut([each.smd for each in mine], edge)
        after = _cut([np.nan if each.smd_weighted is None else each.smd_weighted for each in mine], edge)
        ax.hlines(heights, plain, after, color=colour, linewidth=0.8)
        ax.plot(after, heights, marker, color=colour, markersize=6, markerfacecolor="white", zorder=3)
        ax.plot(plain, heights, marker, color=colour, markersize=5, label=comparison, zorder=3)
        weighted = weighted or bool(np.isfinite(after).any())
    if weighted:
        ax.plot([], [], "o", color=DARK, markerfacecolor="white", label="hollow: weighted")
    ax.set_yticks(range(len(shown)), [short(name) for name in reversed(shown)], fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.7, len(shown) - 0.3)
    left_out = f"; the {len(shown)} largest of {len(names)}" if len(shown) < len(names) else ""
    ax.set_xlabel(f"absolute standardised mean difference{left_out}")
    put_legend_below(ax)
    return ax


def _set_limits(ax: Axes, drawn: list[Balance]) -> float:
    """Set the horizontal limits, with space for infinite differences if there are some; return where those are."""
    values = np.abs([value for each in drawn for value in (each.smd, each.smd_weighted) if value is not None])
    finite = values[np.isfinite(values)]
    high = 1.06 * max(float(finite.max(initial=0.0)), 2 * CUSTOMARY)
    ax.set_xlim(0, high)
    if np.isinf(values).any():
        high /= BEFORE_INFINITY
        ax.axvline(BEFORE_INFINITY * high, color=GREY, linewidth=0.6, linestyle=":")
        ticks = [tick for tick in ax.get_xticks() if tick < BEFORE_INFINITY * high]
        ax.set_xticks([*ticks, AT_INFINITY * high], [*(f"{tick:.4g}" for tick in ticks), "∞"])
    ax.set_xlim(-0.015 * high, high)
    return AT_INFINITY * high


def _cut(values: list[float], edge: float) -> NDArray[np.float64]:
    """Return absolute values, infinite ones at the edge."""
    sizes = np.abs(np.array(values, dtype=np.float64))
    return np.where(np.isinf(sizes), edge, sizes)
