"""Tipping points: for how many rows a statement stands, against Γ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.plot.canvas import axes_or_new
from confide.plot.style import COLOURS, SIZE, count, put_legend_below, share_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

# The axis begins at 1, and ends at least here and this factor beyond the last tipping point.
LEAST, BEYOND = 2.0, 1.15


def tipping_point(found: ArrayLike | Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw the share of rows for which a statement stands, against Γ: it falls at each tipping point.

    Γ says how many times as frequent as in the trial some people may be among those asked about. The legend counts the
    rows for which the statement stands at Γ = 1. A triangle at the right edge means that for some rows it stands
    however large Γ is. The promise is about one row and one statement, chosen beforehand.

    Parameters
    ----------
    found : (n,) array, or dict of arrays
        What `confide.diagnostics.tipping_point` returns; of several statements, or treatments, by names of your choice.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import plot
    >>> ax = plot.tipping_point({"effect above 0": np.array([1.6, np.nan, 2.4])})
    """
    named = found if isinstance(found, Mapping) else {"": found}
    statements = {str(name): _checked(gammas) for name, gammas in named.items()}
    if not statements:
        raise ValueError("found must be 1 statement or more, got none: give tipping_point(model, X, above=0).")
    ax = axes_or_new(ax, *SIZE)
    finite = np.concatenate([gammas[np.isfinite(gammas)] for gammas in statements.values()])
    right = max(BEYOND * float(finite.max(initial=1.0)), LEAST)
    for place, (name, gammas) in enumerate(statements.items()):
        colour = COLOURS[place % len(COLOURS)]
        at = np.array([1.0, *np.unique(gammas[np.isfinite(gammas)]), right])
        standing = np.array([np.mean(gammas >= gamma) for gamma in at])
        rows = "1 row" if len(gammas) == 1 else f"{len(gammas):,} rows"
        told = f"{count(gammas >= 1)} of {rows} at Γ = 1"
        label = f"{name}: {told}" if name else told
        # On (x[i-1], x[i]] a step has the height at x[i]: at its tipping point a statement still stands.
        ax.plot(at, standing, drawstyle="steps-pre", color=colour, linewidth=1.8, label=label)
        if standing[-1]:
            ax.plot([right], standing[-1:], ">", color=colour, markersize=6, clip_on=False)
    ax.set_xscale("log")
    ax.set_xlim(right**-0.02, right)
    _ticks(ax, right)
    share_axis(ax, max(float(np.mean(gammas >= 1)) for gammas in statements.values()))
    ax.set_xlabel("Γ: people may be up to so many times as frequent as in the trial")
    ax.set_ylabel("share of rows for which it stands")
    put_legend_below(ax)
    return ax


def _checked(gammas: Any) -> NDArray[np.float64]:
    """Return tipping points as an array; raise if they are none."""
    try:
        values = np.asarray(gammas, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("tipping points must be numbers: give those of tipping_point(model, X, above=0).") from error
    if values.ndim != 1 or not len(values):
        raise ValueError(f"tipping points must be 1 number or more per statement, got shape {values.shape}.")
    low = values[values < 1]
    if len(low):
        raise ValueError(f"tipping points must be 1 or more, or NaN, got {low[0]:g}: give those of tipping_point.")
    return values


def _ticks(ax: Axes, right: float) -> None:
    """Put plain numbers on the axis of Γ: as many as there is space for."""
    fine, coarse = (1, 1.2, 1.5, 2, 3, 4, 5, 7, 10, 15), (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    ticks = [tick for tick in (fine if right <= fine[-1] else coarse) if tick <= right]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
