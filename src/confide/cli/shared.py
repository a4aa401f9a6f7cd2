"""Steps that several commands share: reading the two tables, and fitting a model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from confide.cli.console import tell_covariates, waiting

if TYPE_CHECKING:
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
    lower_is_better: bool = False

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

    @property
    def given(self) -> list[str]:
        """The options that are set."""
        options = {
            "--lower-is-better": self.lower_is_better,
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


def dialect_of(separator: str | None, decimal: str, encoding: str | None) -> Dialect:
    """Return the format of the CSV files; a tab may be given as a backslash and t."""
    from confide.data.csv_files import Dialect

    return Dialect("\t" if separator == r"\t" else separator, decimal, encoding)


def read_tables(
    observational: str,
    trial: str,
    treatment: str,
    outcome: str,
    identifiers: list[str] | None,
    categories: list[str] | None,
    dialect: Dialect,
    new: str | None = None,
    covariates: str | None = None,
    whom: ForWhom = TRIAL_PEOPLE,
    kept: Kept = ALL_ROWS,
    **large: Any,
) -> Study:
    """Return the study of two files; identifiers are not covariates, and new rows must have all covariates.

    ``large`` makes tables that are read by batches, if they are to be elsewhere than here (`tables_on`).
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
            covariates=None if covariates is None else [name.strip() for name in covariates.split(",")],
            **whom.carried,
            **kept.parameters,
            **large,
        )
    tell_covariates(study, time.monotonic() - began)
    return study


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
