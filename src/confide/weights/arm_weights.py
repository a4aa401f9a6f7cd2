"""The weights of one arm: those of its trial rows, and new rows' own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.advice import Advice
from confide.base.validation import examples
from confide.conformal.marks import Marks
from confide.conformal.quantile import check_weights, level, rows_needed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Level
    from confide.weights.target import TargetRatio


@dataclass(frozen=True)
class ArmWeights:
    """For whom an arm's trial rows stand, and what a new row weighs.

    Attributes
    ----------
    marks : Marks
        The marks of the arm's trial rows, in their order.
    largest : float or None
        The weight by assignment of a new row whose probability is not known (see Notes). None: weights do not depend on
        the assignment.
    target : TargetRatio or None
        How much more frequent people like a new row are in the target than in the trial.
    groups : tuple of str
        The names of the groups, by their number.
    odds : bool
        Whether rows stand for people who received the other one of two treatments: they weigh (1-π)/π, not 1/π.

    Notes
    -----
    A larger own weight makes a larger set, so that a weight at least as large as the unknown 1/π of a new row keeps the
    level. ``largest`` is the largest 1/π that the trial tells of: π of the arm's own rows, and at most 1 - π of the
    treatment received for rows of other arms. With two arms that is the probability itself, of every row of the trial;
    a new row is the only one with a smaller probability in at most 1 of n + 1 cases, n the trial's rows, and no more
    than that is lost. With three or more, rows of other arms tell only that their probability was not larger; a new
    row has a larger 1/π than all of the arm's own rows as often as the heaviest of them weighs of the whole. Nothing is
    lost where the smallest probability is that of a stratum in which the arm has a row.
    """

    marks: Marks
    largest: float | None = None
    target: TargetRatio | None = None
    groups: tuple[str, ...] = ()
    odds: bool = False

    @classmethod
    def of(cls, weights: Any, trial: NDArray[np.bool_]) -> ArmWeights | None:
        """Return what `fit` was given as the weights of an arm: these, one number per row, or None."""
        if weights is None or isinstance(weights, ArmWeights):
            return weights
        given = check_weights(weights, "weights")
        if given.shape != trial.shape:
            raise ValueError(f"weights must be one number per row ({len(trial)}), got shape {given.shape}.")
        mine = given[trial]
        if not mine.any():
            raise ValueError(f"weights are 0 for all {len(mine)} trial rows: nothing can be calibrated.")
        return cls(Marks(weight=mine), float(mine.max()))

    def for_others(self) -> ArmWeights:
        """Return the weights of the same rows, if they are to stand for those who received the other treatment."""
        if self.largest is None:
            return self
        return replace(self, marks=self.marks.as_odds(), largest=self.largest - 1, odds=True)

    def usual(self, ranked: NDArray[np.float64]) -> float:
        """Return the weight of a usual new row that is ranked among rows of these weights."""
        if self.target is not None:
            return float(ranked[ranked > 0].mean()) if ranked.any() else 1.0
        return 1.0 if self.largest is None else self.largest

    def shortage(self, marks: Marks, alpha: Level, reach: str) -> str | None:
        """Return for which groups calibration rows are too few at a level, with the remedy; None if for none.

        Parameters
        ----------
        marks : Marks
            Those of the rows that calibrate.
        alpha : float
            The level.
        reach : str
            What intervals are without enough rows, such as "infinite".
        """
        groups = range(len(self.groups)) if self.groups else [None]
        short = [text for group in groups if (text := self._short(marks, group, alpha))]
        if not short:
            return None
        some = "" if len(short) == len(groups) else f"in {len(short)} of {len(groups)} groups: "
        return Advice.of(
            f"{some}{'; '.join(short)}. There, intervals are {reach}.",
            f"Use a larger alpha or more trial {self.units}.",
        )

    @property
    def units(self) -> str:
        """What calibrates, in words: rows, or clusters, of which one row counts or all together do."""
        return "rows" if self.marks.cluster is None else "clusters"

    def _short(self, marks: Marks, group: int | None, alpha: Level) -> str | None:
        """Return what a group has and needs, if its rows are too few for a usual new row."""
        ranked = marks.weights(group)
        rows, total, own = int((ranked > 0).sum()), float(ranked.sum()), self.usual(ranked)
        if total and total >= level(alpha) * (total + own):
            return None
        where = "there are" if group is None else f"group {self.groups[group]} has"
        if marks.weight is None or marks.cluster is not None:
            there = rows if marks.cluster is None else round(total)
            return (
                f"{where} {there} trial calibration {self.units}, and alpha={float(alpha):g} needs {rows_needed(alpha)}"
            )
        needed = own * level(alpha) / (1 - level(alpha))
        return (
            f"{where} {rows} trial calibration rows whose weights add up to {total:.3g}, and a new row of weight "
            f"{own:.3g} needs {needed:.3g} at alpha={float(alpha):g}"
        )

    def own(self, X: NDArray[np.float64], assignment: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return new rows' own weights.

        Parameters
        ----------
        X : (n, d) array
            Their covariates.
        assignment : (n,) array or float, default None
            Their probabilities of this arm's treatment, as the trial would assign it. None: the smallest one that the
            trial tells of, which makes intervals wider than needed. Not used if weights do not depend on it.
        """
        weight = np.full(len(X), 1.0 if self.largest is None else self.largest)
        if assignment is not None and self.largest is not None:
            weight[:] = 1 / check_probabilities(assignment, len(X)) - self.odds
        return weight if self.target is None else weight * self.target.predict(X)


def check_probabilities(assignment: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return probabilities of treatments as floats; raise unless they are above 0 and at most 1."""
    try:
        values = np.broadcast_to(np.asarray(assignment, dtype=np.float64), count)
    except (TypeError, ValueError) as error:
        raise ValueError(f"assignment must be one probability per row ({count}): {error}.") from error
    bad = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(bad):
        raise ValueError(
            f"assignment must be the probability of a treatment, above 0 and at most 1: {len(bad)} of {count} are not, "
            f"such as {values[bad[0]]} (rows {examples(bad)})."
        )
    return values
