"""The ρ curve: effects under an assumed correlation of the two outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from confide.diagnostics.correlation import AtCorrelation
from confide.plot.canvas import axes_or_new
from confide.plot.style import (
    BLUE,
    COLOURS,
    MARKERS,
    SIZE,
    VERMILION,
    in_unit,
    put_legend_below,
    share_axis,
    some_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes


def correlation_curve(
    found: Iterable[AtCorrelation] | Mapping[str, Iterable[AtCorrelation]],
    of: Literal["shares", "width"] = "shares",
    *,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw how many rows have an effect above, and below, 0 under each assumed correlation ρ, or how wide effects are.

    It is a sensitivity analysis: no data show ρ, and nothing of it is promised. A mean width that is infinite has a
    triangle at the upper edge.

    Parameters
    ----------
    found : list of AtCorrelation, or dict of lists
        What `confide.diagnostics.correlation_curve` returns; of several treatments, by names of your choice.
    of : {"shares", "width"}, default "shares"
        Draw the shares of rows whose interval lies above, and below, 0, or the intervals' mean width.
    unit : str, default ""
        The outcome's unit, for widths.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from confide import Intervals, plot
    >>> from confide.diagnostics import AtCorrelation
    >>> narrow, wide = Intervals([0.5], [1.5]), Intervals([-1.0], [3.0])
    >>> found = [AtCorrelation(0.0, wide, 4.0, 0.0, 0.0), AtCorrelation(1.0, narrow, 1.0, 1.0, 0.0)]
    >>> ax = plot.correlation_curve(found)
    """
    if of not in ("shares", "width"):
        raise ValueError(f"of must be 'shares' or 'width', got {of!r}.")
    curves = {
        name: sorted(
            some_records(records, AtCorrelation, "correlation_curve(model, X)"), key=lambda each: each.correlation
        )
        for name, records in (found if isinstance(found, Mapping) else {"": found}).items()
    }
    if not curves:
        raise ValueError("found must be 1 curve or more, got none: give correlation_curve(model, X).")
    ax = axes_or_new(ax, *SIZE)
    for place, (name, records) in enumerate(curves.items()):
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        if of == "shares":
            colours = (BLUE, VERMILION) if len(curves) == 1 else (colour, colour)
            _draw_shares(ax, records, str(name), marker, colours)
        else:
            _draw_widths(ax, records, str(name), marker, colour)
    ax.set_xlim(-1.04, 1.04)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    ax.set_xlabel("assumed correlation ρ of a person's two outcomes, given the covariates")
    if of == "shares":
        share_axis(ax, max(max(each.above, each.below) for records in curves.values() for each in records))
        ax.set_ylabel("share of rows")
    else:
        ax.set_ylabel(in_unit("mean width of the effects' intervals", unit))
        _begin_at_zero(ax, [each.width for records in curves.values() for each in records])
    if ax.get_legend_handles_labels()[0]:
        put_legend_below(ax)
    return ax


def _draw_shares(ax: Axes, records: list[AtCorrelation], name: str, marker: str, colours: tuple[str, str]) -> None:
    """Draw the shares above and below 0 of one curve."""
    looks: dict[str, dict[str, Any]] = {
        "above": {"color": colours[0], "linestyle": "-"},
        "below": {"color": colours[1], "linestyle": "--", "markerfacecolor": "white"},
    }
    for side, look in looks.items():
        label = ", ".join(filter(None, [name, f"effect {side} 0"]))
        heights = [getattr(each, side) for each in records]
        ax.plot([each.correlation for each in records], heights, marker=marker, markersize=5, label=label, **look)


def _draw_widths(ax: Axes, records: list[AtCorrelation], name: str, marker: str, colour: str) -> None:
    """Draw the mean widths of one curve."""
    at, width = (np.array([getattr(each, what) for each in records]) for what in ("correlation", "width"))
    known = np.isfinite(width)
    ax.plot(at[known], width[known], marker, linestyle="-", color=colour, markersize=5, label=name or None)
    if not known.all():
        ax.plot(
            at[~known],
            np.ones((~known).sum()),
            "^",
            color=colour,
            clip_on=False,
            transform=ax.get_xaxis_transform(),
            label=", ".join(filter(None, [name, "infinite"])),
        )


def _begin_at_zero(ax: Axes, widths: list[float]) -> None:
    """Let the axis of widths begin at 0; without a finite width it has no scale."""
    finite = [width for width in widths if np.isfinite(width)]
    ax.set_ylim(0, 1.08 * max(finite, default=1.0) or 1.0)
    if not finite:
        ax.set_yticks([])
