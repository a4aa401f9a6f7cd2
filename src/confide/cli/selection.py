"""The command that chooses people: select."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from confide.cli.app import Decimal, Encoding, Json, Separator, Trust, app
from confide.cli.console import check_outputs, notes, print_json, waiting
from confide.cli.shared import check_new_rows, check_not_exchanged, dialect_of


@app.command(short_help="Whom to choose, at a rate of false picks.")
def select(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` saved.")],
    new: Annotated[str, typer.Argument(help="Everybody who could be chosen: CSV, Parquet or Arrow; - is stdin.")],
    treatment: Annotated[str, typer.Option(help="The treatment under which outcomes are meant.")],
    above: Annotated[float | None, typer.Option(help="Choose people whose outcome is above this value.")] = None,
    below: Annotated[float | None, typer.Option(help="Choose people whose outcome is below this value.")] = None,
    fdr: Annotated[float, typer.Option(help="False discovery rate: 0.1 for at most 10 % false picks.")] = 0.1,
    out: Annotated[str, typer.Option(help="Output file for the people chosen; - is stdout.")] = "-",
    everybody: Annotated[
        bool, typer.Option("--all", help="Write everybody, with a column that says who is chosen.")
    ] = False,
    trust: Trust = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Choose the people whose outcome under a treatment is above, or below, a value, at a false discovery rate."""
    if (above is None) == (below is None):
        raise typer.BadParameter("give --above or --below, and one of them.")
    if as_json and out == "-":
        raise typer.BadParameter("--json and the people cannot both go to standard output: name a file with --out.")
    check_not_exchanged(model, new, "select {model} {new}")
    check_outputs(out, inputs=(model, new))
    check_new_rows(new)
    dialect = dialect_of(sep, decimal, encoding)
    from confide import load
    from confide.conformal.quantile import check_alpha
    from confide.io.model_file import naming_the_model
    from confide.predict.selection import select_file

    check_alpha(fdr, "fdr")
    with notes(), naming_the_model(model):
        with waiting("loading"):
            loaded = load(model, trusted=trust or [])
        with waiting("choosing"):
            found = select_file(
                loaded, new, out, treatment, above=above, below=below, fdr=fdr, everybody=everybody, dialect=dialect
            )
    count = int(found.selected.sum())
    if as_json:
        facts = ("treatment", "side", "value", "fdr", "gamma", "rows", "reached", "smallest", "fewest")
        record = {"people": len(found), "selected": count, **{name: getattr(found, name) for name in facts}}
        told = {name: getattr(found, name) for name in ("promise", "found_at_all", "tells_little", "next_time")}
        print_json({**record, **told})
        return
    screen = sys.stderr if out == "-" else sys.stdout
    people = "person" if len(found) == 1 else "people"
    typer.echo(f"{count:,} of {len(found):,} {people} chosen{'' if out == '-' else f', in {out}'}.", file=screen)
    sentences = (found.promise, found.found_at_all, found.tells_little, found.next_time)
    typer.echo("\n".join(filter(None, sentences)), file=screen)
