"""`wscp-dr-*`: two-stage split conformal prediction with a density ratio (Algorithms 3 and 4, and calibrated)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from confide.base.advice import Advice
from confide.base.validation import suggest
from confide.conformal.grid import widened_range
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.quantile import Calibration, check_alpha, rows_needed
from confide.methods.base import ArmEstimator
from confide.methods.promise import two_stage_promise
from confide.methods.weighted import weighs_outcome
from confide.models.interval_ends import IntervalEnds, MovedEnds, QuantileAt
from confide.models.scores import SIDES, raised_scores
from confide.ratio import ClassifierRatio
from confide.ratio.registry import looks_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from confide.data.splits import Rows
    from confide.methods.arm import Arm
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.models.interval_ends import Ends
    from confide.models.scores import Score
    from confide.ratio import DensityRatio
    from confide.typing import Booleans, Floats, Level, RandomState, Regressor

TARGETS = ("interval", "outcome")


class WSCPDR(ArmEstimator):
    """Weighted intervals at the trial's rows (stage 1), learnt as a function of the covariates (stage 2).

    First stage: a base model and calibration on observational rows, weighted by r̂(x, y); at a trial row the
    outcome, and so its own weight, is known, which gives an interval C. Second stage: the ends of C as functions of x,
    m̂ᴸ and m̂ᴿ, are learnt from trial fit rows, and moved apart by a quantile over the trial's calibration rows.

    C lies around the base model's prediction, which is known for every x, at a quantile q of stage 1. So only q is
    regressed, by one model. A ratio on covariates alone gives q for every x, and nothing is regressed. m̂ᴸ and m̂ᴿ are
    finite: in place of an infinite q stands the smallest with which they reach both ends of the outcome's range.
    ``second_stage`` regresses both ends of C, as Algorithm 3 is written.

    Promise, by ``exact`` and ``target``:

    - ``exact=False`` (inexact, Algorithm 3): none.
    - ``target="interval"`` (exact, Algorithm 4), score max(m̂ᴸ-Cᴸ, Cᴿ-m̂ᴿ): coverage ≥ 1-α₁-α₂-Δ. With a ratio
      on covariates only, Δ does not vanish under hidden confounding.
    - ``target="outcome"`` (calibrated), score max(m̂ᴸ-y, y-m̂ᴿ): coverage ≥ 1-α₂, whatever the ratio is worth.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of rows that calibrate in each source.
    base_on : {"observational", "trial", "weighted", "grounded"}
        Whose fit rows the base model of the first stage learns from; "weighted": both, weighed by the ratio;
        "grounded": observational ones, corrected on the trial's.
    ratio : density ratio or name, default None
        None: `ClassifierRatio`.
    exact : bool
        Whether the second stage calibrates on trial rows.
    target : {"interval", "outcome"}
        What the second stage is calibrated to contain: the first stage's interval, or the outcome.
    levels : (float, float), default None
        α₁ and α₂, the levels of the two stages. None: alpha in both, as the paper. `with_alpha` scales both
        in proportion to alpha.
    second_stage : regressor or name, default None
        A regressor of both ends, as Algorithm 3 is written; inexact, all trial rows train it. None: the quantile
        alone is regressed, by `confide.models.auto.AutoRegressor`; with ``refit=True`` that is the regressor of
        both ends, as each trial row then has a base model of its own.
    refit : bool
        Refit the base model for each trial row on all observational rows and that row, as Algorithm 3 is
        written. Observational rows then both fit and calibrate, so that the promise of ``target="interval"`` is not
        proved; the promise of ``target="outcome"`` holds.

    Attributes
    ----------
    ends_ : MovedEnds or IntervalEnds
        The ends as functions of x; ``ends_.capped_`` is the number of infinite ends of stage 1's intervals, at the rows
        that ends are learnt from, in place of which finite ones stand.
    """

    _needs: ClassVar = {"observational": 2, "trial": 2}
    _calibrates_on: ClassVar = "trial"

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
        exact: bool = True,
        target: str = "interval",
        levels: tuple[Level, Level] | None = None,
        second_stage: Regressor | str | None = None,
        refit: bool = False,
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
        self.exact = exact
        self.target = target
        self.levels = levels
        self.second_stage = second_stage
        self.refit = refit

    def _name(self) -> str:
        return f"wscp-dr{'*' if looks_at(self.ratio) == 'x' else ''}-{self._form()}"

    def _promise(self) -> Promise:
        levels = (None, None) if self.levels is None else self.levels
        return two_stage_promise(self._form(), looks_at(self.ratio), refit=self.refit, levels=levels)

    def _ranks_trial_rows(self) -> bool:
        return self._form() == "calibrated"

    def _form(self) -> str:
        if not self.exact:
            return "inexact"
        return "exact" if self.target == "interval" else "calibrated"

    def _learns_from(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        return ("observational fit", "trial fit")

    def _fits_on(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        every_row = "observational" if self.refit else "observational fit"
        return (every_row, "trial" if self._form() == "inexact" and self._regresses_ends() else "trial fit")

    def _regresses_ends(self) -> bool:
        """Return whether both ends are regressed, not the quantile alone."""
        return self.refit or self.second_stage is not None

    def _fit(self, arm: Arm) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target={self.target!r} is unknown; {suggest(self.target, TARGETS)}")
        if self.refit and self.base_on != "observational":
            raise ValueError(f"refit=True fits on observational rows: base_on must be so too, got {self.base_on!r}.")
        self.levels_ = self._check_levels()
        self.form_ = self._form()
        fit, calibration = arm.split_observational()
        trial_fit, trial_calibration = arm.split_trial()
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        self.ratio_ = self._learn_ratio(ratio, trial_fit.joined(), fit.joined(), arm)
        self.base_ = self._learn_on(self.base_on, fit, trial_fit, arm)
        self.first_stage_: Calibration = self._calibrate(calibration, weighted=True)
        self.regresses_ends_ = self._regresses_ends()
        self.end_rows_ = arm.trial if self.form_ == "inexact" and self.regresses_ends_ else trial_fit
        self.calibration_rows_ = trial_calibration
        # Infinite ends are replaced by the domain's ends, which must not depend on calibration rows.
        learnt_from = np.concatenate([arm.observational.y, self.end_rows_.y])
        self.domain_ = widened_range(learnt_from, self.outcome_range_)
        self.refits_ = None
        if self.refit:
            parts = [self.end_rows_] + [self.calibration_rows_] * (self.form_ == "exact")
            self.refits_ = [self._refit_at(arm, rows) for rows in parts]
        self.end_seed_ = arm.base_seed
        self._second_stage()

    def _at(self, alpha: Level) -> Self:
        """Return a copy at another level: the base model and the ratio are kept, the ends are regressed again."""
        other = super()._at(alpha)
        if check_alpha(alpha) != check_alpha(self.alpha_):
            other._second_stage()
        return other

    def _move(self, old: Level, alpha: Level) -> None:
        """Set the level; the stages' levels are scaled in proportion."""
        factor = check_alpha(alpha) / check_alpha(old)
        scaled = tuple(check_alpha(level, "levels") * factor for level in self.levels_)
        self.levels_ = (scaled[0], scaled[1])
        super()._move(old, alpha)
        if self.fitted_as_.levels is not None:
            self.levels = self.levels_
            self.fitted_as_.set_params(levels=self.levels_)

    def _why_not_at(self, alpha: Level) -> str | None:
        """Return why the stages' levels cannot be scaled to this alpha; None if they can."""
        largest = max(check_alpha(level, "levels") for level in self.levels_)
        if largest * check_alpha(alpha) / check_alpha(self.alpha_) < 1:
            return None
        shown = tuple(float(level) for level in self.levels_)
        return (
            f"levels={shown} at alpha={float(self.alpha_):g} move in step with alpha, and would reach 1 at "
            f"alpha={alpha}; it must stay below {float(check_alpha(self.alpha_) / largest):g}."
        )

    def _second_stage(self) -> None:
        """Learn the ends of the first stage's intervals, and calibrate them if the method is exact."""
        self.ends_ = self._learn_ends()
        rows = self.calibration_rows_
        self.marks_ = rows.marks
        if self.form_ == "calibrated":
            truth = Intervals(rows.y, rows.y)
            self.scores_ = {side: self.ends_.miss(rows.X, truth, side) for side in SIDES}
            self._rank_anew()
            return
        self.calibration_ = Calibration.of(
            [] if self.form_ == "inexact" else self.ends_.miss(rows.X, self._first_stage(1))
        )

    def _learn_ends(self) -> Ends:
        """Return the ends of the first stage's intervals as functions of x."""
        rows = self.end_rows_
        if self.regresses_ends_:
            ends = IntervalEnds(self.fitted_as_.second_stage, self.end_seed_)
            return ends.fit(rows.X, self._first_stage(0), self.domain_)
        alpha = self.levels_[0]
        known = None if weighs_outcome(self.ratio_) else QuantileAt(self.first_stage_, self.ratio_, alpha)
        moved = MovedEnds(self.base_, self.score_, self.domain_, self.outcome_range_, self.end_seed_)
        return moved.fit(rows.X, self.first_stage_.quantile(alpha, self._weigh(rows.X, rows.y)), known)

    def _on_side(self, side: str) -> Self:
        """Return a copy whose intervals have one end; the first stage keeps both."""
        if side == "both":
            return self
        self._check_takes("side")
        other = copy.copy(self)
        other.side_ = side
        other._rank_anew()
        return other

    def _first_stage(self, part: int) -> Intervals:
        """Return the intervals C at the rows that train the ends (0) or calibrate them (1)."""
        alpha = self.levels_[0]
        if self.refits_ is not None:
            prediction, calibrations = self.refits_[part]
            quantile = np.array([calibration.quantile(alpha, weight) for calibration, weight in calibrations])
        else:
            rows = (self.end_rows_, self.calibration_rows_)[part]
            prediction = self._predict_base(rows.X)
            quantile = self.first_stage_.quantile(alpha, self._weigh(rows.X, rows.y))
        return self._clip(self.score_.interval(prediction, quantile))

    def _refit_at(self, arm: Arm, rows: Rows) -> tuple[Floats, list[tuple[Calibration, float]]]:
        """Return, per row, its prediction and calibration by a base model trained with that row."""
        observational = arm.observational
        weights = self._weigh(observational.X, observational.y)
        predictions, calibrations = [], []
        for row, weight in enumerate(self._weigh(rows.X, rows.y)):
            one = rows[np.array([row])]
            model = self._learn(observational + one, arm)
            prediction = np.asarray(model.predict(observational.X), dtype=np.float64)
            scores = raised_scores(self.score_, model, observational, prediction)
            predictions.append(model.predict(one.X)[0])
            calibrations.append((Calibration.of(scores["both"], weights), float(weight)))
        return np.array(predictions), calibrations

    def _check_levels(self) -> tuple[Level, Level]:
        """Return α₁ and α₂."""
        if self.levels is None:
            return self.alpha_, self.alpha_
        try:
            first, second = self.levels
        except (TypeError, ValueError) as error:
            raise ValueError(f"levels must be a pair (alpha1, alpha2), got {self.levels!r}.") from error
        check_alpha(first, "levels[0]")
        check_alpha(second, "levels[1]")
        return first, second

    def _base_alpha(self) -> Level:
        return self.levels_[0]

    def _quantile_alpha(self) -> Level:
        return self.levels_[1]

    def _offset(self, own: ArrayLike = 1.0) -> Floats:
        """Return how far the ends are moved apart, by the new rows' own weights."""
        return np.zeros(1) if self.form_ == "inexact" else self.calibration_.quantile(self._quantile_alpha(), own)

    def _sets(self, rows: NewRows) -> IntervalSets:
        return IntervalSets.of(
            self._clip(self.ends_.widened(rows.X, self._offset(rows.weight), self.side_, self._known(rows)))
        )

    def _known(self, rows: NewRows) -> Floats | None:
        """Return the base model's predictions of new rows, if the ends lie around them."""
        return None if self.regresses_ends_ else rows.prediction

    def _members(self, rows: NewRows, values: Floats) -> Booleans:
        lower, upper = (end[:, None] for end in self.ends_.predict(rows.X, self._known(rows)))
        below, above = lower - values, values - upper
        missed = {"both": np.maximum(below, above), "lower": below, "upper": above}[self.side_]
        return np.asarray(missed <= self._offset(rows.weight)[..., None])

    def _shortage(self) -> str | None:
        """Return why all intervals are infinite; inexact ones never are for lack of rows."""
        if self.weights_ is not None and self.marks_ is not None:
            return super()._shortage()
        if self.form_ == "inexact" or self._offset() < np.inf:
            return None
        rows, infinite = len(self.calibration_.scores), int((self.calibration_.scores == np.inf).sum())
        if rows < rows_needed(self._quantile_alpha()):
            return super()._shortage()
        return Advice.of(
            f"the first stage's intervals are infinite at {infinite} of {rows} trial calibration rows, where a row's "
            f"own weight outweighs the observational rows. All intervals are {self._reach()}.",
            "Use target='outcome' (wscp-dr-calibrated), another ratio, or a larger alpha.",
        )
