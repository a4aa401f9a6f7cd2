"""The weights of every arm, made from what a study carries: assignment, target, clusters and groups."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.conformal.marks import Marks
from confide.data.splits import one_of_each
from confide.exceptions import RefusalError
from confide.weights.arm_weights import ArmWeights
from confide.weights.target import TargetRatio, some_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.data.encoding import EncodedRows
    from confide.data.study import Study
    from confide.typing import Floats, Label
    from confide.weights.groups import Groups


# So many standard errors from the number of the trial's people are called clear.
CLEAR = 5.0


def check_together(study: Study) -> None:
    """Raise if the study carries things whose weights must not be multiplied."""
    if study.cluster is None:
        return
    if study.target is not None:
        raise RefusalError(
            "a target cannot be combined with clusters: how much more frequent a person is in the target than in the "
            "trial says nothing about clusters. Leave out one of them."
        )
    if study.assignment is not None and study.assigned_differently:
        raise RefusalError(
            "assignment probabilities that differ between people cannot be combined with clusters: rows of a cluster "
            "depend on each other, and nothing is proved for them. Leave out one of them."
        )


def weights_by_arm(study: Study, seed: int, *more: Any) -> dict[Label, ArmWeights | None]:
    """Return the weights of each arm's trial rows; arguments as in `weights_of`."""
    return {label: weights_of(study, label, seed, *more) for label in study.arms}


def point_out_probabilities(study: Study, stacklevel: int) -> None:
    """Warn, so many calls above, if the probabilities of an arm's rows cannot be those of the treatment received.

    One row of probability π stands for 1/π people of the trial. If an arm's rows stand for many more or fewer people
    than the trial has, these may be probabilities of something else, or an arm has no rows of some people at all.
    """
    if study.assignment is None:
        return
    people = int(study.trial.sum())
    for label in study.arms:
        chance = study.received(label)
        told, error = float((1 / chance).sum()), float(np.sqrt(((1 - chance) / chance**2).sum()))
        if len(chance) and abs(told - people) > CLEAR * error:
            warnings.warn(
                f"treatment {label}: by their assignment probabilities its {len(chance)} rows stand for "
                f"{told:,.0f} ± {error:,.0f} people, and the trial has {people:,}. assignment must be the probability "
                "of the treatment that each row received, and everybody must have had a chance of each treatment.",
                UserWarning,
                stacklevel=stacklevel + 1,
            )


def weights_of(
    study: Study,
    label: Label,
    seed: int,
    encoded: EncodedRows,
    target: Floats | None,
    group: NDArray[np.intp] | None,
    groups: Groups | None,
) -> ArmWeights | None:
    """Return the weights of one arm's trial rows; None if each stands for one person like itself.

    Parameters
    ----------
    study : Study
        The study.
    label : label
        The arm's treatment.
    seed : int
        Decides which row of a cluster counts, for all arms alike.
    encoded : EncodedRows
        The encoded covariates of the study's rows.
    target : (k, d) array or None
        Those of the target.
    group, groups : (n,) array of integers, and Groups, or None
        The group of each of the study's rows, and what groups there are.
    """
    mine = study.trial & (study.treatment == label)
    weight = largest = ratio = None
    if study.assignment is not None and study.assigned_differently:
        weight = 1 / study.assignment[mine]
        # Other arms' rows tell of probabilities of this one that few of its own rows have: at most what is left.
        left = 1 - study.assignment[study.trial & ~mine]
        largest = float(np.concatenate([weight, 1 / left]).max(initial=0.0))
    if study.cluster is not None and (group is not None or study.clusters_divided):
        # One row per cluster, of whichever arm: a cluster with few rows is not in every arm.
        counting = np.zeros(len(study), dtype=bool)
        in_trial = np.flatnonzero(study.trial)
        counting[in_trial[one_of_each(study.cluster[in_trial], seed)]] = True
        weight = counting[mine].astype(np.float64)
    if target is not None:
        others = study.trial & (study.treatment != label)
        stand_for = np.ones(others.sum()) if study.assignment is None else 1 / study.assignment[others]
        ratio = TargetRatio().fit(target, encoded[others], stand_for)
        weight = ratio.predict(encoded[mine]) * (1.0 if weight is None else weight)
    marks = Marks(
        weight,
        None if group is None else group[mine],
        None if study.cluster is None else study.cluster[mine],
    )
    if weight is None and group is None and study.cluster is None:
        return None
    return ArmWeights(marks, largest, ratio, () if groups is None else groups.names)


def target_rows(study: Study, encoded: EncodedRows, given: Floats | None, seed: int) -> Floats | None:
    """Return the encoded covariates of the target, or of some of its people; None if the study has none."""
    if study.target is None:
        return None
    rows: Any = encoded.part(~study.trial) if given is None else given
    if not len(rows):
        raise RefusalError("the target has no rows: give the covariates of the people that you ask about.")
    return np.asarray(some_of(rows, seed))
