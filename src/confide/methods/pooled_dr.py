"""`pooled-dr`: observational and trial calibration rows together, by exact permutation weights."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from confide.base.advice import Advice
from confide.base.validation import suggest
from confide.conformal.grid import is_declared
from confide.conformal.intervals import IntervalSets, count_rows, shortage
from confide.conformal.permutation import conditional_poisson
from confide.conformal.quantile import Calibration, check_alpha, level, rows_needed
from confide.methods.base import ArmEstimator
from confide.methods.promise import pooled_promise
from confide.models.base_model import check_base_on
from confide.ratio import ClassifierRatio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.data.splits import Rows
    from confide.methods.arm import Arm
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.models.scores import Score
    from confide.ratio import DensityRatio
    from confide.typing import Booleans, Floats, Level, RandomState, Regressor

SOLVES = ("offset", "transductive")
# Smallest ratio: a sample needs at least as many positive ratios as it has rows.
LEAST_RATIO = 1e-10
# Error of a set's ends as a share of the searched range.
TOLERANCE = 1e-6


class PooledDR(ArmEstimator):
    """Observational and trial calibration rows together, each with its exact permutation weight.

    With m trial calibration rows, the weight of a row with ratio r is its probability to be among the trial's in a
    random permutation that respects the ratios (Eq. 5 of the paper). Such weights behave like r/(n + m·r): they stay
    bounded where overlap is missing, and their effective sample size is never below m.

    Promise: coverage ≥ 1-α-Δ_pool for large samples, Δ_pool = ½·E[|c·r̂-r|/(1+(m/n)·c·r̂)] over observational rows, c
    the constant that makes the weights add up, and up to 2/(m+1) less with ``solve="transductive"`` and no finite
    ``outcome_range``, m here being all trial rows; with ``floor=ε`` also ≥ 1-α-ε, whatever the ratio and the range.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of rows that calibrate in each source.
    base_on : {"observational", "trial", "weighted", "grounded"}
        Whose fit rows train the base model; "weighted": both, weighted by the ratio; "grounded": observational
        ones, corrected on the trial's.
    ratio : density ratio or name, default None
        None: `ClassifierRatio`.
    solve : {"offset", "transductive"}
        "offset": one offset for every new row, large enough whatever the new row's own ratio is; infinite for fewer
        than 1/α - 1 trial calibration rows. "transductive": the sharp set, searched over candidate outcomes within
        ``outcome_range``; without one, within the range of the arm's outcomes and a tenth beyond, which may cost up to
        2/(m+1) of coverage, but none of the guard's. A component narrower than the steps between candidates, away from
        the base model's prediction, can be missed.
    floor : float, default None
        Guard ε: no offset below that of the trial calibration rows alone at α + ε. Its interval is part of the set,
        however far it reaches; only ``outcome_range`` bounds it.
    """

    _needs: ClassVar = {"trial": 2}
    _calibrates_on: ClassVar = "trial"
    _shares_offset: ClassVar = True
    trial_calibration_: Calibration

    def __init__(
        self,
        *,
        base: Regressor | str | None = None,
        conformity_score: Score | str = "absolute",
        calibration: float | tuple[float, float] = 0.5,
        alpha: Level | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Sequence[float] | None = None,
        random_state: RandomState = None,
        base_on: str = "observational",
        ratio: DensityRatio | str | None = None,
        solve: str = "offset",
        floor: float | None = None,
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.base_on = base_on
        self.ratio = ratio
        self.solve = solve
        self.floor = floor

    def _name(self) -> str:
        return "pooled-dr"

    def _promise(self) -> Promise:
        searched = self.solve == "transductive" and not is_declared(self.outcome_range, self.outcome_values)
        return pooled_promise(searched=searched, guard=np.inf if self.floor is None else float(self.floor))

    def _learns_from(self, observational: int) -> tuple[str, ...]:
        return ("observational fit", "trial fit") if observational >= 2 else ("trial fit",)

    def _fit(self, arm: Arm) -> None:
        if self.solve not in SOLVES:
            raise ValueError(f"solve={self.solve!r} is unknown; {suggest(self.solve, SOLVES)}")
        check_base_on(self.base_on)
        self.solve_ = self.solve
        self.floor_ = self._check_floor()
        trial_fit, trial_calibration = arm.split_trial()
        if len(arm.observational) < 2:
            self._fit_on_trial_alone(arm)
            self.ratio_, self.trial_calibration_ = None, self.calibration_
            return
        fit, calibration = arm.split_observational()
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        self.ratio_ = self._learn_ratio(ratio, trial_fit.joined(), fit.joined(), arm)
        self.base_ = self._learn_on(self.base_on, fit, trial_fit, arm)
        self._weigh_permutations(calibration + trial_calibration, trial_calibration)
        self.grid_ = self._search_grid(arm)

    def _weigh_permutations(self, pooled: Rows, trial: Rows) -> None:
        """Store the pooled calibration for a new row of infinite ratio; for sharp sets that for ratio 0, and log κ."""
        scores = self._calibration_scores(pooled)["both"]
        ratios = np.maximum(self._weigh(pooled.X, pooled.y), LEAST_RATIO)
        sample = conditional_poisson(ratios, len(trial))
        self.calibration_: Calibration = Calibration.of(scores, sample.inclusion)
        self.log_kappa_ = sample.log_next
        if self.solve_ == "transductive":
            larger = conditional_poisson(ratios, len(trial) + 1)
            self.without_new_row_: Calibration = Calibration.of(scores, larger.inclusion)
        self.trial_calibration_ = Calibration.of(scores[len(pooled) - len(trial) :])

    def _check_floor(self) -> Fraction | None:
        """Return the guard's ε, exact; raise if there is no guard at the arm's level."""
        if self.floor is None:
            return None
        if not (isinstance(self.floor, Real) and float(self.floor) >= 0):
            raise ValueError(f"floor must be None or a number of at least 0, got {self.floor!r}.")
        self.floor_ = Fraction(str(self.floor))
        if refusal := self._why_not_at(self.alpha_):
            raise ValueError(refusal)
        return self.floor_

    def _guard_alpha(self) -> Fraction | None:
        """Return α + ε, the level of the trial's own quantile; None without a guard."""
        return None if self.floor_ is None else check_alpha(self.alpha_) + self.floor_

    def _why_not_at(self, alpha: Level) -> str | None:
        """Return why there is no guard at a level: α + ε must be a level too, below 1."""
        if self.floor_ is None or (total := check_alpha(alpha) + self.floor_) < 1:
            return None
        return f"alpha + floor must be below 1, got {float(total):g}; use a smaller floor."

    def _guard(self) -> float:
        """Return the smallest offset that the guard allows."""
        alpha = self._guard_alpha()
        return -np.inf if alpha is None else float(self.trial_calibration_.quantile(alpha))

    def _is_sharp(self) -> bool:
        return self.solve_ == "transductive" and self.ratio_ is not None

    def _is_member(self, rows: NewRows, y: Floats) -> Booleans:
        """Return whether each outcome is in its row's set, the row's own ratio r taken at that outcome.

        The calibration weight below a score is (κ·F₀ + r·F_∞)/(κ + r): F₀ if the new row cannot be from the trial,
        F_∞ if it certainly is.
        """
        scores = self.score_.score(rows.prediction, y)
        guarded = scores <= self._guard()
        if not self._is_sharp():
            return guarded | self.calibration_.contains(scores, self.alpha_)
        share = expit(np.log(np.maximum(self._weigh(rows.X, y), LEAST_RATIO)) - self.log_kappa_)
        size = len(self.trial_calibration_.scores) + 1
        below = (1 - share) * self.without_new_row_.below(scores) + share * self.calibration_.below(scores)
        inside: Booleans = guarded | (below < level(self.alpha_) * size)
        return inside

    def _sets(self, rows: NewRows) -> IntervalSets:
        if not self._is_sharp():
            offset = np.asarray(self._offsets()[0])
            return IntervalSets.of(self._clip(self.score_.interval(rows.prediction, offset)))
        # A new row's ratio only raises the quantile, so outcomes that are inside at ratio 0 are inside.
        known = np.maximum(self.without_new_row_.quantile(self.alpha_, 0.0), self._guard())
        sets = self._search(rows, known, TOLERANCE)
        if self.floor_ is None:
            return sets
        # The search ends at the observed outcomes' range; the guard's promise covers outcomes beyond it too.
        guard = self.score_.interval(rows.prediction, np.asarray(self._guard()))
        return sets.joined(self._clip(guard))

    def _why_no_offset(self) -> str | None:
        """Return why the rows share no offset; sharp sets are searched over candidates."""
        return "the transductive set of each row is found by itself" if self._is_sharp() else super()._why_no_offset()

    def _has_one_width(self) -> bool:
        """Return whether all intervals have one width; sharp sets have widths of their own."""
        return super()._has_one_width() and not self._is_sharp()

    def _offsets(self) -> tuple[float, float]:
        """Return the offset of the pooled rows, and at least the guard's."""
        offset = max(float(self.calibration_.quantile(self.alpha_)), self._guard())
        return offset, offset

    def _shortage(self) -> str | None:
        """Return why all intervals are infinite; sharp sets have no smallest number of rows, but their guard has."""
        rows = count_rows(len(self.trial_calibration_.scores))
        if self._is_sharp():
            return None if self._guard() < np.inf else self._shortage_of_guard(rows)
        if np.isfinite(self.calibration_.quantile(self.alpha_)):
            return None
        said = shortage(self.alpha_, rows, self._calibrates_on, f"All intervals are {self._reach()}")
        if self.ratio_ is None:
            return said
        return Advice.of(said.says, f"{said.remedy} solve='transductive' has no such minimum.")

    def _shortage_of_guard(self, rows: str) -> Advice:
        total: Level = self._guard_alpha() or 0
        return Advice.of(
            f"alpha + floor = {float(total):g} needs {rows_needed(total)} trial calibration rows for a finite guard; "
            f"there {rows}. All intervals are {self._reach()}.",
            "Use a larger floor or none, a larger alpha, or more trial rows.",
        )

    def _searches(self) -> bool:
        """Return whether the sets are the sharp ones, which are searched over candidates."""
        return self._is_sharp() and self.outcome_values_ is None
