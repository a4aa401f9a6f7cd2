"""The command line: files in, intervals out. Heavy imports live inside the commands, so that help is instant."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide import __version__
from confide.terminal import (
    check_one_standard_input,
    check_outputs,
    notes,
    print_json,
    progress,
    tell_answered,
    waiting,
)
from confide.threads import wait_passively

if TYPE_CHECKING:
    from confide.counterfactual import CounterfactualIntervals
    from confide.formats import Dialect
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
Categories = Annotated[
    list[str] | None,
    typer.Option("--category", help="Column that is a category although its values look like numbers; repeatable."),
]
Separator = Annotated[
    str | None,
    typer.Option("--sep", help="What stands between the fields of CSV files; by default what their first line shows."),
]
Decimal = Annotated[str, typer.Option(help="Decimal point of CSV files: . or ,")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of CSV files, such as latin-1; by default UTF-8.")]
Control = Annotated[
    str | None, typer.Option(help="Treatment that the others are compared with; by default the first in order.")
]
Alpha = Annotated[float, typer.Option(help="Miscoverage level: 0.1 for 90 % intervals.")]
LowerIsBetter = Annotated[
    bool, typer.Option("--lower-is-better", help="In the report a smaller outcome is the better one.")
]
OtherAlpha = Annotated[float | None, typer.Option(help="Another level than the model's.")]
Trust = Annotated[
    list[str] | None, typer.Option(help="Full name of a type that the model's file may hold; repeatable.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Tell the result as JSON, for machines.")]


def main() -> None:
    """Run the command line; any bad input is one line on stderr and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another
    wait_passively()
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
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    out: Annotated[str, typer.Option(help="Where the intervals go: CSV, Parquet or Arrow; - is stdout.")] = "-",
    save: Annotated[str | None, typer.Option(help="Keep the fitted model under this name.")] = None,
    report: Annotated[str | None, typer.Option(help="Write a page with all answers, and why to trust them.")] = None,
    lower_is_better: LowerIsBetter = False,
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
    answering = predict is not None
    _check_asked(predict, out, save, report, lower_is_better=lower_is_better)
    check_outputs(out if answering else None, save, report, as_json=as_json, inputs=(observational, trial, predict))
    check_one_standard_input(observational, trial, predict)
    dialect = _dialect(sep, decimal, encoding)
    bounds = {"outcome_values": _numbers(outcome_values), "outcome_range": _numbers(outcome_range)}
    with notes():
        study = _read(observational, trial, treatment, outcome, id, category, dialect, predict)
        model = _fitted(study, method, alpha, seed, **bounds)
        with waiting("looking at what to trust"):
            summary = model.summary()
        answered = _answer(model, predict, out, control, dialect) if predict is not None else None
        if save is not None:
            model.save(save)
        if report is not None and predict is not None:
            _report(report, model, predict, study, control, seed, dialect, lower_is_better=lower_is_better)
    if as_json:
        told = {"summary": summary, "arms": model.diagnostics_, "answered": answered, "saved": save, "report": report}
        print_json(told)
        return
    from confide.screen import covariate_line

    screen = sys.stderr if answering and out == "-" else sys.stdout
    typer.echo(f"{covariate_line(model.encoder_.columns_)}\n\n{summary}", file=screen)
    if answered is not None:
        tell_answered(answered, out, screen)
    if report is not None:
        typer.echo(f"\nReport: {report}, to be opened in a browser.", file=screen)
    if save is not None:
        typer.echo(f"\nSaved as {save}. Next: confide predict {save} new.csv --out intervals.csv", file=screen)


@app.command(short_help="Answer new rows with a saved model.")
def predict(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` kept.")],
    new: Annotated[str, typer.Argument(help="New rows: CSV, Parquet or Arrow; - is stdin.")],
    out: Annotated[str, typer.Option(help="Where the intervals go; - is stdout.")] = "-",
    alpha: OtherAlpha = None,
    trust: Trust = None,
    control: Control = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Answer for new people with a saved model; files of any length, in constant memory."""
    check_outputs(out, as_json=as_json, inputs=(model, new))
    dialect = _dialect(sep, decimal, encoding)
    from confide import load

    with notes():
        with waiting("loading"):
            loaded = load(model, trusted=trust or [])
            loaded = loaded if alpha is None else loaded.with_alpha(alpha)
        answered = _answer(loaded, new, out, control, dialect)
    if as_json:
        print_json({"answered": answered})
    else:
        tell_answered(answered, out, sys.stderr if out == "-" else sys.stdout)


@app.command(short_help="A page on a saved model's answers.")
def report(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` kept.")],
    predict: Annotated[str, typer.Option(help="New rows: CSV, Parquet or Arrow; - is stdin.")],
    out: Annotated[
        str | None, typer.Option(help="Where the page goes; by default new.html for new.csv, here in this folder.")
    ] = None,
    observational: Annotated[
        str | None,
        typer.Option(
            help="The table that the model was fitted on; with it and the next three the page has "
            "coverage and the test for hidden confounding."
        ),
    ] = None,
    trial: Annotated[str | None, typer.Option(help="The trial that it was fitted on.")] = None,
    treatment: Annotated[str | None, typer.Option(help="Column of the treatment.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column of the outcome.")] = None,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    alpha: OtherAlpha = None,
    trust: Trust = None,
    control: Control = None,
    lower_is_better: LowerIsBetter = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write a page on a saved model's answers, which opens in a browser and needs no network."""
    given = [observational, trial, treatment, outcome]
    if any(given) and not all(given):
        raise typer.BadParameter("give --observational, --trial, --treatment and --outcome together, or none of them.")
    for option, value in (("--id", id), ("--category", category)):
        if value and not any(given):
            raise typer.BadParameter(f"{option} is for --observational and --trial; give them too.")
    # Named after the rows: a page on other rows, or a fuller one of `run --report`, stays.
    out = out or (f"{Path(predict).stem}.html" if Path(predict).is_file() else "report.html")
    check_outputs(report=out, inputs=(model, predict, observational, trial))
    check_one_standard_input(predict, observational, trial)
    dialect = _dialect(sep, decimal, encoding)
    from confide import load

    with notes():
        study = None
        if observational and trial and treatment and outcome:
            study = _read(observational, trial, treatment, outcome, id, category, dialect)
        with waiting("loading"):
            loaded = load(model, trusted=trust or [])
            loaded = loaded if alpha is None else loaded.with_alpha(alpha)
        answered = _report(out, loaded, predict, study, control, seed, dialect, lower_is_better=lower_is_better)
    if as_json:
        print_json({"answered": answered, "report": out})
    else:
        tell_answered(answered, out, sys.stdout)


@app.command(short_help="Every method on held-out trial rows.")
def compare(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    alpha: Alpha = 0.1,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Every method on held-out rows of the trial: coverage with its interval, and width."""
    check_one_standard_input(observational, trial)
    dialect = _dialect(sep, decimal, encoding)
    from confide.held_out import compare_on_held_out
    from confide.methods.registry import METHODS

    with notes():
        study = _read(observational, trial, treatment, outcome, id, category, dialect)
        with progress("methods", len(METHODS)) as tell:
            found = []
            for each in compare_on_held_out(study, alpha, seed):
                found.append(each)
                tell(1)
    if as_json:
        print_json(found)
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
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Overlap, effective sample size and a test for hidden confounding, in words."""
    check_one_standard_input(observational, trial)
    dialect = _dialect(sep, decimal, encoding)
    from confide.diagnostics import hidden_confounding_test

    with notes():
        study = _read(observational, trial, treatment, outcome, id, category, dialect)
        model = _fitted(study, method, alpha, seed)
        with waiting("looking at what to trust"):
            summary = model.summary()
        with waiting("testing for hidden confounding"):
            X, y, labels, in_trial = study
            tests = hidden_confounding_test(X, y, labels, in_trial, random_state=seed)
    if as_json:
        print_json({"summary": summary, "arms": model.diagnostics_, "hidden_confounding": tests})
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
        print_json([{key: getattr(record, key) for key in shown} for record in METHODS.values()])
        return
    from confide.screen import console, method_lines

    for part in method_lines():
        console().print(part, highlight=False)


@app.command(short_help="A real trial, told on screen.")
def demo(
    files: Annotated[
        str | None,
        typer.Option(help="Write these pupils into this folder as CSV files for the other commands, and tell nothing."),
    ] = None,
    page: Annotated[
        str | None, typer.Option("--report", help="Where the report on these pupils goes; by default report.html.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Tell the story on real pupils: what the observational data claim, what the trial gives, what confide gives."""
    if files is not None:
        if page is not None:
            raise typer.BadParameter("--files writes the pupils and tells nothing of them: leave out --report.")
        _write_demo(files, seed, as_json=as_json)
        return
    page = page or "report.html"
    check_outputs(report=page)
    from confide.experiments.story import DRAWS, report_star, tell_star
    from confide.screen import after_story, console, story_parts

    with progress("draws", DRAWS) as tell:
        story, first = tell_star(seed, tell)
    with notes(), waiting("writing the report"):
        report_star(page, first, seed)
    if as_json:
        print_json(story)
        return
    for part in story_parts(story):
        console().print(part, highlight=False)
    typer.echo(after_story(page))


def _write_demo(folder: str, seed: int, *, as_json: bool) -> None:
    """Write the pupils of the demonstration into a folder, and say so."""
    from confide.datasets.star import write_star
    from confide.screen import file_lines

    written = write_star(folder, seed)
    if as_json:
        print_json({"files": written})
    else:
        typer.echo(file_lines(written))


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
    with progress("repetitions", len(plan)) as tell:
        found = plan.run(tell)
    if as_json:
        print_json({"notes": plan.notes, "tables": found})
        return
    from confide.experiments.reproduction.screen import reproduction_parts
    from confide.screen import console

    for each in found:
        for part in reproduction_parts(each):
            console().print(part, highlight=False)


def _check_asked(predict: str | None, out: str, save: str | None, report: str | None, *, lower_is_better: bool) -> None:
    """Refuse options of `run` from which nothing could come."""
    if predict is None and save is None:
        raise typer.BadParameter("give --predict, --save or both: otherwise nothing comes of it.")
    if out != "-" and predict is None:
        raise typer.BadParameter("--out needs --predict: there are no rows to answer for.")
    read_once = predict is None or predict == "-" or (Path(predict).exists() and not Path(predict).is_file())
    if report is not None and read_once:
        raise typer.BadParameter("--report needs --predict with a plain file: its rows are read twice.")
    if lower_is_better and report is None:
        raise typer.BadParameter("--lower-is-better is for a report: give --report.")


def _dialect(separator: str | None, decimal: str, encoding: str | None) -> Dialect:
    """Return how the CSV files are written; a tab may be given as a backslash and t."""
    from confide.formats import Dialect

    return Dialect("\t" if separator == r"\t" else separator, decimal, encoding)


def _read(
    observational: str,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: list[str] | None,
    categories: list[str] | None,
    dialect: Dialect,
    new: str | None = None,
) -> Study:
    """Return the study of two files; identifiers are no covariates, and new rows must have the others."""
    from confide.formats import read_study

    with waiting("reading"):
        return read_study(
            observational,
            trial,
            treatment,
            outcome,
            identifiers or [],
            new,
            categories=categories or [],
            dialect=dialect,
        )


def _fitted(
    study: Study, method: str | None, alpha: float, seed: int, **parameters: list[float] | None
) -> CounterfactualIntervals:
    """Return the model of a study."""
    with waiting("fitting"):
        from confide import CounterfactualIntervals
        from confide.methods.registry import method as method_by_name

        model = CounterfactualIntervals(alpha=alpha, random_state=seed)
        model.set_params(method=method_by_name(model.method if method is None else method, **parameters))
        return model.fit(*study)


def _report(
    path: str,
    model: CounterfactualIntervals,
    source: str,
    study: Study | None,
    control: str | None,
    seed: int,
    dialect: Dialect,
    *,
    lower_is_better: bool,
) -> Any:
    """Write the page on a file's rows, with progress where someone watches; return what was counted."""
    from confide.formats import read_batches
    from confide.methods.registry import METHODS
    from confide.report import Evidence, Individuals, write_page

    with progress("rows answered", None) as tell:
        individuals = Individuals.of_batches(model, read_batches(source, dialect), control, source, tell)
    evidence = None
    if study is not None:
        with progress("methods on held-out rows", len(METHODS)) as tell:
            evidence = Evidence.of(model, study, seed, tell=tell)
    with waiting("writing the report"):
        write_page(path, model, individuals, evidence, control=control, lower_is_better=lower_is_better)
    return individuals.counted


def _numbers(text: str | None) -> list[float] | None:
    """Return the numbers of a list like 0,1."""
    if text is None:
        return None
    try:
        return [float(each) for each in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} must be numbers with commas between them, such as 0,1.") from error


def _answer(model: CounterfactualIntervals, source: str, out: str, control: str | None, dialect: Dialect) -> Any:
    """Write the answers for a file, with progress where someone watches."""
    from confide.scale import answer_file

    with progress("rows answered", None) as tell:
        return answer_file(model, source, out, control=control, dialect=dialect, tell=tell)


if __name__ == "__main__":
    main()
