"""Coverage against width, one point per method and arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from confide.compare import Compared
from confide.conformal.quantile import check_alpha
from confide.diagnostics.coverage import Coverage
from confide.plot.canvas import axes_or_new
from confide.plot.style import DARK, GREY, SIZE, line_height, looks_of, named, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Positions on the horizontal axis, as shares of it: of infinite widths, and of the line that separates them.
AT_INFINITY, BEFORE_INFINITY = 0.95, 0.9


def coverage(
    found: Iterable[Compared] | Mapping[str, list[Coverage]] | list[Coverage], alpha: float, *, ax: Axes | None = None
) -> Axes:
    """Draw coverage on held-out rows against mean width, one point per method and arm, with its exact 95 % interval.

    Above the line at 1-α and far to the left is good. A mean width that is infinite, because one or more sets are, is
    drawn apart at the right edge, and its label says for how many rows. One-sided sets are drawn at their mean bound.
    Records by group are labelled by it. Methods that refused are named below the axes.

    Parameters
    ----------
    found : iterable of Compared, dict of lists of Coverage, or list of Coverage
        What `confide.compare.compare_on_held_out` yields, or what `coverage_report` returns: by a name of
        your choice, or of one model.
    alpha : float
        The requested level, for the line at 1-α.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Coverage
    >>> ax = plot.coverage({"mine": [Coverage(1, 200, 0.91, 0.86, 0.95, 3.2, 0.0)]}, alpha=0.1)
    """
    asked = 1 - float(check_alpha(alpha))
    arms, refused = _by_method(found)
    dots = sorted(((name, arm) for name, mine in arms.items() for arm in mine), key=lambda dot: dot[1].coverage)
    if not dots:
        raise ValueError(f"there is no coverage to draw{_refusals(refused)}; a plot needs at least 1 method.")
    ax = axes_or_new(ax, SIZE[0], max(SIZE[1], 0.17 * len(dots) + 1))
    looks = looks_of([arm.treatment for _, arm in dots])
    _set_limits(ax, [arm for _, arm in dots], asked)
    ax.axhline(asked, color=DARK, linewidth=0.8, linestyle="--")
    ax.text(0.01, asked, f"asked: {percent(asked)}", transform=ax.get_yaxis_transform(), va="bottom", color=DARK)
    low, high = ax.get_ylim()
    heights = _spread([(arm.coverage - low) / (high - low) for _, arm in dots], line_height(ax))
    for (name, arm), height in zip(dots, heights, strict=True):
        colour, marker = looks[arm.treatment]
        finite = bool(np.isfinite(_size(arm)))
        transform = ax.transData if finite else ax.get_yaxis_transform()
        x = _size(arm) if finite else AT_INFINITY
        ax.errorbar(
            [x],
            [arm.coverage],
            [[arm.coverage - arm.low], [arm.high - arm.coverage]],
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=1.2,
            transform=transform,
        )
        text = ", ".join(filter(None, [name or named(arm.treatment), arm.group]))
        text += "" if finite else f" (∞ for {percent(arm.infinite)})"
        ax.annotate(
            text,
            (x, arm.coverage),
            xycoords=transform,
            xytext=(1.03, height),
            textcoords=ax.transAxes,
            va="center",
            color=colour,
            fontsize="small",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.4,
                "shrinkA": 0,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )
    if len(looks) > 1 and "" not in arms:
        for label, (colour, marker) in looks.items():
            ax.plot([], [], marker, color=colour, label=named(label))
        # Above the labels: inside it would hide something, and over the axes a title.
        ax.legend(loc="lower left", bbox_to_anchor=(1.02, 1), fontsize="small", frameon=False, borderpad=0)
    measured = "mean width of the sets" if all(arm.bound is None for _, arm in dots) else "mean bound"
    ax.set_xlabel("\n".join([measured, *wrap(f"refused: {', '.join(refused)}" if refused else "", 70)]))
    ax.set_ylabel("coverage on held-out rows")
    return ax


def _by_method(found: Any) -> tuple[dict[str, list[Coverage]], list[str]]:
    """Return the arms of each method that has some, and the methods that refused; one model alone has no name."""
    if isinstance(found, Mapping):
        arms = {str(name): coverages(mine) for name, mine in found.items()}
        return arms, []
    records = list(found) if isinstance(found, Iterable) else [found]
    if all(isinstance(record, Compared) for record in records):
        arms = {each.method: each.arms for each in records if each.refused is None}
        return arms, [each.method for each in records if each.refused is not None]
    return {"": coverages(records)}, []


def coverages(records: Any) -> list[Coverage]:
    """Return the records as a list; raise if one is not a Coverage."""
    found = list(records) if isinstance(records, Iterable) else [records]
    strange = [record for record in found if not isinstance(record, Coverage)]
    if strange:
        raise ValueError(
            f"found must hold Coverage, got a {type(strange[0]).__name__}: give what coverage_report, "
            "coverage_by_alpha or compare_on_held_out returns."
        )
    return found


def _size(arm: Coverage) -> float:
    """Return the mean width of an arm's sets, or the mean bound if they have one end."""
    return arm.width if arm.bound is None else arm.bound


def _refusals(refused: list[str]) -> str:
    return f", {len(refused)} methods refused ({', '.join(refused)})" if refused else ""


def _set_limits(ax: Axes, arms: list[Coverage], asked: float) -> None:
    """Set the axes' limits so that all bars are visible, with space for infinite widths if there are some."""
    widths = np.array([_size(arm) for arm in arms])
    finite = widths[np.isfinite(widths)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    if len(finite) < len(widths):
        high = low + (high - low) / BEFORE_INFINITY
        ax.axvline(low + BEFORE_INFINITY * (high - low), color=GREY, linewidth=0.6, linestyle=":")
        ax.text(AT_INFINITY, -0.02, "∞", transform=ax.transAxes, ha="center", va="top")
        if not len(finite):
            ax.set_xticks([])
    ax.set_xlim(low, high)
    least = min(*(arm.low for arm in arms), asked)
    ax.set_ylim(least - 0.06 * (1 - least) - 0.005, 1 + 0.03 * (1 - least) + 0.005)


def _spread(heights: list[float], step: float) -> NDArray[np.float64]:
    """Return increasing heights, moved as little as possible to be a step apart and, if possible, between 0 and 1."""
    steps = step * np.arange(len(heights))
    spread: NDArray[np.float64] = isotonic_regression(heights - steps, y_min=0, y_max=max(1 - steps[-1], 0)) + steps
    return spread
