"""Effects of people who were randomised, and whose outcome under one treatment is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.validation import check_lengths, check_outcome, examples
from confide.conformal.intervals import Intervals
from confide.effects.base import difference, opposite
from confide.exceptions import RefusalError
from confide.methods.promise import NOT_STATED, PARTICIPANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from confide.methods.base import ArmEstimator
    from confide.methods.promise import Promise, Whom
    from confide.typing import Floats, Label, Labels
    from confide.weights.people import People


def participant_effects(
    arms: Mapping[Label, ArmEstimator],
    people: People,
    pair: tuple[Label, Label],
    received: NDArray[Any],
    outcome: Floats,
    side: str,
) -> Intervals:
    """Return intervals for Y(treated) - Y(control) of people who received one of the two.

    Of the two outcomes one is known, so that only the other is uncertain: the effect is ±(y - C), C the other arm's
    interval at the whole level. Randomisation makes participants exchangeable with the other arm's rows. Where
    probabilities of treatment differ, these weigh π_own/π_other.

    Parameters
    ----------
    arms : mapping of label to arm
        The fitted arms, at the level of the effect.
    people : People
        The participants, with their probabilities of both treatments where these differ.
    pair : (label, label)
        The treated and the control arm.
    received, outcome : (n,) arrays
        The treatment that each participant received, and the outcome.
    side : {"both", "lower", "upper"}
        Which ends intervals have.
    """
    treated, control = pair
    lower, upper = np.empty(len(people)), np.empty(len(people))
    for got, other, end in ((treated, control, opposite(side)), (control, treated, side)):
        mine = np.flatnonzero(received == got)
        arm = arms[other]._for_others()._on_side(end)
        chance = people.assignment.get(other)
        rows = arm._new_rows(
            people.X[mine],
            None if chance is None else np.broadcast_to(np.asarray(chance), len(people))[mine],
            None if people.group is None else people.group[mine],
        )
        seen, unseen = Intervals(outcome[mine], outcome[mine]), arm.predict_interval(rows)
        lower[mine], upper[mine] = difference(seen, unseen) if got == treated else difference(unseen, seen)
    return Intervals(lower, upper)


def check_received(
    received: Labels, outcome: ArrayLike | None, pair: tuple[Label, Label], count: int
) -> tuple[NDArray[Any], Floats]:
    """Return the treatments and outcomes of participants; raise unless both are given and each has one of the pair."""
    if received is None or outcome is None:
        missing = "outcome" if outcome is None else "received"
        raise ValueError(f"participants need the treatment received and the outcome: give {missing} too.")
    y, labels = check_outcome(outcome), np.asarray(received)
    if labels.ndim and labels.shape != (count,):
        raise ValueError(f"received must be one treatment or {count} treatments, got shape {labels.shape}.")
    labels = np.broadcast_to(labels, count)
    check_lengths(X=np.empty(count), outcome=y)
    strange = np.flatnonzero((labels != pair[0]) & (labels != pair[1]))
    if len(strange):
        raise ValueError(
            f"received must be {pair[0]!r} or {pair[1]!r}, the two treatments of the effect: {len(strange)} of {count} "
            f"are not, such as {labels.tolist()[strange[0]]!r} (rows {examples(strange)}). Leave such people out."
        )
    return labels, y


def check_participants(arms: Mapping[Label, ArmEstimator], whom: Whom) -> None:
    """Raise if nothing is proved for participants of a model."""
    for what, reason in (
        ("cluster", "a participant's own cluster is among those that calibrate"),
        ("target", "participants are the trial's people, and weights of the target are learnt from their rows"),
    ):
        if what in whom.carries:
            raise RefusalError(f"nothing is proved for participants of a study with a {what}: {reason}. Leave it out.")
    for arm in arms.values():
        if arm.learnt_from_trial_:
            raise RefusalError(
                f"{arm.method_name} learns from trial rows, so that participants are not exchangeable with the rows "
                "that calibrate. Use prognostic, transfer or transfer-centred, with observational rows of each "
                "treatment."
            )
    if len(arms) > 2 and any(arm.weights_ is not None and arm.weights_.largest is not None for arm in arms.values()):
        raise RefusalError(
            f"with {len(arms)} treatments and probabilities that differ, the probability of the treatment received is "
            "not known for rows of other arms. Fit on the rows of two treatments."
        )


def participant_promise(arm: Promise) -> Promise:
    """Return what effects of participants promise, given that of the arms for one outcome."""
    return replace(arm, whom=PARTICIPANTS) if arm.exists else NOT_STATED
