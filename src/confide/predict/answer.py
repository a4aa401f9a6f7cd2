"""Everything that a fitted model says of new rows, computed once: for Python, the command line and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from confide.base.validation import examples, short, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.methods.new_rows import NewRows
    from confide.model import CounterfactualIntervals
    from confide.typing import Floats, Label
    from confide.weights.people import People

# What the columns of a point and of the ends of its interval end with.
ENDS = ("", "_lower", "_upper")


@dataclass(frozen=True)
class Answer:
    """What a model says of some rows.

    Attributes
    ----------
    table : pyarrow.Table
        Points and intervals, one row per row: ``y_<t>``, ``y_<t>_lower``, ``y_<t>_upper`` for each treatment t, then
        ``effect_<a>_vs_<b>`` and its ends for each treatment a against the control, b. The ends of an empty set are
        missing values.
    rows : dict
        For each treatment, the rows with its base model's predictions.
    """

    table: pa.Table
    rows: dict[Label, NewRows]


def answer_columns(model: CounterfactualIntervals, control: Label | None = None) -> list[str]:
    """Return the names of the columns that `answer` gives; raise if treatments are named so that two are the same."""
    names = [f"y_{label}{end}" for label in model.arms_ for end in ENDS] + effect_columns(model, control)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"two answers would be in columns named {short(twice)}, by the names of the treatments "
            f"{examples(map(repr, model.arms_))}. Rename one of them."
        )
    return names


def effect_columns(model: CounterfactualIntervals, control: Label | None = None) -> list[str]:
    """Return the names of the columns of effects."""
    return [f"effect_{treated}_vs_{against}{end}" for treated, against in contrasts(model, control) for end in ENDS]


def label_of(model: CounterfactualIntervals, treatment: str) -> Label:
    """Return the treatment that is written so."""
    named = {str(label): label for label in model.arms_}
    if treatment not in named:
        raise ValueError(f"treatment {treatment!r} is unknown; {suggest(treatment, named)}")
    return named[treatment]


def contrasts(model: CounterfactualIntervals, control: Label | None = None) -> list[tuple[Label, Label]]:
    """Return the pairs whose effects are reported: each treatment against the control, by default the model's own.

    The control may be given as text, as it stands in a file.
    """
    named = {str(label): label for label in model.arms_}
    if control is not None and str(control) not in named:
        raise ValueError(f"the control {control!r} is not a treatment; {suggest(control, named)}")
    against = model.control_ if control is None else named[str(control)]
    return [(treated, against) for treated in model.arms_ if treated != against]


def answer(model: CounterfactualIntervals, people: People, control: Label | None = None) -> Answer:
    """Return points and intervals for every treatment and every effect, at rows that `model.read` has read."""
    rows = model._new_rows(people, model.arms_)
    return Answer(answer_table(model, rows, control), rows)


def answer_table(
    model: CounterfactualIntervals, rows: Mapping[Label, NewRows], control: Label | None = None
) -> pa.Table:
    """Return points and intervals for every treatment and every effect, at rows that each arm has taken."""
    found: list[Floats] = []
    for label, arm in model.arms_.items():
        found += [arm.predict(rows[label]), *model._arm(label).predict_interval(rows[label])]
    for treated, against in contrasts(model, control):
        point = model.arms_[treated].predict(rows[treated]) - model.arms_[against].predict(rows[against])
        found += [point, *model.effect_.predict_interval(rows, treated, against)]
    columns = [pa.array(values, from_pandas=True) for values in found]
    return pa.table(columns, names=answer_columns(model, control))


def count_signs(lower: Floats, upper: Floats) -> dict[str, int]:
    """Return how many of these intervals are above 0, below 0, and neither."""
    above, below = int((lower > 0).sum()), int((upper < 0).sum())
    return {"above": above, "below": below, "neither": len(lower) - above - below}


def beside(carried: pa.Schema, model: CounterfactualIntervals, control: Label | None = None) -> pa.Schema:
    """Return the schema of an output: the input's own columns, then the answers; raise if names collide."""
    return with_columns(carried, answer_columns(model, control))


def with_columns(carried: pa.Schema, names: list[str]) -> pa.Schema:
    """Return the schema of the input's own columns, then of columns of numbers; raise if names collide."""
    twice = [name for name in carried.names if name in names]
    if twice:
        raise ValueError(f"the input has columns that the answers need: {examples(twice)}. Rename them.")
    return pa.schema([*carried, *(pa.field(name, pa.float64()) for name in names)])
