"""Intervals for the individual effect of one treatment against another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from confide.checks import suggest
from confide.conformal.quantile import Calibration
from confide.conformal.transductive import widened_range
from confide.ends import IntervalEnds
from confide.intervals import Intervals, count_rows, shortage
from confide.labels import Labelled
from confide.splits import Rows, check_shares, split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from confide.methods._arm import ArmEstimator


class Effect(Labelled, ABC):
    """How intervals of two arms become an interval for Y(treated) - Y(control)."""

    @abstractmethod
    def fit(
        self, arms: Mapping[Any, ArmEstimator], rows: Mapping[Any, tuple[Rows, Rows]], arm_alpha: Any, seed: int
    ) -> Self:
        """Learn from the fitted arms, and from each arm's (observational, trial) rows."""

    @abstractmethod
    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return intervals for Y(treated) - Y(control)."""

    def arms_at_level(self) -> Mapping[Any, ArmEstimator] | None:
        """Return the arms whose intervals' difference the effect is; None where it is something else."""
        return None

    def calibrates_on_trial(self, place: int) -> bool:  # noqa: ARG002
        """Return whether trial rows of the arm at that place among the labels calibrate the effect itself."""
        return False

    @abstractmethod
    def shortages(self) -> dict[Any, str]:
        """Return, by treatment, why all effect intervals are infinite; empty where they need not be."""


class Bonferroni(Effect):
    """The difference of two arms' intervals: (C₁ᴸ - C₀ᴿ, C₁ᴿ - C₀ᴸ).

    Promise: coverage ≥ 1 - 2·arm_alpha where each arm's interval covers ≥ 1 - arm_alpha, by the union bound.
    """

    _by_label: ClassVar = ("arms_",)

    def fit(
        self,
        arms: Mapping[Any, ArmEstimator],
        rows: Mapping[Any, tuple[Rows, Rows]],  # noqa: ARG002
        arm_alpha: Any,
        seed: int,  # noqa: ARG002
    ) -> Self:
        """Recalibrate the fitted arms at ``arm_alpha``."""
        self.arms_ = {label: arm.at(arm_alpha) for label, arm in arms.items()}
        return self

    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return the difference of the arms' intervals."""
        return difference(self.arms_[treated].predict_interval(X), self.arms_[control].predict_interval(X))

    def arms_at_level(self) -> Mapping[Any, ArmEstimator] | None:
        """Return the arms at their level inside the effect."""
        return self.arms_

    def shortages(self) -> dict[Any, str]:
        """Return the arms' own."""
        found = {label: arm.shortage() for label, arm in self.arms_.items()}
        return {label: text for label, text in found.items() if text}


@dataclass(frozen=True)
class NestedPair:
    """The interval of one pair of arms: regressed ends, and the calibration that moves them apart."""

    ends: IntervalEnds
    calibration: Calibration
    bounds: tuple[float, float] | None


class Nested(Effect):
    """Effect intervals at the treated rows, whose ends are then regressed on the covariates.

    Of each pair the later label is the treated arm. The control arm's interval Ĉ₀, at α₁, turns a treated row
    into an interval C = [y - Ĉ₀ᴿ(x), y - Ĉ₀ᴸ(x)] for its effect. The ends of C are regressed on x over the
    treated arm's observational rows (over half of its trial rows where it has none), and moved apart by the
    quantile, at α₂, of max(m̂ᴸ - Cᴸ, Cᴿ - m̂ᴿ) over its trial rows. α₁ = α₂ = arm_alpha.

    Promise: coverage ≥ 1 - 2·arm_alpha where the control arm (of each pair the earlier label, whichever way round
    the effect is asked for) covers ≥ 1 - arm_alpha, whatever the confounding in the treated arm; ``exact=False``
    leaves out the last quantile, and has no promise.
    """

    _by_label: ClassVar = ("controls_", "pairs_")

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact

    def fit(
        self, arms: Mapping[Any, ArmEstimator], rows: Mapping[Any, tuple[Rows, Rows]], arm_alpha: Any, seed: int
    ) -> Self:
        """Learn the ends of each pair of arms."""
        self.arm_alpha_ = arm_alpha
        labels = list(arms)
        self.controls_ = {label: arms[label].at(arm_alpha) for label in labels[:-1]}
        self.pairs_ = {
            (treated, control): self._fit_pair(arms, rows, treated, control, seed)
            for control, treated in combinations(labels, 2)
        }
        return self

    def calibrates_on_trial(self, place: int) -> bool:
        """Return whether the arm is a treated one in some pair: all but the first are."""
        return self.exact and place > 0

    def _fit_pair(
        self,
        arms: Mapping[Any, ArmEstimator],
        rows: Mapping[Any, tuple[Rows, Rows]],
        treated: Any,
        control: Any,
        seed: int,
    ) -> NestedPair:
        fit, calibration = rows[treated]
        if not len(fit):
            fit, calibration = split(calibration, check_shares(arms[treated].calibration)[1], seed)
        # Infinite ends are learnt from as the domain's: treated calibration rows must have no part in it.
        treated_range = widened_range(fit.y)
        control_range = widened_range(np.concatenate([part.y for part in rows[control]]))
        domain = (treated_range[0] - control_range[1], treated_range[1] - control_range[0])
        ends = IntervalEnds(seed=seed).fit(fit.X, self._effects(fit, control), domain)
        missed = ends.miss(calibration.X, self._effects(calibration, control))
        declared = [arms[label].outcome_range_ for label in (treated, control)]
        bounds = None
        if declared[0] is not None and declared[1] is not None:
            bounds = (declared[0][0] - declared[1][1], declared[0][1] - declared[1][0])
        return NestedPair(ends, Calibration.of(missed), bounds)

    def _effects(self, rows: Rows, control: Any) -> Intervals:
        """Return the intervals C of treated rows."""
        return difference(Intervals(rows.y, rows.y), self.controls_[control].predict_interval(rows.X))

    def predict_interval(self, X: NDArray[np.float64], treated: Any, control: Any) -> Intervals:
        """Return the pair's interval; that of the pair turned round is its negative."""
        if (treated, control) not in self.pairs_:
            lower, upper = self.predict_interval(X, control, treated)
            return Intervals(-upper, -lower)
        pair = self.pairs_[treated, control]
        offset = float(pair.calibration.quantile(self.arm_alpha_)) if self.exact else 0.0
        intervals = pair.ends.widened(X, offset)
        return intervals if pair.bounds is None else intervals.clip(*pair.bounds)

    def shortages(self) -> dict[Any, str]:
        """Return the control arms' own, and treated arms with too few trial rows."""
        found = {}
        for (treated, control), pair in self.pairs_.items():
            if text := self.controls_[control].shortage():
                found[control] = text
            if self.exact and pair.calibration.quantile(self.arm_alpha_) == np.inf:
                reach = "infinite" if pair.bounds is None else "as wide as the effect"
                finite = int((pair.calibration.scores < np.inf).sum())
                rows = f"{count_rows(finite)} with a finite interval of the control arm"
                found[treated] = shortage(self.arm_alpha_, rows, "trial", f"All intervals are {reach}")
        return found


def difference(treated: Intervals, control: Intervals) -> Intervals:
    """Return (treated lower - control upper, treated upper - control lower)."""
    return Intervals(treated.lower - control.upper, treated.upper - control.lower)


EFFECTS: dict[str, Callable[[], Effect]] = {
    "bonferroni": Bonferroni,
    "nested-exact": lambda: Nested(exact=True),
    "nested-inexact": lambda: Nested(exact=False),
}


def check_effect(effect: Any) -> Effect:
    """Return the unfitted effect of that name."""
    if not isinstance(effect, str) or effect not in EFFECTS:
        raise ValueError(f"effect {effect!r} is unknown; {suggest(effect, EFFECTS)}")
    return EFFECTS[effect]()
