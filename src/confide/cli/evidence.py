"""The commands on what to trust: compare, diagnose and methods."""

from __future__ import annotations

import sys

import typer

from confide.cli.app import (
    Alpha,
    Assignment,
    Base,
    Categories,
    Cluster,
    ConformityScore,
    Control,
    Covariates,
    Decimal,
    Encoding,
    Gamma,
    Group,
    Identifiers,
    Json,
    Memory,
    Method,
    Observational,
    Outcome,
    Seed,
    Separator,
    Side,
    Target,
    TrainRows,
    Treatment,
    Trial,
    app,
)
from confide.cli.clusters import Dask, cluster_at, tables_on
from confide.cli.console import (
    check_one_standard_input,
    notes,
    print_json,
    print_rows,
    progress,
    waiting,
)
from confide.cli.shared import ForWhom, Kept, check_level, dialect_of, fitted, read_tables


@app.command(short_help="Every method on held-out trial rows.")
def compare(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    base: Base = None,
    alpha: Alpha = 0.1,
    covariates: Covariates = None,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    assignment: Assignment = None,
    cluster: Cluster = None,
    target: Target = None,
    group: Group = None,
    gamma: Gamma = 1.0,
    side: Side = "both",
    train_rows: TrainRows = None,
    memory: Memory = None,
    dask: Dask = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Every method on held-out rows of the trial: coverage with its interval, and width."""
    whom = ForWhom(assignment, cluster, target, group, gamma, side)
    check_level(alpha)
    check_one_standard_input(observational, trial, whom.file)
    dialect = dialect_of(sep, decimal, encoding)
    from confide import CounterfactualIntervals
    from confide.compare import compare_on_held_out, held_out_rows
    from confide.methods.registry import METHODS

    with cluster_at(dask) as workers, notes():
        kept = Kept(train_rows, memory, seed)
        tables = observational, trial, treatment, outcome, id, category, dialect, None, covariates, whom, kept
        study = read_tables(*tables, **tables_on(workers))
        models = {name: CounterfactualIntervals(name, base=base, **whom.parameters) for name in METHODS}
        with progress("methods", len(METHODS)) as advance:
            found = []
            for each in compare_on_held_out(study, alpha, seed, METHODS, models, group):
                found.append(each)
                advance(1)
    if as_json:
        print_json(found)
        print_rows(study, observational, sys.stderr)
        return
    from confide.cli.text import comparison_notes, comparison_tables, console, group_parts

    for table in comparison_tables(found, alpha, gamma):
        console().print(table)
    if group:
        default = next((each for each in found if each.method == CounterfactualIntervals().method), found[0])
        for part in group_parts(default, alpha, group, gamma):
            console().print(part, highlight=False)
        typer.echo(f"By group: {default.method} only. `confide diagnose --method` shows another, --json all.")
    typer.echo("\n".join(comparison_notes(found, held_out_rows(study))))
    print_rows(study, observational, sys.stdout)


@app.command(short_help="Balance, overlap, weights, hidden confounding.")
def diagnose(
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    method: Method = None,
    base: Base = None,
    conformity_score: ConformityScore = None,
    alpha: Alpha = 0.1,
    covariates: Covariates = None,
    control: Control = None,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    assignment: Assignment = None,
    cluster: Cluster = None,
    target: Target = None,
    group: Group = None,
    gamma: Gamma = 1.0,
    side: Side = "both",
    train_rows: TrainRows = None,
    memory: Memory = None,
    dask: Dask = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Balance, flow of rows, overlap, effective sample size and a test for hidden confounding; coverage by group."""
    whom = ForWhom(assignment, cluster, target, group, gamma, side)
    check_level(alpha)
    check_one_standard_input(observational, trial, whom.file)
    dialect = dialect_of(sep, decimal, encoding)
    from confide.compare import on_held_out
    from confide.diagnostics import balance, row_flow
    from confide.diagnostics.confounding_test import hidden_confounding_test

    with cluster_at(dask) as workers, notes():
        kept = Kept(train_rows, memory, seed)
        tables = observational, trial, treatment, outcome, id, category, dialect, None, covariates, whom, kept
        study = read_tables(*tables, **tables_on(workers))
        model = fitted(study, method, alpha, seed, whom, base=base, control=control, conformity_score=conformity_score)
        with waiting("computing the diagnostics"):
            summary = model.summary()
            balanced, flow = balance(study, control=model.control_), row_flow(model, study)
        with waiting("testing for hidden confounding"):
            tests = hidden_confounding_test(study.X, study.y, study.treatment, study.trial, random_state=seed)
        held_out = None
        if group:
            with waiting("measuring coverage by group"):
                held_out = on_held_out(model, study, seed, group)
    if as_json:
        found = {"arms": model.diagnostics_, "hidden_confounding": tests, "randomisation": model.randomisation_}
        print_json({"summary": summary, "balance": balanced, "flow": flow, **found, "held_out": held_out})
        return
    from confide.cli.balance_text import print_balance_and_flow
    from confide.cli.text import asked_line, confounding_lines, console, group_parts

    print_rows(study, observational, sys.stdout)
    print_balance_and_flow(balanced, flow, clustered=study.cluster is not None)
    typer.echo(f"{asked_line(alpha, side, gamma)}\n\n{summary}")
    if held_out is not None:
        typer.echo()
        for part in group_parts(held_out, alpha, group or [], gamma):
            console().print(part, highlight=False)
    typer.echo("\n" + "\n".join(confounding_lines(tests)))


@app.command(short_help="What methods use and promise.")
def methods(as_json: Json = False) -> None:
    """Show the methods: what they use and what they promise."""
    from confide.methods.registry import METHODS

    if as_json:
        shown = ("name", "summary", "uses", "promise")
        print_json([{key: getattr(record, key) for key in shown} for record in METHODS.values()])
        return
    from confide.cli.text import console, method_lines

    for part in method_lines():
        console().print(part, highlight=False)
