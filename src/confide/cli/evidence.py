"""The commands on what to trust: compare, diagnose and methods."""

from __future__ import annotations

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
    Method,
    Observational,
    Outcome,
    Seed,
    Separator,
    Side,
    Target,
    Treatment,
    Trial,
    app,
)
from confide.cli.console import (
    check_one_standard_input,
    notes,
    print_json,
    progress,
    waiting,
)
from confide.cli.shared import dialect_of, fitted, read_tables


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
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Every method on held-out rows of the trial: coverage with its interval, and width."""
    check_one_standard_input(observational, trial)
    dialect = dialect_of(sep, decimal, encoding)
    from confide import CounterfactualIntervals
    from confide.compare import compare_on_held_out
    from confide.methods.registry import METHODS

    with notes():
        study = read_tables(observational, trial, treatment, outcome, id, category, dialect, None, covariates)
        models = {name: CounterfactualIntervals(name, base=base) for name in METHODS}
        with progress("methods", len(METHODS)) as advance:
            found = []
            for each in compare_on_held_out(study, alpha, seed, METHODS, models):
                found.append(each)
                advance(1)
    if as_json:
        print_json(found)
        return
    from confide.cli.text import comparison_notes, comparison_tables, console

    for table in comparison_tables(found, alpha):
        console().print(table)
    typer.echo("\n".join(comparison_notes(found)))


@app.command(short_help="Overlap, weights, hidden confounding.")
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
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Overlap, effective sample size and a test for hidden confounding, in words."""
    check_one_standard_input(observational, trial)
    dialect = dialect_of(sep, decimal, encoding)
    from confide.diagnostics.confounding_test import hidden_confounding_test

    with notes():
        whom = {"assignment": assignment, "cluster": cluster, "target": target}
        study = read_tables(observational, trial, treatment, outcome, id, category, dialect, None, covariates, **whom)
        model = fitted(
            study,
            method,
            alpha,
            seed,
            base=base,
            control=control,
            side=side,
            groups=group,
            gamma=gamma,
            conformity_score=conformity_score,
        )
        with waiting("computing the diagnostics"):
            summary = model.summary()
        with waiting("testing for hidden confounding"):
            tests = hidden_confounding_test(study.X, study.y, study.treatment, study.trial, random_state=seed)
    if as_json:
        found = {"arms": model.diagnostics_, "hidden_confounding": tests, "randomisation": model.randomisation_}
        print_json({"summary": summary, **found})
        return
    from confide.cli.text import confounding_lines

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
    from confide.cli.text import console, method_lines

    for part in method_lines():
        console().print(part, highlight=False)
