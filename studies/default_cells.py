"""The data of the study of the default: generated and real, in favour of the large table and against it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data.arrow import take_rows
from confide.data.encoding import TableEncoder, kinds_of
from confide.data.splits import Rows
from confide.data.stacking import stack
from confide.datasets import (
    Dataset,
    load_nsw,
    load_star,
    load_within_study,
    synthetic_clinic,
    synthetic_shop,
)
from confide.paper.synthetic_arms import Setting, settings_of, synthetic_settings

if TYPE_CHECKING:
    from collections.abc import Callable

# Observational rows of the paper's data and of the others that are generated, and fresh rows; both arms together.
PAPER_OBSERVATIONAL, OBSERVATIONAL, FRESH = 10_000, 5000, 1000
DIMENSIONS = (1, 5, 10)
TRIAL_SIZES = (50, 250)


def of_dataset(data: Dataset) -> list[Setting]:
    """Return both arms of real data; an arm's test rows are those that had its treatment."""
    study = stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)
    encoder = TableEncoder(kinds_of(study.X)).fit(take_rows(study.X, ~study.trial))
    X = encoder.transform(study.X)
    test = Rows(encoder.transform(data.test.select(study.X.column_names)), data.test[data.outcome].to_numpy())
    labels = data.test[data.treatment].to_numpy()
    return [
        Setting(
            f"Y({arm})",
            X[mine],
            study.y[mine],
            study.trial[mine],
            X[~study.trial],
            test[labels == arm],
            Rows(X, study.y)[~mine & ~study.trial],
        )
        for arm in (0, 1)
        for mine in [study.treatment == arm]
    ]


def generated(generator: Callable[..., Any], rows: int, seed: int, **params: float) -> list[Setting]:
    """Return both arms of a generator that knows the truth, with so many trial rows per arm on average."""
    observational, trial, test = (
        generator(size, randomized=randomized, random_state=np.random.RandomState([seed, part]), **params)
        for part, (size, randomized) in enumerate([(OBSERVATIONAL, False), (2 * rows, True), (FRESH, True)])
    )
    return settings_of(observational, trial, test, test.oracle)


def shuffled(settings: list[Setting], seed: int) -> list[Setting]:
    """Return arms whose observational outcomes belong to other people: a large table that says nothing about x."""
    found = []
    for each in settings:
        y, observational = each.y.copy(), np.flatnonzero(~each.trial)
        y[observational] = y[np.random.default_rng(seed).permutation(observational)]
        found.append(replace(each, y=y))
    return found


def paper(d: int, m: int, seed: int) -> list[Setting]:
    """Return both arms of the paper's data, with m trial rows over both."""
    return synthetic_settings(PAPER_OBSERVATIONAL, m, d, FRESH, seed)


def clinic(rows: int, seed: int, **params: float) -> list[Setting]:
    """Return both arms of the clinic."""
    return generated(synthetic_clinic, rows, seed, **params)


PAPER = {f"paper, d = {d}, m = {m}": partial(paper, d, m) for d in DIMENSIONS for m in TRIAL_SIZES}
CLINIC = {f"clinic, {rows} per arm": partial(clinic, rows) for rows in (30, 75, 250)}
CLINIC["clinic, bias depends on x, 250 per arm"] = partial(clinic, 250, bias_slope=0.8)
CLINIC["clinic, weak covariates, 75 per arm"] = partial(clinic, 75, r2=0.3)
CLINIC["clinic, wild noise, 75 per arm"] = partial(clinic, 75, noise_spread=0.8, skewness=3.0, bias=0.1)
CELLS: dict[str, Callable[[int], list[Setting]]] = {
    **PAPER,
    "STAR": lambda seed: of_dataset(load_star(random_state=seed)),
    "NSW": lambda seed: of_dataset(load_nsw(random_state=seed)),
    "within-study, 30 per arm": lambda seed: of_dataset(load_within_study(trial_size=60, random_state=seed)),
    "within-study, 100 per arm": lambda seed: of_dataset(load_within_study(trial_size=200, random_state=seed)),
    **CLINIC,
    "shop, 30 per arm": partial(generated, synthetic_shop, 30),
    "shop, 100 per arm": partial(generated, synthetic_shop, 100),
    "useless table, 75 per arm": lambda seed: shuffled(clinic(75, seed), seed),
}
