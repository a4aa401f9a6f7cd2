"""A model's intervals at many levels α, stored as two anchors per row and a few offsets per level; or at a few levels.

Where a method calibrates by one offset for all rows, an interval is [a - below(α), b + above(α)]. The anchors a and b
depend on the row but not on α; the offsets below and above depend on α but not on the row. So the anchors and a table
of offsets give the intervals at every level of the table: the report's slider uses them. A Bonferroni effect is the
difference of two such intervals, each at the level that the effect uses for its arms.

Where widths differ from row to row, the intervals at a few levels are computed one by one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.intervals import Intervals, moved_apart
from confide.exceptions import InfiniteIntervalWarning
from confide.predict.answer import answer_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Label

# The levels of the table: closer together where intervals of small trials become infinite.
LEVELS = (0.001, 0.002, 0.005, *(round(step / 100, 2) for step in range(1, 51)))

# Relative difference allowed between two predictions of one base model: threads may sum in any order.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ArmOffsets:
    """The intervals of one arm at many levels.

    The lower end is that of ``moved_apart(lower, upper, offset)`` with the level's first offset, the upper end is that
    with its second offset. Both are clipped to the bounds.

    Attributes
    ----------
    lower, upper : (n,) array
        The anchors of n rows.
    bounds : (float, float) or None
        The outcome's declared range.
    outcome, effect : (levels, 2) array
        Offsets below and above the anchors, per level: for the arm's outcome, and for the arm as part of an effect.
    """

    lower: Floats
    upper: Floats
    bounds: tuple[float, float] | None
    outcome: Floats
    effect: Floats


@dataclass(frozen=True)
class Offsets:
    """The intervals of a model at many levels: one record per arm, by treatment label."""

    levels: tuple[float, ...]
    arms: dict[Label, ArmOffsets]


def why_no_offsets(model: CounterfactualIntervals, rows: Mapping[Label, NewRows]) -> str | None:
    """Return why anchors and offsets do not give the rows' intervals at other levels; None if they do.

    A user's own estimator may inherit anchors and offsets but make its intervals in another way. So the intervals are
    compared with those from the offsets at the model's own level.
    """
    if model.side_ != "both":
        return "intervals have one end"
    if model.effect_.arms_at_level() is None:
        return f"effects by {model.effect_name_} are learnt again at each level"
    reasons = (arm._why_no_offset() for arm in model.arms_.values())
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is not None:
        return reason
    inside: Any = model.effect_.arms_at_level()
    if all(_gives_its_intervals(arm, rows[label]) for arms in (model.arms_, inside) for label, arm in arms.items()):
        return None
    return "this estimator's intervals are not what one offset for all rows gives"


def _gives_its_intervals(arm: ArmEstimator, rows: NewRows) -> bool:
    """Return whether anchors and offsets give the arm's intervals, up to the rounding of a base model's threads."""
    anchors = arm._anchors(rows)
    below, above = (moved_apart(*anchors, offset) for offset in arm._offsets())
    made = Intervals(below.lower, above.upper)
    if arm.outcome_range_ is not None:
        made = made.clip(*arm.outcome_range_)
    asked = arm.predict_interval(rows)
    size = max((float(np.abs(end).max()) for end in anchors if len(end)), default=0.0)
    return all(
        np.allclose(one, other, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
        for one, other in zip(made, asked, strict=True)
    )


def offsets_of(model: CounterfactualIntervals, rows: Mapping[Label, NewRows]) -> Offsets:
    """Return the rows' intervals at `LEVELS` and at the model's own, equal to those of `with_alpha`.

    Levels that the model does not support are left out (for instance, `PooledDR` needs ``alpha + floor`` below 1).
    """
    by_level = {level: _at(each) for level, each in _at_levels(model, {*LEVELS, float(model.alpha_)})}
    arms = {}
    for number, (label, arm) in enumerate(model.arms_.items()):
        pairs = np.array([each[number] for each in by_level.values()])
        arms[label] = ArmOffsets(*arm._anchors(rows[label]), arm.outcome_range_, pairs[:, 0], pairs[:, 1])
    return Offsets(tuple(by_level), arms)


def answers_at(
    model: CounterfactualIntervals,
    rows: Mapping[Label, NewRows],
    control: Label | None = None,
    levels: Iterable[float] = LEVELS,
) -> dict[float, pa.Table]:
    """Return the rows' answers by level, as far as the model supports these levels."""
    return {level: answer_table(each, rows, control) for level, each in _at_levels(model, levels)}


def _at_levels(
    model: CounterfactualIntervals, levels: Iterable[float]
) -> Iterator[tuple[float, CounterfactualIntervals]]:
    """Yield the model at each of these levels that it supports, in order."""
    for level in sorted(level for level in set(levels) if model._why_not_at(level) is None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # infinite ends show it
            moved = model.with_alpha(level)
        yield level, moved


def _at(model: CounterfactualIntervals) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return each arm's offsets at the model's level, for the outcome and inside the effect."""
    inside: Any = model.effect_.arms_at_level()
    return [(arm._offsets(), inside[label]._offsets()) for label, arm in model.arms_.items()]
