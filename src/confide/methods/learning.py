"""Fitting of one arm, common to all methods: checks, split, base model, density ratio and calibration."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import column_or_1d, validate_data

from confide.base.advice import Advice
from confide.base.cache import fit_once
from confide.base.rounding import predictions_off
from confide.base.validation import (
    all_or_nothing,
    check_lengths,
    check_outcome,
    check_outcome_range,
    check_outcome_values,
    check_trial,
)
from confide.conformal.grid import outcome_grid, widened_range
from confide.conformal.marks import Marks, calibrated
from confide.conformal.quantile import Calibration, check_alpha, check_weights
from confide.data.splits import Rows, as_slice, check_shares, join, spawn_seeds, split_places
from confide.exceptions import RefusalError, TrialAloneWarning
from confide.methods.arm import Arm
from confide.methods.trial_outcomes import TrialOutcomes
from confide.models.base_model import check_base, check_base_on, predictions, share_explained
from confide.models.fitting import seeded
from confide.models.lightgbm_model import LightGBMRegressor
from confide.models.scores import Grounded, Score, check_score, raised_scores
from confide.ratio import check_ratio
from confide.ratio.registry import check_seen
from confide.weights.arm_weights import ArmWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from confide.models.lightgbm_model import MoreRows
    from confide.ratio import DensityRatio
    from confide.typing import Booleans, Floats, Level, Places, RandomState, Regressor, Table

# The level in force where none is given.
DEFAULT_ALPHA = 0.1
# Smallest number of rows of an arm, over both sources.
LEAST_ROWS = 2
# Rows whose prognostic score is computed again, alone, for its rounding error.
ROWS_ALONE = 8
# Number of candidate outcomes per row in methods that search, before changes between them are bisected.
GRID = 256


class ArmLearner(RegressorMixin, BaseEstimator, ABC):
    """Base class for fitting a method on one arm's rows; a method implements `_fit`.

    `_fit` sets ``score_``, ``base_`` and ``calibration_``; weighted methods also set ``ratio_``. A method lists the
    sources it needs in ``_needs``, and names the source it calibrates on in ``_calibrates_on``.
    """

    _needs: ClassVar[dict[str, int]]
    _calibrates_on: ClassVar[str]

    # The parameters that all methods have.
    base: Regressor | str | None
    conformity_score: Score | str
    calibration: float | tuple[float, float]
    alpha: Level | None
    outcome_range: tuple[float, float] | None
    outcome_values: Sequence[float] | None
    random_state: RandomState
    # Set by fit.
    # An unfitted copy with the parameters in force: those may be set anew, which changes nothing before the next fit.
    fitted_as_: Self
    alpha_: Level
    score_: Score
    base_: Any
    ratio_: Any
    # R² of the base model's points on rows that it has not learnt from; None if there are none.
    base_r2_: float | None
    # Whether something was learnt from trial rows, other than how they rank.
    learnt_from_trial_: bool
    # Trial rows for choosing people; None if something was learnt from all of them.
    trial_outcomes_: TrialOutcomes | None
    calibration_: Calibration
    # Scores of the calibration rows by side, and for whom these rows stand.
    scores_: dict[str, Floats]
    marks_: Marks | None
    weights_: ArmWeights | None
    # Which ends intervals have, and the group that new rows are ranked in; None: among all rows.
    side_: str
    group_: int | None
    grid_: Floats
    outcome_range_: tuple[float, float] | None
    outcome_values_: Floats | None
    n_features_in_: int

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Raise for a parameter that the class lacks, and list those it has."""
        known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        unknown = [name for name in params if name not in known]
        if unknown:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}; it has: {', '.join(known)}.")
        return object.__new__(cls)

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        *,
        trial: ArrayLike,
        population: Any = None,
        others: Any = None,
        weights: ArmWeights | ArrayLike | None = None,
        more: MoreRows | None = None,
    ) -> Self:
        """Fit on one arm's rows.

        Parameters
        ----------
        X : (n, d) array
            Covariates, as numbers; NaN marks a missing one.
        y : (n,) array
            Outcomes under this arm's treatment.
        trial : (n,) boolean array
            True for rows of the randomised trial, False for observational rows.
        population : (N, d) array, default None
            Covariates of the whole observational table, all arms. Only `WCP` uses it.
        others : pair of (k, d) and (k,) arrays, default None
            Covariates and outcomes of all other arms' observational rows. `WCP` uses their covariates, beside
            ``population``; `Prognostic` uses both if this arm has no observational rows.
        weights : ArmWeights, or (n,) array, default None
            For whom the trial rows stand: an object of `confide.weights`, or one weight per row, of which those of
            trial rows count; a new row then weighs as much as the heaviest. Methods that calibrate on the trial take
            them.
        more : MoreRows, default None
            Further observational rows of this arm, which are not in memory: ``base="lightgbm"`` learns from them by
            batches, and those in X are held out. Methods that learn from all observational rows alike take them.
        """
        with all_or_nothing(self):
            self.fitted_as_ = clone(self)
            self.alpha_ = self._level()
            shares = check_shares(self.calibration)
            X = validate_data(self, X, ensure_min_samples=LEAST_ROWS, ensure_all_finite="allow-nan", dtype=np.float64)
            y, trial = check_outcome(_vector(y)), check_trial(trial)
            check_lengths(X=X, y=y, trial=trial)
            if self.outcome_range is not None and self.outcome_values is not None:
                raise ValueError("give outcome_range or outcome_values, not both: the values are a range already.")
            self.outcome_range_ = check_outcome_range(self.outcome_range, y)
            self.outcome_values_ = check_outcome_values(self.outcome_values, y)
            if self.outcome_values_ is not None:
                self.outcome_range_ = (float(self.outcome_values_[0]), float(self.outcome_values_[-1]))
            seeds = spawn_seeds(self.random_state, 3)
            rows = Rows(X, y)
            elsewhere = None if others is None else Rows(others[0], np.asarray(others[1], dtype=np.float64))
            self.weights_ = ArmWeights.of(weights, trial)
            if self.weights_ is not None:
                self._check_takes("weights")
            marked = rows[trial] if self.weights_ is None else replace(rows[trial], marks=self.weights_.marks)
            observational = rows[as_slice(~trial)]
            if more is not None:
                self._check_takes_more()
                observational = replace(observational, more=more)
            arm = Arm(marked, observational, population, elsewhere, shares, *seeds)
            self.side_, self.group_ = "both", None
            self._check_needed(trial)
            self.score_ = check_score(self.conformity_score)
            self.learnt_from_trial_ = self._learns_from_trial(arm)
            self._fit(arm)
            self.trial_outcomes_ = self._trial_outcomes(arm)
        self._warn_of_shortage()
        return self

    def _level(self) -> Level:
        """Return the level that `fit` puts into force, checked."""
        alpha = DEFAULT_ALPHA if self.alpha is None else self.alpha
        check_alpha(alpha)
        return alpha

    def _needed(self) -> dict[str, int]:
        """Return the smallest number of rows of each source that the method needs."""
        return self._needs

    def _check_needed(self, trial: Booleans) -> None:
        """Raise if the arm has too few rows of a source."""
        found = {"trial": int(trial.sum()), "observational": int((~trial).sum())}
        for source, least in self._needed().items():
            if found[source] < least:
                raise RefusalError(
                    f"{type(self).__name__} needs at least {least} {source} row{'s' * (least > 1)}, "
                    f"got {found[source]}."
                )

    def _ranks_trial_rows(self) -> bool:
        """Return whether new rows are ranked among trial rows alone: these may then have weights and groups."""
        return False

    def _check_takes(self, what: str) -> None:
        """Raise if the method does not rank new rows among trial rows alone."""
        if not self._ranks_trial_rows():
            raise RefusalError(
                Advice.of(
                    f"{self._name()} does not calibrate on trial rows alone, so it takes no {what}.",
                    "Use prognostic, transfer, transfer-centred, naive or wscp-dr-calibrated.",
                )
            )

    def _takes_more(self) -> bool:
        """Return whether the base model learns from all observational rows alike, so that it may do so by batches."""
        return False

    def _check_takes_more(self) -> None:
        """Raise if the method, or the base model, does not learn from rows by batches."""
        if not self._takes_more():
            raise RefusalError(
                f"{self._name()} splits or weighs observational rows, or does not use them: it cannot learn from all "
                "of them by batches. Use prognostic, transfer or transfer-centred, or give a number of rows."
            )
        if not isinstance(check_base(self.base), LightGBMRegressor):
            raise ValueError(  # noqa: TRY004  (a model, but not one that can)
                f"only base='lightgbm' learns from all rows by batches, got base={self.base!r}. Use it, or give a "
                "number of rows."
            )

    @abstractmethod
    def _name(self) -> str:
        """Return the name in METHODS that these parameters have."""

    def _learning_rows(
        self,
        trial: ArrayLike,
        others: int = 0,  # noqa: ARG002
        cluster: Places | None = None,
    ) -> Booleans:
        """Return a mask of the arm's rows for preprocessing before the arm, such as an encoder, to be fitted on.

        They are not used for calibration, and depend on sources and seed only. Where observational rows are among
        them, no trial rows are: methods that learn from the same observational rows then see the same columns, and can
        share their models. ``random_state`` must be a number, or `fit` would draw another split. ``others`` is the
        number of other arms' observational rows, ``cluster`` the cluster of each trial row, if rows are not
        independent.
        """
        trial = check_trial(trial)
        if len(trial) < LEAST_ROWS:
            raise RefusalError(f"an arm needs at least {LEAST_ROWS} rows, got n_samples={len(trial)}.")
        self._check_needed(trial)
        parts = self._learns_from(int((~trial).sum()))
        return self._parts(tuple(part for part in parts if part.startswith("obs")) or parts, trial, cluster)

    def _fitting_rows(self, trial: Booleans, cluster: Places | None = None) -> Booleans:
        """Return a mask of the arm's rows that something is fitted on; other arguments as in `_learning_rows`."""
        return self._parts(self._fits_on(int((~trial).sum())), trial, cluster)

    def _parts(self, parts: tuple[str, ...], trial: Booleans, cluster: Places | None) -> Booleans:
        """Return a mask of the arm's rows in these parts, named as in `_learns_from`."""
        places = {"trial": np.flatnonzero(trial), "observational": np.flatnonzero(~trial)}
        shares = dict(zip(("observational", "trial"), check_shares(self.calibration), strict=True))
        split_seed = spawn_seeds(self.random_state, 3)[0]
        chosen = np.zeros(len(trial), dtype=bool)
        for part in parts:
            source, _, only_fit = part.partition(" ")
            mine = places[source]
            clusters = cluster if source == "trial" else None
            chosen[mine[split_places(len(mine), shares[source], split_seed, clusters)[0]] if only_fit else mine] = True
        return chosen

    @abstractmethod
    def _learns_from(self, observational: int) -> tuple[str, ...]:
        """Return the parts of the arm that are not used for calibration, given the number of observational rows.

        A part is a source, "trial" or "observational", or its fit rows, "trial fit" or "observational fit".
        """

    def _fits_on(self, observational: int) -> tuple[str, ...]:
        """Return the parts of the arm that a base model, a ratio or ends are fitted on, named as in `_learns_from`."""
        return self._learns_from(observational)

    def _learns_from_trial(self, arm: Arm) -> bool:
        """Return whether the arm learns anything from trial rows other than how they rank."""
        return any(part.startswith("trial") for part in self._learns_from(len(arm.observational)))

    @abstractmethod
    def _fit(self, arm: Arm) -> None:
        """Fit the base model and the weights, and store the calibration."""

    def _trial_outcomes(self, arm: Arm) -> TrialOutcomes | None:
        """Return what became of trial rows that nothing was learnt from, beside their scores; None if all were."""
        rows = arm.trial
        if self.learnt_from_trial_:
            if self._learns_from(len(arm.observational)) != ("trial fit",):
                return None
            rows = arm.split_trial()[1]
        score = self._ranking(rows.X)
        some = np.linspace(0, len(score) - 1, min(ROWS_ALONE, len(score))).astype(np.intp)
        rounding = float(predictions_off(self._ranking, rows.X[some], score[some]))
        chance = None
        if self.weights_ is not None and self.weights_.largest is not None and rows.marks is not None:
            chance = rows.marks.weights() / self.weights_.largest
        return TrialOutcomes.thinned(score, rows.y, rounding, chance, arm.split_seed)

    @abstractmethod
    def _ranking(self, X: Any) -> Floats:
        """Return the scores by which people are ranked."""

    def _learn(self, rows: Rows, arm: Arm) -> Any:
        return self.score_.learn(self.base, rows, self._base_alpha(), arm.base_seed)

    def _learn_on(self, base_on: str, observational: Rows, trial: Rows, arm: Arm) -> Any:
        """Return the base model fitted on the rows that ``base_on`` names; "weighted" needs ``ratio_``."""
        if check_base_on(base_on) == "trial":
            return self._learn(trial, arm)
        if base_on == "weighted":
            return self._learn(self._weighted(observational, trial), arm)
        model = self._learn(observational, arm)
        return model if base_on == "observational" else Grounded(model, self.score_).fit(trial)

    def _weighted(self, observational: Rows, trial: Rows) -> Rows:
        """Return both sources' rows with weights ∝ r̂/(n + m·r̂), of mean 1, to resemble the trial's population."""
        check_seen(self.ratio_, "base_on='weighted'", "base_on='grounded'")
        rows = observational + trial
        ratio = self._weigh(rows.X, rows.y)
        weight = ratio / (len(observational) + len(trial) * ratio)
        if not weight.any():
            raise RefusalError(
                f"the ratio is zero on all {len(rows)} rows the base model learns from. Check the ratio, or use "
                "base_on='grounded'."
            )
        return Rows(rows.X, rows.y, weight / weight.mean())

    def _fit_on_trial_alone(self, arm: Arm) -> None:
        """Fit as `naive` does, because observational rows are missing, with a warning."""
        name = type(self).__name__
        warnings.warn(
            f"{name} found {len(arm.observational)} observational rows and calibrates on the trial alone, as naive "
            "does. Give observational rows of this treatment, or use naive.",
            TrialAloneWarning,
            stacklevel=6,
        )
        fit, calibration = arm.split_trial()
        self.base_ = self._learn(fit, arm)
        self.calibration_ = self._calibrate(calibration)

    def _search_grid(self, arm: Arm) -> Floats:
        """Return the candidate outcomes of methods that search."""
        return outcome_grid(arm.outcomes, widened_range(arm.outcomes, self.outcome_range_), GRID)

    def _learn_ratio(self, ratio: DensityRatio | str, numerator: Floats, denominator: Floats, arm: Arm) -> Any:
        return fit_once(seeded(check_ratio(ratio), arm.ratio_seed), numerator, denominator)

    def _calibrate(self, rows: Rows, *, weighted: bool = False) -> Calibration:
        """Return the calibration on the rows; with ``weighted``, by ``ratio_``."""
        scores = self._calibration_scores(rows)
        if not weighted:
            self.scores_, self.marks_ = scores, rows.marks
            return calibrated(scores["both"], rows.marks)
        weights = self._weigh(rows.X, rows.y)
        if not weights.any():
            raise RefusalError(
                f"the ratio is zero on all {len(rows)} calibration rows, so nothing can be calibrated. "
                "Check the ratio, or whether trial and observational rows overlap at all."
            )
        return Calibration.of(scores["both"], weights)

    def _calibration_scores(self, rows: Rows) -> dict[str, Floats]:
        """Return the scores of rows by side, raised by the rounding error of a new row's score."""
        prediction = self._predict_base(rows.X)
        self.base_r2_ = share_explained(rows.y, self.score_.point(prediction))
        return raised_scores(self.score_, self.base_, rows, prediction)

    def _weigh(self, X: Floats, y: Floats | float = np.nan) -> Floats:
        """Return the fitted ratio at covariates and outcomes."""
        return check_weights(self.ratio_.predict(join(X, y)), "the ratio")

    def _predict_base(self, X: Floats) -> Floats:
        """Return the base model's predictions; raise if one is NaN."""
        return predictions(self.base_, X)

    def _base_alpha(self) -> Level:
        """Return the level at which quantile base models are trained."""
        return self.alpha_

    @abstractmethod
    def _warn_of_shortage(self) -> None:
        """Warn if all intervals are infinite."""


def _vector(y: ArrayLike) -> Any:
    """Return outcomes that came as one column as a vector, with scikit-learn's warning."""
    if y is None:
        return None
    values = np.asarray(y)
    return column_or_1d(values, warn=True) if values.ndim == 2 and values.shape[1] == 1 else values
