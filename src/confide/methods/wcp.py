"""`wcp`: weighted conformal prediction by the propensity score (Lei and Candès)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from confide.data.encoding import EncodedRows
from confide.data.splits import join, split_places
from confide.exceptions import RefusalError
from confide.methods.promise import PROPENSITY
from confide.methods.weighted import Weighted, weighs_outcome
from confide.ratio import ClassifierRatio, PropensityRatio, check_ratio
from confide.ratio.propensity import logistic_regression, others_than

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.conformal import Calibration
    from confide.methods.arm import Arm
    from confide.methods.promise import Promise
    from confide.models.scores import Score
    from confide.ratio import DensityRatio
    from confide.typing import Floats, Level, RandomState, Regressor


class WCP(Weighted):
    """Base model and calibration on observational rows, weighted by P(t)/ê(x).

    Promise: coverage ≥ 1-α-½E|w-ŵ/Eŵ|, means over the arm's observational rows, w = P(t)/e(x) of mean 1 and ŵ its
    estimate, only if there is no hidden confounding and the covariates of trial and observational rows agree. A
    common factor of ŵ changes nothing. With hidden confounding its coverage may be lower by any amount.
    It is included as a baseline: it shows what the observational data alone would claim.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of observational rows.
    ratio : density ratio or name, default None
        A ratio on covariates. None: `PropensityRatio`, logistic regression on the observational fit rows of
        all arms, for which ``fit`` needs ``population``. Without a population the arm's trial covariates
        replace it: a logistic classifier separates them from the arm's observational covariates.
    """

    _needs: ClassVar = {"observational": 2}
    _calibrates_on: ClassVar = "observational"

    def __init__(
        self,
        *,
        base: Regressor | str | None = None,
        conformity_score: Score | str = "absolute",
        calibration: float | tuple[float, float] = 0.5,
        alpha: Level | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Sequence[float] | None = None,
        random_state: RandomState = None,
        ratio: DensityRatio | str | None = None,
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.ratio = ratio

    def _name(self) -> str:
        return "wcp"

    def _promise(self) -> Promise:
        return PROPENSITY

    def _learns_from(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        return ("observational fit",)

    def _fit(self, arm: Arm) -> None:
        fit, calibration = arm.split_observational()
        mine = join(fit.X)
        if arm.population is None:
            everyone, default = join(self._trial_covariates(arm)), _logistic_contrast()
        else:
            everyone, default = _below(_fit_rows_of_other_arms(arm), mine), PropensityRatio()
        ratio = default if self.ratio is None else check_ratio(self.ratio)
        if weighs_outcome(ratio):
            raise ValueError(f"wcp weighs by covariates only: the ratio needs on='x', got {ratio!r}.")
        self.base_ = self._learn(fit, arm)
        self.ratio_ = self._learn_ratio(ratio, everyone, mine, arm)
        self.calibration_: Calibration = self._calibrate(calibration, weighted=True)

    def _trial_covariates(self, arm: Arm) -> Floats:
        if not len(arm.trial):
            raise RefusalError(
                "WCP needs the covariates of the population: pass population= (all arms' observational "
                "covariates), or at least one trial row to stand in for it."
            )
        return arm.trial.X


def _fit_rows_of_other_arms(arm: Arm) -> Floats:
    """Return the same share of the other arms' observational rows as this arm's fit rows are of its own."""
    if arm.others is None:
        everyone = np.asarray(arm.population, dtype=np.float64)
        others: Any = everyone[others_than(arm.observational.X, everyone)]
    else:
        given = arm.others.X
        others = given if isinstance(given, EncodedRows) else np.asarray(given, dtype=np.float64)
    if len(others) > 1:
        share, _ = arm.shares
        others = others[split_places(len(others), share, arm.split_seed)[0]]  # only these are encoded
    return np.asarray(others, dtype=np.float64)


def _below(others: Floats, mine: Floats) -> Floats:
    """Return the covariates of other arms, then joined rows, in one matrix without a copy between."""
    everyone = np.empty((len(others) + len(mine), mine.shape[1]))
    everyone[: len(others), :-1], everyone[: len(others), -1] = others, np.nan
    everyone[len(others) :] = mine
    return everyone


def _logistic_contrast() -> ClassifierRatio:
    """Return the ratio that replaces the propensity if only the trial represents the population."""
    return ClassifierRatio(logistic_regression(), on="x")
