"""The rows' numbers as the page stores them: intervals, or the parts from which it computes them at every level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.predict.answer import contrasts
from confide.predict.levels import offsets_of
from confide.report.embed import Pool, packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.model import CounterfactualIntervals
    from confide.report.individuals import Individuals
    from confide.typing import Label

# The most bytes of the page that the numbers of all rows may take.
MOST_BYTES = 1_600_000


def numbers_of(
    model: CounterfactualIntervals, individuals: Individuals, control: Label, reason: str | None
) -> tuple[dict[str, Any], int]:
    """Return the rows' numbers for the page, and the number of rows: fewer than all if they would be too large."""
    labels = list(model.arms_)
    pairs = contrasts(model, control)
    columns = {name: individuals.answers[name].to_numpy() for name in individuals.answers.column_names}
    arms: list[dict[str, Any]]
    if reason is None:
        found = offsets_of(model, individuals.rows)
        levels = list(found.levels)
        arms = [
            {
                "point": columns[f"y_{label}"],
                "lower": arm.lower,
                "upper": arm.upper,
                "bounds": None if arm.bounds is None else packed(arm.bounds),
                "outcome": packed(arm.outcome),
                "effect": packed(arm.effect),
            }
            for label, arm in found.arms.items()
        ]
        effects: list[dict[str, Any]] = []
    else:
        levels = []
        arms = [_ends(columns, f"y_{label}") | {"point": columns[f"y_{label}"]} for label in labels]
        effects = [_ends(columns, f"effect_{treated}_vs_{against}") for treated, against in pairs]
    distinct = len({each.tobytes() for part in (*arms, *effects) for each in part.values() if _is_column(each)})
    rows = min(len(individuals.answers), MOST_BYTES * 3 // (distinct * 8 * 4))
    pool = Pool()
    for part in (*arms, *effects):
        for name, values in part.items():
            part[name] = pool.place(values[:rows]) if _is_column(values) else values
    numbers = {
        "levels": levels,
        "arms": arms,
        "effects": effects,
        "contrasts": [[labels.index(treated), labels.index(against)] for treated, against in pairs],
        "pool": pool.columns,
    }
    return numbers, rows


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _ends(columns: dict[str, NDArray[np.float64]], name: str) -> dict[str, NDArray[np.float64]]:
    return {end: columns[f"{name}_{end}"] for end in ("lower", "upper")}
