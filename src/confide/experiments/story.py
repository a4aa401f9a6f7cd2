"""The demonstration: real pupils, a biased table, a small trial, and what each can say."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from confide.counterfactual import CounterfactualIntervals
from confide.datasets import load_star
from confide.diagnostics import coverage_report
from confide.formats import writing
from confide.methods.naive import Naive
from confide.methods.registry import METHODS
from confide.population import PopulationWarning
from confide.study import stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from confide.datasets import Dataset

ALPHA = 0.1
# Draws of trial and held-out pupils: the promise is an average over them.
DRAWS = 6


@dataclass(frozen=True)
class Line:
    """What one way to answer gives on the held-out pupils: mean coverage and width, regular classes and small ones."""

    what: str
    promise: str
    coverage: list[float]
    width: list[float]


@dataclass(frozen=True)
class Story:
    """The demonstration in numbers: means over several draws of trial and held-out pupils.

    Attributes
    ----------
    draws : int
        How many there are.
    observational, trial, held_out : int
        Pupils of each part.
    claimed, true : float
        Mean score in small classes less that in regular ones, among the observational and among the held-out pupils.
    lines : list of Line
        What each way to answer gives.
    """

    draws: int
    observational: int
    trial: int
    held_out: int
    claimed: float
    true: float
    lines: list[Line]


def tell_star(seed: int, tell: Callable[[int], None] = lambda _: None) -> Story:
    """Return the story of Project STAR: what observational pupils claim, what the trial gives, what confide gives.

    ``tell`` is called with 1 after each of the `DRAWS`.
    """
    drawn = []
    for draw in range(DRAWS):
        drawn.append(_draw(DRAWS * seed + draw))
        tell(1)
    names = [(line.what, line.promise) for line in drawn[0].lines]
    lines = []
    for number, (what, promise) in enumerate(names):
        mine = [story.lines[number] for story in drawn]
        coverage, width = (np.mean([getattr(each, name) for each in mine], axis=0) for name in ("coverage", "width"))
        lines.append(Line(what, promise, coverage.tolist(), width.tolist()))
    observational, claimed, true = np.mean([(each.observational, each.claimed, each.true) for each in drawn], axis=0)
    return replace(drawn[0], draws=DRAWS, observational=round(observational), claimed=claimed, true=true, lines=lines)


def _draw(seed: int) -> Story:
    """Return the story of one draw."""
    data = load_star(random_state=seed)
    new, outcomes, labels = held_out(data)
    claimed, true = (_difference(table, str(data.treatment), data.outcome) for table in (data.observational, data.test))
    lines = []
    for what, promise, model in fitted_ways(data, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)  # the blind model is asked about pupils unlike its own
            arms = coverage_report(model, new, outcomes, treatment=labels)
        lines.append(Line(what, promise, [arm.coverage for arm in arms], [arm.width for arm in arms]))
    return Story(1, len(data.observational), len(data.trial), len(data.test), claimed, true, lines)


def held_out(data: Dataset) -> tuple[pa.Table, NDArray[np.float64], NDArray[np.int64]]:
    """Return the covariates, the outcomes and the treatments of the held-out pupils."""
    new = data.test.drop_columns([str(data.treatment), data.outcome])
    return new, data.test[data.outcome].to_numpy(), data.test[data.treatment].to_numpy()


def fitted_ways(data: Dataset, seed: int) -> Iterator[tuple[str, str, CounterfactualIntervals]]:
    """Yield each way to answer: what it is called, what it promises, and its fitted model."""
    # Split conformal prediction that takes observational pupils for a trial: what a careful analyst without one does.
    blind = stack(data.observational, data.observational, treatment=str(data.treatment), outcome=data.outcome)
    both = stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)
    asked = [
        ("observational alone", "nothing", Naive(), blind),
        ("trial alone", METHODS["naive"].promise, Naive(), both),
        ("confide, with both", METHODS["transfer-centred"].promise, "transfer-centred", both),
    ]
    for what, promise, method, study in asked:
        yield what, promise, CounterfactualIntervals(method, alpha=ALPHA, random_state=seed).fit(*study)


def write_star(folder: str, seed: int) -> None:
    """Write the pupils of the story as CSV files: observational, trial, and the held-out ones as new rows."""
    data = load_star(random_state=seed)
    parts = {
        "observational": data.observational,
        "trial": data.trial,
        "new": data.test.drop_columns([str(data.treatment), data.outcome]),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, table in parts.items():
        pupils = pa.array([f"{name[0]}{number:04d}" for number in range(1, len(table) + 1)])
        named = table.add_column(0, "pupil", pupils)
        with writing(str(Path(folder) / f"{name}.csv"), named.schema) as sink:
            sink.write_table(named)


def _difference(table: pa.Table, treatment: str, outcome: str) -> float:
    """Return the mean outcome of the treated less that of the others."""
    treated = table[treatment].to_numpy() == 1
    outcomes = table[outcome].to_numpy()
    return float(outcomes[treated].mean() - outcomes[~treated].mean())
