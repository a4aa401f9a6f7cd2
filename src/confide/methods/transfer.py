"""`transfer`: a base model from the observational data, calibrated on the trial."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.model_selection import KFold

from confide.base.rounding import ROUNDING, predictions_off, slack
from confide.conformal.centred import CentredCalibration
from confide.conformal.clipped import ClippedQuantile
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.quantile import check_alpha
from confide.conformal.stacked import rank_of
from confide.methods.base import ArmEstimator
from confide.methods.promise import KEPT, KEPT_UNDER_CONFOUNDING, KEPT_WITH_ENOUGH_ROWS, Promise
from confide.models.base_model import BASE_ON, check_base_on, predictions, share_explained
from confide.models.comparison import COMPARISON_ROWS, FOLDS
from confide.models.scores import AbsoluteResidual, Shifted, raised_scores
from confide.ratio import ClassifierRatio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.conformal import Calibration
    from confide.methods.arm import Arm
    from confide.methods.new_rows import NewRows
    from confide.models.scores import Score
    from confide.typing import Booleans, Floats, Level, RandomState, Regressor


class Transfer(ArmEstimator):
    """Base model on all observational rows, calibrated on all trial rows.

    The base model may be confounded: calibration needs only that trial rows and new rows are exchangeable.
    Promise: coverage ≥ 1-α, whatever the confounding, marginally over calibration and new rows.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`.
    base_on : {"observational", "centred", "trial", "weighted", "grounded"}
        What the base model is trained on. "centred": observational rows, minus its mean error on the trial. The new row
        counts in that mean, so that all trial rows calibrate, without a hold-out set (`confide.conformal.centred`);
        absolute residuals only; without observational rows it does what `naive` does, with a warning. "trial": the
        trial's fit rows. "weighted": both, weighted by a density ratio (`ClassifierRatio`). "grounded": observational
        rows, corrected by a ridge regression on the trial's fit rows. With these three only the other trial rows
        calibrate.
    clipped : float, default None
        For trials with too few rows for alpha, whose intervals are infinite otherwise: the quantile of observational
        errors on rows held out, clipped between two trial scores (`confide.conformal.clipped`). The promise of such
        intervals is ≥ a/(m+1) instead, whatever the observational rows are; `promise` says how much that is. The number
        is β, how often the quantile may be clipped if the observational rows are like the trial's, such as 0.1: a
        larger one gives a higher floor and wider intervals. With enough rows nothing changes. ``base_on`` must be
        "observational".
    """

    _needs: ClassVar = {"trial": 1, "observational": 1}
    _calibrates_on: ClassVar = "trial"
    _shares_offset: ClassVar = True

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
        clipped: Level | None = None,
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.base_on = base_on
        self.clipped = clipped

    def _name(self) -> str:
        return "transfer-centred" if self.base_on == "centred" else "transfer"

    def _promise(self) -> Promise:
        if self.clipped is not None:
            return KEPT_WITH_ENOUGH_ROWS
        return KEPT if self.base_on == "trial" else KEPT_UNDER_CONFOUNDING

    def _promise_at(self, alpha: Level) -> Promise:
        stated, clipped = self._stated(), self._clipped_at(alpha)
        if not stated.exists or self.beside_ is None:
            return stated
        if clipped is None:
            return KEPT_UNDER_CONFOUNDING
        if not clipped.least:
            return Promise(misses=(), reason=f"proved: {clipped.rows} trial rows are too few for any floor")
        return replace(KEPT_UNDER_CONFOUNDING, misses=(1 - clipped.floor,))

    def _needed(self) -> dict[str, int]:
        alone = {"observational": self._needs, "centred": {"trial": 1}, "trial": {"trial": 2}}
        base_on = check_base_on(self.base_on, ("observational", "centred", *BASE_ON[1:]))
        return alone.get(base_on, {"trial": 2, "observational": 1})

    def _takes_more(self) -> bool:
        return self.base_on in ("observational", "centred", "grounded")

    def _ranks_trial_rows(self) -> bool:
        return self.clipped is None

    def _learns_from(self, observational: int) -> tuple[str, ...]:
        if self.base_on == "trial" or not observational:
            return ("trial fit",)
        return ("observational",) if self.base_on in ("observational", "centred") else ("observational", "trial fit")

    def _fit(self, arm: Arm) -> None:
        self.centred_: CentredCalibration | None = None
        self.residuals_: tuple[Floats, float] | None = None
        self.beside_: Floats | None = None
        if self.clipped is not None:
            check_alpha(self.clipped, "clipped")
            if self.base_on != "observational":
                raise ValueError(
                    f"clipped={self.clipped!r} takes base_on='observational', whose scores observational rows have "
                    f"too; got base_on={self.base_on!r}."
                )
            self.beside_ = self._scores_beside(arm)
        if self.base_on == "centred":
            self._fit_centred(arm)
            return
        fit, calibration = arm.trial, arm.trial
        if self.base_on != "observational":
            fit, calibration = arm.split_trial()
        if self.base_on == "weighted":
            self.ratio_ = self._learn_ratio(ClassifierRatio(), fit.joined(), arm.observational.joined(), arm)
        self.base_ = self._learn_on(self.base_on, arm.observational, fit, arm)
        self.calibration_: Calibration = self._calibrate(calibration)

    def _fit_centred(self, arm: Arm) -> None:
        if type(self.score_) is not AbsoluteResidual:
            raise ValueError(
                f"base_on='centred' takes absolute residuals, got conformity_score={self.conformity_score!r}. Use "
                "conformity_score='absolute', base_on='grounded', or the method transfer."
            )
        if not len(arm.observational):
            self._fit_on_trial_alone(arm)
            return
        self.base_ = self._learn(arm.observational, arm)
        # The mean must be that of independent rows.
        trial = arm.trial.one_per_cluster(arm.split_seed)
        prediction = self._predict_base(trial.X)
        bias = float((trial.y - prediction).mean())
        self.base_ = Shifted(self.base_, bias)
        centred = self._predict_base(trial.X)
        self.base_r2_ = share_explained(trial.y, centred)
        off = predictions_off(self.base_.predict, trial.X, centred) + ROUNDING * np.abs(prediction).max()
        rounding = slack(self.score_.score, centred, off, trial.y)
        # One end only: the mean is subtracted on both sides of the comparison, and does not matter.
        self.scores_ = raised_scores(self.score_, self.base_, trial, centred)
        self.marks_ = None if trial.marks is None else trial.marks.without_clusters()
        self.residuals_ = (trial.y - centred, rounding)
        self._rank_anew()

    def _rank_anew(self) -> None:
        if self.residuals_ is None or self.side_ != "both":
            self.centred_ = None
            super()._rank_anew()
            return
        self.centred_ = CentredCalibration.of(*self.residuals_, self.marks_, self.group_)
        self.calibration_ = self.centred_.above

    def _scores_beside(self, arm: Arm) -> Floats:
        """Return the scores of observational rows by models that have not seen them; none if there are few rows."""
        rows = arm.observational
        places = np.random.default_rng(arm.split_seed).permutation(len(rows))[:COMPARISON_ROWS]
        scores = [np.empty(0)]
        for fit, held_out in KFold(FOLDS).split(places) if len(places) >= FOLDS else ():
            model, others = self._learn(rows[places[fit]], arm), rows[places[held_out]]
            scores.append(self.score_.score(predictions(model, others.X), others.y))
        return np.concatenate(scores)

    def _clipped_at(self, alpha: Level) -> ClippedQuantile | None:
        """Return the clipped quantile, if it is asked for and the trial has too few rows for the level."""
        count = len(self.calibration_.scores)
        if self.beside_ is None or rank_of(alpha, count) <= count:
            return None
        return ClippedQuantile.of(count, len(self.beside_), alpha, self.fitted_as_.clipped)

    def _clipped_offset(self) -> float | None:
        """Return the clipped quantile's offset; None if the level's own quantile is used."""
        clipped = self._clipped_at(self.alpha_)
        if clipped is None or self.beside_ is None:
            return None
        return clipped.offset(self.calibration_.scores, self.beside_)

    def _shortage(self) -> str | None:
        offset = self._clipped_offset()
        return super()._shortage() if offset is None or not np.isfinite(offset) else None

    def _sets(self, rows: NewRows) -> IntervalSets:
        if (offset := self._clipped_offset()) is not None:
            return IntervalSets.of(self._clip(self.score_.interval(rows.prediction, np.asarray(offset))))
        if self.centred_ is None:
            return super()._sets(rows)
        return IntervalSets.of(self._clip(self._centred_interval(rows, self.centred_)))

    def _centred_interval(self, rows: NewRows, centred: CentredCalibration) -> Intervals:
        offsets = centred.quantiles(self.alpha_, rows.weight)
        below, above = (self.score_.interval(rows.prediction, offset) for offset in offsets)
        return Intervals(below.lower, above.upper)

    def _offsets(self) -> tuple[float, float]:
        """Return how far intervals reach below and above the base model's prediction."""
        if (offset := self._clipped_offset()) is not None:
            return offset, offset
        if self.centred_ is None:
            return super()._offsets()
        below, above = self.centred_.quantiles(self.alpha_)
        return float(below), float(above)

    def _is_member(self, rows: NewRows, y: Floats) -> Booleans:
        if (offset := self._clipped_offset()) is not None:
            return np.asarray(self.score_.score(rows.prediction, y) <= offset)
        if self.centred_ is None:
            return super()._is_member(rows, y)
        return self._centred_interval(rows, self.centred_).contains(y)
