"""Steps that several commands share: reading the two tables, and fitting a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.cli.console import waiting

if TYPE_CHECKING:
    from confide.data.csv_files import Dialect
    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.typing import Label


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
    **whom: str | None,
) -> Study:
    """Return the study of two files; identifiers are not covariates, and new rows must have all covariates.

    ``whom`` are the columns ``assignment`` and ``cluster``, and the ``target``.
    """
    from confide.data.files import read_study

    with waiting("reading"):
        return read_study(
            observational,
            trial,
            treatment,
            outcome,
            identifiers or [],
            new,
            categories=categories or [],
            dialect=dialect,
            covariates=None if covariates is None else [name.strip() for name in covariates.split(",")],
            **whom,
        )


def fitted(
    study: Study,
    method: str | None,
    alpha: float,
    seed: int,
    *,
    base: str | None = None,
    control: str | None = None,
    side: str = "both",
    groups: list[str] | None = None,
    gamma: float = 1.0,
    **parameters: list[float] | str | None,
) -> CounterfactualIntervals:
    """Return a model fitted on the study; ``parameters`` are those of its arms, None being their defaults."""
    with waiting("fitting"):
        from confide import CounterfactualIntervals
        from confide.methods.registry import method as method_by_name

        given = {name: value for name, value in parameters.items() if value is not None}
        model = CounterfactualIntervals(
            alpha=alpha,
            base=base,
            control=_label(control, study),
            side=side,
            groups=groups or None,
            gamma=gamma,
            random_state=seed,
        )
        if given:
            model.set_params(method=method_by_name(str(model.method if method is None else method), **given))
        elif method is not None:
            model.set_params(method=method)
        return model.fit(study)


def _label(text: str | None, study: Study) -> Label | None:
    """Return the treatment that is written so; the text itself if there is none, for the model to refuse."""
    return next((label for label in study.treatment.tolist() if str(label) == text), text)
