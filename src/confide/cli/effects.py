"""The command on average effects."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
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
    Outcome,
    Seed,
    Separator,
    TrainRows,
    Treatment,
    Trial,
    Trust,
    app,
)
from confide.cli.clusters import Dask, cluster_at, tables_on
from confide.cli.console import check_one_standard_input, check_outputs, notes, print_json, print_rows, waiting
from confide.cli.shared import (
    ForWhom,
    Kept,
    check_level,
    check_not_exchanged,
    dialect_of,
    fitted,
    groups_by,
    read_tables,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.data.csv_files import Dialect
    from confide.data.study import Study
    from confide.effects.averages import AverageEffect
    from confide.model import CounterfactualIntervals

# What decides a fit, which a saved model has behind it.
OF_A_FIT = ("method", "base", "covariates", "train_rows", "memory", "dask", "seed")


@app.command(short_help="Average effects, also by group.")
def effects(
    context: typer.Context,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    observational: Annotated[
        str | None,
        typer.Option(
            help="The large observational table: CSV, Parquet or Arrow; - is stdin. Of Parquet, also a folder or "
            "a pattern like 'table/*.parquet'. Not needed with --model."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A model that `confide run --save` saved, to be used in place of a fit.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Covariate, or comparison such as 'age > 70', that makes groups; repeatable, each by itself; "
            "sex,'age > 70' in one crosses them."
        ),
    ] = None,
    method: Method = None,
    base: Base = None,
    alpha: Annotated[float, typer.Option(help="Miscoverage level: 0.05 for 95 % intervals.")] = 0.05,
    covariates: Covariates = None,
    control: Control = None,
    lower_is_better: Annotated[
        bool | None,
        typer.Option(
            "--lower-is-better/--higher-is-better", help="Which outcome is the better one; by default neither is."
        ),
    ] = None,
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
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Average effects among people like the trial's, over everybody and by group, with and without the large table."""
    _check_asked(context, model, observational, trust)
    if model is not None:
        check_not_exchanged(model, trial, "effects --model {model} --trial {new}")
    check_level(alpha, "the average effect in {} of trials")
    check_outputs(out, as_json=as_json, inputs=(observational, trial, model))
    check_one_standard_input(observational, trial)
    dialect = dialect_of(sep, decimal, encoding)
    from confide.cli.effects_text import contradictions
    from confide.diagnostics.advice import on_randomisation, on_refuted_lot
    from confide.effects.averages import averages_by_each
    from confide.exceptions import InfiniteIntervalWarning
    from confide.io.model_file import naming_the_model
    from confide.predict.answer import contrasts

    whom = ForWhom(assignment, cluster)
    named = nullcontext() if model is None else naming_the_model(model)
    with cluster_at(dask) as workers, notes(), named:
        columns = treatment, outcome, id
        if model is None:
            kept = Kept(train_rows, memory, seed)
            tables = observational, trial, *columns, category, dialect, None, covariates, whom, kept
            study = read_tables(*tables, by=by, **tables_on(workers))
            # Intervals for individuals are not asked for: neither their bounds nor their shortages matter here.
            warnings.simplefilter("ignore", InfiniteIntervalWarning)
            bounds = [0.0, 1.0] if _is_binary(study) else None
            used = fitted(study, method, alpha, seed, whom, base=base, control=control, outcome_range=bounds)
        else:
            used = _loaded(model, outcome, trust)
            from confide.predict.batches import categories
            from confide.predict.batches import covariates as read_by

            declared = [*(category or []), *categories(used)]
            saved = observational, trial, *columns, declared, dialect, None, read_by(used), whom
            study = read_tables(*saved, by=by, fitted_on=model)
        groups = groups_by(by, study)
        with waiting("comparing the arms"):
            found = [averages_by_each(used, study, *pair, groups, alpha) for pair in contrasts(used, control)]
        every = [record for records in found for record in records]
        # A lot that is refuted is reason enough for intervals that contradict each other.
        refuted = bool(on_refuted_lot(used.randomisation_))
        further = [] if refuted else contradictions(every)
        for text in (*on_randomisation(used.randomisation_, used.whom_), *further):
            warnings.warn(text, stacklevel=1)
    if out is not None:
        _write(every, out, dialect)
    if as_json:
        print_json([{**vars(record), "share_of_width": record.share_of_width} for record in every])
        _print_rows(study, observational, sys.stderr)
        return
    screen = sys.stderr if out == "-" else sys.stdout
    words: dict[str, Any] = {"lower_is_better": lower_is_better, "binary": _is_binary(study), "refuted": refuted}
    _tell(screen, found, treatment, outcome, **words)
    _print_rows(study, observational, screen)


def _tell(screen: Any, found: list[list[AverageEffect]], treatment: str, outcome: str, **words: Any) -> None:
    """Print the table of each pair of treatments, and what it means."""
    from rich.console import Console

    from confide.cli.effects_text import effect_lines, effect_table

    for records in found:
        Console(file=screen).print(effect_table(records, treatment), highlight=False)
        typer.echo("\n".join(effect_lines(records, treatment, outcome, **words)) + "\n", file=screen)


def _check_asked(
    context: typer.Context, model: str | None, observational: str | None, trust: Sequence[str] | None
) -> None:
    """Raise for options that a saved model has behind it, and for those that need one."""
    if model is None:
        if observational is None:
            raise typer.BadParameter("give --observational, to fit on, or --model, a saved model.")
        if trust:
            raise typer.BadParameter("--trust is for a saved model: give --model.")
        return
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    given = [options[name] for name in OF_A_FIT if _is_given(context, name)]
    if given:
        decide = "decides" if len(given) == 1 else "decide"
        raise typer.BadParameter(f"{', '.join(given)} {decide} a fit, and {model} is fitted: leave out either.")


def _is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option stands in the command."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _loaded(path: str, outcome: str, trust: list[str] | None) -> CounterfactualIntervals:
    """Return the saved model; raise if it predicts another outcome."""
    from confide import load

    with waiting("loading"):
        model = load(path, trusted=trust or [])
    if model.outcome_column_ not in (None, outcome):
        raise ValueError(
            f"{path} was fitted on the outcome {model.outcome_column_!r}, got --outcome {outcome}: name that column, "
            "or leave --model out to fit on this one."
        )
    return model


def _is_binary(study: Study) -> bool:
    """Return whether outcomes are 0 and 1."""
    return set(study.y.tolist()) == {0.0, 1.0}


def _print_rows(study: Study, observational: str | None, screen: Any) -> None:
    """Print how many rows of an observational table the figures are of, if there is one."""
    if observational is not None:
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
