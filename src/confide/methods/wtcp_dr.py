"""`wtcp-dr`: weighted transductive conformal prediction with a joint density ratio (Algorithm 2)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from confide.methods._arm import Arm, Weighted, weighs_outcome
from confide.ratio import ClassifierRatio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from confide.conformal import Calibration
    from confide.intervals import IntervalSets


class WTCPDR(Weighted):
    """Base model and calibration on observational rows, weighted by the joint density ratio r̂(x, y).

    A new row's own weight depends on its unknown outcome, so each candidate outcome is asked whether it is in
    the set. The base model is not refitted (the split form). Trial rows train the ratio and nothing else.

    Promise: coverage ≥ 1-α-Δ, Δ = ½·E|r - r̂/E r̂| over observational rows; without ``outcome_range`` up to
    2/(m+1) less. Candidates are asked on a grid and every change between neighbours is bisected: a component
    narrower than the grid, away from the base model's prediction, can be missed.

    Parameters
    ----------
    base, score, calibration, alpha, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of observational rows.
    outcome_range : (float, float), default None
        Declared bounds of the outcome, and the range that is searched. None: the range of the arm's outcomes
        in both sources, a tenth wider on each side; this may cost up to 2/(m+1) of coverage, m the number of
        trial rows. An infinite bound is searched like none.
    ratio : density ratio or name, default None
        None: `ClassifierRatio`. A ratio on covariates alone needs no candidates: its intervals are exact and
        may be infinite.
    tolerance : float
        Error of a set's ends as a share of the searched range; ends are rounded outwards.
    """

    _needs: ClassVar = {"observational": 2, "trial": 1}
    _calibrates_on: ClassVar = "observational"

    def __init__(
        self,
        *,
        base: Any = None,
        score: Any = "absolute",
        calibration: float = 0.5,
        alpha: float = 0.1,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Any = None,
        random_state: Any = None,
        ratio: Any = None,
        tolerance: float = 1e-6,
    ) -> None:
        self.base = base
        self.score = score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.ratio = ratio
        self.tolerance = tolerance

    def _fit(self, arm: Arm) -> None:
        if not (isinstance(self.tolerance, Real) and self.tolerance > 0):
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}.")
        fit, calibration = arm.split(arm.observational)
        self.base_ = self._learn(fit, arm)
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        self.ratio_ = self._learn_ratio(ratio, arm.trial.joined(), fit.joined(), arm)
        self.calibration_: Calibration = self._calibrate(calibration, weighted=True)
        self.grid_ = self._search_grid(arm)

    def _sets(self, X: NDArray[np.float64]) -> IntervalSets:
        if not weighs_outcome(self.ratio_):
            return super()._sets(X)
        # A new row's weight only raises the quantile, so what a weight of 0 lets in is in.
        return self._search(X, self.calibration_.quantile(self.alpha, 0.0), self.tolerance)

    def _reach(self) -> str:
        return "the whole searched range" if weighs_outcome(self.ratio_) else super()._reach()

    def searches(self) -> bool:
        """Return whether the ratio changes with the outcome, so that candidates must be asked."""
        return weighs_outcome(self.ratio_) and self.outcome_values_ is None
