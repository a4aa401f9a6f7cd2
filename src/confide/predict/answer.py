"""All predictions of a fitted model for new rows, as the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from confide.base.cache import sharing_predictions
from confide.base.validation import examples, suggest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from confide.model import CounterfactualIntervals


def answer_columns(model: CounterfactualIntervals, control: Any = None) -> list[str]:
    """Return the names of the columns that `answers` gives."""
    names = [f"y_{label}" for label in model.arms_]
    names += [f"effect_{treated}_vs_{against}" for treated, against in contrasts(model, control)]
    return [f"{name}{end}" for name in names for end in ("", "_lower", "_upper")]


def contrasts(model: CounterfactualIntervals, control: Any = None) -> list[tuple[Any, Any]]:
    """Return the pairs whose effects are reported: each treatment against the control, by default the first."""
    labels = list(model.arms_)
    named = {str(label): label for label in labels}
    if control is not None and str(control) not in named:
        raise ValueError(f"the control {control!r} is not a treatment; {suggest(control, named)}")
    against = labels[0] if control is None else named[str(control)]
    return [(treated, against) for treated in labels if treated != against]


def answers(model: CounterfactualIntervals, encoded: NDArray[np.float64], control: Any = None) -> pa.Table:
    """Return points and intervals for every treatment and every effect, one row per row of `model.encode`'s matrix.

    The columns are ``y_<t>``, ``y_<t>_lower``, ``y_<t>_upper`` for each treatment t, then ``effect_<a>_vs_<b>`` and its
    ends for each treatment a against the control, b. The ends of an empty set are missing values.
    """
    found: list[NDArray[np.float64]] = []
    with sharing_predictions():
        for arm in model.arms_.values():
            found += [arm.predict(encoded), *arm.predict_interval(encoded)]
        for treated, against in contrasts(model, control):
            point = model.arms_[treated].predict(encoded) - model.arms_[against].predict(encoded)
            found += [point, *model.effect_.predict_interval(encoded, treated, against)]
    columns = [pa.array(values, from_pandas=True) for values in found]
    return pa.table(columns, names=answer_columns(model, control))


def beside(carried: pa.Schema, model: CounterfactualIntervals, control: Any = None) -> pa.Schema:
    """Return the schema of an output: the input's own columns, then the answers; raise if names collide."""
    names = answer_columns(model, control)
    twice = [name for name in carried.names if name in names]
    if twice:
        raise ValueError(f"the input has columns that the answers need: {examples(twice)}. Rename them.")
    return pa.schema([*carried, *(pa.field(name, pa.float64()) for name in names)])
