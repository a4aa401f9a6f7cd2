"""The demonstration: real people, a biased observational table, a small trial, and the results from each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from confide.base.cache import sharing_fits
from confide.compare import Compared, compare
from confide.data.stacking import stack
from confide.data.study import Study
from confide.diagnostics.confounding_test import hidden_confounding_test
from confide.effects.averages import AverageEffect, average_effect
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.methods.naive import Naive
from confide.methods.prognostic import Prognostic
from confide.methods.promise import NONE, Promise
from confide.methods.registry import METHODS
from confide.model import CounterfactualIntervals
from confide.report import Evidence, Findings, Individuals, Words, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from confide.datasets import Dataset
    from confide.datasets.examples import Example

ALPHA = 0.1
# The approaches that are methods of the registry, by their places, and further methods that the report compares.
LISTED = {1: "naive", 3: "prognostic"}
MEASURED = ("pooled-dr", "wcp")
# What the approaches are called.
BLIND, HALVED = "observational alone", "trial alone, half fits"
ALONE, BOTH = "trial alone, ridge", "confide, with both"


@dataclass(frozen=True)
class Line:
    """The result of one approach on the held-out people: mean coverage and width, under treatment 0 and 1."""

    what: str
    promise: Promise
    coverage: list[float]
    width: list[float]


@dataclass(frozen=True)
class Story:
    """The demonstration in numbers: means over several draws of trial and held-out people.

    Attributes
    ----------
    draws : int
        Number of draws.
    observational, trial, held_out : int
        Number of people in each part.
    claimed, true : float
        Mean outcome under treatment 1 minus that under 0, among the observational and among the held-out people.
    lines : list of Line
        The result of each approach.
    average : AverageEffect
        The average effect of treatment 1 against 0, from the first draw.
    share_of_width : float
        The width of its interval with both tables, over that of the trial's plain difference of means.
    """

    draws: int
    observational: int
    trial: int
    held_out: int
    claimed: float
    true: float
    lines: list[Line]
    average: AverageEffect
    share_of_width: float


@dataclass(frozen=True)
class Way:
    """One approach: its name, its promise, its fitted model, and the study it was fitted on."""

    what: str
    promise: Promise
    model: CounterfactualIntervals
    study: Study


@dataclass(frozen=True)
class Draw:
    """One draw of people, with the model fitted on it.

    Attributes
    ----------
    story : Story
        Its numbers.
    model : CounterfactualIntervals
        Fitted on both tables.
    study, held_out : Study
        The people that it was fitted on, and those held out.
    compared : list of Compared
        Results of the methods on the held-out people.
    """

    story: Story
    model: CounterfactualIntervals
    study: Study
    held_out: Study
    compared: list[Compared]


def story_of(
    example: Example, seed: int, report_progress: Callable[[int], None] = lambda _: None
) -> tuple[Story, Draw]:
    """Return a story: what observational people claim, what the trial gives, what confide gives.

    The numbers are means over the example's draws, the first of which is returned too. ``report_progress`` is called
    with 1 after each.
    """
    first = draw_of(example, example.draws * seed)
    drawn = [first.story]
    report_progress(1)
    for draw in range(1, example.draws):
        drawn.append(draw_of(example, example.draws * seed + draw).story)
        report_progress(1)
    names = [(line.what, line.promise) for line in drawn[0].lines]
    lines = []
    for number, (what, promise) in enumerate(names):
        mine = [story.lines[number] for story in drawn]
        coverage, width = (np.mean([getattr(each, name) for each in mine], axis=0) for name in ("coverage", "width"))
        lines.append(Line(what, promise, coverage.tolist(), width.tolist()))
    means: dict[str, Any] = {
        name: float(np.mean([getattr(each, name) for each in drawn]))
        for name in ("observational", "claimed", "true", "share_of_width")
    }
    means |= {"observational": round(means["observational"]), "lines": lines}
    return replace(first.story, draws=len(drawn), **means), first


def draw_of(example: Example, seed: int) -> Draw:
    """Return one draw and its story."""
    data = example.load(seed)
    test = held_out(data)
    claimed, true = (_difference(table, str(data.treatment), data.outcome) for table in (data.observational, data.test))
    with sharing_fits():
        ways = list(fitted_ways(data, seed))
    found = [_measured(way, test) for way in ways]
    lines = [
        Line(each.method, each.promise, [arm.coverage for arm in each.arms], [arm.width for arm in each.arms])
        for each in found
    ]
    (average,) = average_effect(ways[-1].model, ways[-1].study)
    sizes = len(data.observational), len(data.trial), len(data.test)
    story = Story(1, *sizes, claimed, true, lines, average, average.share_of_width)
    compared = [replace(found[place], method=name) for place, name in LISTED.items()]
    return Draw(story, ways[-1].model, ways[-1].study, test, compared)


def held_out(data: Dataset) -> Study:
    """Return the held-out people, whose treatment was randomised."""
    X = data.test.drop_columns([str(data.treatment), data.outcome])
    y, treatment = (data.test[name].to_numpy() for name in (data.outcome, str(data.treatment)))
    return Study(X, y, treatment, np.full(len(y), fill_value=True))


def fitted_ways(data: Dataset, seed: int, which: Collection[str] | None = None) -> Iterator[Way]:
    """Yield each approach, or those that are named, fitted."""
    # Split conformal prediction that treats observational people as a trial: what an analyst without a trial would do.
    blind = stack(data.observational, data.observational, treatment=str(data.treatment), outcome=data.outcome)
    both = stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)
    asked: list[tuple[str, Promise, Any, Study]] = [
        (BLIND, NONE, Naive(), blind),
        (HALVED, METHODS["naive"].promise, "naive", both),
        # Full conformal prediction: every trial row both fits and calibrates.
        (ALONE, METHODS["naive"].promise, Prognostic(features="ridge", scale="none"), both),
        (BOTH, METHODS["prognostic"].promise, "prognostic", both),
    ]
    for what, promise, method, study in asked:
        if which is not None and what not in which:
            continue
        model = CounterfactualIntervals(method, alpha=ALPHA, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # effects by half of a small trial: nobody asks
            model.fit(study)
        yield Way(what, promise, model, study)


def _measured(way: Way, test: Study) -> Compared:
    """Return the result of an approach on the held-out people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)  # the model without a trial predicts people unlike its own
        return Compared.of(way.what, way.promise, way.model, test)


def report_on(path: str, example: Example, draw: Draw, seed: int) -> None:
    """Write the report on a draw's held-out people, with more methods measured on them."""
    X, y, treatment, trial = draw.study
    measured = [*draw.compared, *compare(draw.study, draw.held_out, ALPHA, seed, MEASURED)]
    numbered = pa.array([f"n{number:04d}" for number in range(1, len(draw.held_out) + 1)])
    evidence = Evidence(
        measured,
        f"On {len(draw.held_out):,} {example.people} who are neither in the trial nor in the observational table.",
        hidden_confounding_test(X, y, treatment, trial, random_state=seed),
    )
    individuals = Individuals.of_table(draw.model, draw.held_out.X.add_column(0, example.person, numbered))
    words = Words(example.measured, example.unit, dict(zip(("0", "1"), example.arms, strict=True)))
    findings = Findings.of(draw.model, individuals, draw.study)
    write_page(path, draw.model, individuals, findings, evidence, words=words)


def _difference(table: pa.Table, treatment: str, outcome: str) -> float:
    """Return the mean outcome of the treated minus that of the others."""
    treated = table[treatment].to_numpy() == 1
    outcomes = table[outcome].to_numpy()
    return float(outcomes[treated].mean() - outcomes[~treated].mean())
