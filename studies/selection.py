"""Whom to choose: how many of those chosen are false picks, and how many are found, over many draws."""

from __future__ import annotations

import math
import warnings
import zlib
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from confide import CounterfactualIntervals, InfiniteIntervalWarning, PopulationWarning, select
from confide.conformal.selection import chosen, numerators
from confide.methods.trial_outcomes import TrialOutcomes

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.typing import Booleans, Floats, Places

    # What one draw gives at each rate: the share of false picks among those chosen, of people found, and whether any.
    Shares = list[tuple[float, float, bool]]

RATES = (0.05, 0.1, 0.2)
# Covariates, and the correlation of their best combination with the outcome.
COVARIATES, CORRELATION = 10, 0.8
# Of the coefficients that matter, and of others that only mislead.
TRUE = np.full(COVARIATES, COVARIATES**-0.5)
OTHER = TRUE * np.where(np.arange(COVARIATES) % 2, 1, -1)
# What the large table predicts from; "trial alone" learns it on half of the trial's rows.
COEFFICIENTS = {"good": TRUE, "confounded": TRUE + 1.5 * OTHER, "useless": OTHER, "reversed": -TRUE}
ALONE = "trial alone"
# Chances of the treatment for people with good and with bad covariates.
CHANCES = (0.1, 0.9)


@dataclass(frozen=True)
class Cell:
    """One setting: what is drawn, and how people are chosen."""

    case: str
    score: str
    rows: int
    people: int
    quantile: float
    way: str = "select"


@dataclass(frozen=True)
class Found:
    """What the draws of a cell gave at one rate."""

    case: str
    score: str
    rows: int
    people: int
    quantile: float
    way: str
    rate: float
    draws: int
    false: float
    false_sd: float
    power: float
    power_sd: float
    any: float


def cells() -> list[Cell]:
    """Return all settings."""
    plain = [
        Cell("plain", score, rows, people, quantile)
        for quantile in (0.5, 0.8)
        for people in (200, 1000)
        for score in (*COEFFICIENTS, ALONE)
        for rows in (50, 100, 250, 1000)
    ]
    ties = [Cell("ties", score, rows, 200, 0.5) for score in COEFFICIENTS for rows in (100, 250)]
    stratified = [
        Cell("stratified", score, rows, 1000, 0.5, way)
        for score in ("good", "confounded")
        for rows in (250, 1000)
        for way in ("rows as they are", "thinned")
    ]
    frequent = [
        Cell("frequent", "good", rows, 1000, 0.5, way)
        for rows in (100, 1000)
        for way in ("gamma = 1", "gamma = 1.5", "gamma = 2")
    ]
    models = [
        Cell("model", name, 100, 500, quantile, way)
        for quantile in (0.5, 0.8)
        for name in ("transfer", "naive")
        for way in MODELS
    ]
    return plain + ties + stratified + frequent + models


def measure(cell: Cell, draws: int) -> list[Found]:
    """Return what the draws of a cell gave, at each rate."""
    drawn = CASES[cell.case]
    seed = zlib.crc32(repr(cell).encode())
    found = np.array([drawn(cell, np.random.default_rng([seed, draw])) for draw in range(draws)])
    names = (cell.case, cell.score, cell.rows, cell.people, cell.quantile, cell.way)
    return [
        Found(*names, rate, draws, *_mean_sd(found[:, place, 0]), *_mean_sd(found[:, place, 1]), _mean_sd(any_)[0])
        for place, rate in enumerate(RATES)
        for any_ in [found[:, place, 2]]
    ]


def _mean_sd(values: Floats) -> tuple[float, float]:
    return round(float(values.mean()), 6), round(float(values.std(ddof=1)), 6)


def _people(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Return covariates and outcomes, of variance 1."""
    X = rng.normal(size=(count, COVARIATES))
    return X, CORRELATION * X @ TRUE + math.sqrt(1 - CORRELATION**2) * rng.normal(size=count)


def _shares(numerator: Places, rows: int, reached: Booleans, gamma: Fraction | int = 1) -> Shares:
    """Return what is found at each rate."""
    picks = [chosen(numerator, rows, Fraction(str(rate)) / gamma) for rate in RATES]
    return [_share(picked, reached) for picked in picks]


def _share(picked: Booleans, reached: Booleans) -> tuple[float, float, bool]:
    false = float((picked & ~reached).sum() / max(picked.sum(), 1))
    return false, float((picked & reached).sum() / max(reached.sum(), 1)), bool(picked.any())


def _plain(cell: Cell, rng: np.random.Generator) -> Shares:
    """Trial rows and new people of one population."""
    (X, y), (new, truth) = _people(rng, cell.rows), _people(rng, cell.people)
    if cell.score == ALONE:
        half = cell.rows // 2
        coefficients = np.linalg.lstsq(X[:half], y[:half], rcond=None)[0]
        X, y = X[half:], y[half:]
    else:
        coefficients = COEFFICIENTS[cell.score]
    c = NormalDist().inv_cdf(cell.quantile)
    numerator = numerators((X @ coefficients)[y <= c], new @ coefficients)
    return _shares(numerator, len(y), truth > c)


def _ties(cell: Cell, rng: np.random.Generator) -> Shares:
    """Outcomes of four values, and scores of five."""
    (X, y), (new, truth) = _people(rng, cell.rows), _people(rng, cell.people)
    values, truths = (np.digitize(each, (-1, 0, 1)) for each in (y, truth))
    coefficients = COEFFICIENTS[cell.score] / np.linalg.norm(COEFFICIENTS[cell.score])
    score, new_score = (np.clip(np.round(each @ coefficients), -2, 2) for each in (X, new))
    return _shares(numerators(score[values <= 1], new_score), len(y), truths > 1)


def _stratified(cell: Cell, rng: np.random.Generator) -> Shares:
    """Treatment is less likely for people with good covariates; rows are those of the whole trial."""
    (X, y), (new, truth) = _people(rng, cell.rows), _people(rng, cell.people)
    chance = np.where(X @ TRUE > 0, *CHANCES)
    mine = rng.random(cell.rows) < chance
    coefficients = COEFFICIENTS[cell.score]
    kept = min(CHANCES) / chance[mine] if cell.way == "thinned" else None
    trial = TrialOutcomes.thinned(X[mine] @ coefficients, y[mine], 0.0, kept, int(rng.integers(2**31)))
    c = NormalDist().inv_cdf(cell.quantile)
    return _shares(numerators(trial.score[trial.y <= c], new @ coefficients), len(trial), truth > c)


def _frequent(cell: Cell, rng: np.random.Generator) -> Shares:
    """Of the new people, those who fall short are 1.5 times as frequent as in the trial."""
    (X, y), (new, truth) = _people(rng, cell.rows), _people(rng, 4 * cell.people)
    c = NormalDist().inv_cdf(cell.quantile)
    kept = np.flatnonzero(rng.random(len(truth)) < np.where(truth <= c, 1, 1 / 3))[: cell.people]
    coefficients = COEFFICIENTS[cell.score]
    numerator = numerators((X @ coefficients)[y <= c], new[kept] @ coefficients)
    return _shares(numerator, len(y), truth[kept] > c, Fraction(cell.way.removeprefix("gamma = ")))


def _model(cell: Cell, rng: np.random.Generator) -> Shares:
    """Fit ridge on 1,000 observational rows with a hidden confounder; the trial has twice as many rows as an arm."""
    table, trial = 1000, 2 * cell.rows
    rows = table + trial + cell.people
    X, hidden = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    y1 = X @ [1.5, 0.5, 0.0] + hidden + 0.5 * rng.normal(size=rows)
    in_trial = np.arange(rows) >= table
    # Observational people are treated if their covariates and what is hidden agree: the regression is biased.
    chosen_by_doctors = hidden + 0.8 * X[:, 2] + 0.3 * rng.normal(size=rows) > 0
    chance = MODELS[cell.way](X)
    treated = np.where(in_trial, rng.random(rows) < chance, chosen_by_doctors)
    y = np.where(treated, y1, X[:, 1] + rng.normal(size=rows))
    known = np.arange(rows) < table + trial
    assignment = np.where(treated, chance, 1 - chance)[known] if np.ptp(chance) else None
    spread = math.sqrt(1.5**2 + 0.5**2 + 1 + 0.5**2)
    c = spread * NormalDist().inv_cdf(cell.quantile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)  # a false alarm, 6 times in a thousand
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # of effects, which are not asked for
        model = CounterfactualIntervals(cell.score, base="ridge", random_state=0)
        model.fit(X[known], y[known], treated[known].astype(int), in_trial[known], assignment=assignment)
        picks = [select(model, X[~known], 1, above=c, fdr=rate).selected for rate in RATES]
    return [_share(picked, y1[~known] > c) for picked in picks]


# How the trial of a fitted model assigned treatment.
MODELS: dict[str, Callable[[Floats], Floats]] = {
    "one chance for all": lambda X: np.full(len(X), 0.5),
    "two chances": lambda X: np.where(X[:, 0] > 0, 0.25, 0.75),
}
CASES = {"plain": _plain, "ties": _ties, "stratified": _stratified, "frequent": _frequent, "model": _model}
