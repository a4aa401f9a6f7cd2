"""The commands on known data: demo and reproduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli.app import Json, Seed, app
from confide.cli.console import (
    check_outputs,
    notes,
    open_page,
    print_json,
    progress,
    waiting,
)

if TYPE_CHECKING:
    from confide.datasets.examples import Example


@app.command(short_help="An example on a real trial.")
def demo(
    data: Annotated[
        str,
        typer.Option(
            help="Which data: training (a small trial, to which the large table adds much) or star (a large table "
            "that misleads, and adds little)."
        ),
    ] = "training",
    files: Annotated[
        str | None,
        typer.Option(help="Only write these people into this folder, as CSV files for the other commands."),
    ] = None,
    page: Annotated[
        str | None, typer.Option("--report", help="Output file for the report on these people; by default report.html.")
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser, if there is one on this screen.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show an example on real people: what observational data claim, what the trial gives, what confide gives."""
    from confide.datasets.examples import EXAMPLES

    if data not in EXAMPLES:
        from confide.base.validation import suggest

        raise typer.BadParameter(f"--data {data!r} is unknown; {suggest(data, EXAMPLES)}")
    example = EXAMPLES[data]
    if files is not None:
        for name, asked in (("--report", page is not None), ("--open", open_it)):
            if asked:
                raise typer.BadParameter(f"--files only writes the data: leave out {name}.")
        _write_demo(files, example, seed, as_json=as_json)
        return
    page = page or "report.html"
    check_outputs(report=page)
    from confide.cli.text import after_story, console, story_parts
    from confide.demo import report_on, story_of

    with progress("draws", example.draws) as advance:
        story, first = story_of(example, seed, advance)
    with notes(), waiting("writing the report"):
        report_on(page, example, first, seed)
    if as_json:
        print_json(story)
        return
    for part in story_parts(example, story):
        console().print(part, highlight=False)
    typer.echo(after_story(page, data, example))
    if open_it:
        open_page(page)


def _write_demo(folder: str, example: Example, seed: int, *, as_json: bool) -> None:
    """Write the people of the demonstration into a folder, and list the files."""
    from confide.cli.text import file_lines

    written = example.load(seed).write(folder, example.person)
    if as_json:
        print_json({"files": written})
    else:
        typer.echo(file_lines(written, example))


@app.command(short_help="The paper's tables, run again.")
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
    """Run the paper's tables and figures again, and show our results beside the paper's."""
    with notes():
        from confide.paper import Reproduction, reproduction_parts

        plan = Reproduction.of(table, seeds=seeds, jobs=jobs, out=out, coat=coat, yahoo=yahoo)
        for note in plan.notes:
            typer.echo(f"note: {note}", err=True)
        with progress("repetitions", len(plan)) as advance:
            found = plan.run(advance)
    if as_json:
        print_json({"notes": plan.notes, "tables": found})
        return
    from confide.cli.text import console

    for each in found:
        for part in reproduction_parts(each):
            console().print(part, highlight=False)
