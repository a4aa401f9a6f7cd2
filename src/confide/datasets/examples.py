"""The data of the demonstration, and the words that they are told in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.datasets.star import load_star
from confide.datasets.within_study import load_within_study

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.datasets.dataset import Dataset


@dataclass(frozen=True)
class Example:
    """Real data of the demonstration, and how they are told.

    Attributes
    ----------
    load : callable
        Draws the three parts, given a seed.
    draws : int
        Number of draws of trial and held-out people: the promise is an average over them. README's picture has as many.
    person, people : str
        What an individual is called; the first is also the name of the identifiers' column.
    treatment, outcome : str
        Names of these columns.
    arms : pair of str
        What the treatments 0 and 1 are called.
    measured, unit : str
        What the outcome is called, and its unit.
    question, setting, claim : str
        The story's title; how the data came about, with the numbers of people in {observational}, {trial} and
        {held_out}; and the mean difference that observational people show and held-out people have, in {claimed} and
        {true}.
    files : triple of str
        Who is in each of the files.
    """

    load: Callable[[int], Dataset]
    draws: int
    person: str
    people: str
    treatment: str
    outcome: str
    arms: tuple[str, str]
    measured: str
    unit: str
    question: str
    setting: str
    claim: str
    files: tuple[str, str, str]


EXAMPLES = {
    "training": Example(
        load=lambda seed: load_within_study(random_state=seed),
        draws=8,
        person="person",
        people="people",
        treatment="mathGrp",
        outcome="mathPost",
        arms=("vocabulary", "mathematics"),
        measured="the mathematics score",
        unit="points",
        question="How will a person do at a mathematics test after a training?",
        setting=(
            "2,200 people said which of two trainings they would choose, mathematics or vocabulary, and got one of "
            "them by lot. {observational:,} of those whose lot agreed with their choice are the observational table: "
            "they got what they wanted, as people do who choose for themselves. {trial:,} others at random, whatever "
            "they chose, are the trial; {held_out:,} are held out. No score is simulated."
        ),
        claim=(
            "Among people who got what they chose, those with the mathematics training score {claimed:.1f} points "
            "more, out of 15. Among the held-out people it is {true:.1f}."
        ),
        files=("who got the training that they had chosen", "who got a training by lot", "to answer for"),
    ),
    "star": Example(
        load=lambda seed: load_star(random_state=seed),
        draws=6,
        person="pupil",
        people="pupils",
        treatment="small",
        outcome="score",
        arms=("regular class", "small class"),
        measured="the score",
        unit="points",
        question="Do small classes help a pupil of grade 1?",
        setting=(
            "In Project STAR pupils came to small or regular classes by lot. Here {observational:,} of them were "
            "picked by their scores, good pupils of small classes and poor ones of regular classes, as people pick "
            "themselves in observational data. {trial:,} others, at random, are the trial; {held_out:,} are held out."
        ),
        claim=(
            "The picked pupils claim that small classes give {claimed:.0f} points. Among the held-out pupils it is "
            "{true:.0f}."
        ),
        files=("picked by their scores", "who came to their classes by lot", "to answer for"),
    ),
}
