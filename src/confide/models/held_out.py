"""Predictions for rows by models that have not seen them, at the cost of as few fits as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from confide.models.auto import AutoRegressor
from confide.models.comparison import COMPARISON_ROWS, FOLDS
from confide.models.fitting import weights_for

if TYPE_CHECKING:
    from confide.data.splits import Rows
    from confide.models.preprocessing import Learner
    from confide.typing import Floats, Places


def held_out(model: Learner, rows: Rows, seed: int) -> tuple[Places, Floats]:
    """Return the places of some of the rows that the model was fitted on, and predictions by models without them.

    The automatic base model has made them when it compared its candidates; any other one is fitted once per fold. There
    are at most `COMPARISON_ROWS`, and none of a single row.
    """
    last = model.steps[-1][1]
    if isinstance(last, AutoRegressor) and len(last.held_out()[0]):
        return last.held_out()
    places = np.random.default_rng(seed).permutation(len(rows))[:COMPARISON_ROWS]
    if rows.more is not None:  # it has not learnt from those in memory
        return places, np.asarray(model.predict(rows.X[places]))
    if len(places) < 2:
        return places[:0], np.empty(0)
    some = rows[places]
    folds = KFold(min(FOLDS, len(places)), shuffle=True, random_state=seed)
    weights = weights_for(model, some.weight)
    return places, np.asarray(cross_val_predict(clone(model), some.X, some.y, cv=folds, params=weights))
