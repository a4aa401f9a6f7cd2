"""Effects of the trial's own people, whose outcome under one treatment is known, written beside the trial's file."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.data.arrow import take_rows
from confide.data.csv_files import PLAIN, Dialect
from confide.data.files import read_batches
from confide.data.writing import writing
from confide.predict.answer import contrasts, count_signs, effect_columns, with_columns

if TYPE_CHECKING:
    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.typing import Floats


def participant_table(model: CounterfactualIntervals, study: Study) -> pa.Table:
    """Return points and intervals for the effects of the trial's rows, in their order.

    Columns are ``effect_<a>_vs_<b>`` and its ends for each treatment a against the control, b. People who received
    neither of the two have missing values.
    """
    mine = np.flatnonzero(study.trial)
    treatment, y = study.treatment[mine], study.y[mine]
    found: list[Floats] = []
    for treated, against in contrasts(model):
        known = np.flatnonzero((treatment == treated) | (treatment == against))
        received, outcome = treatment[known], y[known]
        X = take_rows(study.X, mine[known])
        chance = None
        if study.assignment is not None and "assignment" in model.carries_ and len(model.arms_) == 2:
            own = study.assignment[mine[known]]
            chance = np.where(received == treated, own, 1 - own)
        intervals = model.predict_effect_interval(
            X, treated, against, assignment=chance, received=received, outcome=outcome
        )
        other = np.where(received == treated, model.predict(X, against), model.predict(X, treated))
        point = np.where(received == treated, outcome - other, other - outcome)
        for values in (point, *intervals):
            column = np.full(len(mine), np.nan)
            column[known] = values
            found.append(column)
    return pa.table([pa.array(each, from_pandas=True) for each in found], names=effect_columns(model))


def write_participants(
    model: CounterfactualIntervals,
    study: Study,
    source: str,
    out: str,
    *,
    dialect: Dialect = PLAIN,
) -> dict[str, dict[str, int]]:
    """Write the trial's file with the effects of its people beside its own columns; return their counts, by pair.

    They are the number of people who received one of the two treatments, and on which side of 0 their intervals are.
    """
    found = participant_table(model, study)
    with closing(read_batches(source, dialect)) as batches:
        first = next(batches)
        schema = with_columns(first.carried.schema, found.column_names)
        with writing(out, schema, first.dialect) as sink:
            for batch in (first, *batches):
                effects = found.slice(batch.start, len(batch.carried))
                sink.write_table(pa.table([*batch.carried.columns, *effects.columns], schema=schema))
    counted = {}
    for treated, against in contrasts(model):
        ends = (found[f"effect_{treated}_vs_{against}_{end}"] for end in ("lower", "upper"))
        lower, upper = (each.drop_null().to_numpy() for each in ends)
        counted[f"{treated} vs {against}"] = {"rows": len(lower), **count_signs(lower, upper)}
    return counted
