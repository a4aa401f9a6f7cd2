"""The effects by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.base.validation import suggest
from confide.effects.bonferroni import Bonferroni
from confide.effects.nested import Nested
from confide.exceptions import RefusalError
from confide.weights.weighing import check_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.data.study import Study
    from confide.effects.base import Effect
    from confide.methods.base import ArmEstimator

# Up to so many treatments the probability of one tells that of the other.
MOST_KNOWN = 2
EFFECTS: dict[str, Callable[[], Effect]] = {
    "bonferroni": Bonferroni,
    "nested-exact": lambda: Nested(exact=True),
    "nested-inexact": lambda: Nested(exact=False),
}


def check_for_whom(arm: ArmEstimator, effect: Effect, study: Study, *, side: str, groups: Any) -> None:
    """Raise if the method or the effect cannot answer for the people that are asked about."""
    asked = [*study.carries, *(["groups"] if groups is not None else []), *(["side"] if side != "both" else [])]
    for what in asked:
        arm._check_takes(what)
    check_together(study)
    if not isinstance(effect, Nested):
        return
    if study.target is not None:
        raise RefusalError(
            "nested effects cannot be combined with a target: its weights are learnt from the other arm's trial rows, "
            "which calibrate the effect. Use effect='bonferroni'."
        )
    if study.assignment is not None and study.assigned_differently and len(study.arms) > MOST_KNOWN:
        raise RefusalError(
            "nested effects of three or more treatments cannot be combined with assignment probabilities that differ "
            "between people: a row tells that of its own treatment, and not that of the control. Use "
            "effect='bonferroni'."
        )
    if study.cluster is not None:
        by_arm = [set(study.cluster[study.trial & (study.treatment == label)].tolist()) for label in study.arms]
        if len(set.union(*by_arm)) < sum(map(len, by_arm)):
            raise RefusalError(
                "nested effects need clusters that are in one arm only: rows of one cluster would calibrate the "
                "control's interval and the effect. Use effect='bonferroni'."
            )


def check_effect(effect: Any) -> Effect:
    """Return the unfitted effect of that name."""
    if not isinstance(effect, str) or effect not in EFFECTS:
        raise ValueError(f"effect {effect!r} is unknown; {suggest(effect, EFFECTS)}")
    return EFFECTS[effect]()
