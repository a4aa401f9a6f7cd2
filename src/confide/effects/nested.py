"""Nested effect intervals: computed at treated rows, regressed on the covariates, and calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from confide.conformal.grid import widened_range
from confide.conformal.intervals import Intervals, count_rows, shortage
from confide.conformal.marks import Marks, calibrated
from confide.data.splits import Rows, check_shares, split
from confide.effects.base import Effect, difference, opposite, two_steps
from confide.methods.promise import NONE
from confide.models.interval_ends import IntervalEnds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from confide.conformal.quantile import Calibration
    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.typing import Floats, Label, Level
    from confide.weights.arm_weights import ArmWeights


@dataclass(frozen=True)
class NestedPair:
    """The interval of one pair of arms: regressed ends, and the calibration that moves them apart."""

    ends: IntervalEnds
    scores: dict[str, Floats]
    marks: Marks | None
    weights: ArmWeights | None
    bounds: tuple[float, float] | None

    def calibration(self, side: str, group: int | None) -> Calibration:
        """Return the calibration of intervals with these ends, for a new row of that group."""
        return calibrated(self.scores[side], self.marks, group)


class Nested(Effect):
    """Effect intervals at the treated rows, whose ends are then regressed on the covariates.

    Of each pair the later arm, in the order that has the control first, is the treated one. The control arm's
    interval Ĉ₀, at α₁, turns a treated row into an interval C = [y - Ĉ₀ᴿ(x), y - Ĉ₀ᴸ(x)] for its effect. The ends of C
    are regressed on x over the treated arm's observational rows (over half of its trial rows if it has none), and
    moved apart by the quantile, at α₂, of max(m̂ᴸ - Cᴸ, Cᴿ - m̂ᴿ) over its trial rows. α₁ = α₂ = arm_alpha.

    Promise: coverage ≥ 1 - 2·arm_alpha where the control arm (of each pair the earlier one, whichever way round
    the effect is asked for) covers ≥ 1 - arm_alpha, whatever the confounding in the treated arm; ``exact=False``
    leaves out the last quantile, and has no promise. With assignment probabilities that differ, each treated row of
    the trial is asked about with its own (see `chance_of_control`).
    """

    _by_label: ClassVar = ("controls_", "pairs_")

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact

    def fit(
        self,
        arms: Mapping[Label, ArmEstimator],
        rows: Mapping[Label, tuple[Rows, Rows]],
        arm_alpha: Level,
        seed: int,
        side: str = "both",
    ) -> Self:
        """Fit the ends of each pair of arms."""
        self.arm_alpha_, self.side_ = arm_alpha, side
        labels = list(arms)
        self.controls_ = {label: arms[label]._at(arm_alpha) for label in labels[:-1]}
        self.pairs_ = {
            (treated, control): self._fit_pair(arms, rows, treated, control, seed)
            for control, treated in combinations(labels, 2)
        }
        return self

    def promise(self, arm: Promise, arm_alpha: Level) -> Promise:
        """Return the promise of a control interval and a calibration together; none without the calibration."""
        return two_steps(arm, arm_alpha) if self.exact else NONE

    def calibrates_on_trial(self, place: int) -> bool:
        """Return whether the arm is the treated one in some pair: all but the first are."""
        return self.exact and place > 0

    def _fit_pair(
        self,
        arms: Mapping[Label, ArmEstimator],
        rows: Mapping[Label, tuple[Rows, Rows]],
        treated: Label,
        control: Label,
        seed: int,
    ) -> NestedPair:
        fit, calibration = rows[treated]
        if not len(fit):
            fit, calibration = split(calibration, check_shares(arms[treated].calibration)[1], seed)
        # Infinite ends are replaced by the domain's ends, which must not depend on treated calibration rows.
        treated_range = widened_range(fit.y)
        control_range = widened_range(np.concatenate([part.y for part in rows[control]]))
        domain = (treated_range[0] - control_range[1], treated_range[1] - control_range[0])
        ends = IntervalEnds(seed=seed).fit(fit.X, self._effects(fit, control), domain)
        effects = self._effects(calibration, control)
        sides = ("both",) if self.side_ == "both" else ("lower", "upper")
        missed = {side: ends.miss(calibration.X, effects, side) for side in sides}
        declared = [arms[label].outcome_range_ for label in (treated, control)]
        bounds = None
        if declared[0] is not None and declared[1] is not None:
            bounds = (declared[0][0] - declared[1][1], declared[0][1] - declared[1][0])
        return NestedPair(ends, missed, calibration.marks, arms[treated].weights_, bounds)

    def _effects(self, rows: Rows, control: Label) -> Intervals:
        """Return the intervals C of treated rows; of intervals with one end, both ends, each for itself."""
        arm = self.controls_[control]
        chance = chance_of_control(rows, arm.weights_)
        new = arm._new_rows(rows.X, chance, None if rows.marks is None else rows.marks.group)
        if self.side_ == "both":
            return difference(Intervals(rows.y, rows.y), arm.predict_interval(new))
        below, above = (arm._on_side(side).predict_interval(new) for side in ("lower", "upper"))
        return difference(Intervals(rows.y, rows.y), Intervals(below.lower, above.upper))

    def predict_interval(self, rows: Mapping[Label, NewRows], treated: Label, control: Label) -> Intervals:
        """Return the pair's interval; that of the reversed pair is its negative."""
        if (treated, control) not in self.pairs_:
            lower, upper = self._interval(rows[control], self.pairs_[control, treated], opposite(self.side_))
            return Intervals(-upper, -lower)
        return self._interval(rows[treated], self.pairs_[treated, control], self.side_)

    def _interval(self, rows: NewRows, pair: NestedPair, side: str) -> Intervals:
        """Return the intervals of a pair, with the ends of that side."""
        offset = np.zeros(len(rows))
        if self.exact:
            for group in [None] if rows.group is None else np.unique(rows.group):
                mine = slice(None) if group is None else rows.group == group
                offset[mine] = pair.calibration(side, group).quantile(self.arm_alpha_, rows.weight[mine])
        intervals = pair.ends.widened(rows.X, offset, side)
        return intervals if pair.bounds is None else intervals.clip(*pair.bounds)

    def shortages(self) -> dict[Label, str]:
        """Return the shortages of the control arms, and of treated arms with too few trial rows."""
        found = {}
        for (treated, control), pair in self.pairs_.items():
            if text := self.controls_[control]._shortage():
                found[control] = text
            calibration, weights = pair.calibration(self.side_, None), pair.weights
            reach = "infinite" if pair.bounds is None else "as wide as the effect"
            if self.exact and weights is not None and pair.marks is not None:
                if text := weights.shortage(pair.marks, self.arm_alpha_, reach):
                    found[treated] = text
            elif self.exact and calibration.quantile(self.arm_alpha_) == np.inf:
                finite = int((calibration.scores < np.inf).sum())
                rows = f"{count_rows(finite)} with a finite interval of the control arm"
                found[treated] = shortage(self.arm_alpha_, rows, "trial", f"All intervals are {reach}")
        return found


def chance_of_control(rows: Rows, control: ArmWeights | None) -> ArrayLike | None:
    """Return the probability with which treated rows would have been controls; None if all have the same.

    There are two arms, so that it is known for the trial's rows: what the treated one left. For others the smallest one
    among the control's own rows stands in. It must not depend on other treated rows: they calibrate the effect, and a
    new row would not have been among them.
    """
    if control is None or control.largest is None or control.marks.weight is None:
        return None
    if rows.marks is not None and rows.marks.weight is not None:
        return np.asarray(1 - 1 / rows.marks.weight)
    return float(1 / control.marks.weight.max())
