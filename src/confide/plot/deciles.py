"""Calibration by decile of the predicted outcome, or of the width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.quantile import check_alpha
from confide.diagnostics.deciles import PARTS, PartCoverage
from confide.plot.canvas import axes_or_new
from confide.plot.style import DARK, SIZE, in_unit, looks_of, named, percent, put_legend_below, some_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

# The share of a part's place that its arms are spread over.
SPREAD = 0.5


def calibration_by_decile(
    found: Iterable[PartCoverage],
    alpha: float,
    *,
    outcome: str = "outcome",
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw coverage on held-out rows by decile, one mark per arm and decile, with its exact 95 % interval.

    The dashed line is the requested level. A model promises it over all rows, not within deciles, and of ten intervals
    some miss by chance. A hollow mark means that some sets were infinite. Of one arm, each decile's largest value is
    written below its number.

    Parameters
    ----------
    found : list of PartCoverage
        What `confide.diagnostics.coverage_by_decile` returns.
    alpha : float
        The requested level, for the line at 1-α.
    outcome : str, default "outcome"
        The outcome's name.
    unit : str, default ""
        Its unit.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.diagnostics import Coverage, PartCoverage
    >>> upper = Coverage("drug", 40, 0.85, 0.7, 0.95, 3.2, 0.0)
    >>> ax = plot.calibration_by_decile([PartCoverage("prediction", 2, 2, 1.5, 4.0, upper)], alpha=0.1)
    """
    records = some_records(found, PartCoverage, "coverage_by_decile(model, X_test, y_test, treatment)")
    asked = 1 - float(check_alpha(alpha))
    kinds = list(dict.fromkeys((each.of, each.parts) for each in records))
    if len(kinds) > 1:
        raise ValueError(f"records must be of one order and number of parts, got {kinds[0]} and {kinds[1]}.")
    ((of, parts),) = kinds
    ax = axes_or_new(ax, SIZE[0] + 0.5, SIZE[1])
    ax.axhline(asked, color=DARK, linewidth=0.8, linestyle="--", label=f"asked: {percent(asked)}")
    looks = looks_of([each.coverage.treatment for each in records])
    for place, (label, (colour, marker)) in enumerate(looks.items()):
        mine = [each for each in records if each.coverage.treatment == label]
        aside = SPREAD * ((place + 0.5) / len(looks) - 0.5)
        for each in mine:
            arm = each.coverage
            ax.errorbar(
                [each.part + aside],
                [arm.coverage],
                [[arm.coverage - arm.low], [arm.high - arm.coverage]],
                fmt=marker,
                color=colour,
                markersize=5,
                markerfacecolor="white" if arm.infinite else colour,
                elinewidth=1.2,
            )
        rows = sum(each.coverage.n for each in mine)
        ax.plot([], [], marker, color=colour, label=f"{named(label)}: {rows:,} rows")
    if any(each.coverage.infinite for each in records):
        ax.plot([], [], "o", color=DARK, markerfacecolor="white", label="hollow: some sets are infinite")
    _name_parts(ax, records if len(looks) == 1 else [], parts)
    least = min(*(each.coverage.low for each in records), asked)
    ax.set_ylim(least - 0.06 * (1 - least) - 0.005, 1 + 0.03 * (1 - least) + 0.005)
    values = in_unit(f"predicted {outcome}" if of == "prediction" else "width of the set", unit)
    told = f"decile of the {values}" if parts == PARTS else f"{values}, in {parts} parts of equal size"
    ax.set_xlabel(f"{told}, lowest first")
    ax.set_ylabel("coverage on held-out rows")
    put_legend_below(ax, columns=3, lines=2 if len(looks) == 1 else 1)
    return ax


def _name_parts(ax: Axes, records: list[PartCoverage], parts: int) -> None:
    """Write the parts' numbers and, below them, the largest value of those that have records."""
    largest = {each.part: "∞" if np.isinf(each.most) else f"≤ {each.most:.3g}" for each in records}
    names = [f"{part}\n{largest[part]}" if part in largest else str(part) for part in range(1, parts + 1)]
    ax.set_xticks(range(1, parts + 1), names, fontsize="small")
    ax.set_xlim(0.4, parts + 0.6)
