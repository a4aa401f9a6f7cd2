"""`confide reproduce`: the repetitions of some tables, run or read, and the tables made from them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confide.base.csv_rows import Row, read_rows, write_rows
from confide.base.threads import cores
from confide.base.validation import check_count, suggest
from confide.paper import figures
from confide.paper.averages import Line, lines, seeds_of, unbounded, why
from confide.paper.protocols import NOT_YAHOO, PROTOCOLS
from confide.paper.rating_tables import load
from confide.paper.runs import Part, Task, run
from confide.paper.settings import COAT, YAHOO, Settings
from confide.paper.tables import TABLES, Sources, Table
from confide.plot.canvas import can_draw

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = "all"
NO_COAT = (
    "give --coat with the folder that holds train.ascii and test.ascii of Coat Shopping: its authors provide them, "
    "and confide may not distribute them."
)


@dataclass(frozen=True)
class Reproduced:
    """One reproduced table.

    Attributes
    ----------
    name, title : str
        Which table.
    seeds : int
        Number of seeds.
    paper, ours : str
        The protocol of each, in one line.
    notes : list of str
        What a reader must know about it.
    rows : list of dict
        The CSV's rows.
    lines : list of Line
        The rows averaged over seeds, beside the paper's; none for the theorem, whose rows are cases.
    reasons : list of (methods, reason)
        Why figures differ from the paper's, for the methods whose figures do.
    files : list of str
        The files that were written.
    seconds : float
        Seconds of one core, all parts together.
    """

    name: str
    title: str
    seeds: int
    paper: str
    ours: str
    notes: list[str]
    rows: list[Row]
    lines: list[Line]
    reasons: list[tuple[str, str]]
    files: list[str]
    seconds: float


@dataclass(frozen=True)
class Reproduction:
    """The repetitions of some tables, planned and checked; `run` does those that are missing.

    Attributes
    ----------
    tables : list of Table
        In the order of the paper.
    tasks : dict
        Their repetitions, by the table's name.
    notes : list of str
        What was left out, and why.
    """

    tables: list[Table]
    tasks: dict[str, list[Task]]
    folder: Path
    seeds: int
    jobs: int
    sources: Sources
    settings: Settings
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        name: str,
        *,
        seeds: int = 5,
        jobs: int | None = None,
        out: str | os.PathLike[str] = "reproduction",
        coat: str | None = None,
        yahoo: str | None = None,
        settings: Settings | None = None,
    ) -> Reproduction:
        """Return the plan of a table, or of "all" of them; all checks are made here, before any work.

        Parameters
        ----------
        name : str
            One of `TABLES`, or "all".
        seeds : int
            Number of repetitions, with the seeds 0, 1, …
        jobs : int, default None
            Number of processes; None: two, or one if there is only one core.
        out : path
            Folder of the results, and of the parts that a later run continues from.
        coat, yahoo : path, default None
            Folders with the original files of ratings. Without Coat's there are no tables of Coat; without Yahoo's
            its table is made of simulated ratings, and says so.
        settings : Settings, default None
            Sizes; None: the paper's.
        """
        settings = settings or Settings()
        seeds = check_count("seeds", seeds)
        jobs = min(2, cores()) if jobs is None else check_count("jobs", jobs)
        if name not in (*TABLES, EVERY):
            raise ValueError(f"table {name!r} is unknown; {suggest(name, (*TABLES, EVERY))}")
        tables, notes = [TABLES[each] for each in TABLES if name in (each, EVERY)], []
        if coat is None and any(table.needs_coat for table in tables):
            if name != EVERY:
                raise ValueError(f"{name} needs Coat's ratings: {NO_COAT}")
            left = [table.name for table in tables if table.needs_coat]
            notes = [f"{' and '.join(left)} are left out: {NO_COAT}"]
            tables = [table for table in tables if not table.needs_coat]
        notes += [
            f"{name} needs no files of {data}: --{option} was not read."
            for data, option, given, needed in (
                (COAT, "coat", coat, any(table.needs_coat for table in tables)),
                (YAHOO, "yahoo", yahoo, name in ("yahoo", EVERY)),
            )
            if given is not None and not needed
        ]
        _check_files(tables, coat, yahoo, settings)
        folder = _checked_folder(out)
        sources = Sources(coat, yahoo)
        tasks = {table.name: table.tasks(settings, seeds, sources) for table in tables}
        return cls(tables, tasks, folder, seeds, jobs, sources, settings, notes)

    def __len__(self) -> int:
        """Return the number of repetitions; one that two tables share counts once."""
        return len({task.digest for tasks in self.tasks.values() for task in tasks})

    def run(self, report_progress: Callable[[int], None] = lambda _: None) -> list[Reproduced]:
        """Run what is missing, and write each table as CSV, with a figure if the paper has one."""
        every = [task for tasks in self.tasks.values() for task in tasks]
        found = run(every, self.folder, self.jobs, report_progress)
        made = [self._write(table, [found[task.digest] for task in self.tasks[table.name]]) for table in self.tables]
        self._write_times(found)
        return made

    def _write(self, table: Table, parts: list[Part]) -> Reproduced:
        path = self.folder / f"{table.name}.csv"
        write_rows(path, table.rows(parts), table.columns)
        made = reproduced(table.name, read_rows(path), self.settings)
        files, notes = [str(path)], list(made.notes)
        if table.name in figures.AXES and can_draw():
            picture = self.folder / f"{table.name}.png"
            figures.draw(picture, table.name, made.rows, made.lines)
            files.append(str(picture))
        elif table.name in figures.AXES:
            notes.append(figures.MISSING)
        seconds = sum({part.task.digest: part.seconds for part in parts}.values())
        return Reproduced(**{**vars(made), "notes": notes, "files": files, "seconds": seconds, "seeds": self.seeds})

    def _write_times(self, found: dict[str, Part]) -> None:
        """Write the time of each part, under the first table that needs it; no result depends on it.

        Tables of earlier runs keep their times.
        """
        path = self.folder / "times.csv"
        before = read_rows(path) if path.is_file() else []
        times: dict[str, Row] = {row["part"]: row for row in before if row["table"] not in self.tasks}
        for name, tasks in self.tasks.items():
            for task in tasks:
                part = f"{task.kind}/{task.label}"
                times.setdefault(part, {"table": name, "part": part, "seconds": found[task.digest].seconds})
        order = list(TABLES)
        write_rows(path, sorted(times.values(), key=lambda row: order.index(row["table"])), ())


def reproduced(name: str, rows: list[Row], settings: Settings | None = None) -> Reproduced:
    """Return a table from the rows of its CSV, beside the paper's."""
    protocol = PROTOCOLS[name]
    found = lines(name, rows) if name != "theorem" else []
    simulated = name == "yahoo" and any(row["data"] != YAHOO for row in rows)
    title = TABLES[name].title
    return Reproduced(
        name=name,
        title=f"{title} (simulated)" if simulated else title,
        seeds=seeds_of(rows),
        paper=protocol.paper,
        ours=protocol.ours.format(**vars(settings or Settings())),
        notes=[NOT_YAHOO] * simulated + unbounded(found),
        rows=rows,
        lines=found,
        reasons=why(name, found),
        files=[],
        seconds=0.0,
    )


def _check_files(tables: list[Table], coat: str | None, yahoo: str | None, settings: Settings) -> None:
    """Read the original files once, so that a wrong one is reported before any work."""
    names = [table.name for table in tables]
    if coat is not None and any(table.needs_coat for table in tables):
        load(COAT, coat, sum(settings.coat), 0)
    if yahoo is not None and "yahoo" in names:
        load(YAHOO, yahoo, sum(settings.yahoo), 0)


def _checked_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder of results; create it if needed."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written: {error.strerror}. Give another folder with --out.") from None
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{folder} cannot be written: Permission denied. Give another folder with --out.")
    return folder
