"""Rows by the batch: a model's answers for files of any length, in memory that does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.answers import answers, beside, contrasts
from confide.checks import examples, suggest
from confide.formats import read_batches, writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.counterfactual import CounterfactualIntervals


@dataclass(frozen=True)
class Answered:
    """How many rows were answered, and for how many the effect's sign is sure.

    Attributes
    ----------
    rows : int
        Rows of the file.
    infinite : int
        Rows with an infinite interval for some treatment.
    signs : dict
        For each pair (treated, control), how many effects surely are above 0, surely are below 0, and neither.
    """

    rows: int
    infinite: int
    signs: dict[tuple[str, str], tuple[int, int, int]]


def answer_file(
    model: CounterfactualIntervals, source: str, out: str, *, tell: Callable[[int], None] = lambda _: None
) -> Answered:
    """Write the source's own columns and the answers, rows in the order of the source.

    ``tell`` is called with the number of rows after each batch. Covariates are found by name; other columns are carried
    through, and in a CSV file stay the text that they were.
    """
    batches = read_batches(source)
    first = next(batches)
    names = covariates(model)
    missing = [name for name in names if name not in first.read.column_names]
    if missing:
        raise ValueError(f"{source} has no column {examples(missing)}; {suggest(missing[0], first.read.column_names)}")
    schema = beside(first.carried.schema, model)
    rows, infinite = 0, 0
    signs = {pair: [0, 0, 0] for pair in contrasts(model)}
    with writing(out, schema) as sink:
        batch = first
        while batch is not None:
            found = answers(model, batch.read.select(names))
            sink.write_table(pa.table([*batch.carried.columns, *found.columns], schema=schema))
            rows += len(found)
            infinite += _infinite(found, [str(label) for label in model.arms_])
            for (treated, control), counts in signs.items():
                name = f"effect_{treated}_vs_{control}"
                lower, upper = (found[f"{name}_{end}"].to_numpy() for end in ("lower", "upper"))
                above, below = int((lower > 0).sum()), int((upper < 0).sum())
                for index, count in enumerate((above, below, len(found) - above - below)):
                    counts[index] += count
            tell(len(found))
            batch = next(batches, None)
    told = {(str(treated), str(control)): (c[0], c[1], c[2]) for (treated, control), c in signs.items()}
    return Answered(rows, infinite, told)


def covariates(model: CounterfactualIntervals) -> list[str]:
    """Return the names of the columns that the model reads."""
    names = getattr(model.encoder_, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted on an array without column names; fit it on tables to answer files.")
    return [str(name) for name in names]


def _infinite(found: pa.Table, labels: list[str]) -> int:
    """Return how many rows have an infinite outcome interval."""
    wide = np.zeros(len(found), dtype=bool)
    for label in labels:
        for end in ("lower", "upper"):
            wide |= np.isinf(found[f"y_{label}_{end}"].to_numpy())
    return int(wide.sum())
