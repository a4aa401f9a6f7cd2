"""The paper's tables and figures: which repetitions each needs, and the rows that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.paper.rating_tables import coat_tasks, yahoo_tasks
from confide.paper.synthetic_tables import (
    cell_tasks,
    join_refits,
    nested_tasks,
    oracle_tasks,
    refit_tasks,
    refitted_rows,
)
from confide.paper.theorem_table import join_draws, theorem_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.base.csv_rows import Row
    from confide.paper.runs import Part, Task
    from confide.paper.settings import Settings

_FIGURES = ("target", "seed", "tested", "coverage", "width", "infinite")
_SYNTHETIC = ("d", "m", "ratio", "method", *_FIGURES, "edge")
_RATINGS = ("data", "fit", "calibration", "method", *_FIGURES, "clipped", "ratings")


@dataclass(frozen=True)
class Sources:
    """Folders with the original files of ratings, where there are any."""

    coat: str | None = None
    yahoo: str | None = None


@dataclass(frozen=True)
class Table:
    """One table or figure of the paper.

    Attributes
    ----------
    name, title : str
        Its name on the command line, and its heading.
    columns : tuple of str
        Columns of its CSV; none: those of the rows.
    tasks : callable
        Returns its repetitions for a number of seeds, in a fixed order.
    rows : callable
        The CSV's rows from the parts, in that order.
    needs_coat : bool
        Whether the table needs Coat's files.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    tasks: Callable[[Settings, int, Sources], list[Task]]
    rows: Callable[[list[Part]], list[Row]]
    needs_coat: bool = False


def _table2_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    # Refits first: they are most of the time, and the short ones fill the gaps at the end.
    return refit_tasks(settings, seeds) + cell_tasks(settings, seeds, 1, settings.m) + oracle_tasks(settings, [1])


def _nested_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    return nested_tasks(settings, seeds) + oracle_tasks(settings, [1])


def _ratio_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    cells = [task for ratio in ("MLP", "kernel") for task in cell_tasks(settings, seeds, 1, settings.m, ratio)]
    return cells + oracle_tasks(settings, [1])


def _dimension_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    cells = [task for d in settings.dimensions for task in cell_tasks(settings, seeds, d, settings.m)]
    return cells + oracle_tasks(settings, settings.dimensions)


def _trial_size_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    cells = [task for m in settings.trial_sizes for task in cell_tasks(settings, seeds, 1, m)]
    return cells + oracle_tasks(settings, [1])


def _coat_tasks(settings: Settings, seeds: int, sources: Sources) -> list[Task]:
    return coat_tasks(settings, seeds, str(sources.coat))


def _coat_splits_tasks(settings: Settings, seeds: int, sources: Sources) -> list[Task]:
    sizes = [round(share * settings.coat_random) for share in settings.coat_shares]
    fit, calibration = settings.coat
    cells = dict.fromkeys([(fit, size) for size in sizes] + [(size, calibration) for size in sizes])
    return [task for cell in cells for task in coat_tasks(settings, seeds, str(sources.coat), *cell)]


def _yahoo_tasks(settings: Settings, seeds: int, sources: Sources) -> list[Task]:
    return yahoo_tasks(settings, seeds, sources.yahoo)


def _theorem_tasks(settings: Settings, seeds: int, _: Sources) -> list[Task]:
    return theorem_tasks(settings, seeds)


def _joined(parts: list[Part]) -> list[Row]:
    """Return the parts' rows one after the other."""
    return [row for part in parts for row in part.rows]


def _with_refits(parts: list[Part]) -> list[Row]:
    """Return the rows of cell and oracle, then those computed from the intervals of single refitted rows."""
    refits = [part for part in parts if part.task.work is refitted_rows]
    others = [part for part in parts if part.task.work is not refitted_rows]
    return _joined(others) + join_refits(refits)


TABLES = {
    table.name: table
    for table in (
        Table("table2", "Table 2: counterfactual outcomes and effects", _SYNTHETIC, _table2_tasks, _with_refits),
        Table("nested", "Nested effects", ("form", *_SYNTHETIC), _nested_tasks, _joined),
        Table("ratio", "Density ratios: MLP against kernel", _SYNTHETIC, _ratio_tasks, _joined),
        Table("dimension", "Strength of hidden confounding: d covariates", _SYNTHETIC, _dimension_tasks, _joined),
        Table("trial-size", "Size of the trial: m rows", _SYNTHETIC, _trial_size_tasks, _joined),
        Table("coat", "Coat ratings", _RATINGS, _coat_tasks, _joined, needs_coat=True),
        Table("coat-splits", "Coat ratings: m_tr and m_cal", _RATINGS, _coat_splits_tasks, _joined, needs_coat=True),
        Table("yahoo", "Yahoo! R3 ratings", _RATINGS, _yahoo_tasks, _joined),
        Table("theorem", "Theorem 1", (), _theorem_tasks, join_draws),
    )
}
