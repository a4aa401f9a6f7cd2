"""Coverage and width of a method on the paper's synthetic data, where both potential outcomes are known."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data.study import Study
from confide.datasets import synthetic
from confide.model import CounterfactualIntervals

if TYPE_CHECKING:
    from confide.conformal.intervals import Intervals


@dataclass(frozen=True)
class Result:
    """One method, one repetition, one target: "Y(0)", "Y(1)" or "effect"."""

    method: str
    seed: int
    target: str
    coverage: float
    width: float
    infinite: float
    seconds: float


def repeat_synthetic(
    name: str,
    method: Any,
    seed: int,
    *,
    n: int = 10_000,
    m: int = 250,
    d: int = 1,
    n_test: int = 2_000,
    alpha: float = 0.1,
) -> list[Result]:
    """Return coverage and mean width of a method on fresh rows, with data and method drawn from the seed.

    The setting is the paper's: n observational and m trial rows over both arms, d covariates. ``seconds`` are
    those of fitting and predicting everything, the same in the three results.
    """
    observational, trial, test = (
        synthetic(rows, d=d, randomized=randomized, random_state=np.random.RandomState([seed, part]))
        for part, (rows, randomized) in enumerate([(n, False), (m, True), (n_test, True)])
    )
    study = Study(
        np.concatenate([observational.X, trial.X]),
        np.concatenate([observational.y, trial.y]),
        np.concatenate([observational.treatment, trial.treatment]),
        np.repeat([False, True], [n, m]),
    )
    started = time.perf_counter()
    model = CounterfactualIntervals(method, alpha=alpha, random_state=seed).fit(study)
    answers: dict[str, tuple[Intervals, Any]] = {
        "Y(0)": (model.predict_interval(test.X, treatment=0), test.y0),
        "Y(1)": (model.predict_interval(test.X, treatment=1), test.y1),
        "effect": (model.predict_effect_interval(test.X), test.y1 - test.y0),
    }
    seconds = time.perf_counter() - started
    return [
        Result(
            method=name,
            seed=seed,
            target=target,
            coverage=float(intervals.contains(truth).mean()),
            width=float(intervals.width.mean()),
            infinite=float(intervals.infinite.mean()),
            seconds=seconds,
        )
        for target, (intervals, truth) in answers.items()
    ]
