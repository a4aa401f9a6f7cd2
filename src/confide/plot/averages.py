"""Average effects by group, adjusted by the large table and not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.effects.averages import AverageEffect
from confide.plot.canvas import axes_or_new
from confide.plot.style import (
    COLOURS,
    DARK,
    FAR,
    GREY,
    MARKERS,
    SIZE,
    in_unit,
    named,
    percent,
    put_legend_below,
    short,
    some_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from confide.typing import Label

# Height of an interval's line, of the space between groups, and of all else, in inches.
LINE, BETWEEN, REST = 0.2, 0.2, 1.5


def average_effects(
    found: Iterable[AverageEffect], *, outcome: str = "the outcome", unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the average effect of each group with its confidence interval, everybody at the top.

    A full mark is the estimate adjusted by the large table, the hollow one below it the trial's plain difference of
    means. An infinite end runs off the axes, with a triangle there; what cannot be estimated has no mark. Of several
    treatments each has its colour. Intervals of groups hold one by one: of many, some miss by chance.

    Parameters
    ----------
    found : list of AverageEffect
        What `confide.average_effect` returns; of several treatments, or columns, the lists joined.
    outcome : str, default "the outcome"
        The outcome's name.
    unit : str, default ""
        Its unit.
    ax : Axes, default None
        Axes to draw on. None: a new figure, as high as the groups need.

    Examples
    --------
    >>> from confide import plot
    >>> from confide.effects.averages import AverageEffect
    >>> rows = {"drug": 50, "placebo": 50}
    >>> one = AverageEffect("everybody", "drug", "placebo", 100, 1.0, 0.4, 1.6, 0.8, -0.2, 1.8, rows, None, 0.05, None)
    >>> ax = plot.average_effects([one], outcome="pain", unit="points")
    """
    records = _once(some_records(found, AverageEffect, "average_effect(model, study)"))
    alphas = sorted({each.alpha for each in records})
    if len(alphas) > 1:
        raise ValueError(f"records must be of one level, got alpha={alphas[0]:g} and {alphas[-1]:g}: draw them apart.")
    groups = list(dict.fromkeys(each.group for each in records))
    pairs = list(dict.fromkeys((each.treated, each.control) for each in records))
    lines = 2 * len(pairs)
    slot = LINE * lines + BETWEEN
    ax = axes_or_new(ax, SIZE[0], slot * len(groups) + REST)
    _set_limits(ax, records)
    ax.axvline(0, color=DARK, linewidth=0.8)
    ax.hlines(
        np.arange(1, len(groups)) - 0.5,
        0,
        1,
        transform=ax.get_yaxis_transform(),
        color=GREY,
        linewidth=0.3,
        alpha=0.5,
    )
    for each in records:
        place = pairs.index((each.treated, each.control))
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        top = groups.index(each.group) + LINE * (2 * place - (lines - 1) / 2) / slot
        _draw(ax, top, (each.effect, each.low, each.high), colour, marker)
        alone = (each.unadjusted, each.unadjusted_low, each.unadjusted_high)
        _draw(ax, top + LINE / slot, alone, colour, marker, hollow=True)
    _name_groups(ax, groups, records)
    of = f" of {named(pairs[0][0])} against {named(pairs[0][1])}" if len(pairs) == 1 else ""
    ax.set_xlabel(in_unit(f"average effect{of} on {outcome}", unit))
    _explain(ax, pairs, f"{percent(1 - alphas[0])} interval")
    return ax


def _once(records: list[AverageEffect]) -> list[AverageEffect]:
    """Return the records, each once; lists by different columns all begin with everybody."""
    kept: dict[tuple[str, Label, Label], AverageEffect] = {}
    for each in records:
        same = kept.setdefault((each.group, each.treated, each.control), each)
        if repr(same) != repr(each):  # NaN is not equal to itself
            raise ValueError(
                f"there are two records of {each.group!r} that differ, {each.treated} against {each.control}: draw "
                "them apart."
            )
    return list(kept.values())


def _set_limits(ax: Axes, records: list[AverageEffect]) -> None:
    """Set the horizontal limits so that 0 and everything finite is visible."""
    values = np.array(
        [
            value
            for each in records
            for value in (
                each.effect,
                each.low,
                each.high,
                each.unadjusted,
                each.unadjusted_low,
                each.unadjusted_high,
                0.0,
            )
        ]
    )
    finite = values[np.isfinite(values)]
    low, high = finite.min(), finite.max()
    margin = 0.06 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)


def _draw(
    ax: Axes, height: float, told: tuple[float, float, float], colour: str, marker: str, *, hollow: bool = False
) -> None:
    """Draw an estimate and its interval."""
    effect, low, high = told
    left, right = ax.get_xlim()
    far = FAR * (right - left)
    ends = (left - far if np.isinf(low) else low, right + far if np.isinf(high) else high)
    ax.plot(ends, [height, height], color=colour, linewidth=1.0 if hollow else 2.2, alpha=0.8 if hollow else 1.0)
    if np.isfinite(effect):
        ax.plot([effect], [height], marker, color=colour, markersize=6, markerfacecolor="white" if hollow else colour)
    for end, edge, pointing in ((low, 0.0, "<"), (high, 1.0, ">")):
        if np.isinf(end):
            ax.plot(
                [edge],
                [height],
                pointing,
                color=colour,
                markersize=5,
                clip_on=False,
                transform=ax.get_yaxis_transform(),
            )


def _name_groups(ax: Axes, groups: list[str], records: list[AverageEffect]) -> None:
    """Write each group's name and its number of rows, from the top down."""
    names = []
    for group in groups:
        sizes = [f"{each.n:,}" for each in records if each.group == group]
        names.append(f"{short(group)}\n{' / '.join(sizes)} rows")
    ax.set_yticks(range(len(groups)), names, fontsize="small")
    ax.tick_params(axis="y", length=0, pad=7)  # beside the triangles
    ax.set_ylim(len(groups) - 0.5, -0.5)


def _explain(ax: Axes, pairs: list[tuple[Label, Label]], interval: str) -> None:
    """Put a legend below the axes."""
    several = len(pairs) > 1
    for place, (treated, control) in enumerate(pairs if several else []):
        marker, colour = MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]
        ax.plot([], [], marker, color=colour, linestyle="-", label=f"{named(treated)} against {named(control)}")
    colour = DARK if several else COLOURS[0]
    for what, face, width in (("adjusted by the large table", colour, 2.2), ("unadjusted", "white", 1.0)):
        label = f"{what}, {interval}"
        ax.plot([], [], "o", color=colour, linestyle="-", linewidth=width, markerfacecolor=face, label=label)
    put_legend_below(ax)
