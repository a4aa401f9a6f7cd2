"""The tipping point of a statement: how much more frequent people may be than in the trial until it falls."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from confide.data.arrow import take_rows
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Label, Places, Table

# Tipping points are told in hundredths, and looked for up to this one.
HUNDREDTHS = 100
MOST = 1000


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
    """Return the largest gamma at which a statement about each row still stands.

    The statement is that the row's interval lies above, or below, a value. It is about the effect of ``treated``
    against ``control``, or about the outcome under ``treatment`` if that is given. A tipping point of 2 means: the
    statement keeps its promise unless people like those asked about are more than twice as frequent among them as in
    the trial, for reasons that are not in X (`CounterfactualIntervals.with_gamma`).

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
    """
    check_is_fitted(model)
    value = above if below is None else below
    if (above is None) == (below is None) or value is None:
        raise ValueError(f"give above or below, and one of them, got above={above!r} and below={below!r}.")
    if treatment is not None and not (treated is None and control is None):
        raise ValueError(
            "treatment asks about an outcome, treated and control about an effect: give the one or the others."
        )
    at: dict[int, CounterfactualIntervals] = {}

    def stands(hundredths: int, rows: Places) -> Any:
        if hundredths not in at:
            at[hundredths] = model.with_gamma(hundredths / HUNDREDTHS)
        other = at[hundredths]
        some = take_rows(X, rows)
        if treatment is None:
            intervals = other.predict_effect_interval(some, treated, control)
        else:
            intervals = other.predict_interval(some, treatment)
        return intervals.lower > value if below is None else intervals.upper < value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        count = len(model.encode(X))
        all_rows = np.arange(count)
        standing = all_rows[stands(HUNDREDTHS, all_rows)]
        warnings.simplefilter("ignore", PopulationWarning)  # the rows are the same: one warning is enough
        last = _last_standing(stands, standing)
    found = np.full(count, np.nan)
    found[standing] = np.where(last >= MOST * HUNDREDTHS, np.inf, last / HUNDREDTHS)
    return found


def _last_standing(stands: Callable[[int, Places], Any], rows: Places) -> Places:
    """Return, for rows whose statement stands at 1, the last hundredth at which it does, by bisection."""
    low, high = np.full(len(rows), HUNDREDTHS), np.full(len(rows), MOST * HUNDREDTHS + 1)
    while (high - low > 1).any():
        # The geometric middle: most tipping points are small.
        middle = np.clip(np.sqrt(low * high.astype(np.float64)).astype(np.intp), low + 1, np.maximum(high - 1, low + 1))
        for hundredths in np.unique(middle[high - low > 1]):
            mine = np.flatnonzero((middle == hundredths) & (high - low > 1))
            standing = stands(int(hundredths), rows[mine])
            low[mine[standing]] = hundredths
            high[mine[~standing]] = hundredths
    return low
