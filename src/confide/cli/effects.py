"""The command on average effects."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.cli.app import (
    Assignment,
    Base,
    Categories,
    Cluster,
    Control,
    Covariates,
    Decimal,
    Encoding,
    Identifiers,
    Json,
    Memory,
    Method,
    Observational,
    Outcome,
    Seed,
    Separator,
    TrainRows,
    Treatment,
    Trial,
    app,
)
from confide.cli.clusters import Dask, cluster_at, tables_on
from confide.cli.console import check_one_standard_input, check_outputs, notes, print_json, print_rows, waiting
from confide.cli.shared import ForWhom, Kept, check_level, dialect_of, fitted, read_tables

if TYPE_CHECKING:
    from confide.data.csv_files import Dialect
    from confide.effects.averages import AverageEffect


@app.command(short_help="Average effects, also by group.")
def effects(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Covariate, or comparison such as 'age > 70', that makes groups; repeatable, and then crossed."
        ),
    ] = None,
    method: Method = None,
    base: Base = None,
    alpha: Annotated[float, typer.Option(help="Miscoverage level: 0.05 for 95 % intervals.")] = 0.05,
    covariates: Covariates = None,
    control: Control = None,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    assignment: Assignment = None,
    cluster: Cluster = None,
    out: Annotated[
        str | None, typer.Option(help="Also write the table to this file: CSV, Parquet or Arrow; - is stdout.")
    ] = None,
    train_rows: TrainRows = None,
    memory: Memory = None,
    dask: Dask = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Average effects among people like the trial's, over everybody and by group, with and without the large table."""
    check_level(alpha, "the average effect in {} of trials")
    check_outputs(out, as_json=as_json, inputs=(observational, trial))
    check_one_standard_input(observational, trial)
    dialect = dialect_of(sep, decimal, encoding)
    from confide.cli.effects_text import contradictions
    from confide.diagnostics.advice import on_randomisation
    from confide.effects.averages import average_effect
    from confide.exceptions import InfiniteIntervalWarning

    with cluster_at(dask) as workers, notes():
        whom = ForWhom(assignment, cluster)
        kept = Kept(train_rows, memory, seed)
        tables = observational, trial, treatment, outcome, id, category, dialect, None, covariates, whom, kept
        study = read_tables(*tables, **tables_on(workers))
        # Intervals for individuals are not asked for: neither their bounds nor their shortages matter here.
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        bounds = [0.0, 1.0] if set(study.y.tolist()) == {0.0, 1.0} else None
        model = fitted(study, method, alpha, seed, whom, base=base, control=control, outcome_range=bounds)
        others = [label for label in model.treatments_.tolist() if label != model.control_]
        with waiting("comparing the arms"):
            found = {label: average_effect(model, study, label, model.control_, by or None, alpha) for label in others}
        every = [record for records in found.values() for record in records]
        for text in (*on_randomisation(model.randomisation_, model.whom_), *contradictions(every)):
            warnings.warn(text, stacklevel=1)
    if out is not None:
        _write(every, out, dialect)
    if as_json:
        print_json([{**vars(record), "share_of_width": record.share_of_width} for record in every])
        print_rows(study, observational, sys.stderr)
        return
    from rich.console import Console

    from confide.cli.effects_text import effect_lines, effect_table

    screen = sys.stderr if out == "-" else sys.stdout
    for records in found.values():
        Console(file=screen).print(effect_table(records, treatment), highlight=False)
        typer.echo("\n".join(effect_lines(records, treatment, outcome)) + "\n", file=screen)
    print_rows(study, observational, screen)


def _write(records: list[AverageEffect], path: str, dialect: Dialect) -> None:
    """Write one row per record."""
    import pyarrow as pa

    from confide.data.writing import writing

    table = pa.Table.from_pylist([_row(record) for record in records])
    with writing(path, table.schema, dialect.holding(map(str, records))) as sink:
        sink.write_table(table)


def _row(record: AverageEffect) -> dict[str, Any]:
    """Return a record as a row of a file."""
    columns = vars(record).copy()
    rows, needed = columns.pop("rows"), columns.pop("number_needed_to_treat")
    if columns["clusters"] is None:
        del columns["clusters"]
    columns["rows_treated"], columns["rows_control"] = rows[record.treated], rows[record.control]
    columns["share_of_width"] = record.share_of_width
    names = ("needed_to_treat", "needed_to_treat_low", "needed_to_treat_high")
    return columns | dict(zip(names, needed or (None, None, None), strict=True))
