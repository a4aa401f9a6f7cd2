"""The base class of all methods: point predictions, intervals and sets of one fitted arm."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from confide.base.advice import Advice
from confide.conformal.grid import rows_at_once, solve_on_grid
from confide.conformal.intervals import Intervals, IntervalSets, count_rows, shortage
from confide.conformal.marks import calibrated
from confide.conformal.quantile import check_alpha
from confide.exceptions import InfiniteIntervalWarning, RefusalError
from confide.methods.learning import ArmLearner
from confide.methods.new_rows import NewRows
from confide.methods.promise import NOT_STATED, Promise
from confide.models.scores import AbsoluteResidual, OneSided

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from confide.typing import Booleans, Floats, Level, Places, Table


class ArmEstimator(ArmLearner):
    """Prediction intervals for one arm, from what `ArmLearner` learns.

    A method implements `_sets`, or only calibrates; a method with a promise or a name in METHODS implements `_promise`
    and `_name`. They are not inherited: a class derived from a method may change what is promised.
    """

    # Whether all new rows share one offset; if so, `_offsets` must return it.
    _shares_offset: ClassVar[bool] = False

    @property
    def promise(self) -> Promise:
        """The coverage that the method promises with its parameters; once fitted, with those it was fitted with."""
        return self._promise_at(self.alpha_) if hasattr(self, "alpha_") else self._stated()

    def _promise_at(self, alpha: Level) -> Promise:  # noqa: ARG002
        """Return what the fitted arm promises at a level."""
        return self._stated()

    def _stated(self) -> Promise:
        """Return the promise of the parameters in force, if the class states one itself."""
        return self._in_force()._promise() if "_promise" in vars(type(self)) else NOT_STATED

    @property
    def method_name(self) -> str:
        """The method's name in METHODS; the name of the class if it has none. Once fitted, it stays."""
        return self._in_force()._name() if "_name" in vars(type(self)) else type(self).__name__

    def _in_force(self) -> Self:
        """Return an arm with the parameters that answers come from: once fitted, those it was fitted with."""
        return self.fitted_as_ if hasattr(self, "fitted_as_") else self

    def _promise(self) -> Promise:
        """Return the promise with these parameters."""
        return NOT_STATED

    def _name(self) -> str:
        """Return the name in METHODS that these parameters have."""
        return type(self).__name__

    def _shortage(self) -> str | None:
        """Return why all intervals are infinite, with the remedy; None if they are not."""
        if self.weights_ is not None and self.marks_ is not None:
            return self.weights_.shortage(self.marks_, self._quantile_alpha(), self._reach())
        if np.isfinite(self.calibration_.quantile(self._quantile_alpha(), 1.0)):
            return None
        rows = count_rows(len(self.calibration_.scores))
        units = "rows" if self.weights_ is None else self.weights_.units
        return shortage(self._quantile_alpha(), rows, self._calibrates_on, f"All intervals are {self._reach()}", units)

    def _reach(self) -> str:
        """Return the words for an interval without a finite quantile."""
        return "infinite" if self.outcome_range_ is None else "as wide as the outcome"

    def predict(self, X: Table | NewRows) -> Floats:
        """Return point predictions of the outcome under this arm's treatment."""
        rows = self._new_rows(X)
        if not len(rows):
            return np.empty(0)
        points = self.score_.point(rows.prediction)
        return points if self.outcome_range_ is None else np.clip(points, *self.outcome_range_)

    def _prognosis(self, X: Table | NewRows) -> Floats:
        """Return the prognostic score of rows: their outcomes as observational rows alone predict them.

        It has no part in how trial rows turn out, so that it may be used for anything that rests on randomisation.
        """
        if self.learnt_from_trial_:
            raise RefusalError(
                Advice.of(
                    f"{self.method_name} learns from trial rows, whose outcomes it would use twice.",
                    "Use prognostic, transfer or transfer-centred, with observational rows of each treatment.",
                )
            )
        return self._ranking(X)

    def _ranking(self, X: Table | NewRows) -> Floats:
        """Return the scores by which people are ranked: outcomes as the rows that were learnt from predict them."""
        rows = self._new_rows(X)
        return self._scores_of(rows) if len(rows) else np.empty(0)

    def _scores_of(self, rows: NewRows) -> Floats:
        """Return the base model's points, up to a constant."""
        return self.score_.point(rows.prediction)

    def predict_interval(self, X: Table | NewRows) -> Intervals:
        """Return one interval per row, the hull of its set; an end may be infinite."""
        return self.predict_set(X).hull()

    def predict_set(self, X: Table | NewRows) -> IntervalSets:
        """Return one prediction set per row: intervals, or a subset of ``outcome_values``."""
        rows = self._new_rows(X)
        if not len(rows):
            discrete = self.outcome_values_ is not None
            return IntervalSets(np.empty(0), np.empty(0), np.zeros(1, dtype=np.intp), discrete)
        if self.group_ is None and rows.group is None and self.weights_ is not None and self.weights_.groups:
            raise ValueError("this arm ranks new rows within groups: ask it through CounterfactualIntervals.")
        if self.group_ is not None or rows.group is None:
            return self._predict_set(rows)
        places = [np.flatnonzero(rows.group == group) for group in np.unique(rows.group)]
        parts = [self._in_group(int(rows.group[mine[0]]))._predict_set(rows[mine]) for mine in places]
        return IntervalSets.concatenate(parts).take(np.argsort(np.concatenate(places)))

    def _predict_set(self, rows: NewRows) -> IntervalSets:
        """Return the sets of rows that are ranked together."""
        values = self.outcome_values_
        if values is None:
            return self._sets(rows)
        chunks = rows.chunks(rows_at_once(1, rows.X.shape[1] + 1))
        return IntervalSets.of_values(values, np.concatenate([self._members(chunk, values) for chunk in chunks]))

    def _sets(self, rows: NewRows) -> IntervalSets:
        """Return the sets of a continuous outcome: here one interval per row."""
        quantile = self.calibration_.quantile(self.alpha_, self._test_weight(rows))
        return IntervalSets.of(self._clip(self.score_.interval(rows.prediction, quantile)))

    def _members(self, rows: NewRows, values: Floats) -> Booleans:
        """Return whether each row's set contains each value, one column per value, by the membership rule."""
        return np.column_stack([self._is_member(rows, np.full(len(rows), value)) for value in values])

    def _is_member(self, rows: NewRows, y: Floats) -> Booleans:
        """Return whether each outcome is in its row's set, by the membership rule."""
        scores = self.score_.score(rows.prediction, y)
        return self.calibration_.contains(scores, self.alpha_, self._test_weight(rows, y))

    def _search(self, rows: NewRows, known: ArrayLike, tolerance: float) -> IntervalSets:
        """Return the sets by evaluating `_is_member` over ``grid_``, in bounded memory.

        ``known`` is an offset that is certainly inside; ``tolerance`` is a share of the searched range.
        """

        def solve(some: NewRows) -> IntervalSets:
            inside = self.score_.interval(some.prediction, np.asarray(known))
            return solve_on_grid(
                lambda places, y: self._is_member(some[places], y),
                inside,
                self.grid_,
                tolerance * float(np.ptp(self.grid_)),
            )

        step = rows_at_once(len(self.grid_) + 2, rows.X.shape[1] + 1)
        return IntervalSets.concatenate([solve(some) for some in rows.chunks(step)])

    def _why_no_offset(self) -> str | None:
        """Return why intervals are not `_anchors` moved apart by `_offsets`; None if they are."""
        if self.weights_ is not None:
            return "trial rows have weights or groups: each new row has an offset of its own"
        if not self._shares_offset:
            return "with this method each new row has an offset of its own, or none"
        if self.outcome_values_ is not None:
            return "the outcome is discrete: a set of values has no offset"
        if not hasattr(self.score_, "anchors"):
            return f"with the score {self.conformity_score!r} each new row has an offset of its own"
        return None

    def _has_one_width(self) -> bool:
        """Return whether all new rows have intervals of one width, except where the outcome's bounds clip them."""
        plain = self._shares_offset and self.weights_ is None
        return plain and self.outcome_values_ is None and type(self.score_) is AbsoluteResidual

    def _anchors(self, rows: NewRows) -> tuple[Floats, Floats]:
        """Return the two ends per row that `_offsets` move apart (`confide.conformal.intervals.moved_apart`)."""
        ends: tuple[Floats, Floats] = self.score_.anchors(rows.prediction)  # type: ignore[attr-defined]
        return ends

    def _offsets(self) -> tuple[float, float]:
        """Return how far intervals reach below and above their `_anchors` at the arm's level; may be infinite."""
        offset = float(self.calibration_.quantile(self.alpha_))
        return offset, offset

    def with_alpha(self, alpha: Level) -> Self:
        """Return a copy at another level; the base model and the ratio are kept."""
        other = self._at(alpha)
        other._warn_of_shortage()
        return other

    def _at(self, alpha: Level) -> Self:
        """Return what `with_alpha` returns, without a warning: for callers that warn in their own words."""
        check_is_fitted(self)
        check_alpha(alpha)
        if refusal := self._why_not_at(alpha):
            raise ValueError(refusal)
        other = copy.copy(self)
        other._move(self.alpha_, alpha)
        return other

    def _why_not_at(self, alpha: Level) -> str | None:  # noqa: ARG002
        """Return why the arm's parameters do not support this level; None if they do."""
        return None

    def _move(self, old: Level, alpha: Level) -> None:  # noqa: ARG002
        """Set a fitted arm's level, the parameter and what is in force, from the level that was in force."""
        self.alpha = self.alpha_ = alpha
        self.fitted_as_ = clone(self.fitted_as_).set_params(alpha=alpha)

    def _warn_of_shortage(self) -> None:
        if shortage := self._shortage():
            warnings.warn(shortage, InfiniteIntervalWarning, stacklevel=3)

    def _test_weight(self, rows: NewRows, y: Floats | float = np.nan) -> ArrayLike:  # noqa: ARG002
        """Return the weight of new rows if y were their outcomes."""
        return rows.weight

    def _in_group(self, group: int) -> Self:
        """Return a copy whose new rows are ranked among trial rows of that group; -1: one without trial rows."""
        other = copy.copy(self)
        other.group_ = group
        other._rank_anew()
        return other

    def _for_others(self) -> Self:
        """Return a copy whose trial rows stand for people who received the other one of two treatments."""
        if self.weights_ is None or self.weights_.largest is None or self.marks_ is None:
            return self
        other = copy.copy(self)
        other.weights_, other.marks_ = self.weights_.for_others(), self.marks_.as_odds()
        other._rank_anew()
        return other

    def _on_side(self, side: str) -> Self:
        """Return a copy whose intervals have a "lower" or an "upper" end only."""
        if side == "both":
            return self
        self._check_takes("side")
        if not hasattr(self.score_, "ends"):
            raise ValueError(
                f"side={side!r} needs a score that measures from two ends, and {self.conformity_score!r} has none: "
                "give it the method ends(prediction), or use 'absolute', 'cqr' or 'normalised'."
            )
        other = copy.copy(self)
        other.side_, other.score_ = side, OneSided(self.score_, side)
        other._rank_anew()
        return other

    def _rank_anew(self) -> None:
        """Calibrate for the side and the group in force."""
        self.calibration_ = calibrated(self.scores_[self.side_], self.marks_, self.group_)

    def _searches(self) -> bool:
        """Return whether sets are searched over ``grid_``, and therefore cannot reach beyond it."""
        return False

    def _quantile_alpha(self) -> Level:
        """Return the level of the quantile over ``calibration_``."""
        return self.alpha_

    def _clip(self, intervals: Intervals) -> Intervals:
        return intervals if self.outcome_range_ is None else intervals.clip(*self.outcome_range_)

    def _new_rows(
        self, X: Table | NewRows, assignment: ArrayLike | None = None, group: Places | None = None
    ) -> NewRows:
        """Return covariates checked, with the base model's predictions at hand; such rows are returned as they are.

        ``assignment`` and ``group`` are the rows' probabilities of this arm's treatment, and their groups.
        """
        check_is_fitted(self)
        if isinstance(X, NewRows):
            return X
        checked = validate_data(
            self, X, reset=False, ensure_all_finite="allow-nan", ensure_min_samples=0, dtype=np.float64
        )
        if self.weights_ is None:
            return NewRows(checked, self.base_)
        return NewRows(checked, self.base_, weight=self.weights_.own(checked, assignment), group=group)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibration_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags
