"""`wtcp-dr`: weighted transductive conformal prediction with a joint density ratio (Algorithm 2)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from confide.base.rounding import ROUNDING
from confide.base.validation import suggest
from confide.conformal.grid import is_declared, rows_at_once
from confide.conformal.intervals import IntervalSets
from confide.conformal.lines import solve_lines
from confide.conformal.quantile import level
from confide.methods.promise import ratio_promise
from confide.methods.weighted import Weighted, weighs_outcome
from confide.models.base_model import settled
from confide.models.refits import SLACK, Refits, for_each, refitted_set, refitted_values
from confide.ratio import ClassifierRatio
from confide.ratio.registry import check_seen, looks_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.conformal import Calibration
    from confide.methods.arm import Arm
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.models.scores import Score
    from confide.models.smoothers import RefittedSmoother
    from confide.ratio import DensityRatio
    from confide.typing import Booleans, Floats, Level, RandomState, Regressor

RATIO_ROWS = ("fit", "all")
# Error of a set's ends as a share of the searched range: if a candidate costs a look-up, and if it costs a refit.
TOLERANCE = 1e-6
REFIT_TOLERANCE = 1e-2


class WTCPDR(Weighted):
    """Base model and calibration on observational rows, weighted by the joint density ratio r̂(x, y).

    A new row's own weight depends on its unknown outcome, so each candidate outcome is tested for membership
    in the set. Trial rows train the ratio and, without ``outcome_range``, help to set the
    searched range.

    Promise: coverage ≥ 1-α-Δ, Δ = ½·E|r - r̂/E r̂| over observational rows; without a finite ``outcome_range``
    up to 2/(m+1) less. Candidates are tested on a grid and every change between neighbours is bisected: a component
    narrower than the grid, away from the base model's prediction, can be missed.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_values, random_state
        As in `Naive`; ``calibration`` is the share of observational rows.
    outcome_range : (float, float), default None
        Declared bounds of the outcome, and the range that is searched. None: the range of the arm's outcomes
        in both sources, a tenth wider on each side; this may cost up to 2/(m+1) of coverage, m the number of
        trial rows. An infinite bound is treated like none.
    ratio : density ratio or name, default None
        None: `ClassifierRatio`. A ratio on covariates alone needs no candidates, unless each costs a refit: its
        intervals are exact and may be infinite.
    refit : bool
        False (the split form): the base model learns from the observational fit rows, once. True (Algorithm 2): it
        is fitted on all observational rows and (x_new, ȳ), again for each candidate ȳ.

        Least squares, ridge, kernel ridge, k-nearest neighbours and a mean, also after transformers that never use y,
        are solved in closed form: exact, in milliseconds. Any other base model, and any other score than "absolute",
        is refitted over a coarse scan and a bisection of every change, about 13 times per row; such sets are marked as
        approximate, and early stopping is turned off. ``base=None`` chooses its model and penalty once, on the fit
        rows.
    ratio_rows : {"fit", "all"}
        Which observational rows train the ratio. "all", as Algorithm 2 is written: all of them, and with
        ``refit=True`` all of them calibrate. No promise is proved then, except for a ratio that learns
        nothing with a base model that is given, not chosen.
    tolerance : float, default None
        Error of a set's ends as a share of the searched range; ends are rounded outwards. None: 1e-6, and 1e-2 if
        each candidate costs a refit.
    n_jobs : int, default None
        Number of new rows refitted in parallel, as in joblib, whose backend may be a cluster.
    """

    _needs: ClassVar = {"observational": 2, "trial": 1}
    _calibrates_on: ClassVar = "observational"
    refits_: Refits | None

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
        refit: bool = False,
        ratio_rows: str = "fit",
        tolerance: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.ratio = ratio
        self.refit = refit
        self.ratio_rows = ratio_rows
        self.tolerance = tolerance
        self.n_jobs = n_jobs

    def _name(self) -> str:
        return "wcp-nb" if looks_at(self.ratio) == "y" else "wtcp-dr"

    def _promise(self) -> Promise:
        on = looks_at(self.ratio)
        searched = not is_declared(self.outcome_range, self.outcome_values) and "y" in on
        return ratio_promise(on, all_rows=self.ratio_rows == "all", searched=searched)

    def _learns_from(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        every_row_calibrates = self.refit and self.ratio_rows == "all"
        return ("trial",) if every_row_calibrates else ("observational fit",)

    def _fits_on(self, observational: int) -> tuple[str, ...]:  # noqa: ARG002
        every_row = self.refit or self.ratio_rows == "all"
        return ("observational" if every_row else "observational fit", "trial")

    def _fit(self, arm: Arm) -> None:
        if self.tolerance is not None and not (isinstance(self.tolerance, Real) and self.tolerance > 0):
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}.")
        if self.ratio_rows not in RATIO_ROWS:
            raise ValueError(f"ratio_rows={self.ratio_rows!r} is unknown; {suggest(self.ratio_rows, RATIO_ROWS)}")
        if self.refit and (self.base is None or self.base == "auto") and self.conformity_score != "absolute":
            raise ValueError(
                f"refit=True with conformity_score={self.conformity_score!r} needs a base model: the automatic one "
                "chooses by squared error. Give one, such as base=HistGradientBoostingRegressor()."
            )
        fit, calibration = arm.split_observational()
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        if self.ratio_rows == "all":
            check_seen(ratio, "ratio_rows='all'", "ratio_rows='fit'")
        ratio_rows = fit if self.ratio_rows == "fit" else arm.observational
        self.ratio_ = self._learn_ratio(ratio, arm.trial.joined(), ratio_rows.joined(), arm)
        self.grid_ = self._search_grid(arm)
        self.refits_ = None
        if not self.refit:
            self.base_ = self._learn(fit, arm)
            self.calibration_: Calibration = self._calibrate(calibration, weighted=True)
            return
        base = settled(self.base, fit, arm.base_seed)
        if self.ratio_rows == "all":
            fit, calibration = fit[np.zeros(len(fit), dtype=bool)], arm.observational
        self.base_ = self.score_.learn(base, arm.observational, self.alpha_, arm.base_seed)
        # In-sample scores of the base model: only the starting point of the search by refits.
        self.calibration_ = self._calibrate(calibration, weighted=True)
        self.base_r2_ = None
        self.refits_ = Refits.of(
            fit,
            calibration,
            self._weigh(calibration.X, calibration.y),
            base=base,
            score=self.score_,
            alpha=self.alpha_,
            seed=arm.base_seed,
            ratio=self.ratio_,
            slack=SLACK * float(np.ptp(arm.outcomes)) + ROUNDING * float(np.abs(arm.outcomes).max()),
        )

    def _tolerance(self, default: float) -> float:
        """Return the error of a set's ends as a share of the searched range."""
        return default if self.tolerance is None else float(self.tolerance)

    def _sets(self, rows: NewRows) -> IntervalSets:
        if self.refits_ is None and not weighs_outcome(self.ratio_):
            return super()._sets(rows)
        if self.refits_ is None:
            return self._sets_without_refits(rows)
        if self.refits_.smoother is None:
            return self._sets_by_refits(rows, self.refits_)
        step = min(rows_at_once(len(self.grid_), rows.X.shape[1] + 1), self.refits_.lines_at_once())
        smoother = self.refits_.refitted_smoother()
        sets = [self._sets_of_lines(some.X, self.refits_, smoother) for some in rows.chunks(step)]
        return IntervalSets.concatenate(sets)

    def _sets_without_refits(self, rows: NewRows) -> IntervalSets:
        # A new row's weight only raises the quantile, so outcomes that are inside at weight 0 are inside.
        return self._search(rows, self.calibration_.quantile(self.alpha_, 0.0), self._tolerance(TOLERANCE))

    def _sets_of_lines(self, X: Floats, refits: Refits, smoother: RefittedSmoother) -> IntervalSets:
        """Return the sets in closed form."""
        weights = None if weighs_outcome(self.ratio_) else self._weigh(X)
        return solve_lines(
            [refits.lines(smoother, x) for x in X],
            refits.weights,
            lambda rows, y: self._weigh(X[rows], y) if weights is None else weights[rows],
            self.alpha_,
            # If its own weight does not depend on y, there is no search and no need of bounds.
            self.grid_ if weights is None else np.array(self.outcome_range_ or (-np.inf, np.inf)),
            tolerance=self._tolerance(TOLERANCE) * float(np.ptp(self.grid_)),
            slack=refits.slack,
        )

    def _sets_by_refits(self, rows: NewRows, refits: Refits) -> IntervalSets:
        """Return the sets by refits; the search begins at the ends of the interval without refits."""
        points = self.score_.point(rows.prediction)
        domain = (float(self.grid_[0]), float(self.grid_[-1]))
        tolerance = self._tolerance(REFIT_TOLERANCE) * (domain[1] - domain[0])
        tasks = [
            (refits, x, point, guess, domain, tolerance, self.alpha_)
            for x, point, guess in zip(rows.X, points, self._sets_without_refits(rows), strict=True)
        ]
        return IntervalSets.concatenate(for_each(refitted_set, tasks, self.n_jobs))

    def _members(self, rows: NewRows, values: Floats) -> Booleans:
        if self.refits_ is None:
            return super()._members(rows, values)
        refits = self.refits_
        if refits.smoother is None:
            tasks = [(refits, x, values, self.alpha_) for x in rows.X]
            return np.array(for_each(refitted_values, tasks, self.n_jobs))
        smoother, share = refits.refitted_smoother(), level(self.alpha_)
        return np.array(
            [
                refits.lines(smoother, x).below(values, refits.weights, refits.slack)
                < share * (refits.weights.sum() + refits.weigh(x, values))
                for x in rows.X
            ]
        )

    def _reach(self) -> str:
        return "the whole searched range" if weighs_outcome(self.ratio_) else super()._reach()

    def _searches(self) -> bool:
        """Return whether the ratio changes with the outcome, so that candidates must be searched."""
        return weighs_outcome(self.ratio_) and self.outcome_values_ is None
