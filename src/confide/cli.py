"""The command line: files in, intervals out. Heavy imports live inside the commands, so that help is instant."""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from confide.counterfactual import CounterfactualIntervals
    from confide.study import Study

# typer's public name of the errors that it raises for bad usage, and the status that it gives to an interrupt.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]
INTERRUPTED, TERMINATED = 130, 143

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Intervals for individual outcomes and effects, and what each may promise under hidden confounding.",
)

Observational = Annotated[str, typer.Option(help="The large observational table: CSV, Parquet or Arrow; - is stdin.")]
Trial = Annotated[str, typer.Option(help="The randomised trial, with the same columns.")]
Treatment = Annotated[str, typer.Option(help="Column of the treatment.")]
Outcome = Annotated[str, typer.Option(help="Column of the outcome.")]
Identifiers = Annotated[
    list[str] | None, typer.Option("--id", help="Column that is carried through and never a covariate; repeatable.")
]
Control = Annotated[
    str | None, typer.Option(help="Treatment that the others are compared with; by default the first in order.")
]
Alpha = Annotated[float, typer.Option(help="Miscoverage level: 0.1 for 90 % intervals.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Tell the result as JSON, for machines.")]


def main() -> None:
    """Run the command line; any bad input is one line on stderr and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # temporary files are removed on the way out
    try:
        status = app(standalone_mode=False)
    except UsageError as error:
        _fail(error.format_message())
    except BrokenPipeError:  # whoever read the output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        _fail(_told(error))
    if status == INTERRUPTED:
        _fail("interrupted.", INTERRUPTED)
    sys.exit(status or 0)


def _told(error: Exception) -> str:
    """Return an error as one line; the system's own say which file."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _fail(message: str, status: int = 2) -> None:
    """Print one line on stderr and leave."""
    typer.echo(f"confide: {' '.join(message.split())}", err=True)
    sys.exit(status)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"confide {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave."),
    ] = False,
) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(short_help="Fit on two files, answer for a third.")
def run(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    predict: Annotated[str | None, typer.Option(help="New rows to answer for; - is stdin.")] = None,
    method: Annotated[str | None, typer.Option(help="One of `confide methods`; the default is confide's own.")] = None,
    alpha: Alpha = 0.1,
    id: Identifiers = None,  # noqa: A002  (the option's name)
    out: Annotated[str, typer.Option(help="Where the intervals go: CSV, Parquet or Arrow; - is stdout.")] = "-",
    save: Annotated[str | None, typer.Option(help="Keep the fitted model under this name.")] = None,
    control: Control = None,
    outcome_values: Annotated[
        str | None, typer.Option(help="All values that the outcome can take, such as 0,1: answers keep to them.")
    ] = None,
    outcome_range: Annotated[
        str | None, typer.Option(help="Bounds of the outcome, such as 0,100: answers keep within them.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit on two files, and answer for the people in a third."""
    if predict is None and save is None:
        raise typer.BadParameter("give --predict, --save or both: otherwise nothing comes of it.")
    answering = predict is not None
    if out != "-" and not answering:
        raise typer.BadParameter("--out needs --predict: there are no rows to answer for.")
    _check_outputs(out if answering else None, save, as_json=as_json, inputs=(observational, trial, predict))
    _check_one_standard_input(observational, trial, predict)
    bounds = {"outcome_values": _numbers(outcome_values), "outcome_range": _numbers(outcome_range)}
    with _notes():
        study = _read(observational, trial, treatment, outcome, id, predict)
        model = _fitted(study, method, alpha, seed, **bounds)
        with _waiting("looking at what to trust"):
            summary = model.summary()
        answered = _answer(model, predict, out, control) if predict is not None else None
        if save is not None:
            model.save(save)
    if as_json:
        _print_json({"summary": summary, "arms": model.diagnostics_, "answered": answered, "saved": save})
        return
    from confide.screen import covariate_line

    screen = sys.stderr if answering and out == "-" else sys.stdout
    typer.echo(f"{covariate_line(model.encoder_.columns_)}\n\n{summary}", file=screen)
    if answered is not None:
        _tell_answered(answered, out, screen)
    if save is not None:
        typer.echo(f"\nSaved as {save}. Next: confide predict {save} new.csv --out intervals.csv", file=screen)


@app.command(short_help="Answer new rows with a saved model.")
def predict(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` kept.")],
    new: Annotated[str, typer.Argument(help="New rows: CSV, Parquet or Arrow; - is stdin.")],
    out: Annotated[str, typer.Option(help="Where the intervals go; - is stdout.")] = "-",
    alpha: Annotated[float | None, typer.Option(help="Another level than the model's.")] = None,
    trust: Annotated[
        list[str] | None, typer.Option(help="Full name of a type that the model's file may hold; repeatable.")
    ] = None,
    control: Control = None,
    as_json: Json = False,
) -> None:
    """Answer for new people with a saved model; files of any length, in constant memory."""
    _check_outputs(out, as_json=as_json, inputs=(model, new))
    from confide import load

    with _notes():
        with _waiting("loading"):
            loaded = load(model, trusted=trust or [])
            loaded = loaded if alpha is None else loaded.with_alpha(alpha)
        answered = _answer(loaded, new, out, control)
    if as_json:
        _print_json({"answered": answered})
    else:
        _tell_answered(answered, out, sys.stderr if out == "-" else sys.stdout)


@app.command(short_help="Every method on held-out trial rows.")
def compare(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    alpha: Alpha = 0.1,
    id: Identifiers = None,  # noqa: A002
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Every method on held-out rows of the trial: coverage with its interval, and width."""
    _check_one_standard_input(observational, trial)
    from confide.experiments.held_out import compare_on_held_out
    from confide.methods.registry import METHODS

    with _notes():
        study = _read(observational, trial, treatment, outcome, id)
        with _progress("methods", len(METHODS)) as tell:
            found = []
            for each in compare_on_held_out(study, alpha, seed):
                found.append(each)
                tell(1)
    if as_json:
        _print_json(found)
        return
    from confide.screen import comparison_notes, comparison_tables, console

    for table in comparison_tables(found, alpha):
        console().print(table)
    typer.echo("\n".join(comparison_notes(found)))


@app.command(short_help="Overlap, weights, hidden confounding.")
def diagnose(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    method: Annotated[str | None, typer.Option(help="One of `confide methods`; the default is confide's own.")] = None,
    alpha: Alpha = 0.1,
    id: Identifiers = None,  # noqa: A002
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Overlap, effective sample size and a test for hidden confounding, in words."""
    _check_one_standard_input(observational, trial)
    from confide.diagnostics import hidden_confounding_test

    with _notes():
        study = _read(observational, trial, treatment, outcome, id)
        model = _fitted(study, method, alpha, seed)
        with _waiting("looking at what to trust"):
            summary = model.summary()
        with _waiting("testing for hidden confounding"):
            X, y, labels, in_trial = study
            tests = hidden_confounding_test(X, y, labels, in_trial, random_state=seed)
    if as_json:
        _print_json({"summary": summary, "arms": model.diagnostics_, "hidden_confounding": tests})
        return
    from confide.screen import confounding_lines

    typer.echo(summary)
    typer.echo("\n" + "\n".join(confounding_lines(tests)))


@app.command(short_help="What methods use and promise.")
def methods(as_json: Json = False) -> None:
    """Show the methods: what they use and what they promise."""
    from confide.methods.registry import METHODS

    if as_json:
        shown = ("name", "summary", "uses", "promise")
        _print_json([{key: getattr(record, key) for key in shown} for record in METHODS.values()])
        return
    from confide.screen import console, method_lines

    for part in method_lines():
        console().print(part, highlight=False)


@app.command(short_help="A real trial, told on screen.")
def demo(
    files: Annotated[
        str | None, typer.Option(help="Write these pupils into this folder too, as CSV files for the other commands.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Tell the story on real pupils: what the observational data claim, what the trial gives, what confide gives."""
    from confide.experiments.story import DRAWS, tell_star, write_star
    from confide.screen import console, next_commands, story_parts

    if files is not None:
        write_star(files, seed)
    with _progress("draws", DRAWS) as tell:
        story = tell_star(seed, tell)
    if as_json:
        _print_json(story)
        return
    for part in story_parts(story):
        console().print(part, highlight=False)
    typer.echo(next_commands(files))


@app.command(short_help="The paper's tables, run anew.")
def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="table2, nested, ratio, dimension, trial-size, coat, coat-splits, yahoo, theorem, or all of them."
        ),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions.")] = 5,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; two, unless there is one core only.")] = None,
    out: Annotated[
        str, typer.Option(help="Folder of the results; a run that was killed continues there.")
    ] = "reproduction",
    coat: Annotated[str | None, typer.Option(help="Folder with Coat's train.ascii and test.ascii.")] = None,
    yahoo: Annotated[
        str | None, typer.Option(help="Folder with Yahoo! R3's text files; without it ratings are simulated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the paper's tables and figures anew, and show our figure beside the paper's."""
    from confide.experiments.reproduction import Reproduction

    plan = Reproduction.of(table, seeds=seeds, jobs=jobs, out=out, coat=coat, yahoo=yahoo)
    for note in plan.notes:
        typer.echo(f"note: {note}", err=True)
    with _progress("repetitions", len(plan)) as tell:
        found = plan.run(tell)
    if as_json:
        _print_json({"notes": plan.notes, "tables": found})
        return
    from confide.screen import console, reproduction_parts

    for each in found:
        for part in reproduction_parts(each):
            console().print(part, highlight=False)


def _read(
    observational: str, trial: str, treatment: str, outcome: str, identifiers: list[str] | None, new: str | None = None
) -> Study:
    """Return the study of two files; identifiers are no covariates, and new rows must have the others."""
    from confide.formats import read_study

    with _waiting("reading"):
        return read_study(observational, trial, treatment, outcome, identifiers or [], new)


def _fitted(
    study: Study, method: str | None, alpha: float, seed: int, **parameters: list[float] | None
) -> CounterfactualIntervals:
    """Return the model of a study."""
    with _waiting("fitting"):
        from confide import CounterfactualIntervals
        from confide.methods.registry import method as method_by_name

        model = CounterfactualIntervals(alpha=alpha, random_state=seed)
        model.set_params(method=method_by_name(model.method if method is None else method, **parameters))
        return model.fit(*study)


def _numbers(text: str | None) -> list[float] | None:
    """Return the numbers of a list like 0,1."""
    if text is None:
        return None
    try:
        return [float(each) for each in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} must be numbers with commas between them, such as 0,1.") from error


def _check_outputs(
    out: str | None, save: str | None = None, *, as_json: bool = False, inputs: Sequence[str | None]
) -> None:
    """Refuse an output that cannot be written, or would replace an input, before anything is computed."""
    from pathlib import Path

    from confide.formats import STANDARD, kind_of

    if out is not None:
        kind_of(out)
    if as_json and out == STANDARD:
        raise typer.BadParameter("--json and the intervals cannot both go to standard output: name a file with --out.")
    written = [path for path in (out, save) if path is not None and path != STANDARD]
    if len({os.path.realpath(path) for path in written}) < len(written):
        raise ValueError(f"{out} cannot hold both the intervals and the model: name two files.")
    read = {os.path.realpath(path) for path in inputs if path is not None and path != STANDARD}
    for path in written:
        if os.path.realpath(path) in read:
            raise ValueError(f"{path} is an input: name another file for the output.")
        target = Path(path)
        if target.is_dir() or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            raise ValueError(f"{path} cannot be written: its folder must exist and be writable, and it must be a file.")


def _check_one_standard_input(*paths: str | None) -> None:
    if paths.count("-") > 1:
        raise typer.BadParameter("only one of the files can come from standard input.")


def _answer(model: CounterfactualIntervals, source: str, out: str, control: str | None) -> Any:
    """Write the answers for a file, with progress where someone watches."""
    from confide.scale import answer_file

    with _progress("rows answered", None) as tell:
        return answer_file(model, source, out, control=control, tell=tell)


def _tell_answered(answered: Any, out: str, screen: Any) -> None:
    """Say what came of it."""
    typer.echo(f"\n{answered.rows:,} rows answered{'' if out == '-' else f', in {out}'}.", file=screen)
    if answered.infinite:
        typer.echo(f"{answered.infinite:,} of them have an infinite interval.", file=screen)
    for (treated, control), sides in answered.signs.items():
        typer.echo(
            f"Effect of {treated} against {control}: its interval is above 0 for {sides['above']:,}, below 0 for "
            f"{sides['below']:,}, neither for {sides['neither']:,}.",
            file=screen,
        )
    if any(sides["above"] or sides["below"] for sides in answered.signs.values()):
        typer.echo("The promise is for all rows together, not for those picked by their intervals.", file=screen)


@contextmanager
def _notes() -> Iterator[None]:
    """Show warnings as notes on stderr, each once, however many batches of rows bring it up."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(each.message) for each in caught):
        typer.echo(f"note: {message}", err=True)


@contextmanager
def _waiting(what: str) -> Iterator[None]:
    """Show that something is going on, on a terminal."""
    from confide.screen import console

    errors = console(error=True)
    if not errors.is_terminal:
        yield
        return
    with errors.status(what):
        yield


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield what advances a progress bar on stderr, silent where that is no terminal."""
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from confide.screen import console

    errors = console(error=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def _print_json(value: Any) -> None:
    """Print records as JSON; what JSON has no number for, such as an infinite width, is text."""
    typer.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return records, labels and numbers as JSON knows them."""
    from dataclasses import asdict, is_dataclass
    from math import isfinite

    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {
            " vs ".join(map(str, key)) if isinstance(key, tuple) else str(key): _plain(v) for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


if __name__ == "__main__":
    main()
