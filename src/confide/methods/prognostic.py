"""`prognostic`: the large table's prognostic score, stacked on the trial; every trial row calibrates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from confide.base.rounding import predictions_off
from confide.base.validation import suggest
from confide.conformal.chosen import Choice
from confide.conformal.deleted import band_of
from confide.conformal.marks import calibrated
from confide.conformal.quantile import check_alpha
from confide.conformal.stacked import Rows as Views
from confide.conformal.stacked import Stack
from confide.conformal.tangents import ALONE
from confide.methods.base import ArmEstimator
from confide.methods.candidates import FEATURES, POWERS, SCALES, TAILS, Candidate, candidates, handicap
from confide.methods.promise import KEPT_UNDER_CONFOUNDING
from confide.models.base_model import share_explained
from confide.models.preprocessing import standardised
from confide.models.prognosis import learn_prognosis
from confide.models.scores import AbsoluteResidual

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.conformal.intervals import IntervalSets
    from confide.data.splits import Rows
    from confide.methods.arm import Arm
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.models.scores import Score
    from confide.typing import Booleans, Floats, Level, Places, RandomState, Regressor, Table

# Scaled covariates, and the scaled prognostic score, are cut here: a row with a rare value would have so much leverage
# that it fits itself, whatever its outcome, and its set would reach far.
FARTHEST = 4.0
# Means and spreads are those of at most so many rows, drawn at random.
SCALING_ROWS = 20_000
# Of a set with one end, errors on the other side count for so much less.
FAR = 2.0**20


class Prognostic(ArmEstimator):
    """A prognostic score from the observational rows, stacked on the trial by full conformal prediction.

    From observational rows alone come μ̂(x), the prognostic score; σ̂(x), the size of its error; and the reach of both
    tails. For a new row and its candidate outcome, the trial's outcomes and the candidate are regressed on features of
    these m+1 rows, weighted by 1/σ̂², and the candidate is in the set if its score is among the smaller ones: in closed
    form, without a hold-out set (`confide.conformal.stacked`). So every trial row calibrates.

    What is "auto" is chosen among candidates by a rule that is symmetric in the m+1 rows, the new one included: the
    candidate whose intervals are estimated to be the narrowest by deleted scores (`confide.conformal.chosen`). With
    ``features="auto"`` two of them ignore the observational rows, a constant and ridge on the trial's covariates. Of
    candidates that are alike in few rows the luckiest is not the best, so a candidate that learns has to look narrower
    than the constant by a factor of 1+2/m.

    Promise: coverage ≥ 1-α, whatever the confounding, and at most 1-α+1/(m+1) without ties, for one candidate;
    marginally over calibration and new rows.

    Parameters
    ----------
    base, conformity_score, calibration, alpha, outcome_range, outcome_values, random_state
        As in `Naive`; ``conformity_score`` must be "absolute" (``scale`` and ``tails`` let widths differ), and
        ``calibration`` is used only if there are no observational rows at all.
    features : {"auto", "slope", "offset", "ridge", "none"}
        "slope": the trial's outcomes are regressed on μ̂; "offset": μ̂ is taken as it is, minus its mean error; "ridge":
        they are regressed on the covariates, without μ̂; "none": on a constant.
    scale : {"auto", "observational", "root", "none"}
        "observational": errors are measured in units of σ̂, so that widths differ between people as σ̂ does; "root": as
        √σ̂ does, for a σ̂ that is not quite that of the trial. "auto" takes the root only if it looks narrower by a
        factor of 1.15, also than a constant: it covers people who are hard to predict less often.
    tails : {"auto", "even", "learnt"}
        "learnt": intervals reach farther to the side where errors of observational rows do. "auto" takes them only if
        they are 5 % narrower.

    Attributes
    ----------
    candidates_ : list of Candidate
        Those that were chosen among.
    best_ : int
        The place of the one that is narrowest on the trial rows alone, from which point predictions come.

    Notes
    -----
    With fewer than 20 trial rows no candidate has a slope with σ̂, or learnt tails: some of its sets would be unbounded.
    An arm without observational rows takes the prognostic score of the other arms' observational rows.

    Features are cut at four standard deviations of the observational rows, and σ̂ keeps to the range that it has over
    them, so that a person unlike all others seldom has an interval unlike all others. The offset is not cut. With 20 to
    about 75 trial rows a few people far out may still have an infinite interval.
    """

    _needs: ClassVar = {"trial": 1}
    _calibrates_on: ClassVar = "trial"
    stacks_: list[Stack] | None
    # By level, side and group; copies at other ones share it.
    _choices: dict[tuple[Level, str, int | None], Choice]

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
        features: str = "auto",
        scale: str = "auto",
        tails: str = "even",
    ) -> None:
        self.base = base
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.alpha = alpha
        self.outcome_range = outcome_range
        self.outcome_values = outcome_values
        self.random_state = random_state
        self.features = features
        self.scale = scale
        self.tails = tails

    def _name(self) -> str:
        return "prognostic"

    def _promise(self) -> Promise:
        return KEPT_UNDER_CONFOUNDING

    def _takes_more(self) -> bool:
        return True

    def _ranks_trial_rows(self) -> bool:
        return True

    def _learning_rows(self, trial: Any, others: int = 0, cluster: Places | None = None) -> Booleans:
        if others and np.all(trial):
            return np.zeros(len(trial), dtype=bool)
        return super()._learning_rows(trial, others, cluster)

    def _learns_from(self, observational: int) -> tuple[str, ...]:
        return ("observational",) if observational else ("trial fit",)

    def _learns_from_trial(self, arm: Arm) -> bool:
        return not (len(arm.observational) or (arm.others is not None and len(arm.others)))

    def _fit(self, arm: Arm) -> None:
        for name, known in (("features", FEATURES), ("scale", SCALES), ("tails", TAILS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; {suggest(getattr(self, name), known)}")
        if type(self.score_) is not AbsoluteResidual:
            raise ValueError(
                f"prognostic takes absolute residuals, got conformity_score={self.conformity_score!r}. Use "
                "conformity_score='absolute' with scale='observational' or tails='learnt', or the method transfer."
            )
        self.stacks_ = None
        self._choices = {}
        learnt_from = arm.of_any_arm()
        if not len(learnt_from):
            self._fit_on_trial_alone(arm)
            return
        self.base_ = learn_prognosis(self.base, learnt_from, arm.base_seed)
        self._scale_covariates(learnt_from, arm.base_seed)
        self.unit_ = _unit(learnt_from.y)
        # Rows of one cluster are alike: the regression would know a row by the others.
        trial = arm.trial.one_per_cluster(arm.split_seed)
        self.marks_ = None if trial.marks is None else trial.marks.without_clusters()
        asked = (self.features, self.scale, self.tails)
        sized = self.base_.size is not None
        self.candidates_ = candidates(*asked, rows=len(trial), columns=self.columns_, sized=sized)
        prediction = self._predict_base(trial.X)
        views = self._views(trial.X, prediction)
        slack = self._rounding(trial, prediction)
        self.stacks_ = [
            Stack.of(rows, trial.y / self.unit_, each.penalty(self.columns_), slack)
            for each, rows in zip(self.candidates_, views, strict=True)
        ]
        self.handicaps_ = [handicap(each, *asked, rows=len(trial)) for each in self.candidates_]
        self._look_back(trial.y / self.unit_, views)

    def _scale_covariates(self, rows: Rows, seed: int) -> None:
        """Learn how covariates and the prognostic score are scaled, from some of the rows other than the trial's."""
        X = rows.X
        if len(rows) > SCALING_ROWS:
            X = X[np.random.default_rng(seed).permutation(len(rows))[:SCALING_ROWS]]
        self.covariates_ = standardised().fit(X)
        # A column that is the same for everybody says nothing, and must not add to the penalty of the others.
        every = np.arange(self.covariates_.transform(X[:1]).shape[1])
        self.varying_ = np.setdiff1d(every, self.covariates_.steps[0][1].constant_)
        self.columns_ = len(self.varying_)
        score = self.base_.model.predict(X)
        spread = float(score.std())
        self.score_line_ = (float(score.mean()), spread if spread > 0 else 1.0)

    def _views(self, X: Floats, prediction: Floats) -> list[Views]:
        """Return rows as each candidate sees them."""
        mean, size = prediction.T
        constant = np.ones((len(X), 1))
        centre, spread = self.score_line_
        features = {"none": constant, "offset": constant}
        features["slope"] = np.column_stack([constant, np.clip((mean - centre) / spread, -FARTHEST, FARTHEST)])
        if any(each.features == "ridge" for each in self.candidates_):
            covariates = np.clip(self.covariates_.transform(X)[:, self.varying_], -FARTHEST, FARTHEST)
            features["ridge"] = np.column_stack([constant, covariates])
        return [
            Views.of(
                features[each.features],
                mean / self.unit_ if each.features == "offset" else 0.0,
                size ** POWERS[each.scale],
                *self._tails(each),
            )
            for each in self.candidates_
        ]

    def _tails(self, candidate: Candidate) -> tuple[float, float]:
        """Return how far the lower and the upper tail reach, beside each other."""
        lower, upper = self.base_.tails if candidate.tails == "learnt" else (1.0, 1.0)
        if self.side_ == "both":
            return lower, upper
        return (lower, FAR * lower) if self.side_ == "lower" else (FAR * upper, upper)

    def _rank_anew(self) -> None:
        """Rank new rows for the side in force; the group is looked up when they are asked about."""
        if self.stacks_ is None:
            super()._rank_anew()
            return
        stacks = []
        for each, stack in zip(self.candidates_, self.stacks_, strict=True):
            lower, upper = (np.full(len(stack), tail) for tail in self._tails(each))
            factor = (lower + upper).mean() / (stack.lower + stack.upper).mean()
            stacks.append(replace(stack, lower=lower, upper=upper, widths=stack.widths * float(factor)))
        self.stacks_ = stacks

    def _rounding(self, trial: Rows, prediction: Floats) -> float:
        """Return by how much a score may change because predictions are rounded differently, row by row and at once."""
        off = predictions_off(self.base_.predict, trial.X, prediction)
        mean, size = prediction.T
        least = float(size.min()) * min(*self.base_.tails, 1.0)
        spread = float(np.abs(trial.y - mean).max() + np.ptp(trial.y))
        rounding: float = 4 * (float(off[0]) + spread * float(off[1]) / float(size.min())) / least / self.unit_
        return rounding

    def _look_back(self, y: Floats, views: list[Views]) -> None:
        """Keep what each candidate explains of the trial rows, and find the one that is narrowest on them."""
        self.explained_ = []
        for stack, view in zip(self.stacks_ or [], views, strict=True):
            errors = stack.residuals * view.scale / _left(stack)
            # As far from y as y from the others' mean.
            self.explained_.append(share_explained(y, y - errors * (len(y) - 1) / len(y)))
        self._find_best()

    def _find_best(self) -> None:
        """Find the candidate that is narrowest on the trial rows at the level, for points and diagnostics."""
        stacks = self.stacks_ or []
        deleted = [_deleted_scores(stack) for stack in stacks]
        first, last = band_of(self.alpha_, len(deleted[0]))
        widths = [
            np.sort(scores)[first - 1 : last].mean() * stack.widths * handicap
            for scores, stack, handicap in zip(deleted, stacks, self.handicaps_, strict=True)
        ]
        self.best_ = int(np.argmin(widths))
        self.calibration_ = calibrated(deleted[self.best_], self.marks_)
        self.base_r2_ = self.explained_[self.best_]

    def _move(self, old: Level, alpha: Level) -> None:
        super()._move(old, alpha)
        if self.stacks_ is not None:
            self._find_best()

    def _choice(self) -> Choice:
        """Return the choice at the arm's level, for its side and group; it is computed once and not saved."""
        alpha = check_alpha(self.alpha_)  # 0.1 and 1/10 are one level
        key, everyone = (alpha, self.side_, self.group_), (alpha, self.side_, None)
        marks = self.marks_
        if everyone not in self._choices:
            weights = None if marks is None or marks.alike else marks.weights()
            self._choices[everyone] = Choice.of(self.stacks_ or [], alpha, self.handicaps_, weights, self.side_)
        if key not in self._choices and marks is not None:
            choice, weights = self._choices[everyone], marks.weights(self.group_)
            alike = choice.among(np.flatnonzero(weights), self.alpha_) if marks.alike else None
            self._choices[key] = alike or choice.weighing(weights)
        return self._choices[key]

    def predict(self, X: Table | NewRows) -> Floats:
        """Return point predictions of the outcome under this arm's treatment."""
        rows = self._new_rows(X)
        if self.stacks_ is None or not len(rows):
            return super().predict(rows)
        view = self._views(rows.X, rows.prediction)[self.best_]
        points = self.stacks_[self.best_].place(view).centre * self.unit_
        return points if self.outcome_range_ is None else np.clip(points, *self.outcome_range_)

    def _for_others(self) -> Self:
        other = super()._for_others()
        if other is not self:
            other._choices = {}
        return other

    def _scores_of(self, rows: NewRows) -> Floats:
        return super()._scores_of(rows) if self.stacks_ is None else rows.prediction[:, 0]

    def _sets(self, rows: NewRows) -> IntervalSets:
        if self.stacks_ is None:
            return super()._sets(rows)
        choice = self._choice()
        sets: IntervalSets = rows.once(
            choice, lambda: choice.sets(self._views(rows.X, rows.prediction), rows.weight).scaled(self.unit_)
        )
        return sets if self.outcome_range_ is None else sets.clip(*self.outcome_range_)

    def _members(self, rows: NewRows, values: Floats) -> Booleans:
        if self.stacks_ is None:
            return super()._members(rows, values)
        return self._choice().contains(self._views(rows.X, rows.prediction), values / self.unit_, rows.weight)

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)  # choices too, which are not saved
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_choices"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._choices = {}


def _unit(y: Floats) -> float:
    """Return the power of two nearest to the spread of outcomes: in it numbers are near 1, and the change is exact."""
    spread = max(float(np.std(y)), 1e-9 * float(np.abs(y).max()), float(np.finfo(np.float64).tiny))
    return float(2.0 ** round(np.log2(spread)))


def _deleted_scores(stack: Stack) -> Floats:
    """Return each trial row's score by the regression without it."""
    scores: Floats = np.maximum(-stack.residuals / stack.lower, stack.residuals / stack.upper) / _left(stack)
    return scores


def _left(stack: Stack) -> Floats:
    """Return 1 - h of each trial row: what is left of its outcome in its own residual."""
    left: Floats = np.maximum(1 - np.einsum("ij,ij->i", stack.features, stack.features), ALONE)
    return left
