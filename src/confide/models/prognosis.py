"""What a large table says of a row before its outcome is known: a prognostic score, and how far off it usually is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from confide.base.cache import fit_once
from confide.base.progress import part
from confide.models.auto import AutoRegressor
from confide.models.base_model import learn
from confide.models.fitting import seeded
from confide.models.held_out import held_out
from confide.models.preprocessing import prepared

if TYPE_CHECKING:
    from confide.data.splits import Rows
    from confide.typing import Floats, Regressor

# With fewer rows the size of errors is not learnt: it is 1 for all.
LEAST_ROWS = 50
# Errors below this share of their median count as that; a tail reaches at least this share of both together.
FLOOR = 0.1
# Share of the errors in each tail.
TAIL = 0.05


class Prognosis(BaseEstimator):
    """The mean μ̂(x) of outcomes in a large table, and the size σ̂(x) of its errors.

    `predict` gives both as two columns. σ̂ is above 0, of geometric mean 1 over the table, and nowhere smaller or larger
    than on the rows that it was learnt from: a row unlike all others is no reason for a width unlike all others.

    Parameters
    ----------
    model : fitted regressor
        μ̂.
    size : fitted regressor or None
        The logarithm of σ̂, up to a constant; None: σ̂ is 1.
    centre : float
        That constant.
    limits : (float, float)
        The least and the largest logarithm of σ̂ over the table, with that constant.
    tails : (float, float)
        How far errors in units of σ̂ reach below and above 0; the mean of both is 1.
    """

    def __init__(
        self,
        model: Any,
        size: Any = None,
        centre: float = 0.0,
        limits: tuple[float, float] = (-np.inf, np.inf),
        tails: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self.model = model
        self.size = size
        self.centre = centre
        self.limits = limits
        self.tails = tails

    def predict(self, X: Floats) -> Floats:
        """Return μ̂ and σ̂."""
        mean = self.model.predict(X)
        size = (
            np.ones(len(X)) if self.size is None else np.exp(np.clip(self.size.predict(X), *self.limits) - self.centre)
        )
        return np.column_stack([mean, size])


def learn_prognosis(base: Regressor | str | None, rows: Rows, seed: int) -> Prognosis:
    """Return the prognosis that rows give: the base model, and a model of the errors that it makes on rows held out.

    σ̂ is the exponential of a regression of log(|error| + δ): a few large errors do not rule it, as they rule a
    regression of |error|. The tails are quantiles of the errors in units of σ̂, at 5 and 95 % whatever the level.
    """
    with part(0, 2):
        model = learn(base, rows, seed)
        places, predicted = held_out(model, rows, seed)
    errors = rows.y[places] - predicted
    sizes = np.abs(errors)
    typical = float(np.median(sizes)) if len(places) >= LEAST_ROWS else 0.0
    if not typical > 0:
        return Prognosis(model)
    X = rows.X[places]
    with part(1, 2):
        size = fit_once(prepared(seeded(AutoRegressor(), seed)), X, np.log(sizes + FLOOR * typical))
    logarithms = size.predict(X)
    centre = float(logarithms.mean())
    below, above = np.quantile(errors / np.exp(logarithms - centre), [TAIL, 1 - TAIL])
    together = above - below
    reach = np.maximum([-below, above], FLOOR * together) if together > 0 else np.ones(2)
    lower, upper = (reach / reach.mean()).tolist()
    limits = float(logarithms.min()), float(logarithms.max())
    return Prognosis(model, size, centre, limits, (lower, upper))
