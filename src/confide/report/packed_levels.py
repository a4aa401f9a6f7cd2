"""The rows' intervals at a few levels as the page stores them: ends rounded outwards, so that they take little room."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.predict.answer import contrasts
from confide.predict.levels import answers_at
from confide.report.embed import packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from confide.model import CounterfactualIntervals
    from confide.report.individuals import Individuals
    from confide.typing import Floats, Label

# Codes of ends that are no number of steps; other codes count steps from the smallest end.
MINUS_INFINITE, INFINITE, EMPTY = 65_533, 65_534, 65_535
# At most one part in so many of a typical width may be lost by rounding; otherwise ends are stored as 32-bit floats.
PARTS = 500
# Up to so many different ends are listed, and are exact.
MOST_LISTED = 256
# The order in which levels are worked out as long as there is room. Each is half or twice another: an effect takes its
# arms at half its level, so that half of the work is done already.
BY_NEED = (0.2, 0.05, 0.4, 0.025, 0.1)


@dataclass(frozen=True)
class Grid:
    """Steps that ends are rounded outwards to: ``mantissa`` times 10 to the power of ``exponent``."""

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, columns: list[Floats], widths: Floats) -> Grid | None:
        """Return the smallest step with which all ends have a code; None if it is too large for these widths."""
        finite = np.concatenate([column[np.isfinite(column)] for column in columns])
        known = widths[np.isfinite(widths) & (widths > 0)]
        span = float(np.ptp(finite)) if len(finite) else 0.0
        if not span or not len(known):
            return None
        least = span / (MINUS_INFINITE - 3)
        exponent = floor(log10(least))
        mantissa = next(each for each in (1, 2, 5, 10) if each * 10.0**exponent >= least)
        grid = cls(1, exponent + 1) if mantissa == 10 else cls(mantissa, exponent)
        return grid if grid.step <= float(np.median(known)) / PARTS else None

    @property
    def step(self) -> float:
        """The step as a number."""
        return self.mantissa * 10.0**self.exponent

    def counts(self, ends: Floats, *, up: bool) -> Floats:
        """Return the number of steps of each end, rounded outwards."""
        scaled = ends * 10.0**-self.exponent / self.mantissa if self.exponent < 0 else ends / self.step
        counts: Floats = np.ceil(scaled) if up else np.floor(scaled)
        beyond = self.values(counts) < ends if up else self.values(counts) > ends
        return counts + np.where(beyond, 1 if up else -1, 0)

    def values(self, counts: Floats) -> Floats:
        """Return the ends with these numbers of steps, as the page computes them."""
        by = counts * self.mantissa
        return by / 10.0**-self.exponent if self.exponent < 0 else by * 10.0**self.exponent


def rounded(ends: Floats, grid: Grid | None, *, up: bool) -> Floats:
    """Return ends as the page shows them at other levels than its own: never inside the exact ones."""
    if len(np.unique(ends)) <= MOST_LISTED:
        return ends
    if grid is None:
        single = ends.astype(np.float32)
        inside = single < ends if up else single > ends
        return np.where(inside, np.nextafter(single, np.float32(np.inf if up else -np.inf)), single).astype(np.float64)
    finite = np.isfinite(ends)
    return np.where(finite, grid.values(grid.counts(np.where(finite, ends, 0.0), up=up)), ends)


def levels_of(
    model: CounterfactualIntervals, individuals: Individuals, control: Label | None, room: int
) -> dict[str, Any] | None:
    """Return the rows' intervals at as many levels as there is room for, in bytes; None without any.

    ``levels`` are in order and include the model's own, at which the page has the exact ends; ``moved`` has one list
    per other level: the two ends of each treatment's outcome, then those of each effect.
    """
    own = float(model.alpha_)
    names = [f"y_{label}" for label in model.arms_]
    names += [f"effect_{treated}_vs_{against}" for treated, against in contrasts(model, control)]
    columns = [f"{name}_{end}" for name in names for end in ("lower", "upper")]
    first = {column: _numbers(individuals.answers[column]) for column in columns}
    widths = np.concatenate([_width(first, name) for name in names])
    codes_bytes = 2 if Grid.of(list(first.values()), widths) else 4
    each = len(columns) * len(individuals.places) * codes_bytes * 4 // 3
    asked = [level for level in BY_NEED if level != own][: max(room, 0) // max(each, 1)]
    if not asked:
        return None
    found = answers_at(model, individuals.rows, control, asked)
    others = {level: [_numbers(table[column]) for column in columns] for level, table in found.items()}
    if not others:
        return None
    grid = Grid.of([end for ends in others.values() for end in ends], widths)
    return {
        "levels": sorted({*found, own}),
        "step": None if grid is None else [grid.mantissa, grid.exponent],
        "moved": {str(level): list(_packed(ends, grid)) for level, ends in others.items()},
    }


def _packed(columns: list[Floats], grid: Grid | None) -> Iterator[dict[str, Any]]:
    """Yield each column of ends as the page stores it; lower and upper ends take turns."""
    for place, ends in enumerate(columns):
        up = place % 2 == 1
        different, codes = np.unique(ends, return_inverse=True)
        if len(different) <= MOST_LISTED:
            yield {"values": packed(different), **({"codes": packed(codes, "<u1")} if len(different) > 1 else {})}
        elif grid is None:
            yield {"floats": packed(rounded(ends, None, up=up), "<f4")}
        else:
            yield _steps(ends, grid, up=up)


def _steps(ends: Floats, grid: Grid, *, up: bool) -> dict[str, Any]:
    """Return a column of ends as numbers of steps from the smallest one."""
    finite = np.isfinite(ends)
    counts = grid.counts(np.where(finite, ends, 0.0), up=up)
    least = float(counts[finite].min())
    codes: NDArray[np.float64] = np.where(ends > 0, INFINITE, MINUS_INFINITE).astype(np.float64)
    codes[np.isnan(ends)] = EMPTY
    codes[finite] = counts[finite] - least
    return {"from": least, "codes": packed(codes, "<u2")}


def _numbers(column: Any) -> Floats:
    values: Floats = column.to_numpy()
    return values


def _width(columns: dict[str, Floats], name: str) -> Floats:
    with np.errstate(invalid="ignore"):
        width: Floats = columns[f"{name}_upper"] - columns[f"{name}_lower"]
    return width
