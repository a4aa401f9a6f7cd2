"""Whom to choose: people whose outcome under a treatment is above, or below, a value, at a false discovery rate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from confide.base.advice import Advice
from confide.base.notebook import ShownRecord
from confide.base.validation import number_of
from confide.conformal.quantile import check_alpha
from confide.conformal.selection import chosen, numerators
from confide.exceptions import RefusalError
from confide.methods.study_arms import check_known

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.methods.trial_outcomes import TrialOutcomes
    from confide.model import CounterfactualIntervals
    from confide.typing import Booleans, Floats, Label, Table

# What a study may carry for which no rate of false picks is proved.
UNPROVED = {
    "cluster": "people of one cluster depend on each other",
    "target": "how much more frequent people are in the target than in the trial is estimated",
}


# If so large a share of the trial's rows is on that side of the value, nearly everybody is.
NEARLY_ALL = 0.9


class Told(ABC):
    """What a list of people promises, and what the trial could find at all, in words."""

    treatment: Label
    side: str
    value: float
    fdr: float
    gamma: float
    rows: int
    reached: int

    @abstractmethod
    def __len__(self) -> int:
        """Return how many people were asked about."""

    @property
    def smallest(self) -> float:
        """The smallest p-value that this trial can give anybody: 1/(rows + 1)."""
        return 1 / (self.rows + 1)

    @property
    def fewest(self) -> int:
        """How many of these people must be chosen at once for any to be chosen, even if all are predicted perfectly."""
        return self._fewest_with(self.rows)

    def _fewest_with(self, rows: int) -> int:
        """Return how many must be chosen at once if so many trial rows count."""
        return max(math.ceil(len(self) / (rate_in_force(self.fdr, self.gamma) * (rows + 1))), 1)

    @property
    def promise(self) -> str:
        """What the false discovery rate promises, in two sentences."""
        whom = "" if self.gamma == 1 else f", if people are at most {self.gamma:g} times as frequent as in the trial"
        return (
            f"On average over trials and lists like these, at most {100 * self.fdr:g} % of the people on a list do not "
            f"have an outcome {self.side} {self.value:g} under treatment {self.treatment}{whom}; an empty list counts "
            "as 0 %. That is a promise about lists, not about each person on one."
        )

    @property
    def found_at_all(self) -> str:
        """What this trial could find at all, in sentences."""
        people = number_of(len(self), "person", "people")
        told = (
            f"{number_of(self.rows, 'trial row')} under treatment {self.treatment} "
            f"{'counts' if self.rows == 1 else 'count'}, {self.reached:,} of them {self.side} {self.value:g}. The "
            f"smallest p-value that so many rows can give is {self.smallest:.2g}"
        )
        if not len(self):
            return f"{told}."
        if self.fewest > len(self):
            needed = math.ceil(1 / rate_in_force(self.fdr, self.gamma)) - 1
            return f"{told}, so nobody can be chosen at this rate: it takes {needed:,} rows."
        if len(self) == 1:
            return f"{told}, so this person could be chosen."
        if self.fewest == 1:
            return f"{told}, so even one of these {people} could be chosen alone."
        return f"{told}, so of these {people} either at least {self.fewest:,} are chosen or nobody."

    @property
    def tells_little(self) -> str:
        """That nearly everybody is on that side of the value, in a sentence; empty if not."""
        if not self.rows or self.reached < NEARLY_ALL * self.rows:
            return ""
        return (
            f"The list tells little: {self.reached:,} of {self.rows:,} trial people under {self.treatment} are "
            f"{self.side} {self.value:g}, and nearly everybody like them will be."
        )


@dataclass(frozen=True)
class Selection(Told, ShownRecord):
    """Who was chosen, and what the trial could find at all.

    Attributes
    ----------
    selected : (n,) boolean array
        True for the people chosen.
    p_values : (n,) array
        Small for people who are predicted higher (lower) than nearly all trial rows that fell short of the value. One
        person's p-value of at most 0.05 is not a 5 % rate among those chosen: the rule takes them all together.
    treatment : label
        The treatment.
    side : {"above", "below"}
        On which side of the value outcomes are to be.
    value : float
        The value.
    fdr : float
        The false discovery rate.
    gamma : float
        How many times as frequent as in the trial people may be: that of the model.
    rows : int
        How many trial rows of the treatment the p-values rest on.
    reached : int
        How many of these have an outcome on that side of the value.
    """

    selected: Booleans
    p_values: Floats
    treatment: Label
    side: str
    value: float
    fdr: float
    gamma: float
    rows: int
    reached: int

    def __len__(self) -> int:
        return len(self.selected)

    @property
    def next_time(self) -> str:
        """What would help another time if the list is empty, in sentences; nothing if it is not."""
        if not len(self) or self.selected.any():
            return ""
        helpful = "state a larger rate before you look"
        if self.fewest > len(self):
            helpful += ", or plan that many trial rows"
        elif self.fewest > 1:
            twice = 2 * self.rows + 1
            helpful += (
                f", or plan more trial rows under treatment {self.treatment}: if {twice:,} count, the smallest p-value "
                f"is half as large, and {self._fewest_with(twice):,} people at once are enough"
            )
        return f"The list is empty. Another time, {helpful}. Another rate or value for this list voids the promise."


@dataclass(frozen=True)
class Rule:
    """How people are chosen by a value of the outcome, whoever they are.

    Attributes
    ----------
    treatment, side, value, gamma
        Those of `Selection`.
    arm : ArmEstimator
        The treatment's.
    trial : TrialOutcomes
        The trial rows that calibrate.
    """

    treatment: Label
    side: str
    value: float
    gamma: float
    arm: ArmEstimator
    trial: TrialOutcomes

    @classmethod
    def of(cls, model: CounterfactualIntervals, treatment: Label, above: Any, below: Any) -> Rule:
        """Return the rule of a fitted model; raise a RefusalError where no rate is proved."""
        side, value = _side(above, below)
        for part, why in UNPROVED.items():
            if part in model.carries_:
                raise RefusalError(
                    Advice.of(
                        f"the study has a {part}, and no false discovery rate is proved for it: {why}.",
                        f"Fit without {part}= if you may, or use one-sided intervals, whose promise is for all people "
                        "together, not for those picked by their intervals.",
                    )
                )
        if model.whom_.stands_in:
            raise RefusalError(
                Advice.of(
                    f"with {len(model.arms_)} treatments and probabilities that differ, rows of other treatments do "
                    "not tell how small the probability of this one was, and no rate is proved.",
                    "Give all other treatments one label, in both tables, and their trial rows 1 minus the probability "
                    "of the treatment asked about: with two treatments the rate is proved, for everybody.",
                )
            )
        check_known(treatment, model.arms_)
        arm = model.arms_[treatment]
        trial = arm.trial_outcomes_
        if trial is None:
            raise RefusalError(
                Advice.of(
                    f"{arm.method_name} learns from trial rows in more ways than one, and people cannot be chosen by "
                    "it.",
                    "Use prognostic, transfer or transfer-centred, which rank people by observational rows, or naive.",
                )
            )
        return cls(treatment, side, value, float(model.gamma_), arm, trial)

    def numerators(self, X: Table | NewRows) -> NDArray[np.intp]:
        """Return (rows + 1) times the p-value of each person: of encoded rows, or as the arm has taken them."""
        sign = 1 if self.side == "above" else -1
        short = self.trial.score[~self._reached()]
        return numerators(sign * short, sign * self.arm._ranking(X), self.trial.rounding)

    def facts(self, fdr: float) -> dict[str, Any]:
        """Return what is known of a list at this rate whoever is on it: attributes of `Selection`."""
        return {
            "treatment": self.treatment,
            "side": self.side,
            "value": self.value,
            "fdr": float(check_alpha(fdr, "fdr")),
            "gamma": self.gamma,
            "rows": len(self.trial),
            "reached": int(self._reached().sum()),
        }

    def _reached(self) -> Booleans:
        """Return which trial rows have an outcome on that side of the value."""
        return self.trial.y > self.value if self.side == "above" else self.trial.y < self.value


def select(
    model: CounterfactualIntervals,
    X: Table,
    treatment: Label,
    *,
    above: float | None = None,
    below: float | None = None,
    fdr: float = 0.1,
) -> Selection:
    """Return whom to choose: people whose outcome under a treatment is above (below) a value.

    The arm's trial rows calibrate: a person's p-value says how many of those that fell short of the value were
    predicted at least as high, by a model that was learnt from other rows. `confide.conformal.selection` has the
    formula.

    Promise: the false discovery rate, the mean share of those chosen whose outcome is not on that side of the value, is
    at most ``fdr``, whatever the confounding: a table that misleads finds fewer people. It is for people who are drawn,
    independently of each other, from the trial's population, and were not in the trial. All people asked about at once
    make one list: choosing again among those chosen, or taking the best of several values, voids it.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted. With prognostic, transfer and transfer-centred the observational rows predict, and all trial rows of
        the arm calibrate. With naive half of them predict and the other half calibrates: better where the large table
        misleads and the trial is large. Methods that use trial rows in other ways are refused. Level, side and groups
        have no part in it. With the model's gamma the rule takes fdr/gamma.
    X : frame or (n, d) array
        Covariates of everybody who could be chosen.
    treatment : label
        The treatment under which outcomes are meant.
    above, below : float
        The value that the outcome must be above, or below: one of the two. For an outcome of 0 or 1, ``above=0``.
    fdr : float, default 0.1
        The false discovery rate.

    Returns
    -------
    Selection
        ``selected``, ``p_values``, what the trial could find at all: ``smallest``, ``fewest``, ``found_at_all``, and
        ``tells_little`` if nearly everybody is on that side of the value.

    Notes
    -----
    Where assignment varies, the arm's rows are thinned when the model is fitted: each is kept with a chance inversely
    proportional to its probability of the treatment, so that those kept are people of the trial drawn alike, and what
    is proved for such rows holds. It assumes that the smallest probability that the trial shows is the smallest that it
    gave anybody; with three or more treatments nothing tells it, and they are refused. Weights in place of thinning are
    not proved to keep the rate. Clusters and a target are refused.
    """
    check_is_fitted(model)
    check_alpha(fdr, "fdr")
    rule = Rule.of(model, treatment, above, below)
    facts = rule.facts(fdr)
    numerator = rule.numerators(model._encode_new(X, stacklevel=3))
    rows = facts["rows"]
    return Selection(
        selected=chosen(numerator, rows, rate_in_force(fdr, rule.gamma)), p_values=numerator / (rows + 1), **facts
    )


def _side(above: Any, below: Any) -> tuple[str, float]:
    """Return on which side of which value outcomes are to be."""
    given = {side: value for side, value in (("above", above), ("below", below)) if value is not None}
    if len(given) != 1:
        raise ValueError(f"give above or below, and one of them, got above={above!r} and below={below!r}.")
    ((side, value),) = given.items()
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{side} must be a finite number, got {value!r}.")
    return side, float(value)


def rate_in_force(fdr: float, gamma: float) -> Fraction:
    """Return the rate at which the rule is applied: what is false among people as in the trial, divided by gamma."""
    return check_alpha(fdr, "fdr") / Fraction(str(gamma))
