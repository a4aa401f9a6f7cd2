"""The command line. Heavy imports live inside the commands, so that help is instant."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from confide import __version__

if TYPE_CHECKING:
    from rich.table import Table

    from confide.experiments.coverage import Result

# typer's public names of the errors that it raises for bad usage and for an interrupt.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Prediction intervals for individual outcomes and effects that hold under hidden confounding.",
)


def main() -> None:
    """Run the command line; any bad input is one line on stderr and exit status 2."""
    try:
        status = app(standalone_mode=False)
    except typer.Abort:
        _fail("interrupted.")
    except UsageError as error:
        _fail(error.format_message())
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error))
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    """Print one line on stderr and leave with status 2."""
    typer.echo(f"confide: {' '.join(message.split())}", err=True)
    sys.exit(2)


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


@app.command()
def methods() -> None:
    """Show the methods: what they use and what they promise."""
    from rich.console import Console
    from rich.table import Table

    from confide.methods.registry import METHODS

    console = Console()
    for record in METHODS.values():
        console.print(f"[bold]{record.name}[/bold]", highlight=False)
        lines = Table.grid(padding=(0, 2))
        for heading, text in (("", record.summary), ("uses", record.uses), ("promise", record.promise)):
            lines.add_row("", heading, text)
        console.print(lines)
    console.print("α is the level asked for, r̂ an estimated density ratio, m the number of trial rows in the arm.")


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(min=1, help="How many repetitions to average.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
) -> None:
    """Try every method on synthetic data with a hidden confounder."""
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from confide.experiments.coverage import repeat_synthetic
    from confide.methods.registry import METHODS

    console, errors = Console(), Console(stderr=True)
    results = []
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("fitting", total=len(METHODS) * seeds)
        for repetition in range(seed, seed + seeds):
            for name in METHODS:
                results += repeat_synthetic(name, name, repetition)
                progress.advance(task)
    console.print(
        "A hidden cause decides who is treated and drives the outcome. There are 10,000 observational rows and "
        "250 randomised ones. How often does a 90 % interval hold for new people, and how wide is it?\n"
    )
    console.print(_demo_table(results, seeds))
    console.print(
        "\nPromised coverage of an outcome, α = 0.1, on average over samples (effect: both arms at α/2 each):"
    )
    promises = Table.grid(padding=(0, 2))
    for record in METHODS.values():
        promises.add_row("", record.name, record.promise)
    console.print(promises)


def _demo_table(results: list[Result], seeds: int) -> Table:
    """Return coverage, width and seconds of each method."""
    from statistics import fmean, stdev

    from rich.box import SIMPLE
    from rich.table import Table

    times = "one seed" if seeds == 1 else f"mean of {seeds} seeds"
    table = Table(title=f"coverage ± standard error / width, {times}", box=SIMPLE, padding=(0, 1), pad_edge=False)
    targets = list(dict.fromkeys(result.target for result in results))
    table.add_column("method", no_wrap=True)
    for heading in (*targets, "s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in dict.fromkeys(result.method for result in results):
        mine = [result for result in results if result.method == name]
        cells = []
        for target in targets:
            coverages = [result.coverage for result in mine if result.target == target]
            width = fmean(result.width for result in mine if result.target == target)
            error = f"{stdev(coverages) / len(coverages) ** 0.5:.2f}" if len(coverages) > 1 else ""
            cells.append(f"{fmean(coverages):.2f}{error.replace('0.', '±.', 1)}/{width:.2f}")
        table.add_row(name, *cells, f"{fmean(result.seconds for result in mine):.1f}")
    return table


if __name__ == "__main__":
    main()
