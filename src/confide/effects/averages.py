"""Average effects: over everybody in a trial and by group, made sharper by the observational table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.advice import Advice
from confide.base.notebook import Records, ShownRecord
from confide.base.validation import examples
from confide.conformal.quantile import check_alpha
from confide.data.arrow import take_rows
from confide.data.encoding import kinds_of
from confide.data.study import check_study
from confide.effects.contrast import Estimate, mean_differences
from confide.exceptions import RefusalError
from confide.weights.groups import Groups
from confide.weights.weighing import check_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Label, Level, Places

EVERYBODY = "everybody"
# Rows that weigh more than so many times the median of their arm stand for many people. If there are fewer than so many
# of them, and they have at least this share of the arm's weight, that is pointed out.
HEAVY, FEW_ROWS, MANY_PEOPLE = 2.0, 10, 0.05
# With fewer rows in an arm, or clusters for each arm, means of very skewed outcomes are not near normal: intervals from
# 30 rows in each cover 88 % instead of 95 % (docs/howto-averages.md).
NEARLY_NORMAL = 50


@dataclass(frozen=True)
class AverageEffect(ShownRecord):
    """The mean of Y(treated) - Y(control) over people like the trial's, or over those of a group.

    Attributes
    ----------
    group : str
        ``"everybody"``, or the values of the columns that make the group.
    treated, control : label
        The two treatments.
    n : int
        Trial rows that it is computed from, of both.
    effect : float
        The estimate, with the observational table's help; a difference of risks for outcomes 0 and 1.
    low, high : float
        Its confidence interval; infinite where a treatment has fewer than two rows, or clusters.
    unadjusted, unadjusted_low, unadjusted_high : float
        The same without the large table and without covariates: the trial's difference of means.
    rows : dict
        Trial rows by treatment.
    clusters : int or None
        The number of clusters; None if rows are independent.
    alpha : float
        The level: intervals miss the average effect in at most about this share of trials.
    number_needed_to_treat : (float, float, float) or None
        For outcomes 0 and 1, if the interval excludes 0: how many people must be treated for one more outcome 1 (one
        fewer, if the effect is negative), and the ends of its interval.
    """

    group: str
    treated: Label
    control: Label
    n: int
    effect: float
    low: float
    high: float
    unadjusted: float
    unadjusted_low: float
    unadjusted_high: float
    rows: dict[Label, int]
    clusters: int | None
    alpha: float
    number_needed_to_treat: tuple[float, float, float] | None

    @property
    def share_of_width(self) -> float:
        """The interval's width, over that of the trial's plain difference of means; NaN if they are infinite."""
        alone = self.unadjusted_high - self.unadjusted_low
        return (self.high - self.low) / alone if np.isfinite(alone) and alone else float("nan")

    @property
    def units(self) -> int:
        """How many rows the smaller arm has; of a trial with clusters how many clusters."""
        return min(self.rows.values()) if self.clusters is None else self.clusters

    @property
    def units_needed(self) -> int:
        """From how many of these units on the interval is close to its level although outcomes are skewed."""
        return NEARLY_NORMAL if self.clusters is None else 2 * NEARLY_NORMAL


def average_effect(
    model: CounterfactualIntervals,
    study: Study,
    treated: Label | None = None,
    control: Label | None = None,
    by: Any = None,
    alpha: Level = 0.05,
) -> list[AverageEffect]:
    """Return the average effect of a treatment, over everybody and by group, with confidence intervals.

    It is the difference between the mean outcomes of two randomised arms, after what the observational table predicts
    is taken off the outcomes of both. Only trial rows are compared, and both arms lose the same function of the
    covariates, so that hidden confounding of the observational table cannot bias the answer beyond a part of order
    1/n. A table that predicts well makes intervals narrower; of a useless one nothing is taken off, up to noise.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted on the observational table, with a method whose predictions learn nothing from trial rows:
        ``"prognostic"``, ``"transfer"`` or ``"transfer-centred"`` (or a method that calibrates on observational rows
        alone). Its level, groups, side and gamma have no part in the answer.
    study : Study
        The study. Only the trial's rows of the two treatments are used.
    treated, control : label, default None
        The two treatments, as in `CounterfactualIntervals.predict_effect`.
    by : str or sequence of str, default None
        Covariates that make groups, or comparisons such as ``"age > 70"``; several are crossed, at most 20 groups.
    alpha : float, default 0.05
        Miscoverage level: 0.05 for 95 % intervals.

    Returns
    -------
    list of AverageEffect
        The first is for everybody; then one per group of ``by``, in order.

    Notes
    -----
    The prognostic score h(x) is a mix of both arms' predictions, each with the share of the other arm, which is the
    best one for a common slope. The slope λ̂ makes the difference over the whole trial vary least (within groups, if
    there are any). The estimate is the difference of the means of Y - λ̂·h; its interval is Welch's, plus what the slope
    has cost. In arms worth fewer than 5 rows (or clusters) λ̂ is 0. Intervals are approximate, as Welch's are: they
    assume that means are not far from normal, which very skewed outcomes in small groups are, and means of arms in
    which a few rows of small probability stand for many people; there is a warning about those.

    Known probabilities that differ (``study.assignment``) weigh rows by 1/π. With clusters (``study.cluster``) the
    average is over people at random from a cluster at random, so that each cluster counts once; whole clusters are
    compared by their means, and clusters that hold both treatments with themselves. To outcomes of 0 and 1 one of each
    is added in both arms (Agresti and Caffo), as two clusters where there are clusters: with few of them intervals are
    wide. Intervals of several groups hold one by one, not all together.
    """
    check_study(study)
    miss = float(check_alpha(alpha))
    treated, control = model._pair(treated, control)
    for label in (treated, control):
        if label not in study.arms:
            raise ValueError(
                f"the study has no rows of treatment {label!r}; it has {examples(map(repr, study.arms))}. Give the "
                "study that the model was fitted on, or one with its treatments."
            )
    if study.target is not None:
        raise RefusalError(
            Advice.of(
                "average effects are for the trial's people, and this study has a target: weights to a target are "
                "estimated, and their error is not in the interval.",
                "Make the study without the target.",
            )
        )
    lost = [part for part in ("assignment", "cluster") if part in model.carries_ and part not in study.carries]
    if lost:
        raise RefusalError(
            Advice.of(
                f"the model was fitted with {' and '.join(lost)}, and this study has none: its people would be "
                "compared as if the trial had none.",
                f"Make the study with {' and '.join(f'{part}= (--{part})' for part in lost)}.",
            )
        )
    check_together(study)
    rows = np.flatnonzero(study.trial & np.isin(study.treatment, [treated, control]))
    X, is_treated = take_rows(study.X, rows), study.treatment[rows] == treated
    score = _score(model, X, is_treated, treated, control)
    groups = None if by is None else Groups.of(by, X, np.ones(len(rows), dtype=bool), kinds_of(study.X))
    weighted = study.assignment is not None and study.assigned_differently
    kept: dict[str, Any] = {
        "weight": 1 / study.assignment[rows] if weighted and study.assignment is not None else None,
        "cluster": None if study.cluster is None else study.cluster[rows],
    }
    if weighted:
        for label, arm in ((treated, is_treated), (control, ~is_treated)):
            if few := _few_for_many(label, kept["weight"][arm]):
                warnings.warn(few, UserWarning, stacklevel=2)
    binary = bool(np.isin(study.y, (0, 1)).all())
    told = (treated, control, miss)

    def compared(codes: Places, names: tuple[str, ...]) -> list[AverageEffect]:
        pairs = mean_differences(study.y[rows], score, is_treated, group=codes, binary=binary, alpha=miss, **kept)
        return [
            _record(name, told, is_treated[codes == number], kept["cluster"], codes == number, pair, binary=binary)
            for number, (name, pair) in enumerate(zip(names, pairs, strict=True))
        ]

    found = compared(np.zeros(len(rows), dtype=np.intp), (EVERYBODY,))
    return Records(found if groups is None else [*found, *compared(groups.codes(X), groups.names)])


def averages_by_each(
    model: CounterfactualIntervals,
    study: Study,
    treated: Label,
    control: Label,
    by: Sequence[Any] = (),
    alpha: Level = 0.05,
) -> list[AverageEffect]:
    """Return the average effect over everybody, and by the groups that each of ``by`` makes; each group once."""
    found: dict[str, AverageEffect] = {}
    for each in (None, *by):
        for record in average_effect(model, study, treated, control, each, alpha):
            found.setdefault(record.group, record)
    return list(found.values())


def _few_for_many(label: Label, weight: Floats) -> str:
    """Return what to say if a few rows of an arm, whose probability was small, stand for many people."""
    heavy = weight > HEAVY * np.median(weight) if len(weight) else np.zeros(0, dtype=bool)
    count, share = int(heavy.sum()), float(weight[heavy].sum() / max(weight.sum(), 1.0))
    if not 0 < count < FEW_ROWS or share < MANY_PEOPLE:
        return ""
    rows = f"{count} row{'s' * (count > 1)} whose probability was small stand{'s' * (count == 1)}"
    return (
        f"treatment {label}: {rows} for {share:.0%} of its people. If outcomes of these people differ from those of "
        "others, intervals of average effects may cover several points less than they say; ask about groups without "
        f"them, or have at least {FEW_ROWS} such rows."
    )


def _score(model: CounterfactualIntervals, X: Any, is_treated: Any, treated: Label, control: Label) -> Floats:
    """Return both arms' prognostic scores mixed, each with the share of the other arm."""
    encoded, share = model.encode(X), float(is_treated.mean()) if len(is_treated) else 0.5
    mine, other = (model.arms_[label]._prognosis(encoded) for label in (treated, control))
    return np.asarray((1 - share) * mine + share * other)


def _record(
    name: str,
    told: tuple[Label, Label, float],
    is_treated: Any,
    cluster: Places | None,
    mine: Any,
    pair: tuple[Estimate, Estimate],
    *,
    binary: bool,
) -> AverageEffect:
    """Return the record of a group."""
    treated, control, alpha = told
    adjusted, plain = pair
    return AverageEffect(
        group=name,
        treated=treated,
        control=control,
        n=len(is_treated),
        effect=adjusted.effect,
        low=adjusted.low,
        high=adjusted.high,
        unadjusted=plain.effect,
        unadjusted_low=plain.low,
        unadjusted_high=plain.high,
        rows={treated: int(is_treated.sum()), control: int((~is_treated).sum())},
        clusters=None if cluster is None else len(np.unique(cluster[mine])),
        alpha=alpha,
        number_needed_to_treat=_needed(adjusted) if binary else None,
    )


def _needed(found: Estimate) -> tuple[float, float, float] | None:
    """Return the number needed to treat with its interval; None if the interval of the effect holds 0."""
    if found.low <= 0 <= found.high:
        return None
    ends = sorted(1 / abs(end) for end in (found.low, found.high))
    return 1 / abs(found.effect), ends[0], ends[1]
