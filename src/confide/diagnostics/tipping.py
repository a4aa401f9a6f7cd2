"""The tipping point of a statement: how much more frequent people may be than in the trial until it falls."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide.base.advice import Advice
from confide.base.notebook import Records, ShownRecord
from confide.diagnostics.asked_rows import asked_rows
from confide.exceptions import InfiniteIntervalWarning, RefusalError
from confide.methods.study_arms import check_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from confide.conformal.intervals import Intervals
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Label, Places, Table

# Statements are looked at where a row of an arm begins or ends to count, and at gammas that grow by this factor, up to
# the last one.
FACTOR = 1.05
MOST = 1000
ROUNDING = 1e-9
# Where `gamma_curve` looks unless it is told.
GAMMAS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class AtGamma(ShownRecord):
    """How many effects are still known to be on one side of 0.

    Attributes
    ----------
    gamma : float
        How many times as frequent as in the trial people may be, for reasons that are not in the covariates.
    above, below : int
        Number of rows whose effect interval lies above, and below, 0, here and at every smaller gamma of the curve.
    """

    gamma: float
    above: int
    below: int


def tipping_point(
    model: CounterfactualIntervals,
    X: Table,
    treatment: Label | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    treated: Label | None = None,
    control: Label | None = None,
) -> Floats:
    """Return the largest gamma up to which a statement about each row stands.

    The statement is that the row's interval lies above, or below, a value. It is about the effect of ``treated``
    against ``control``, or about the outcome under ``treatment`` if that is given. A tipping point of 2 means: the
    statement keeps its promise as long as nobody among those asked about is more than twice as frequent as in the
    trial, for reasons that are not in X (`CounterfactualIntervals.with_gamma`).

    The promise is about one statement that was chosen beforehand. Of many rows, those with the largest tipping points
    were chosen by it, and are not promised anything together.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted.
    X : frame or (n, d) array
        Covariates.
    treatment : label, default None
        Ask about the outcome under this treatment; None: about the effect.
    above, below : float
        The value that the interval must lie above, or below: one of the two.
    treated, control : label, default None
        The arms of the effect, as in `CounterfactualIntervals.predict_effect`.

    Returns
    -------
    (n,) array
        Rounded down to hundredths. NaN where the statement does not stand at all; infinite where it stands at 1000 too,
        as one does that the outcome's declared range implies.

    Notes
    -----
    With methods that choose or learn anew at each level, such as ``"prognostic"``, a statement may fall and stand again
    at a larger gamma. The tipping point is where it falls first. Where the promise itself falls below its level, as
    with ``clipped``, no statement stands.
    """
    check_is_fitted(model)
    value = above if below is None else below
    if (above is None) == (below is None) or value is None:
        raise ValueError(f"give above or below, and one of them, got above={above!r} and below={below!r}.")
    if treatment is not None and not (treated is None and control is None):
        raise ValueError(
            "treatment asks about an outcome, treated and control about an effect: give the one or the others."
        )
    at, count = _intervals(model, X, treatment, (treated, control))

    def stands(gamma: float, rows: Places) -> Any:
        intervals = at(gamma, rows)
        if intervals is None:
            return np.zeros(len(rows), dtype=bool)
        return intervals.lower > value if below is None else intervals.upper < value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        found, standing = np.full(count, np.nan), np.arange(count)
        for gamma in _gammas(model):
            standing = standing[stands(gamma, standing)]
            found[standing] = gamma if gamma < MOST else np.inf
            if not len(standing):
                break
    return found


def gamma_curve(
    model: CounterfactualIntervals,
    X: Table | Mapping[Label, NewRows],
    gammas: Iterable[float] = GAMMAS,
    *,
    treated: Label | None = None,
    control: Label | None = None,
) -> list[AtGamma]:
    """Return how many effects stay on one side of 0 as gamma grows: the tipping points of many rows, counted.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted.
    X : frame or (n, d) array
        Covariates; or the rows as each arm has taken them.
    gammas : floats
        Of these, those above the model's own are looked at, in order, after its own.
    treated, control : label, default None
        The arms of the effect, as in `CounterfactualIntervals.predict_effect`.

    Returns
    -------
    list of AtGamma
        One record per gamma. A row that has fallen does not count again (see `tipping_point`).
    """
    check_is_fitted(model)
    at, count = _intervals(model, X, None, (treated, control))
    own = float(model.gamma_)
    sides = dict.fromkeys(("above", "below"), np.arange(count))
    found: Records[AtGamma] = Records()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        for gamma in [own, *sorted(each for each in set(gammas) if each > own)]:
            rows = np.union1d(*sides.values())
            intervals = at(gamma, rows) if len(rows) else None
            for side, standing in sides.items():
                if intervals is None:
                    sides[side] = rows[:0]
                    continue
                holds = intervals.lower > 0 if side == "above" else intervals.upper < 0
                sides[side] = np.intersect1d(standing, rows[holds], assume_unique=True)
            found.append(AtGamma(gamma, len(sides["above"]), len(sides["below"])))
    return found


def _intervals(
    model: CounterfactualIntervals,
    X: Table | Mapping[Label, NewRows],
    treatment: Label | None,
    pair: tuple[Label | None, Label | None],
) -> tuple[Callable[[float, Places], Intervals | None], int]:
    """Return a function of gamma and rows, and the number of rows.

    It gives intervals, or None where the promise itself falls below its level. Rows are read and predicted once.

    Raises a RefusalError if the model promises nothing.
    """
    alpha = model.alpha_
    promised = _promise(model, treatment).level(alpha)
    if promised is None:
        raise RefusalError(
            Advice.of(
                f"{model.method_} promises nothing for this, and a statement without a promise has no tipping point.",
                "Use a method that keeps its level.",
            )
        )

    if treatment is not None:
        check_known(treatment, model.arms_)
    labels = model._pair(*pair) if treatment is None else (treatment,)
    rows = asked_rows(model, X, labels, stacklevel=3)

    def at(gamma: float, places: Places) -> Intervals | None:
        other = model.with_gamma(gamma)
        kept = _promise(other, treatment).level(alpha)
        if kept is None or kept < promised - ROUNDING:
            return None
        some = {label: rows[label][places] for label in labels}
        if treatment is None:
            return other.effect_.predict_interval(some, *labels)
        return other._arm(treatment).predict_interval(some[treatment])

    return at, len(rows[labels[0]])


def _promise(model: CounterfactualIntervals, treatment: Label | None) -> Promise:
    return model.effect_promise_ if treatment is None else model.promise_


def _gammas(model: CounterfactualIntervals) -> list[float]:
    """Return the gammas to look at, in order, each rounded down to hundredths.

    Without weights, sets change only where the rank of a quantile does: at a level of k/(m+1), m the calibration rows.
    """
    growing = FACTOR ** np.arange(math.log(MOST) / math.log(FACTOR))
    ranks = [
        float(level) * (count + 1) / np.arange(1, int(float(level) * (count + 1)) + 1)
        for level in (model.alpha_, model.arm_alpha_)
        for count in {len(arm.calibration_.scores) for arm in model.arms_.values()}
    ]
    every = np.floor(100 * np.concatenate([growing, *ranks]) + ROUNDING) / 100
    return [*np.unique(every[every >= 1]).tolist(), float(MOST)]
