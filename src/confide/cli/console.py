"""Helpers of all commands: checks of outputs, warnings as notes, progress, and results as text or JSON."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# Off a terminal, work that takes more than so many seconds says so in a line, then after pauses that double up to a
# minute.
LONG = 5.0
LONGEST_PAUSE = 60.0


def check_outputs(
    out: str | None = None,
    save: str | None = None,
    report: str | None = None,
    participants: str | None = None,
    *,
    as_json: bool = False,
    inputs: Sequence[str | None] = (),
    folder: bool = False,
) -> None:
    """Raise, before anything is computed, if an output cannot be written or would replace an input.

    With ``folder`` the intervals go to a folder, which must be new or empty.
    """
    from pathlib import Path

    from confide.data.formats import STANDARD, format_of
    from confide.data.many_files import is_of_batches, paths_of

    for table in filter(None, (None if folder else out, participants)):
        format_of(table)
    if participants == STANDARD:
        raise typer.BadParameter("--participants needs a file to write to.")
    if as_json and out == STANDARD:
        raise typer.BadParameter("--json and the intervals cannot both go to standard output: name a file with --out.")
    if report is not None and Path(report).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{report}: a report is a page; give it a name that ends in .html.")
    given = [path for path in inputs if path is not None and path != STANDARD]
    read = {
        os.path.realpath(each) for path in given for each in (path, *(paths_of(path) if is_of_batches(path) else ()))
    }
    taken: dict[str, str] = {}
    for what, path in (
        ("the intervals", out),
        ("the model", save),
        ("the report", report),
        ("participants' effects", participants),
    ):
        if path is None or path == STANDARD:
            continue
        real = os.path.realpath(path)
        if real in taken:
            raise ValueError(f"{path} cannot hold both {taken[real]} and {what}: name two files.")
        if read & {real, *map(str, Path(real).parents)}:
            raise ValueError(f"{path} is an input: name another file for the output.")
        why = _why_not_written(Path(path), new=folder and path == out)
        if why is not None:
            raise ValueError(f"{path} cannot be written: {why}")
        taken[real] = what


def _why_not_written(target: Path, *, new: bool) -> str | None:
    """Return why a file, or a new folder, cannot be written, and the remedy; None if it can."""
    if new and target.exists() and (not target.is_dir() or any(target.iterdir())):
        return "it exists, and a cluster writes its answers into a folder of their own. Name a new folder."
    if target.is_dir() and not new:
        return "it is a folder. Name a file."
    folder = target.parent
    if not folder.exists():
        return f"there is no folder {folder}. Make it, or name another."
    if not folder.is_dir():
        return f"{folder} is a file, and no folder. Name another."
    if not os.access(folder, os.W_OK):
        return f"nothing may be written in the folder {folder.resolve()}. Name another, or change its permissions."
    return None


def check_one_standard_input(*paths: str | None) -> None:
    """Raise if two files are to be read from standard input."""
    if paths.count("-") > 1:
        raise typer.BadParameter("only one of the files can come from standard input.")


def print_answered(answered: Any, out: str, screen: Any, side: str = "both") -> None:
    """Print how many rows were predicted, and on which side of 0 their effects' intervals, or bounds, are."""
    rows = "row" if answered.rows == 1 else "rows"
    typer.echo(f"\n{answered.rows:,} {rows} answered{'' if out == '-' else f', in {out}'}.", file=screen)
    for what, count in (("an outcome", answered.infinite), ("an effect", answered.infinite_effects)):
        if count:
            have = "has" if count == 1 else "have"
            typer.echo(f"{count:,} of them {have} an infinite interval for {what}.", file=screen)
    for (treated, control), sides in answered.signs.items():
        typer.echo(f"Effect of {treated} against {control}: {_of_0(sides, side)}.", file=screen)
    if any(sides["above"] or sides["below"] for sides in answered.signs.values()):
        typer.echo("The promise is for all rows together, not for those picked by their intervals.", file=screen)
    elif any(sides["neither"] for sides in answered.signs.values()):
        typer.echo("One person's effect is hard to know; confide effects has the average effect.", file=screen)


def _of_0(counts: dict[str, int], side: str) -> str:
    """Return for how many the interval of an effect, or its bound on one side, tells the sign."""
    if side == "both":
        return (
            f"its interval is above 0 for {counts['above']:,}, below 0 for {counts['below']:,}, neither for "
            f"{counts['neither']:,}"
        )
    where = {"lower": "above", "upper": "below"}[side]
    return f"its {side} bound is {where} 0 for {counts[where]:,}, not for {counts['neither']:,}"


def print_hash(model: Any, screen: Any, saved: Any = None) -> None:
    """Print the hash of the analysis, if `run` fitted the model; or that it is not the one that saved it."""
    if model.config_hash_ is not None:
        typer.echo(f"\nAnalysis (SHA-256): {model.config_hash_}", file=screen)
    elif saved is not None and saved.config_hash_ is not None:
        typer.echo(
            f"\nNot the analysis that the model is saved from, whose alpha is {float(saved.alpha_):g} "
            f"(SHA-256: {saved.config_hash_}).",
            file=screen,
        )


def print_memory(study: Any, observational: str, memory: str | None, screen: Any) -> None:
    """Print how many rows of a table that is read by batches models learnt from, and the most memory so far."""
    from confide.base.memory import peak_memory
    from confide.data.large_table import LargeTable

    line = rows_line(study, observational)
    if line is None:
        return
    typer.echo(f"\n{line}.", file=screen)
    peak = peak_memory()
    if peak is not None:
        typer.echo(f"Peak memory: {peak / 1e9:.1f} GB, of {memory or LargeTable.memory}.", file=screen)


def print_rows(study: Any, observational: str, screen: Any) -> None:
    """Print how many rows of a table that is read by batches the figures are of."""
    line = rows_line(study, observational)
    if line is not None:
        sampled = "" if study.beyond is None else ", a uniform sample: figures on observational rows are of these"
        typer.echo(f"{line}{sampled}.", file=screen)


def rows_line(study: Any, observational: str) -> str | None:
    """Return how many rows of a table that is read by batches were read and learnt from; None of another table."""
    from confide.data.many_files import is_of_batches

    if not is_of_batches(observational):
        return None
    kept = int((~study.trial).sum())
    beyond = 0 if study.beyond is None else study.beyond.rows
    learnt = f"{kept:,} learnt from"
    if beyond and study.beyond.rest is not None:
        learnt = f"{beyond:,} learnt from by batches, {kept:,} held out for the size of errors"
    return f"Observational rows: {kept + beyond:,} read, {learnt}"


def print_participants(effects: dict[str, dict[str, int]], out: str, screen: Any, side: str = "both") -> None:
    """Print on which side of 0 the intervals, or bounds, of the trial's people are."""
    typer.echo(f"\nThe trial's own people, whose outcome under one treatment is known: effects in {out}.", file=screen)
    for pair, counts in effects.items():
        named = pair.replace(" vs ", " against ")
        typer.echo(f"Effect of {named} for {counts['rows']:,}: {_of_0(counts, side)}.", file=screen)


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings as notes on stderr, each once, however many batches of rows raise it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(each.message) for each in caught):
        typer.echo(f"note: {message}", err=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what is being computed, for how long already and, where its parts are told, about how long still."""
    from confide.base.progress import listening

    with _shown(what, 1.0) as tell, listening(tell):
        yield


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts what is done; how long it has taken is shown, and about how long it still will."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        tell(done)

    with _shown(what, total) as tell:
        yield advance


@contextmanager
def _shown(what: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Yield a function to be told how much is done: a line that moves on a terminal, lines from time to time off it."""
    from confide.cli.text import console

    errors = console(error=True)
    if not errors.is_terminal:
        with told_in_lines(what, total) as tell:
            yield tell
        return
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining

    counts = (MofNCompleteColumn(),) if total != 1 else ()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *counts, TimeElapsedColumn(), Remaining())
    # The speed is that of all of the work: its parts are few.
    with Progress(*columns, console=errors, transient=True, speed_estimate_period=float("inf")) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def told_in_lines(what: str, total: float | None) -> Iterator[Callable[[float], None]]:
    """Yield a function to be told how much is done; from a few seconds on, print now and then how long it takes."""
    began, done, ended = time.monotonic(), 0.0, threading.Event()

    def tell(now: float) -> None:
        nonlocal done
        done = now

    def print_lines() -> None:
        pause = LONG
        while not ended.wait(pause):
            pause = min(2 * pause, LONGEST_PAUSE)
            typer.echo(f"{what}: {time_taken(time.monotonic() - began, done, total)}", err=True)

    lines = threading.Thread(target=print_lines, daemon=True)
    lines.start()
    try:
        yield tell
    finally:
        ended.set()
        lines.join()
    took = time.monotonic() - began
    if took >= LONG:
        typer.echo(f"{what}: done in {duration(took)}", err=True)


def time_taken(elapsed: float, done: float, total: float | None) -> str:
    """Return how long work has taken and, if some of a known total is done, about how long it still will."""
    counted = (
        f"{done:,.0f} of {total:,.0f}, " if total not in (None, 1.0) else f"{done:,.0f}, " if total is None else ""
    )
    said = f"{counted}{duration(elapsed)} so far"
    if total is None or not done:
        return said
    return f"{said}, about {duration(elapsed * (total - done) / done)} left"


def tell_covariates(study: Any, took: float) -> None:
    """Say on stderr, if it took long, how many covariates and rows were read, and in what time."""
    if took >= LONG:
        columns, rows = study.X.shape[1], len(study)
        typer.echo(f"Covariates: {columns:,} of {rows:,} rows, read in {duration(took)}", err=True)


def duration(seconds: float) -> str:
    """Return a duration in seconds, in minutes and seconds, or in hours and minutes."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    large, small = divmod(whole, 60) if whole < 3600 else divmod(whole // 60, 60)
    return f"{large} min {small} s" if whole < 3600 else f"{large} h {small} min"


def open_page(path: str) -> bool:
    """Open a page in a browser if there is a screen to show it on; return whether."""
    import sys
    import webbrowser
    from pathlib import Path

    # Without a screen Python would take a browser that lives in the terminal, and hold it.
    screen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return screen and webbrowser.open(Path(path).resolve().as_uri())


def print_json(value: Any) -> None:
    """Print records as JSON; numbers that JSON lacks, such as an infinite width, become text."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return records, labels and numbers as plain JSON values."""
    from dataclasses import fields, is_dataclass
    from math import isfinite

    from confide.methods.promise import Promise

    if isinstance(value, Promise):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {
            " vs ".join(map(str, key)) if isinstance(key, tuple) else str(key): _plain(v) for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    return str(value) if isinstance(value, float) and not isfinite(value) else value
