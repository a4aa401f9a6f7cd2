"""The demonstration: real pupils, a biased table, a small trial, and what each can say."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from confide.counterfactual import CounterfactualIntervals
from confide.datasets import load_star
from confide.diagnostics import Coverage, coverage_report
from confide.methods.naive import Naive
from confide.methods.registry import METHODS
from confide.study import stack

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA = 0.1


@dataclass(frozen=True)
class Line:
    """What one way to answer gives on the held-out pupils."""

    who: str
    promise: str
    arms: list[Coverage]


@dataclass(frozen=True)
class Story:
    """The demonstration in words and numbers."""

    labels: list[str]
    before: list[str]
    lines: list[Line]
    after: list[str]


def tell_star(seed: int, tell: Callable[[int], None] = lambda _: None) -> Story:
    """Return the story of Project STAR: what the observational pupils alone claim, what the trial gives, what confide gives."""
    data = load_star(random_state=seed)
    new = data.test.drop_columns([str(data.treatment), data.outcome])
    outcomes, labels = data.test[data.outcome].to_numpy(), data.test[data.treatment].to_numpy()
    claimed, true = (_difference(table, str(data.treatment), data.outcome) for table in (data.observational, data.test))
    # Split conformal prediction that takes the observational pupils for a trial: what a careful analyst without one does.
    blind = stack(data.observational, data.observational, treatment=str(data.treatment), outcome=data.outcome)
    both = stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)
    asked = [
        ("the observational pupils alone", "", Naive(), blind),
        ("the trial alone", METHODS["naive"].promise, Naive(), both),
        ("confide, both together", METHODS["transfer-centred"].promise, "transfer-centred", both),
    ]
    lines = []
    for who, promise, method, study in asked:
        model = CounterfactualIntervals(method, alpha=ALPHA, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the blind model is asked about pupils unlike its own, and that is the point
            model.fit(*study)
            lines.append(Line(who, promise, coverage_report(model, new, outcomes, treatment=labels)))
        tell(1)
    before = [
        f"Do small classes help a pupil of grade 1? In Project STAR classes were assigned by lot. Here "
        f"{len(data.observational):,} of its pupils were picked by their scores, as people pick themselves in "
        f"observational data; {len(data.trial)} others, at random, are the trial, and {len(data.test):,} are held out.",
        "",
        f"The picked pupils claim that small classes give {claimed:.0f} points; among those held out it is {true:.0f}.",
        "",
        f"90 % intervals for the score of one pupil, checked on the {len(data.test):,} held-out pupils:",
    ]
    after = [
        "The observational pupils are many and wrong, the trial is right and small; together they are right and narrower.",
        "",
        "Next, with your own files:",
        "  confide run --observational obs.csv --trial trial.csv --predict new.csv --treatment t --outcome y --out out.csv",
    ]
    return Story([f"small = {label}" for label in (0, 1)], before, lines, after)


def _difference(table: pa.Table, treatment: str, outcome: str) -> float:
    """Return the mean outcome of the treated less that of the others."""
    treated = table[treatment].to_numpy() == 1
    outcomes = table[outcome].to_numpy()
    return float(outcomes[treated].mean() - outcomes[~treated].mean())
