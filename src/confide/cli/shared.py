"""Steps that several commands share: reading the two tables, and fitting a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.cli.console import waiting

if TYPE_CHECKING:
    from confide.data.csv_files import Dialect
    from confide.data.study import Study
    from confide.model import CounterfactualIntervals


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
) -> Study:
    """Return the study of two files; identifiers are not covariates, and new rows must have all covariates."""
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
        )


def fitted(
    study: Study, method: str | None, alpha: float, seed: int, **parameters: list[float] | None
) -> CounterfactualIntervals:
    """Return a model fitted on the study."""
    with waiting("fitting"):
        from confide import CounterfactualIntervals
        from confide.methods.registry import method as method_by_name

        model = CounterfactualIntervals(alpha=alpha, random_state=seed)
        model.set_params(method=method_by_name(model.method if method is None else method, **parameters))
        return model.fit(*study)
