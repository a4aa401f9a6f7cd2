"""Everything a fitted model says about new rows, as the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from confide.checks import examples
from confide.learners import sharing_predictions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from confide.counterfactual import CounterfactualIntervals


def answer_columns(model: CounterfactualIntervals) -> list[str]:
    """Return the names of the columns that `answers` gives."""
    names = [f"y_{label}" for label in model.arms_]
    names += [f"effect_{treated}_vs_{control}" for treated, control in contrasts(model)]
    return [f"{name}{end}" for name in names for end in ("", "_lower", "_upper")]


def contrasts(model: CounterfactualIntervals) -> list[tuple[Any, Any]]:
    """Return the pairs whose effects are told: every treatment against the first."""
    control, *others = model.arms_
    return [(treated, control) for treated in others]


def answers(model: CounterfactualIntervals, encoded: NDArray[np.float64]) -> pa.Table:
    """Return points and intervals for every treatment and every effect, one row a row of `model.encode`'s matrix.

    The columns are ``y_<t>``, ``y_<t>_lower``, ``y_<t>_upper`` for each treatment t, then ``effect_<a>_vs_<b>`` and its
    ends for each treatment a against the first, b. An end that is nowhere, because a set is empty, is missing.
    """
    found: list[NDArray[np.float64]] = []
    with sharing_predictions():
        for arm in model.arms_.values():
            found += [arm.predict(encoded), *arm.predict_interval(encoded)]
        for treated, control in contrasts(model):
            point = model.arms_[treated].predict(encoded) - model.arms_[control].predict(encoded)
            found += [point, *model.effect_.predict_interval(encoded, treated, control)]
    columns = [pa.array(values, from_pandas=True) for values in found]
    return pa.table(columns, names=answer_columns(model))


def beside(carried: pa.Schema, model: CounterfactualIntervals) -> pa.Schema:
    """Return the schema of an output: the input's own columns, then the answers; raise where names collide."""
    names = answer_columns(model)
    twice = [name for name in carried.names if name in names]
    if twice:
        raise ValueError(f"the input has columns that the answers need: {examples(twice)}. Rename them.")
    return pa.schema([*carried, *(pa.field(name, pa.float64()) for name in names)])
