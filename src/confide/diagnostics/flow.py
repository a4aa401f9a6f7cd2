"""The flow of rows: how many were read, what a model did with them, and how many new ones were answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide.base.advice import Advice
from confide.base.notebook import Records, ShownRecord
from confide.exceptions import RefusalError

if TYPE_CHECKING:
    from confide.conformal.quantile import Calibration
    from confide.data.study import Study
    from confide.methods.base import ArmEstimator
    from confide.model import CounterfactualIntervals
    from confide.typing import Booleans, Label

READ, SAMPLED, FITTING, CALIBRATING = "read", "sampled", "fitting", "calibrating"
UNUSED, ANSWERED = "not used", "answered"
OBSERVATIONAL, TRIAL = "observational", "trial"
# Source of rows that an arm without observational rows learns from, and of new rows.
OTHER_ARMS, NEW = "observational, other treatments", "new"


@dataclass(frozen=True)
class RowFlow(ShownRecord):
    """Number of rows at one stage.

    Attributes
    ----------
    stage : {"read", "sampled", "fitting", "calibrating", "not used", "answered"}
        "sampled": they are in the sample in memory of an observational table that was too large. "fitting": a base
        model, a density ratio or the ends of intervals are fitted on them. "calibrating": they have a weight in the
        quantile of the intervals of outcomes; in two-stage methods also in that of the first stage. "not used": they
        serve neither, such as observational rows with ``naive``, all rows of a cluster but one where one per cluster
        counts, or rows outside the sample, which only tell what columns hold.
    treatment : label or None
        The arm; None for new rows, which are answered for every arm.
    source : {"observational", "trial", "observational, other treatments", "new"}
        The table. An arm without observational rows may be fitted on those of other treatments.
    rows : int
        The number.
    """

    stage: str
    treatment: Label
    source: str
    rows: int


def row_flow(model: CounterfactualIntervals, study: Study, answered: int | None = None) -> list[RowFlow]:
    """Return the flow of rows through a fitted model, arm by arm and table by table.

    No row is dropped between the files and the model: a row that cannot be used, such as one without an outcome, is an
    error when it is read. Of a table that was too large the study has a uniform sample: all its rows are counted as
    read, by treatment, and those in the study as sampled. With methods that refit, one row may be fitted on and
    calibrate.

    Parameters
    ----------
    model : CounterfactualIntervals
        A fitted model.
    study : Study
        The study that it was fitted on.
    answered : int, default None
        Number of new rows that were answered.

    Returns
    -------
    list of RowFlow
        Four stages per arm and table: read, fitting, calibrating, not used, and sampled after read where the table was;
        then the new rows, if there are some.
    """
    check_is_fitted(model)
    counts = {label: _by_source(study.trial[study.treatment == label]) for label in study.arms}
    fitted = {
        label: dict(zip((OBSERVATIONAL, TRIAL), each.counts, strict=True)) for label, each in model.samples_.items()
    }
    if counts != fitted:
        raise RefusalError(
            Advice.of(f"the model was fitted on other rows than these: {fitted}, got {counts}.", "Give its own study.")
        )
    found = [record for label, arm in model.arms_.items() for record in _of_arm(label, arm, study)]
    return Records(found if answered is None else [*found, RowFlow(ANSWERED, None, NEW, int(answered))])


def _of_arm(label: Label, arm: ArmEstimator, study: Study) -> list[RowFlow]:
    """Return the flow of one arm's rows."""
    mine = study.treatment == label
    trial = study.trial[mine]
    read = _by_source(trial)
    # Without observational rows of its own, an arm that learnt from no trial row learnt from the other arms' rows.
    learnt_elsewhere = not read[OBSERVATIONAL] and not arm.learnt_from_trial_
    cluster = None if study.cluster is None else study.cluster[mine & study.trial]
    fits = np.zeros(len(trial), dtype=bool) if learnt_elsewhere else arm.fitted_as_._fitting_rows(trial, cluster)
    fitting = {OBSERVATIONAL: int((fits & ~trial).sum()), TRIAL: int((fits & trial).sum())}
    calibrating = _calibrating(arm)
    found = []
    for source, rows in read.items():
        sampled, more = {}, 0
        if source == OBSERVATIONAL and study.beyond is not None:
            sampled, more = {SAMPLED: rows}, study.beyond.treatments.get(label, 0)
            # Where models learn from all rows, those outside the sample are fitted on as those in it are.
            fitting[source] += more if study.beyond.rest is not None and fitting[source] else 0
        used = {FITTING: fitting[source], CALIBRATING: calibrating[source]}
        unused = max(rows + more - sum(used.values()), 0)
        numbers = {READ: rows + more, **sampled, **used, UNUSED: unused}
        found += [RowFlow(stage, label, source, number) for stage, number in numbers.items()]
    elsewhere = int((~mine & ~study.trial).sum())
    return [*found, RowFlow(FITTING, label, OTHER_ARMS, elsewhere)] if learnt_elsewhere else found


def _by_source(trial: Booleans) -> dict[str, int]:
    return {OBSERVATIONAL: int((~trial).sum()), TRIAL: int(trial.sum())}


def _calibrating(arm: ArmEstimator) -> dict[str, int]:
    """Return how many rows of each table calibrate an arm."""
    counts = {OBSERVATIONAL: 0, TRIAL: 0}
    last = _weighing(arm.calibration_)
    pooled = getattr(arm, "trial_calibration_", None)
    if pooled is not None:
        counts[TRIAL] = _weighing(pooled)
        counts[OBSERVATIONAL] = last - counts[TRIAL]
    else:
        counts[arm._calibrates_on] += last
    first_stage = getattr(arm, "first_stage_", None)
    if first_stage is not None:
        counts[OBSERVATIONAL] += _weighing(first_stage)
    return counts


def _weighing(calibration: Calibration) -> int:
    """Return the number of rows that have a weight."""
    return int((np.diff(calibration.cumulative) > 0).sum())
