"""Steps that several commands share: reading the two tables, and fitting a model."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from confide.cli.console import tell_covariates, waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.data.csv_files import Dialect
    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.typing import Label


@dataclass(frozen=True)
class ForWhom:
    """The options that say for whom answers are to hold."""

    assignment: str | None = None
    cluster: str | None = None
    target: str | None = None
    groups: list[str] | None = None
    gamma: float = 1.0
    side: str = "both"

    @property
    def carried(self) -> dict[str, Any]:
        """What the study carries: columns of the trial, and the target."""
        return {"assignment": self.assignment, "cluster": self.cluster, "target": self.target}

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of a model."""
        return {"groups": self.groups or None, "gamma": self.gamma, "side": self.side}

    def check_participants(self) -> None:
        """Raise, before a fit, if nothing is proved for the trial's own people with these options."""
        from confide.effects.participants import check_participants
        from confide.methods.promise import Whom

        check_participants({}, Whom(tuple(name for name, value in self.carried.items() if value is not None)))

    @property
    def file(self) -> str | None:
        """The file of the target, if it is one."""
        return None if self.target == "observational" else self.target


@dataclass(frozen=True)
class PageOptions:
    """The options that say what the report shows and what it calls things."""

    outcome: str | None = None
    unit: str | None = None
    treatments: list[str] | None = None
    by: list[str] | None = None
    above: float | None = None
    below: float | None = None
    fdr: float | None = None
    under: str | None = None
    lower_is_better: bool | None = None

    def check(self) -> None:
        """Raise for options that contradict each other, or are not understood."""
        if self.above is not None and self.below is not None:
            raise typer.BadParameter("give --above or --below, and one of them.")
        if self.above is None and self.below is None:
            for option, value in {"--fdr": self.fdr, "--under": self.under}.items():
                if value is not None:
                    raise typer.BadParameter(f"{option} is for choosing people: give --above or --below too.")
        if self.fdr is not None:
            from confide.conformal.quantile import check_alpha

            check_alpha(self.fdr, "fdr")
        _ = self.names

    @property
    def names(self) -> dict[str, str]:
        """What treatments are called, by label."""
        named = {}
        for text in self.treatments or []:
            label, equals, name = text.partition("=")
            if not equals or not name.strip():
                raise typer.BadParameter(f"--treatment-label {text!r} must be a label, = and a name, such as 1=coupon.")
            named[label.strip()] = name.strip()
        return named

    def check_treatments(self, labels: Sequence[Label]) -> None:
        """Raise, before a fit, if an option names a treatment that there is not."""
        from confide.base.validation import suggest

        known = [str(label) for label in labels]
        for option, given in (("--treatment-label", list(self.names)), ("--under", [self.under] if self.under else [])):
            for name in given:
                if name not in known:
                    raise ValueError(f"{option} names treatment {name!r}, which is unknown; {suggest(name, known)}")

    def check_shown(self, report: str | None) -> None:
        """Raise if options are set, and there is no page."""
        if self.given and report is None:
            instead = " Without a page, confide effects has average effects by group." if self.by else ""
            raise typer.BadParameter(f"{self.given[0]} is for a report: give --report.{instead}")

    @property
    def given(self) -> list[str]:
        """The options that are set."""
        options = {
            "--lower-is-better": self.lower_is_better is True,
            "--higher-is-better": self.lower_is_better is False,
            "--outcome-label": self.outcome,
            "--unit": self.unit,
            "--treatment-label": self.treatments,
            "--by": self.by,
            "--above": self.above,
            "--below": self.below,
            "--fdr": self.fdr,
            "--under": self.under,
        }
        return [option for option, value in options.items() if value not in (None, False, [])]


# Without any option: people like the trial's.
TRIAL_PEOPLE = ForWhom()


@dataclass(frozen=True)
class Kept:
    """The options that bound an observational table that is read by batches, and the seed of its sample."""

    rows: int | None = None
    memory: str | None = None
    seed: int = 0
    all_rows: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of a large table; those not given are its defaults."""
        if self.all_rows and self.rows is not None:
            raise typer.BadParameter("give --train-rows or --all-rows, and one of them.")
        given = {"rows": "all" if self.all_rows else self.rows, "memory": self.memory, "random_state": self.seed}
        return {name: value for name, value in given.items() if value is not None}


ALL_ROWS = Kept()


# Levels above it are rarely meant: intervals would miss more often than not.
HIGHEST_USUAL = 0.5


def check_level(alpha: float | None, hold: str = "{} of outcomes") -> None:
    """Raise for a level that is none; a note says what a high one asks for, ``hold`` being what intervals hold."""
    from confide.cli.text import percent
    from confide.conformal.quantile import check_alpha

    if alpha is None:
        return
    check_alpha(alpha)
    if alpha > HIGHEST_USUAL:
        share = percent(1 - alpha)
        typer.echo(
            f"note: alpha = {alpha:.10g} asks for {share} intervals, which hold {hold.format(share)}; for "
            f"{percent(alpha)} intervals give --alpha {1 - alpha:.10g}.",
            err=True,
        )


def check_new_rows(path: str | None, *, by_cluster: bool = False, remedy: str = "") -> None:
    """Raise, before any work, if new rows are in no file that can be read here, or by the workers of a cluster.

    ``remedy`` is what answers several files, if something does.
    """
    from pathlib import Path

    from confide.data.formats import STANDARD, format_of
    from confide.data.many_files import is_of_batches, open_dataset, paths_of

    if by_cluster and path is not None:
        open_dataset(path)
        return
    if path in (None, STANDARD):
        return
    several = "a folder" if Path(path).is_dir() else "a pattern"
    if is_of_batches(path) and (several == "a folder" or paths_of(path) != [path]):
        raise ValueError(f"{path} is {several}, and new rows are read from one file: name it.{remedy}")
    format_of(path)
    if Path(path).is_file() or not Path(path).exists():  # a pipe can be opened only once
        with Path(path).open("rb"):
            pass


def check_not_exchanged(model: str, new: str, command: str) -> None:
    """Raise if a table stands where the model is to be, and the other way around."""
    from pathlib import Path

    from confide.data.formats import STANDARD, is_table

    if is_table(model) and new != STANDARD and not is_table(new) and not Path(new).is_dir():
        raise ValueError(
            f"{model} looks like a table, and {new} does not: are the two exchanged? Try confide "
            f"{command.format(model=new, new=model)}"
        )


def tell_same_people(new: str | None, trial: str | None) -> None:
    """Say in a note if the new rows are the trial's own file."""
    from pathlib import Path

    if new and trial and all(Path(each).is_file() for each in (new, trial)) and Path(new).samefile(trial):
        typer.echo(
            f"note: {new} is the trial's own file, and promises are for people who are not in it. For the trial's own "
            "people confide run has --participants.",
            err=True,
        )


def dialect_of(separator: str | None, decimal: str, encoding: str | None) -> Dialect:
    """Return the format of the CSV files; a tab may be given as a backslash and t."""
    from confide.data.csv_files import Dialect

    return Dialect("\t" if separator == r"\t" else separator, decimal, encoding)


def options_of(dialect: Dialect) -> str:
    """Return the options that give the format of CSV files, as they stand in a command after a space."""
    given = {
        "--sep": r"\t" if dialect.separator == "\t" else dialect.separator,
        "--decimal": None if dialect.decimal == "." else dialect.decimal,
        "--encoding": dialect.encoding,
    }
    return "".join(f" {option} {shlex.quote(value)}" for option, value in given.items() if value is not None)


def read_tables(
    observational: str | None,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: list[str] | None,
    categories: list[str] | None,
    dialect: Dialect,
    new: str | None = None,
    covariates: str | Sequence[str] | None = None,
    whom: ForWhom = TRIAL_PEOPLE,
    kept: Kept = ALL_ROWS,
    *,
    by: list[str] | None = None,
    fitted_on: str | None = None,
    **large: Any,
) -> Study:
    """Return the study of two files; identifiers are not covariates, and new rows must have all covariates.

    ``covariates`` may be one text, with commas between the names; ``by`` are options --by, and ``fitted_on`` is the
    model file whose covariates these are. ``large`` makes tables that are read by batches, if they are to be elsewhere
    than here (`tables_on`).
    """
    from confide.data.files import read_study

    began = time.monotonic()
    with waiting("reading"):
        study = read_study(
            observational,
            trial,
            treatment,
            outcome,
            identifiers or [],
            new,
            categories=categories or [],
            dialect=dialect,
            covariates=[name.strip() for name in covariates.split(",")] if isinstance(covariates, str) else covariates,
            groups=whom.groups or [],
            by=by or [],
            fitted_on=fitted_on,
            **whom.carried,
            **kept.parameters,
            **large,
        )
    tell_covariates(study, time.monotonic() - began)
    return study


def groups_by(by: list[str] | None, study: Study) -> list[list[str]]:
    """Return the names that each --by crosses; most have one."""
    from confide.data.arrow import read_frame
    from confide.data.named import crossed

    return [crossed(text, read_frame(study.X).columns) for text in by or []]


def unfitted(
    method: str | None,
    alpha: float,
    seed: int,
    whom: ForWhom,
    *,
    base: str | None = None,
    **parameters: Any,
) -> CounterfactualIntervals:
    """Return a model to be fitted; ``parameters`` are those of its arms, None being their defaults."""
    from confide import CounterfactualIntervals
    from confide.methods.registry import method as method_by_name

    given = {name: value for name, value in parameters.items() if value is not None}
    model = CounterfactualIntervals(alpha=alpha, base=base, random_state=seed, **whom.parameters)
    if given:
        model.set_params(method=method_by_name(str(model.method if method is None else method), **given))
    elif method is not None:
        model.set_params(method=method)
    return model


def fitted(
    study: Study,
    method: str | None,
    alpha: float,
    seed: int,
    whom: ForWhom,
    *,
    control: str | None = None,
    **parameters: Any,
) -> CounterfactualIntervals:
    """Return a model fitted on the study; ``parameters`` as in `unfitted`."""
    with waiting(f"fitting on {len(study):,} rows with {study.X.shape[1]} covariates"):
        model = unfitted(method, alpha, seed, whom, **parameters)
        model.set_params(control=_label(control, study))
        return model.fit(study)


def summary_for(screen: Any, model: CounterfactualIntervals) -> str:
    """Return the model's summary; a refuted lot is said in a note too, unless both go to standard error."""
    from confide.diagnostics.advice import on_refuted_lot

    with waiting("computing the diagnostics"):
        summary = model.summary()
    for text in on_refuted_lot(model.randomisation_) if screen is not sys.stderr else ():
        typer.echo(f"note: {text}", err=True)
    return summary


def check_parameters(model: CounterfactualIntervals, whom: ForWhom) -> None:
    """Raise, without any table, for what a fit would refuse: unknown names, levels, what a method does not take."""
    from confide.methods.study_arms import check_gamma, unfitted_arm
    from confide.models.base_model import check_base
    from confide.models.scores import check_score, check_side

    arm = unfitted_arm(model.method, alpha=model.alpha, base=model.base, random_state=model.random_state)
    check_base(model.base)
    check_score(arm.conformity_score)
    check_gamma(model.gamma)
    asked = [name for name, value in whom.carried.items() if value is not None]
    asked += ["groups"] if whom.groups else []
    asked += ["side"] if check_side(model.side) != "both" else []
    for what in asked:
        arm._check_takes(what)


def _label(text: str | None, study: Study) -> Label | None:
    """Return the treatment that is written so; the text itself if there is none, for the model to refuse."""
    return next((label for label in study.treatment.tolist() if str(label) == text), text)
