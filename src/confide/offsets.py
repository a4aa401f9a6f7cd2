"""One offset for all rows: what a model's intervals are at many levels, in a few numbers a level.

Where a method calibrates by one offset, an interval is [a - below(α), b + above(α)], its anchors a and b the row's own
and known without α, its offsets the same for all rows. So whoever has the anchors and a table of offsets has the
intervals at every level of the table; the report's slider does. A Bonferroni effect is the difference of two such
intervals, at the arms' level inside the effect.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.intervals import InfiniteIntervalWarning, Intervals, moved_apart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from confide.counterfactual import CounterfactualIntervals
    from confide.methods._arm import ArmEstimator

# Levels that are worth looking at: finely where few rows make intervals infinite.
LEVELS = (0.001, 0.002, 0.005, *(round(step / 100, 2) for step in range(1, 51)))

# What two answers of one base model may differ by, as a share of their size: threads add up in any order.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ArmOffsets:
    """The intervals of one arm at many levels.

    An interval is ``moved_apart(lower, upper, offset)``, its lower end by the first and its upper end by the second
    offset of the level, intersected with the bounds.

    Attributes
    ----------
    lower, upper : (n,) array
        The anchors of n rows.
    bounds : (float, float) or None
        The outcome's declared range.
    outcome, effect : (levels, 2) array
        How far intervals reach below and above: for the outcome, and for the arm's part in an effect.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    bounds: tuple[float, float] | None
    outcome: NDArray[np.float64]
    effect: NDArray[np.float64]


@dataclass(frozen=True)
class Offsets:
    """The intervals of a model at many levels: one record an arm, by treatment label."""

    levels: tuple[float, ...]
    arms: dict[Any, ArmOffsets]


def why_no_offsets(model: CounterfactualIntervals, encoded: NDArray[np.float64]) -> str | None:
    """Return why the rows' intervals at other levels are more than a few numbers; None where they are not.

    An estimator of one's own may inherit anchors and offsets, and make its intervals in another way: so the rows are
    asked at the model's own level.
    """
    if model.effect_.arms_at_level() is None:
        return f"effects by {model.effect} are learnt anew at each level"
    reasons = (arm.why_no_offset() for arm in model.arms_.values())
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is not None:
        return reason
    inside: Any = model.effect_.arms_at_level()
    if all(_gives_its_intervals(arm, encoded) for arm in (*model.arms_.values(), *inside.values())):
        return None
    return "this estimator's intervals are not what one offset for all rows gives"


def _gives_its_intervals(arm: ArmEstimator, encoded: NDArray[np.float64]) -> bool:
    """Return whether anchors and offsets give the arm's intervals, up to the rounding of a base model's threads."""
    anchors = arm.anchors(encoded)
    below, above = (moved_apart(*anchors, offset) for offset in arm.offsets())
    made = Intervals(below.lower, above.upper)
    if arm.outcome_range_ is not None:
        made = made.clip(*arm.outcome_range_)
    asked = arm.predict_interval(encoded)
    size = max((float(np.abs(end).max()) for end in anchors if len(end)), default=0.0)
    return all(
        np.allclose(one, other, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
        for one, other in zip(made, asked, strict=True)
    )


def offsets_of(
    model: CounterfactualIntervals, encoded: NDArray[np.float64], levels: Iterable[float] = LEVELS
) -> Offsets:
    """Return what the rows' intervals are at these levels and at the model's own, exactly as `with_alpha` has them.

    A level that the model's parameters leave no room for (``alpha + floor`` of `PooledDR` must be below 1) is left out.
    """
    own = float(next(iter(model.arms_.values())).alpha)
    told: dict[float, list[tuple[tuple[float, float], tuple[float, float]]]] = {}
    for level in sorted({*(level for level in levels if model.why_not_at(level) is None), own}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # an infinite offset says it
            told[level] = _at(model.with_alpha(level))
    arms = {}
    for number, (label, arm) in enumerate(model.arms_.items()):
        pairs = np.array([each[number] for each in told.values()])
        arms[label] = ArmOffsets(*arm.anchors(encoded), arm.outcome_range_, pairs[:, 0], pairs[:, 1])
    return Offsets(tuple(told), arms)


def _at(model: CounterfactualIntervals) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return each arm's offsets at the model's level, for the outcome and inside the effect."""
    inside: Any = model.effect_.arms_at_level()
    return [(arm.offsets(), inside[label].offsets()) for label, arm in model.arms_.items()]
