"""Coverage at many levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.quantile import check_alpha
from confide.plot.canvas import axes_or_new
from confide.plot.methods import coverages
from confide.plot.style import DARK, SIZE, looks_of, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from confide.diagnostics.coverage import Coverage
    from confide.typing import Label


def calibration(found: Mapping[float, list[Coverage]], *, ax: Axes | None = None) -> Axes:
    """Draw coverage on held-out rows against the requested level, one curve per arm, with exact 95 % bands.

    On the diagonal coverage equals the requested level. The bands are pointwise: each contains the true coverage of
    this fitted model at its level with 95 % probability, all of them together with a lower one. A hollow mark means
    that some sets were infinite.

    Parameters
    ----------
    found : dict of lists of Coverage
        What `confide.diagnostics.coverage.coverage_by_alpha` returns.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Coverage
    >>> ax = plot.calibration({0.1: [Coverage(1, 200, 0.91, 0.86, 0.95, 3.2, 0.0)]})
    """
    if not isinstance(found, Mapping) or not found:
        raise ValueError(
            f"found must be a dict of 1 level or more, got {type(found).__name__ if found else 'none'}: give "
            "coverage_by_alpha(model, X_test, y_test, treatment)."
        )
    by_arm: dict[Label, list[tuple[float, Coverage]]] = {}
    levels = {1 - float(check_alpha(alpha)): coverages(records) for alpha, records in found.items()}
    for level in sorted(levels):
        for record in levels[level]:
            by_arm.setdefault(record.treatment, []).append((level, record))
    ax = axes_or_new(ax, SIZE[1] + 0.5, SIZE[1] + 0.5)
    ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, linestyle="--", label="as asked")
    looks, hollow = looks_of(by_arm), False
    for label, mine in by_arm.items():
        colour, marker = looks[label]
        asked = np.array([level for level, _ in mine])
        achieved, low, high, infinite = (
            np.array([getattr(record, name) for _, record in mine]) for name in ("coverage", "low", "high", "infinite")
        )
        ax.fill_between(asked, low, high, color=colour, alpha=0.18, linewidth=0)
        rows = mine[0][1].n
        ax.plot(
            asked,
            achieved,
            marker,
            linestyle="-",
            color=colour,
            markersize=4,
            markerfacecolor="white",
            label=f"{named(label)}: {rows:,} rows",
        )
        full = infinite == 0
        ax.plot(asked[full], achieved[full], marker, color=colour, markersize=4)
        hollow = hollow or not full.all()
    if hollow:
        ax.plot([], [], "o", color=DARK, markerfacecolor="white", label="hollow: some sets are infinite")
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("coverage asked for, 1-α")
    ax.set_ylabel("coverage on held-out rows")
    ax.legend(loc="upper left", fontsize="small", framealpha=0.9)
    return ax
