"""How an effect's interval would depend on the correlation of the two outcomes, which no data show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide.base.notebook import Records, ShownRecord
from confide.conformal.intervals import Intervals
from confide.diagnostics.asked_rows import asked_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confide.methods.new_rows import NewRows
    from confide.model import CounterfactualIntervals
    from confide.typing import Label, Table

CORRELATIONS = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class AtCorrelation(ShownRecord):
    """Effects of new rows, if the errors of both outcomes were normal with this correlation: an assumption.

    Attributes
    ----------
    correlation : float
        That of the errors of Y(treated) and Y(control), given the covariates.
    intervals : Intervals
        One per row.
    width : float
        Their mean width, an empty one counting as 0: infinite if one is.
    above, below : float
        Shares of rows whose interval lies above, and below, 0.
    """

    correlation: float
    intervals: Intervals
    width: float
    above: float
    below: float

    @property
    def median(self) -> float:
        """The median width, which a few infinite intervals leave finite; 0 of no rows."""
        return float(np.median(self.intervals.width)) if len(self.intervals) else 0.0

    @property
    def infinite(self) -> float:
        """The share of rows whose interval is infinite; 0 of no rows."""
        return float(self.intervals.infinite.mean()) if len(self.intervals) else 0.0


def correlation_curve(
    model: CounterfactualIntervals,
    X: Table | Mapping[Label, NewRows],
    correlations: Iterable[float] = CORRELATIONS,
    *,
    treated: Label | None = None,
    control: Label | None = None,
) -> list[AtCorrelation]:
    """Return what effects would be at each correlation of the two outcomes' errors: a sensitivity analysis.

    Nobody is seen under both treatments, so that no data tell how an individual's two outcomes go together. An interval
    that keeps its promise whatever that is (`CounterfactualIntervals.predict_effect_interval`) must be wide. Here the
    errors of both outcomes, given the covariates, are *assumed* to be normal with a correlation ρ. Where C₁ and C₀ are
    the arms' intervals at the model's level, of half-widths h₁ and h₀, the effect is then within
    √(h₁² + h₀² - 2·ρ·h₁·h₀) of the difference of their middles. At ρ = 1 people differ in their effects only as the
    spreads of the two arms do. Where one of the two is empty the effect's is, and where one is infinite so is the
    effect's. Nothing of this is promised.

    Parameters
    ----------
    model : CounterfactualIntervals
        Fitted, with intervals of two ends.
    X : frame or (n, d) array
        Covariates; or the rows as each arm has taken them.
    correlations : floats
        From -1 to 1.
    treated, control : label, default None
        The arms, as in `CounterfactualIntervals.predict_effect`.

    Returns
    -------
    list of AtCorrelation
        One record per correlation, in the order given.
    """
    check_is_fitted(model)
    if model.side_ != "both":
        raise ValueError(f"correlations need intervals with two ends, and the model has side={model.side_!r}.")
    given = list(correlations)
    if not given or not all(-1 <= each <= 1 for each in given):
        raise ValueError(f"correlations must be one or more numbers from -1 to 1, got {given!r}.")
    pair = model._pair(treated, control)
    rows = asked_rows(model, X, pair, stacklevel=2)
    above, below = (model._arm(label).predict_interval(rows[label]) for label in pair)
    empty = np.isnan(above.lower) | np.isnan(below.lower)
    with np.errstate(invalid="ignore"):  # infinite ends
        middle = (above.lower + above.upper) / 2 - (below.lower + below.upper) / 2
    unknown = ~np.isfinite(middle) & ~empty
    spread, other = above.width / 2, below.width / 2
    found: Records[AtCorrelation] = Records()
    for correlation in given:
        with np.errstate(invalid="ignore"):
            reach = np.sqrt(np.maximum(spread**2 + other**2 - 2 * correlation * spread * other, 0.0))
        ends = [np.where(unknown, sign * np.inf, middle + sign * reach) for sign in (-1, 1)]
        intervals = Intervals(ends[0], ends[1])
        shares = (float((ends[0] > 0).mean()), float((ends[1] < 0).mean())) if len(middle) else (0.0, 0.0)
        width = float(intervals.width.mean()) if len(middle) else 0.0
        found.append(AtCorrelation(float(correlation), intervals, width, *shares))
    return found
