"""The commands that predict: run, predict and report."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.base.memory import peak_memory
from confide.cli.app import (
    DEFAULT_METHOD,
    Above,
    AllRows,
    Alpha,
    Assignment,
    Base,
    Below,
    By,
    Categories,
    Cluster,
    ConformityScore,
    Control,
    Covariates,
    Decimal,
    Encoding,
    Fdr,
    Gamma,
    Group,
    Identifiers,
    Json,
    LowerIsBetter,
    Memory,
    Method,
    Observational,
    OtherAlpha,
    OtherControl,
    Outcome,
    OutcomeLabel,
    Seed,
    Separator,
    Side,
    Target,
    TrainRows,
    Treatment,
    TreatmentLabel,
    Trial,
    Trust,
    Under,
    Unit,
    app,
)
from confide.cli.clusters import Dask, cluster_at, is_folder, tables_on, writes_folder
from confide.cli.config import config_hash, say_changes, use_config, write_config
from confide.cli.console import (
    check_one_standard_input,
    check_outputs,
    notes,
    print_answered,
    print_hash,
    print_json,
    print_memory,
    print_participants,
    waiting,
)
from confide.cli.outputs import answer_on_page, write_answers, write_effects, write_report
from confide.cli.shared import (
    ForWhom,
    Kept,
    PageOptions,
    check_level,
    check_new_rows,
    check_not_exchanged,
    check_parameters,
    dialect_of,
    fitted,
    options_of,
    read_tables,
    summary_for,
    tell_same_people,
    unfitted,
)

if TYPE_CHECKING:
    from confide.data.csv_files import Dialect
    from confide.model import CounterfactualIntervals

SEVERAL_FILES = " --dask answers folders and patterns of Parquet files, into a folder that --out names."


@app.command(short_help="Fit on two files, answer for a third.")
def run(
    context: typer.Context,
    observational: Observational,
    trial: Trial,
    treatment: Treatment,
    outcome: Outcome,
    predict: Annotated[str | None, typer.Option(help="New rows to answer for; - is stdin.")] = None,
    method: Method = DEFAULT_METHOD,
    base: Base = None,
    conformity_score: ConformityScore = None,
    alpha: Alpha = 0.1,
    covariates: Covariates = None,
    id: Identifiers = None,  # noqa: A002  (the option's name)
    category: Categories = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    out: Annotated[str, typer.Option(help="Output file for the intervals: CSV, Parquet or Arrow; - is stdout.")] = "-",
    save: Annotated[str | None, typer.Option(help="Save the fitted model to this file.")] = None,
    report: Annotated[str | None, typer.Option(help="Write a page with all answers, and why to trust them.")] = None,
    participants: Annotated[
        str | None, typer.Option(help="Write the effects of the trial's own people, whose outcome is known, here.")
    ] = None,
    lower_is_better: LowerIsBetter = None,
    outcome_label: OutcomeLabel = None,
    unit: Unit = None,
    treatment_label: TreatmentLabel = None,
    by: By = None,
    above: Above = None,
    below: Below = None,
    fdr: Fdr = None,
    under: Under = None,
    control: Control = None,
    outcome_values: Annotated[
        str | None, typer.Option(help="All values that the outcome can take, such as 0,1: answers keep to them.")
    ] = None,
    outcome_range: Annotated[
        str | None, typer.Option(help="Bounds of the outcome, such as 0,100: answers keep within them.")
    ] = None,
    assignment: Assignment = None,
    cluster: Cluster = None,
    target: Target = None,
    group: Group = None,
    gamma: Gamma = 1.0,
    side: Side = "both",
    train_rows: TrainRows = None,
    all_rows: AllRows = False,
    memory: Memory = None,
    dask: Dask = None,
    seed: Seed = 0,
    config: Annotated[
        str | None,
        typer.Option(
            help="Take the options from this TOML file; those given here come first.",
            callback=use_config,
            is_eager=True,
        ),
    ] = None,
    save_config: Annotated[
        str | None, typer.Option(help="Write the options to this TOML file, to be run later, and read no table.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit on two files, and answer for the people in a third."""
    answering = predict is not None
    whom = ForWhom(assignment, cluster, target, group, gamma, side)
    page = PageOptions(outcome_label, unit, treatment_label, by, above, below, fdr, under, lower_is_better)
    page.check()
    check_level(alpha)
    bounds = {
        "outcome_values": _numbers("--outcome-values", outcome_values),
        "outcome_range": _numbers("--outcome-range", outcome_range),
    }
    analysis = config_hash(context)
    say_changes(context, config)
    asked: dict[str, Any] = {"base": base, "conformity_score": conformity_score, **bounds}
    if save_config is not None:
        check_parameters(unfitted(method, alpha, seed, whom, **asked), whom)
        page.check_shown(report)
        write_config(context, save_config)
        _print_declared(save_config, analysis, as_json=as_json)
        return
    inputs = observational, trial, predict, whom.file
    _check_asked(predict, out, save, report, participants, page)
    screen = sys.stderr if answering and out == "-" else sys.stdout
    outputs, folder = (out if answering else None, save, report, participants), writes_folder(dask, out, report)
    check_outputs(*outputs, as_json=as_json, inputs=(*inputs, config), folder=folder)
    check_one_standard_input(*inputs)
    _check_people(predict, trial, participants, whom, by_cluster=folder)
    dialect = dialect_of(sep, decimal, encoding)
    from confide.base.cache import sharing_fits

    # What the report measures learns the same from the large table as the model does.
    with cluster_at(dask) as workers, notes(), sharing_fits() if report is not None else nullcontext():
        tables = observational, trial, treatment, outcome, id, category, dialect, predict, covariates, whom
        study = read_tables(*tables, Kept(train_rows, memory, seed, all_rows), by=by, **tables_on(workers))
        page.check_treatments(study.arms)
        model = fitted(study, method, alpha, seed, whom, control=control, **asked)
        model.config_hash_ = analysis
        summary = summary_for(screen, model)
        answered, individuals = None, None
        if predict is not None:
            answered, individuals = write_answers(
                model, predict, out, None, dialect, page=None if report is None else page, workers=workers
            )
        effects = None if participants is None else write_effects(model, study, trial, participants, dialect)
        if save is not None:
            model.save(save)
        if report is not None and individuals is not None:
            write_report(report, model, individuals, study, None, seed, page)
    if as_json:
        record = {"summary": summary, "arms": model.diagnostics_, "answered": answered, "saved": save, "report": report}
        print_json({**record, "participants": effects, "config_hash": analysis, "peak_memory": peak_memory()})
        return
    from confide.cli.text import asked_line, covariate_line

    typer.echo(f"{covariate_line(model.encoder_.columns_)}\n{asked_line(alpha, side, gamma)}\n\n{summary}", file=screen)
    if answered is not None:
        print_answered(answered, out, screen, side)
    if effects is not None:
        print_participants(effects, str(participants), screen, side)
    print_memory(study, observational, memory, screen)
    _print_written(model, report, save, dialect, screen)


@app.command(short_help="Answer new rows with a saved model.")
def predict(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` saved.")],
    new: Annotated[str, typer.Argument(help="New rows: CSV, Parquet or Arrow; - is stdin.")],
    out: Annotated[str, typer.Option(help="Output file for the intervals; - is stdout.")] = "-",
    alpha: OtherAlpha = None,
    trust: Trust = None,
    control: OtherControl = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """Answer for new people with a saved model; files of any length, in constant memory."""
    check_not_exchanged(model, new, "predict {model} {new}")
    check_level(alpha)
    if dask is not None and not is_folder(out):
        raise typer.BadParameter(f"--dask writes a folder of Parquet files: give --out a new folder, got {out}.")
    check_outputs(out, as_json=as_json, inputs=(model, new), folder=dask is not None)
    check_new_rows(new, by_cluster=dask is not None, remedy=SEVERAL_FILES)
    dialect = dialect_of(sep, decimal, encoding)
    from confide import load
    from confide.io.model_file import naming_the_model

    with cluster_at(dask) as workers, notes(), naming_the_model(model):
        with waiting("loading"):
            saved = load(model, trusted=trust or [])
            loaded = saved if alpha is None else saved.with_alpha(alpha)
        answered, _ = write_answers(loaded, new, out, control, dialect, workers=workers)
    if as_json:
        print_json({"answered": answered, "config_hash": loaded.config_hash_})
    else:
        screen = sys.stderr if out == "-" else sys.stdout
        print_answered(answered, out, screen, loaded.side_)
        print_hash(loaded, screen, saved)


@app.command(short_help="A page on a saved model's answers.")
def report(
    model: Annotated[str, typer.Argument(help="A model that `confide run --save` saved.")],
    predict: Annotated[str, typer.Option(help="New rows: CSV, Parquet or Arrow; - is stdin.")],
    out: Annotated[
        str | None, typer.Option(help="Output file for the page; by default new.html for new.csv, in this folder.")
    ] = None,
    observational: Annotated[
        str | None,
        typer.Option(
            help="The table that the model was fitted on; with it and the next three the page has average "
            "effects, balance, coverage and the test for hidden confounding."
        ),
    ] = None,
    trial: Annotated[str | None, typer.Option(help="The trial that it was fitted on.")] = None,
    treatment: Annotated[str | None, typer.Option(help="Column of the treatment.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column of the outcome.")] = None,
    id: Identifiers = None,  # noqa: A002
    category: Categories = None,
    assignment: Assignment = None,
    cluster: Cluster = None,
    target: Target = None,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    alpha: OtherAlpha = None,
    trust: Trust = None,
    control: OtherControl = None,
    lower_is_better: LowerIsBetter = None,
    outcome_label: OutcomeLabel = None,
    unit: Unit = None,
    treatment_label: TreatmentLabel = None,
    by: By = None,
    above: Above = None,
    below: Below = None,
    fdr: Fdr = None,
    under: Under = None,
    train_rows: TrainRows = None,
    memory: Memory = None,
    dask: Dask = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Write a page on a saved model's answers, which opens in a browser and needs no network."""
    given = [observational, trial, treatment, outcome]
    if any(given) and not all(given):
        raise typer.BadParameter("give --observational, --trial, --treatment and --outcome together, or none of them.")
    whom = ForWhom(assignment, cluster, target)
    of_tables: dict[str, Any] = {"--category": category, "--assignment": assignment, "--cluster": cluster}
    of_tables |= {"--by": by, "--train-rows": train_rows, "--memory": memory, "--dask": dask}
    named = (outcome_label or outcome, unit, treatment_label)
    page = PageOptions(*named, by, above, below, fdr, under, lower_is_better)
    page.check()
    for option, value in {**of_tables, "--target": target}.items():
        if value and not any(given):
            raise typer.BadParameter(f"{option} is for --observational and --trial; give them too.")
    check_not_exchanged(model, predict, "report {model} --predict {new}")
    check_level(alpha)
    check_new_rows(predict)
    # Named after the file of rows, so that it does not replace a page on other rows or that of `run --report`.
    out = out or (f"{Path(predict).stem}.html" if Path(predict).is_file() else "report.html")
    check_outputs(report=out, inputs=(model, predict, observational, trial, whom.file))
    check_one_standard_input(predict, observational, trial, whom.file)
    tell_same_people(predict, trial)
    dialect = dialect_of(sep, decimal, encoding)
    from confide import load
    from confide.io.model_file import naming_the_model
    from confide.predict.batches import covariates

    with cluster_at(dask) as workers, notes(), naming_the_model(model):
        with waiting("loading"):
            saved = load(model, trusted=trust or [])
            loaded = saved if alpha is None else saved.with_alpha(alpha)
        if read := [name for name in id or [] if name in covariates(loaded)]:
            raise ValueError(f"--id {read[0]} is a covariate of {model}: leave it out, or fit without that covariate.")
        study = None
        if observational and trial and treatment and outcome:
            tables = observational, trial, treatment, outcome, id, category, dialect, None, covariates(loaded), whom
            kept = Kept(train_rows, memory, seed)
            study = read_tables(*tables, kept, by=by, fitted_on=model, **tables_on(workers))
        answered = answer_on_page(out, loaded, predict, study, control, seed, dialect, page)
    if as_json:
        print_json({"answered": answered, "report": out, "config_hash": loaded.config_hash_})
    else:
        print_answered(answered, out, sys.stdout, loaded.side_)
        print_hash(loaded, sys.stdout, saved)


def _check_asked(
    predict: str | None,
    out: str,
    save: str | None,
    report: str | None,
    participants: str | None,
    page: PageOptions,
) -> None:
    """Raise for options of `run` that would give no output."""
    if predict is None and save is None and participants is None:
        raise typer.BadParameter("give --predict, --save or --participants: otherwise there is no output.")
    if out != "-" and predict is None:
        raise typer.BadParameter("--out needs --predict: there are no rows to answer for.")
    if report is not None and predict is None:
        raise typer.BadParameter("--report needs --predict: there are no rows to show.")
    page.check_shown(report)


def _check_people(
    predict: str | None, trial: str, participants: str | None, whom: ForWhom, *, by_cluster: bool
) -> None:
    """Raise, before a fit, for new rows that cannot be read, and for the trial's people if nothing is proved."""
    if participants is not None:
        if trial == "-":
            raise typer.BadParameter("--participants reads the trial's file twice: name a file, not standard input.")
        whom.check_participants()
    check_new_rows(predict, by_cluster=by_cluster, remedy=SEVERAL_FILES)
    tell_same_people(predict, trial)


def _print_written(
    model: CounterfactualIntervals, report: str | None, save: str | None, dialect: Dialect, screen: Any
) -> None:
    """Say by which analysis, and where the page and the model are."""
    if report is not None:
        typer.echo(f"\nReport: {report}, to be opened in a browser.", file=screen)
    print_hash(model, screen)
    if save is not None:
        following = f"confide predict {save} new.csv --out intervals.csv{options_of(dialect)}"
        typer.echo(f"\nSaved as {save}. Next: {following}", file=screen)


def _print_declared(path: str, analysis: str, *, as_json: bool) -> None:
    """Say that an analysis is declared and nothing was run."""
    if as_json:
        print_json({"config": path, "config_hash": analysis})
        return
    typer.echo(f"The analysis is in {path}; no table was read. Its SHA-256: {analysis}")
    typer.echo(f"Next: confide run --config {path}")


def _numbers(option: str, text: str | None) -> list[float] | None:
    """Return the numbers of an option's list like 0,1."""
    if text is None:
        return None
    try:
        return [float(each) for each in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{option} {text!r} must be numbers with commas between them, such as 0,1.") from error
