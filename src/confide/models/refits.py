"""True refits: the base model is fitted again for each new row and each of its candidate outcomes (Algorithm 2).

Everything here is a pure function of a fitted `Refits` and of one new row, so that rows can be processed in any
order, in parallel, and stored one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from confide.base.rounding import slack
from confide.conformal.grid import MAX_NUMBERS, solve_on_grid
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.lines import ResidualLines
from confide.conformal.quantile import Calibration, check_weights
from confide.data.splits import Rows, join
from confide.models.fitting import seeded
from confide.models.preprocessing import prepared
from confide.models.scores import AbsoluteResidual
from confide.models.smoothers import LinearSmoother, RefittedSmoother

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from confide.models.scores import Score
    from confide.typing import Level

Answer = TypeVar("Answer")

# Candidates spread over the domain before the changes between neighbours are bisected.
SCAN = 8
# Residuals that differ by less than this share of the outcomes' range, and of the largest of them, are tied.
SLACK = 1e-10


@dataclass(frozen=True)
class Refits:
    """Everything a refit needs: the fixed rows, in a random order, and how to fit, score and weight them.

    A learner may use the order of its rows, or break ties by it. Calibration rows and the new row must be treated
    alike, so the new row's position among them is random too, like theirs: they are alike on average over the seed.

    Attributes
    ----------
    rows : Rows
        The rows that every refit uses, in the random order.
    place : int
        Position of the new row.
    calibrates : (n,) boolean array
        Which of the rows calibrate.
    weights : (k,) array
        Weights of those rows.
    base, score, alpha, seed
        Arguments of `Score.learn`.
    ratio : fitted density ratio
        Gives the new row's weight.
    slack : float
        Predictions no further apart than this are tied.
    smoother : LinearSmoother or None
        The base model as a linear smoother, if refits have a closed form (with absolute residuals); else None.
    """

    rows: Rows
    place: int
    calibrates: NDArray[np.bool_]
    weights: NDArray[np.float64]
    base: Any
    score: Score
    alpha: Level
    seed: int
    ratio: Any
    slack: float
    smoother: LinearSmoother | None

    @classmethod
    def of(
        cls,
        fixed: Rows,
        calibration: Rows,
        weights: NDArray[np.float64],
        *,
        base: Any,
        score: Score,
        alpha: Level,
        seed: int,
        ratio: Any,
        slack: float,
    ) -> Refits:
        """Return the refits for rows that only train (``fixed``) and rows that train and calibrate."""
        count = len(fixed) + len(calibration)
        order = np.random.default_rng([seed, 1]).permutation(count + 1)
        place = int(np.flatnonzero(order == count)[0])
        order = order[order < count]
        rows = Rows(np.concatenate([fixed.X, calibration.X])[order], np.concatenate([fixed.y, calibration.y])[order])
        calibrates = order >= len(fixed)
        weights = weights[order[calibrates] - len(fixed)]
        is_absolute = type(score) is AbsoluteResidual
        smoother = LinearSmoother.of(prepared(seeded(base, seed))) if is_absolute else None
        return cls(rows, place, calibrates, weights, base, score, alpha, seed, ratio, slack, smoother)

    def refitted_smoother(self) -> RefittedSmoother:
        """Return the linear smoother on these rows, to be used for one new row after the other."""
        if self.smoother is None:
            raise ValueError(f"{self.base!r} is not a linear smoother: its refits have no closed form.")
        return RefittedSmoother(self.smoother, self.rows.X, self.rows.y, self.place)

    def lines(self, smoother: RefittedSmoother, x: NDArray[np.float64]) -> ResidualLines:
        """Return the residuals of calibration rows and the new row after refitting with (x, ȳ), as lines in ȳ."""
        stay, own = smoother.residuals(x)
        return ResidualLines(*np.concatenate([stay[self.calibrates], own[None]]).T)

    def lines_at_once(self) -> int:
        """Return for how many new rows the lines fit in the memory bound."""
        return max(1, MAX_NUMBERS // (2 * len(self.weights) + 2))

    def weigh(self, x: NDArray[np.float64], outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of the new row for each of these outcomes."""
        rows = join(np.broadcast_to(x, (len(outcomes), len(x))), outcomes)
        return check_weights(self.ratio.predict(rows), "the ratio")

    def contains(self, x: NDArray[np.float64], outcome: float, alpha: Level) -> bool:
        """Return whether the outcome conforms, by one refit on the rows and (x, outcome)."""
        X, y = np.insert(self.rows.X, self.place, x, axis=0), np.insert(self.rows.y, self.place, outcome)
        model = self.score.learn(self.base, Rows(X, y), self.alpha, self.seed)
        prediction = np.asarray(model.predict(X), dtype=np.float64)
        scores = self.score.score(prediction, y)
        tied = slack(self.score.score, prediction, np.full(prediction.shape[1:], self.slack), y)
        calibration = Calibration.of(np.delete(scores, self.place)[self.calibrates], self.weights)
        weight = self.weigh(x, np.array([outcome]))
        return bool(calibration.contains(scores[[self.place]] - tied, alpha, weight)[0])


def refitted_values(
    refits: Refits, x: NDArray[np.float64], values: NDArray[np.float64], alpha: Level
) -> NDArray[np.bool_]:
    """Return whether each value is in the row's set, by one refit per value."""
    return np.array([refits.contains(x, value, alpha) for value in values.tolist()])


def refitted_set(
    refits: Refits,
    x: NDArray[np.float64],
    point: float,
    guess: NDArray[np.float64],
    domain: tuple[float, float],
    tolerance: float,
    alpha: Level,
) -> IntervalSets:
    """Return one row's set from few refits: a coarse scan, then a bisection of every change.

    Parameters
    ----------
    refits, x
        The refits, and the covariates of the new row.
    point : float
        An outcome that should be inside.
    guess : (components, 2) array
        Guesses of the set's ends: a right guess saves the bisection, a wrong one costs two refits.
    domain : (float, float)
        The range of outcomes to search.
    tolerance : float
        Absolute error of an end; ends are rounded outwards.
    alpha : float
        Miscoverage level.
    """
    known: dict[float, bool] = {}

    def member(_: NDArray[np.intp], outcomes: NDArray[np.float64]) -> NDArray[np.bool_]:
        for outcome in outcomes.tolist():
            if outcome not in known:
                known[outcome] = refits.contains(x, outcome, alpha)
        return np.array([known[outcome] for outcome in outcomes.tolist()])

    # Both sides of a guessed end within the domain, no further apart than the tolerance.
    ends = guess[(guess > domain[0]) & (guess < domain[1])]
    around = np.concatenate([[point], ends - 0.49 * tolerance, ends + 0.49 * tolerance])
    around = np.clip(around, *domain)
    scan = np.linspace(*domain, SCAN)
    # A guess replaces the point of the scan that it is near.
    spare = np.abs(scan[:, None] - around).min(axis=1) < (scan[1] - scan[0]) / 2
    spare[[0, -1]] = False
    grid = np.unique(np.concatenate([scan[~spare], around]))
    nothing = Intervals(np.array([np.nan]), np.array([np.nan]))
    found = solve_on_grid(member, nothing, grid, tolerance)
    return IntervalSets(found.lower, found.upper, found.starts, whole=found.whole, approximate=True)


def for_each(work: Callable[..., Answer], tasks: list[tuple[Any, ...]], n_jobs: int | None) -> list[Answer]:
    """Return the results of all tasks in order, by joblib's current backend, with a progress bar on a terminal."""
    from rich.console import Console  # noqa: PLC0415  (only for long work)
    from rich.progress import track  # noqa: PLC0415

    answers = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(*task) for task in tasks)
    console = Console(stderr=True)
    if len(tasks) < 2 or not console.is_terminal:  # no bar: one that is disabled ends in an empty line in older rich
        return list(answers)
    return list(track(answers, "refits", len(tasks), console=console, transient=True))
