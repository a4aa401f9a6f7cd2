"""The diagnostics of one fitted arm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from confide.base.notebook import ShownRecord
from confide.diagnostics.advice import give_advice
from confide.diagnostics.confounding_test import (
    LEAST_ROWS,
    best_out_of_fold,
    log_losses,
)
from confide.diagnostics.weights import arm_weights
from confide.models.base_model import name_of_base
from confide.models.comparison import FOLDS
from confide.models.preprocessing import logistic_on_splines

if TYPE_CHECKING:
    from confide.base.advice import Advice
    from confide.data.splits import Rows
    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise, Whom
    from confide.typing import Booleans, Label

# Rows that a fitted model keeps per source and arm, to classify the sources; and rows at which sets are computed.
SAMPLE_ROWS = 2000
ASKED_ROWS = 200
# The sources are classified with so many observational rows per trial row, and no fewer than these if there are more.
ROWS_PER_TRIAL_ROW = 4
LEAST_OBSERVATIONAL = 1000


@dataclass(frozen=True)
class ArmSample:
    """Rows of one arm that a fitted model keeps for its diagnostics, at most `SAMPLE_ROWS` of each source."""

    observational: Rows
    trial: Rows
    counts: tuple[int, int]

    @classmethod
    def of(cls, rows: Rows, trial: Booleans, seed: int) -> ArmSample:
        """Return a random sample of an arm's rows."""
        rng = np.random.default_rng(seed)
        sources = np.flatnonzero(~trial), np.flatnonzero(trial)
        observational, in_trial = (rows[rng.permutation(index)[:SAMPLE_ROWS]] for index in sources)
        return cls(observational, in_trial, (len(sources[0]), len(sources[1])))


@dataclass(frozen=True)
class ArmDiagnostics(ShownRecord):
    """The diagnostics of one fitted arm: numbers, and advice in words.

    Attributes
    ----------
    treatment : label
        The arm.
    method : str
        The method's name, or the estimator's class if it has none.
    promise : Promise
        The coverage that the method promises; α is ``alpha``.
    base : str
        The base model, in a word.
    base_r2 : float or None
        R² of its points on the rows that calibrate it, which it has not learnt from; None if there are none.
    alpha : float
        The level that is asked for.
    gamma : float
        How many times as frequent as in the trial people may be: intervals are computed at alpha/gamma.
    observational, trial : int
        Number of rows of each source.
    calibration : int
        Number of rows of the last quantile.
    effective_size : float
        Effective sample size n_eff of their weights; the number of rows if all weights are equal.
    largest_share : float
        Share of the total weight that the heaviest row has.
    first_stage_size : float or None
        n_eff of the first stage's weights, in two-stage methods.
    overlap : float or None
        Overlap of trial and observational rows in covariates and outcome: 1 if no classifier can separate them, 0 if
        one separates them perfectly. It is 2∫pq/(p+q), p and q the sources' densities: twice the chance that a row of
        either source, both being equally frequent, is taken for the other's, by a cross-validated classifier. None
        with fewer than 10 rows of a source.
    log_loss, log_loss_without_outcome : float or None
        Cross-validated log loss of classifying the source from covariates and outcome, and from covariates alone. The
        difference is the information of the outcome beyond the covariates. It is not a test of hidden confounding, and
        `hidden_confounding_test` may come to another result.
    log_loss_error : float or None
        Standard error of the difference.
    clipped : int or None
        Number of training rows whose ratio is at one of its limits; None without a ratio.
    infinite : float
        Share of infinite intervals at a sample of the trial's covariates, or of the target's.
    at_edge : float or None
        Share of sets there that touch the edge of the searched outcomes; None if the method does not search, or the
        edge is the declared ``outcome_range``.
    advice : tuple of Advice
        When not to trust the arm, and what to do; empty if no number is a reason for concern.
    """

    treatment: Label
    method: str
    promise: Promise
    base: str
    base_r2: float | None
    alpha: float
    gamma: float
    observational: int
    trial: int
    calibration: int
    effective_size: float
    largest_share: float
    first_stage_size: float | None
    overlap: float | None
    log_loss: float | None
    log_loss_without_outcome: float | None
    log_loss_error: float | None
    clipped: int | None
    infinite: float
    at_edge: float | None
    advice: tuple[Advice, ...] = ()

    @property
    def level(self) -> float:
        """The level that intervals are computed at."""
        return self.alpha / self.gamma


def diagnose(
    label: Label,
    arm: ArmEstimator,
    sample: ArmSample,
    asked: NewRows,
    seed: int,
    *,
    method: str,
    alpha: float,
    whom: Whom,
) -> ArmDiagnostics:
    """Return the diagnostics of a fitted arm; its sets are computed at some of the people that are asked about."""
    *first_stage, weights = arm_weights(label, arm)
    ratio = getattr(arm, "ratio_", None)
    hulls = arm.predict_interval(asked)
    at_edge = None
    if arm._searches() and arm.outcome_range_ is None:
        low, high = arm.grid_[[0, -1]]
        at_edge = float(np.mean((hulls.lower <= low) | (hulls.upper >= high)))
    record = ArmDiagnostics(
        treatment=label,
        method=method,
        promise=whom.promised(arm.promise),
        base=name_of_base(arm.base_),
        base_r2=arm.base_r2_,
        alpha=alpha,
        gamma=whom.gamma,
        observational=sample.counts[0],
        trial=sample.counts[1],
        calibration=len(weights.shares),
        effective_size=weights.effective_size,
        largest_share=weights.largest_share,
        first_stage_size=first_stage[0].effective_size if first_stage else None,
        clipped=getattr(ratio, "clipped_", None),
        infinite=float(hulls.infinite.mean()),
        at_edge=at_edge,
        **_source_classification(sample, seed),
    )
    return replace(record, advice=give_advice(record, arm))


def _source_classification(sample: ArmSample, seed: int) -> dict[str, Any]:
    """Return how well a classifier separates the sources on held-out rows, with and without the outcome."""
    names = ("overlap", "log_loss", "log_loss_without_outcome", "log_loss_error")
    most = max(ROWS_PER_TRIAL_ROW * len(sample.trial), LEAST_OBSERVATIONAL)
    sources = (sample.observational[np.arange(min(most, len(sample.observational)))], sample.trial)
    if min(len(rows) for rows in sources) < LEAST_ROWS:
        return dict.fromkeys(names)
    rows = np.concatenate([rows.joined() for rows in sources])
    is_trial = np.repeat([False, True], [len(rows) for rows in sources])
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, is_trial))
    with_outcome, without = (
        best_out_of_fold({"splines": logistic_on_splines()}, columns, is_trial, folds, log_losses)
        for columns in (rows, rows[:, :-1])
    )
    # As if both sources were equally frequent: odds times n/m.
    odds = np.clip(with_outcome, 1e-6, 1 - 1e-6)
    odds = odds / (1 - odds) * np.sum(~is_trial) / np.sum(is_trial)
    taken_for_trial = odds / (1 + odds)
    overlap = np.mean(taken_for_trial[~is_trial]) + np.mean(1 - taken_for_trial[is_trial])
    losses = [log_losses(probability, is_trial) for probability in (with_outcome, without)]
    error = np.std(losses[0] - losses[1], ddof=1) / np.sqrt(len(is_trial))
    return dict(zip(names, map(float, (min(overlap, 1.0), losses[0].mean(), losses[1].mean(), error)), strict=True))
