"""The arms of a study: what is cloned for each, their fits, and the rows that an encoder may be fitted on."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from confide.base.parameters import alike
from confide.base.progress import part
from confide.base.validation import check_seed, examples, short, suggest
from confide.conformal.marks import Marks
from confide.conformal.quantile import check_alpha
from confide.data.splits import Rows
from confide.exceptions import InfiniteIntervalWarning, RefusalError
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name
from confide.models.by_batches import ArmRest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from confide.data.encoding import EncodedRows
    from confide.data.study import Study
    from confide.effects.base import Effect
    from confide.methods.base import ArmEstimator
    from confide.typing import Booleans, Floats, Label, Places
    from confide.weights.arm_weights import ArmWeights


def unfitted_arm(method: str | ArmEstimator, **given: Any) -> ArmEstimator:
    """Return the unfitted estimator that is cloned for each arm.

    ``given`` are the level, the base model and the seed of the study; None keeps the estimator's own. A parameter that
    is set in both places must be the same.
    """
    if given["alpha"] is not None:
        check_alpha(given["alpha"])
    is_arm = not isinstance(method, type) and hasattr(method, "predict_set") and hasattr(method, "outcome_values")
    if not (isinstance(method, str) or is_arm):
        raise ValueError(
            f"method must be a name ({', '.join(METHODS)}) or an unfitted arm estimator such as Transfer(), "
            f"got {short(' '.join(repr(method).split()))}."
        )
    arm: ArmEstimator = method_by_name(method) if isinstance(method, str) else clone(method)
    for name, value in given.items():
        own = getattr(arm, name)
        same = value is None or own is None
        if not same:
            same = check_alpha(value) == check_alpha(own) if name == "alpha" else alike(value, own)
        if not same:
            raise ValueError(
                f"{name} is set in two places: CounterfactualIntervals({name}={value!r}) and "
                f"{type(arm).__name__}({name}={own!r}). Set one of them."
            )
        if value is not None:
            arm.set_params(**{name: value})
    check_seed(arm.random_state)
    if not isinstance(arm.random_state, Integral):
        # A fixed number, so that the calibration rows are known before an arm is fitted.
        arm.set_params(random_state=int(check_random_state(arm.random_state).randint(2**31 - 1)))
    return arm


def check_control(control: Label | None, labels: list[Label]) -> Label:
    """Return the label that effects are reported against; None: the first."""
    if control is None:
        return labels[0]
    if control not in labels:
        raise ValueError(f"control {control!r} is not a treatment; {suggest(control, labels)}")
    return labels[labels.index(control)]


def check_known(label: Any, labels: Iterable[Label]) -> None:
    """Raise if there is no treatment of that label."""
    known = list(labels)
    if label is not None and not isinstance(label, str | bytes | Real | np.generic):
        raise ValueError(
            f"a treatment is one label, text or a number, got a {type(label).__name__}; there are: "
            f"{examples(map(repr, known), 20)}."
        )
    if label not in known:
        raise ValueError(f"treatment {label!r} is unknown; there are: {examples(map(repr, known), 20)}.")


def check_pair(treated: Label | None, control: Label | None, labels: list[Label], usual: Label) -> tuple[Label, Label]:
    """Return both labels of an effect; a control that is None is the usual one, or the other one of two."""
    if treated is None and len(labels) != 2:
        raise ValueError(f"there are {len(labels)} treatments ({examples(labels)}): name treated= too.")
    for label in (treated, control):
        if label is not None:
            check_known(label, labels)
    if control is None:
        others = [label for label in labels if label != treated]
        control = others[0] if treated == usual and len(labels) == 2 else usual
    if treated is None:
        treated = next((label for label in labels if label != control), control)
    if treated == control:
        raise ValueError(f"treated and control must differ, got {treated!r} for both.")
    return treated, control


def learning_rows(arm: ArmEstimator, effect: Effect, study: Study, control: Label) -> Booleans:
    """Return a mask of the rows that calibrate neither an arm nor an effect, nor are of a cluster that does."""
    learns = np.zeros(len(study), dtype=bool)
    for place, label in enumerate(sorted(study.arms, key=lambda label: label != control)):
        mine = study.treatment == label
        with _naming(label, study):
            cluster = None if study.cluster is None else study.cluster[mine & study.trial]
            learns[mine] = arm._learning_rows(study.trial[mine], int((~mine & ~study.trial).sum()), cluster)
        if effect.calibrates_on_trial(place):
            learns &= ~(mine & study.trial)
    if study.cluster is not None:
        # Arms split their clusters each for itself: a row that learns in one may be of a cluster that calibrates in
        # another, and tell of it what is not told of a new one.
        learns &= ~(study.trial & np.isin(study.cluster, study.cluster[study.trial & ~learns]))
    return learns


@contextmanager
def _naming(label: Label, study: Study) -> Iterator[None]:
    """Add to errors raised in the block the treatment they are about, and the treatments of each table."""
    try:
        yield
    except ValueError as error:
        kind = RefusalError if isinstance(error, RefusalError) else ValueError
        tables = {"observational": ~study.trial, "trial": study.trial}
        labels = {name: np.unique(study.treatment[rows]).tolist() for name, rows in tables.items()}
        found = "; ".join(f"{name} {examples(those)}" for name, those in labels.items())
        large, small = map(set, labels.values())
        remedy = " Write each treatment alike in both tables." if large - small and small - large else ""
        raise kind(f"treatment {short(label)}: {error} Treatments by table: {found}.{remedy}") from error


def check_gamma(gamma: Any) -> Fraction:
    """Return gamma as the decimal that was typed; raise unless it is a number of at least 1."""
    if not isinstance(gamma, Real) or isinstance(gamma, bool) or not 1 <= float(gamma) < float("inf"):
        raise ValueError(
            "gamma, how many times as frequent as in the trial people may be, must be a number of at least 1, got "
            f"{gamma!r}."
        )
    return Fraction(str(gamma))


def at_gamma(arm: ArmEstimator, gamma: Fraction) -> ArmEstimator:
    """Return an unfitted arm at its level divided by gamma."""
    if gamma == 1:
        return arm
    moved: ArmEstimator = clone(arm).set_params(alpha=check_alpha(arm._level()) / gamma)
    if getattr(moved, "levels", None) is not None:
        moved.set_params(levels=tuple(check_alpha(each, "levels") / gamma for each in moved.levels))
    return moved


def fit_arm(
    arm: ArmEstimator, encoded: EncodedRows, study: Study, label: Label, weights: ArmWeights | None = None
) -> tuple[ArmEstimator, list[tuple[type[Warning], str]]]:
    """Return a clone of the arm fitted on the rows of one treatment, and its warnings."""
    rows = study.treatment == label
    others = ~rows & ~study.trial
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the caller warns once for all arms
        with part(study.arms.index(label), len(study.arms)), _naming(label, study):
            fitted: ArmEstimator = clone(arm).fit(
                encoded[rows],
                study.y[rows],
                trial=study.trial[rows],
                population=encoded.part(~study.trial),
                others=(encoded.part(others), study.y[others]),
                weights=weights,
                more=_more_rows(encoded, study, label),
            )
    return fitted, [(each.category, str(each.message)) for each in caught]


def _more_rows(encoded: EncodedRows, study: Study, label: Label) -> ArmRest | None:
    """Return an arm's observational rows that are not in memory, if models are to learn from them."""
    if study.beyond is None or study.beyond.rest is None:
        return None
    return ArmRest(study.beyond.rest, label, encoded.encoder, encoded.own)


def point_out_two_values(arm: ArmEstimator, y: Floats) -> None:
    """Warn if the outcome is always 0 or 1 but outcome_values does not say so."""
    zero, one = y == 0, y == 1
    if arm.outcome_values is None and arm.outcome_range is None and (zero | one).all() and zero.any() and one.any():
        warnings.warn(
            "the outcome is 0 or 1 in every row and is taken for a number: intervals may lie between and beyond. If it "
            "can be nothing else, give outcome_values=[0, 1] (--outcome-values 0,1) to the method.",
            stacklevel=3,
        )


def said_once(found: Mapping[Label, str], what: str) -> str:
    """Return texts by treatment as one text: treatments of which the same is said are named together."""
    by_text: dict[str, list[str]] = {}
    for label, text in found.items():
        by_text.setdefault(text, []).append(str(label))
    return " ".join(f"treatment {' and '.join(who)}: {what}{text}" for text, who in by_text.items())


def rows_by_arm(
    encoded: EncodedRows, study: Study, weights: Mapping[Label, ArmWeights | None], group: Places | None
) -> dict[Label, tuple[Rows, Rows]]:
    """Return each arm's observational and trial rows, with their marks."""
    X: Any = encoded
    rows = Rows(X, study.y, marks=None if group is None else Marks(group=group))
    found = {}
    for label, mine in weights.items():
        of_arm = study.treatment == label
        trial = rows[of_arm & study.trial]
        found[label] = (rows[of_arm & ~study.trial], trial if mine is None else replace(trial, marks=mine.marks))
    return found
