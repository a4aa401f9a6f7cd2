"""Coverage on held-out rows by decile of the predicted outcome, or of the width."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from confide.base.notebook import Records, ShownRecord
from confide.diagnostics.coverage import Coverage, Measured
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Labels, Places, Table

    Ordering = Literal["prediction", "width"]

PARTS = 10
# Values that differ by less than this share of the sets' largest end are equal: widths of one size differ by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class PartCoverage(ShownRecord):
    """Achieved coverage of one arm's held-out rows in one decile, or another part of equal size.

    Attributes
    ----------
    of : str
        What rows are put in order by: ``"prediction"`` or ``"width"``.
    part, parts : int
        The place, from 1 for the lowest values, and the number of parts that were asked for.
    least, most : float
        The smallest and the largest value among its rows.
    coverage : Coverage
        Coverage of its rows.
    """

    of: Ordering
    part: int
    parts: int
    least: float
    most: float
    coverage: Coverage


def coverage_by_decile(
    model: CounterfactualIntervals,
    X_test: Table,
    y_test: ArrayLike,
    treatment: Labels,
    of: Ordering = "prediction",
    *,
    parts: int = PARTS,
    assignment: ArrayLike | None = None,
) -> list[PartCoverage]:
    """Return, per arm, how often sets contain the outcome, by decile of the predicted outcome or of the set's size.

    It shows where a model covers too much and where too little: among people with high predictions, say, or where sets
    are narrow. A model promises its level over all people, or within the groups that it was fitted with, not within
    deciles. Deciles are of each arm's own rows. They do not depend on outcomes, so that each exact interval holds for
    the mean coverage at its own rows' covariates; of ten, some miss by chance.

    Parameters
    ----------
    model, X_test, y_test, treatment
        As in `coverage_report`, the rows held out as there.
    of : {"prediction", "width"}, default "prediction"
        What rows are put in order by: the point prediction under the assigned treatment, or the size of the set, which
        one-sided sets do not have.
    parts : int, default 10
        The number of parts: 10 for deciles, 5 for fifths, where rows are few.
    assignment : (n,) array, default None
        The probability of each row's assigned treatment, as in `coverage_report`.

    Returns
    -------
    list of PartCoverage
        An arm's parts one after the other, from the lowest. Rows of equal value are together, in the lowest of their
        parts; parts without rows are left out.
    """
    if of not in ("prediction", "width"):
        raise ValueError(f"of must be 'prediction' or 'width', got {of!r}.")
    if parts < 1:
        raise ValueError(f"parts must be at least 1, got {parts}; 10 for deciles.")
    measured = Measured.of(model, X_test, y_test, treatment, assignment=assignment)
    if of == "prediction":
        with warnings.catch_warnings():
            for category in (PopulationWarning, InfiniteIntervalWarning):
                warnings.simplefilter("ignore", category)  # said when the sets were made
            values = model.predict(X_test, treatment)
    elif model.side_ != "both":
        raise ValueError(f"sets of side={model.side_!r} have no width: use of='prediction'.")
    else:
        values = measured.measure
    ends = np.abs(np.concatenate([measured.hulls.lower, measured.hulls.upper]))
    rounding = ROUNDING * float(ends[np.isfinite(ends)].max(initial=0.0))
    found: Records[PartCoverage] = Records()
    for label, arm in measured.arms.items():
        places = _places(values[arm], parts, rounding)
        for place in np.unique(places):
            rows = arm.copy()
            rows[arm] = places == place
            least, most = float(values[rows].min()), float(values[rows].max())
            found.append(PartCoverage(of, int(place) + 1, parts, least, most, measured.at(rows, label)))
    return found


def _places(values: Floats, parts: int, rounding: float) -> Places:
    """Return the part of each value, from 0: the number of inner quantiles below it. Values may be infinite."""
    order = np.argsort(values, kind="stable")
    with np.errstate(invalid="ignore"):
        steps = np.diff(values[order], prepend=values[order[:1]]) > rounding  # from infinity to infinity is no step
    level = np.cumsum(steps)
    ranks = -(-len(values) * np.arange(1, parts) // parts)
    places = np.empty(len(values), dtype=np.intp)
    places[order] = np.searchsorted(level[ranks - 1], level, side="left")
    return places
