"""What the commands that predict write: intervals of a file's rows, effects of the trial's people, and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from confide.cli.clusters import answered_on, is_folder
from confide.cli.console import progress, waiting
from confide.cli.shared import groups_by

if TYPE_CHECKING:
    from confide.cli.shared import PageOptions
    from confide.dask.cluster import Cluster
    from confide.data.csv_files import Dialect
    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.predict.batches import Answered, Part
    from confide.report import Choice, Individuals


def write_answers(
    model: CounterfactualIntervals,
    source: str,
    out: str,
    control: str | None,
    dialect: Dialect,
    *,
    page: PageOptions | None = None,
    workers: Cluster | None = None,
) -> tuple[Answered, Individuals | None]:
    """Write the predictions for a file, with progress on a terminal; return the counts and, for a page, the rows.

    A folder is written by the workers of a cluster.
    """
    if workers is not None and is_folder(out):
        return answered_on(workers, model, source, out, control), None
    from confide.predict.batches import answer_file, covariates

    gathered = None
    if page is not None:
        from confide.report import Gathered

        gathered = Gathered(model, covariates(model), control, _choice(model, page))
    with progress("rows answered", None) as advance:
        answered = answer_file(
            model,
            source,
            out,
            control=control,
            dialect=dialect,
            report_progress=advance,
            keep=_ignore if gathered is None else gathered.add,
        )
    return answered, None if gathered is None else gathered.individuals(None)


def _ignore(_: Part) -> None:
    """Keep nothing."""


def write_effects(
    model: CounterfactualIntervals, study: Study, source: str, out: str, dialect: Dialect
) -> dict[str, dict[str, int]]:
    """Write the effects of the trial's people; return, by pair, on which side of 0 their intervals are."""
    from confide.predict.participants import write_participants

    return write_participants(model, study, source, out, dialect=dialect)


def answer_on_page(
    path: str,
    model: CounterfactualIntervals,
    source: str,
    study: Study | None,
    control: str | None,
    seed: int,
    dialect: Dialect,
    page: PageOptions,
) -> Answered:
    """Write the page on a file's rows, with progress on a terminal; return the counts."""
    from confide.data.files import read_batches
    from confide.report import Individuals

    with progress("rows answered", None) as advance:
        batches = read_batches(source, dialect)
        individuals = Individuals.of_batches(model, batches, control, source, advance, _choice(model, page))
    write_report(path, model, individuals, study, control, seed, page)
    return individuals.counted


def _choice(model: CounterfactualIntervals, page: PageOptions) -> Choice | None:
    """Return whom the page is to choose; None if nobody asked."""
    from confide.predict.answer import label_of
    from confide.report import Choice

    if page.above is None and page.below is None:
        return None
    under = None if page.under is None else label_of(model, page.under)
    return Choice(page.above, page.below, 0.1 if page.fdr is None else page.fdr, under)


def write_report(
    path: str,
    model: CounterfactualIntervals,
    individuals: Individuals,
    study: Study | None,
    control: str | None,
    seed: int,
    page: PageOptions,
) -> None:
    """Write the page on rows that are answered, with the evidence that a study gives."""
    from confide.report import Evidence, Findings, Words, measured_methods, write_page

    words = Words.of(model, page.outcome, page.unit or "", page.names, lower_is_better=page.lower_is_better)
    by = [] if study is None else groups_by(page.by, study)
    with waiting("averages, balance and tipping points"):
        findings = Findings.of(model, individuals, study, control=control, by=by)
    if refused := findings.refused.get("selections"):
        typer.echo(f"note: whom to choose is not answered: {refused}", err=True)
    evidence = None
    if study is not None:
        with progress("methods on held-out rows", len(measured_methods(model))) as advance:
            evidence = Evidence.of(model, study, seed, report_progress=advance, by=by[0] if by else None)
    with waiting("writing the report"):
        write_page(path, model, individuals, findings, evidence, words=words, control=control)
