"""`wscp-dr-*`: two-stage split conformal prediction with a density ratio (Algorithms 3 and 4, and calibrated)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from confide.base.validation import suggest
from confide.conformal.grid import widened_range
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.quantile import Calibration, check_alpha, rows_needed
from confide.methods.base import ArmEstimator
from confide.models.interval_ends import IntervalEnds
from confide.models.scores import raised_scores
from confide.ratio import ClassifierRatio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.data.splits import Rows
    from confide.methods.arm import Arm

TARGETS = ("interval", "outcome")


class WSCPDR(ArmEstimator):
    """Weighted intervals at the trial's rows (stage 1), whose ends are then regressed on the covariates (stage 2).

    First stage: a base model and calibration on observational rows, weighted by r̂(x, y); at a trial row the
    outcome, and so its own weight, is known, which gives an interval C. Second stage: the ends of C are
    regressed on x over trial rows, and moved apart by a quantile over other trial rows.

    Promise, by ``exact`` and ``target``:

    - ``exact=False`` (inexact, Algorithm 3): none.
    - ``target="interval"`` (exact, Algorithm 4), score max(m̂ᴸ-Cᴸ, Cᴿ-m̂ᴿ): coverage ≥ 1-α₁-α₂-Δ. With a ratio
      on covariates only, Δ does not vanish under hidden confounding.
    - ``target="outcome"`` (calibrated), score max(m̂ᴸ-y, y-m̂ᴿ): coverage ≥ 1-α₂, whatever the ratio is worth.

    Parameters
    ----------
    base, score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of rows that calibrate in each source.
    base_on : {"observational", "trial", "weighted", "grounded"}
        Whose fit rows the base model of the first stage learns from; "weighted": both, weighed by the ratio;
        "grounded": observational ones, corrected on the trial's. Inexact, all trial rows train the ends, those of the
        base model among them.
    ratio : density ratio or name, default None
        None: `ClassifierRatio`.
    exact : bool
        Whether the second stage calibrates on trial rows. If not, all trial rows train the ends.
    target : {"interval", "outcome"}
        What the second stage is calibrated to contain: the first stage's interval, or the outcome.
    levels : (float, float), default None
        α₁ and α₂, the levels of the two stages. None: alpha in both, as the paper. `with_alpha` scales both
        in proportion to alpha.
    second_stage : regressor, default None
        The regressor of the ends; None is `confide.models.auto.AutoRegressor`.
    refit : bool
        Refit the base model for each trial row on all observational rows and that row, as Algorithm 3 is
        written. Observational rows then both fit and calibrate, so that the promise of ``target="interval"`` is not
        proved; the promise of ``target="outcome"`` holds.

    Attributes
    ----------
    ends_ : IntervalEnds
        The regressors of the ends; ``ends_.capped_`` is the number of infinite ends that were replaced by
        the domain's end for training.
    """

    _needs: ClassVar = {"observational": 2, "trial": 2}
    _calibrates_on: ClassVar = "trial"

    def __init__(
        self,
        *,
        base: Any = None,
        score: Any = "absolute",
        calibration: float | tuple[float, float] = 0.5,
        alpha: float = 0.1,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Any = None,
        random_state: Any = None,
        base_on: str = "observational",
        ratio: Any = None,
        exact: bool = True,
        target: str = "interval",
        levels: tuple[Any, Any] | None = None,
        second_stage: Any = None,
        refit: bool = False,
    ) -> None:
        self.base = base
        self.score = score
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

    def _learns_from(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        return ("observational fit", "trial fit")

    def _fit(self, arm: Arm) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target={self.target!r} is unknown; {suggest(self.target, TARGETS)}")
        if self.refit and self.base_on != "observational":
            raise ValueError(f"refit=True fits on observational rows: base_on must be so too, got {self.base_on!r}.")
        self._stage_alphas()
        fit, calibration = arm.split_observational()
        trial_fit, trial_calibration = arm.split_trial()
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        self.ratio_ = self._learn_ratio(ratio, trial_fit.joined(), fit.joined(), arm)
        self.base_ = self._learn_on(self.base_on, fit, trial_fit, arm)
        self.first_stage_: Calibration = self._calibrate(calibration, weighted=True)
        self.end_rows_ = trial_fit if self.exact else arm.trial
        self.calibration_rows_ = trial_calibration
        # Infinite ends are replaced by the domain's ends, which must not depend on calibration rows.
        learnt_from = np.concatenate([arm.observational.y, self.end_rows_.y])
        self.domain_ = widened_range(learnt_from, self.outcome_range_)
        self.refits_ = None
        if self.refit:
            parts = [self.end_rows_] + [self.calibration_rows_] * self._holds_intervals()
            self.refits_ = [self._refit_at(arm, rows) for rows in parts]
        self.ends_ = IntervalEnds(self.second_stage, arm.base_seed)
        self._second_stage()

    def at(self, alpha: Any) -> Self:
        """Return a copy at another level: the base model and the ratio are kept, the ends are regressed again."""
        other = super().at(alpha)
        other._second_stage()  # noqa: SLF001  (our own copy)
        return other

    def set_alpha(self, alpha: Any) -> None:
        """Set the level; the given ``levels`` are scaled in proportion."""
        if refusal := self.why_not_at(alpha):
            raise ValueError(refusal)
        if self.levels is not None:
            old = [check_alpha(level, "levels") for level in self._stage_alphas()]
            factor = check_alpha(alpha) / check_alpha(self.alpha)
            self.levels = (old[0] * factor, old[1] * factor)
        super().set_alpha(alpha)

    def why_not_at(self, alpha: Any) -> str | None:
        """Return why the given ``levels`` cannot be scaled to this alpha; None if they can."""
        if self.levels is None:
            return None
        largest = max(check_alpha(level, "levels") for level in self._stage_alphas())
        if largest * check_alpha(alpha) / check_alpha(self.alpha) < 1:
            return None
        return (
            f"levels={self.levels} at alpha={self.alpha} move in step with alpha, and would reach 1 at "
            f"alpha={alpha}; it must stay below {float(check_alpha(self.alpha) / largest):g}."
        )

    def _holds_intervals(self) -> bool:
        """Return whether stage 2 is calibrated to contain stage 1's intervals."""
        return self.exact and self.target == "interval"

    def _second_stage(self) -> None:
        """Regress the ends of the first stage's intervals, and calibrate them if the method is exact."""
        self.ends_ = IntervalEnds(self.ends_.regressor, self.ends_.seed)
        self.ends_.fit(self.end_rows_.X, self._first_stage(0), self.domain_)
        rows = self.calibration_rows_
        truth = self._first_stage(1) if self._holds_intervals() else Intervals(rows.y, rows.y)
        self.calibration_ = Calibration.of(self.ends_.miss(rows.X, truth) if self.exact else [])

    def _first_stage(self, part: int) -> Intervals:
        """Return the intervals C at the rows that train the ends (0) or calibrate them (1)."""
        alpha = self._stage_alphas()[0]
        if self.refits_ is not None:
            prediction, calibrations = self.refits_[part]
            quantile = np.array([calibration.quantile(alpha, weight) for calibration, weight in calibrations])
        else:
            rows = (self.end_rows_, self.calibration_rows_)[part]
            prediction = self._predict_base(rows.X)
            quantile = self.first_stage_.quantile(alpha, self._weigh(rows.X, rows.y))
        return self._clip(self.score_.interval(prediction, quantile))

    def _refit_at(self, arm: Arm, rows: Rows) -> tuple[NDArray[np.float64], list[tuple[Calibration, float]]]:
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
            calibrations.append((Calibration.of(scores, weights), float(weight)))
        return np.array(predictions), calibrations

    def _stage_alphas(self) -> tuple[Any, Any]:
        """Return α₁ and α₂."""
        if self.levels is None:
            return self.alpha, self.alpha
        try:
            first, second = self.levels
        except (TypeError, ValueError) as error:
            raise ValueError(f"levels must be a pair (alpha1, alpha2), got {self.levels!r}.") from error
        check_alpha(first, "levels[0]")
        check_alpha(second, "levels[1]")
        return first, second

    def _base_alpha(self) -> Any:
        return self._stage_alphas()[0]

    def _quantile_alpha(self) -> Any:
        return self._stage_alphas()[1]

    def _offset(self) -> float:
        return float(self.calibration_.quantile(self._quantile_alpha())) if self.exact else 0.0

    def _sets(self, X: NDArray[np.float64]) -> IntervalSets:
        return IntervalSets.of(self._clip(self.ends_.widened(X, self._offset())))

    def _members(self, X: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
        lower, upper = (end[:, None] for end in self.ends_.predict(X))
        return np.maximum(lower - values, values - upper) <= self._offset()

    def shortage(self) -> str | None:
        """Return why all intervals are infinite; inexact ones never are for lack of rows."""
        if not self.exact or self._offset() < np.inf:
            return None
        rows, infinite = len(self.calibration_.scores), int((self.calibration_.scores == np.inf).sum())
        if rows < rows_needed(self._quantile_alpha()):
            return super().shortage()
        return (
            f"the first stage's intervals are infinite at {infinite} of {rows} trial calibration rows, where a row's "
            f"own weight outweighs the observational rows. All intervals are {self._reach()}. "
            "Use target='outcome' (wscp-dr-calibrated), another ratio, or a larger alpha."
        )
