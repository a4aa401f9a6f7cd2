"""Candidates compared by their losses on rows that they have not learnt from, with as few fits as decide it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from confide.models.fitting import fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from confide.data.splits import Rows
    from confide.typing import Floats, Places

# By number of rows, up to which: how many parts are held out, one after the other. One part of still more rows.
FOLDS = 5
PARTS = {5_000: FOLDS, 20_000: 3, 40_000: 2}
# At most so many rows are held out.
COMPARISON_ROWS = 20_000
# Of more rows than that, candidates learn from as many, but from no more than half, or from this share if it is more.
LEARNING_SHARE = 0.2
# Rows held out whose answers are asked for at a time.
BLOCK = 4096
# After so many rows held out a candidate is dropped whose loss exceeds the least one by so many standard errors.
ENOUGH_ROWS = 100
CLEAR = 4.0
# What a fitted model is asked for at covariates, and the loss of each answer given the truth.
Ask = Callable[[Any, Any], "NDArray[np.float64]"]
Losses = Callable[[Any, Any], "NDArray[np.float64]"]
# Places of the rows that models learn from, and of those held out.
Split = tuple["Places", "Places"]


def splits_of(rows: int, seed: int) -> list[Split]:
    """Return how rows are held out, by their number: every row once, or some of many; none of fewer than 10."""
    if rows < 2 * FOLDS:
        return []
    order = np.random.default_rng(seed).permutation(rows)
    count = next((parts for most, parts in PARTS.items() if rows <= most), 1)
    held_out = min(rows, COMPARISON_ROWS)
    learning = rows if rows <= COMPARISON_ROWS else max(min(rows // 2, COMPARISON_ROWS), int(LEARNING_SHARE * rows))
    return [(np.delete(order, part)[-learning:], order[part]) for part in np.array_split(np.arange(held_out), count)]


@dataclass(frozen=True)
class Comparison:
    """What became of candidates.

    Attributes
    ----------
    errors : dict
        The mean loss of each candidate; of one that was dropped, the least one plus the mean difference to it over the
        rows that both were tried on.
    name : str
        The one with the least; of equal ones the first.
    places, answers : arrays
        All rows that were held out, and its answers for them.
    model : estimator
        It, fitted on the last split's rows.
    """

    errors: dict[str, float]
    name: str
    places: Places
    answers: Floats
    model: Any


def compare(candidates: Mapping[str, Any], rows: Rows, splits: Iterable[Split], ask: Ask, losses: Losses) -> Comparison:
    """Return the candidate with the least loss on rows held out; those clearly behind are dropped on the way."""
    splits = list(splits)
    answers: dict[str, list[Floats]] = {name: [] for name in candidates}
    lost: dict[str, Floats] = {name: np.empty(0) for name in candidates}
    left, models = list(candidates), {}
    for number, (learn, held_out) in enumerate(splits):
        learning = rows[learn]
        for name in left:
            models[name], given = _answered(candidates[name], learning, rows.X, held_out, ask)
            answers[name].append(given)
            lost[name] = np.concatenate([lost[name], losses(given, rows.y[held_out])])
        weight = _weights(rows, np.concatenate([held for _, held in splits[: number + 1]]))
        left = _not_behind({name: lost[name] for name in left}, weight)
    places = np.concatenate([held for _, held in splits])
    weight = _weights(rows, places)
    best = min(left, key=lambda name: float(weight @ lost[name]))
    errors = {
        name: float(np.average(lost[best], weights=weight) + np.average(loss - lost[best][: len(loss)], weights=some))
        for name, loss in lost.items()
        for some in [weight[: len(loss)]]
    }
    return Comparison(errors, best, places, np.concatenate(answers[best]), models[best])


def _answered(candidate: Any, learning: Rows, X: Any, held_out: Places, ask: Ask) -> tuple[Any, Floats]:
    """Return a clone of the candidate fitted on some rows, and its answers for others, which are copied in blocks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a perceptron stops at its number of passes
        model = fitted(clone(candidate), learning)
        blocks = [held_out[start : start + BLOCK] for start in range(0, len(held_out), BLOCK)]
        return model, np.concatenate([ask(model, X[block]) for block in blocks])


def _weights(rows: Rows, places: Places) -> Floats:
    return np.ones(len(places)) if rows.weight is None else rows.weight[places]


def _not_behind(lost: Mapping[str, Floats], weight: Floats) -> list[str]:
    """Return the candidates that may still be the best one, by their losses on the same rows."""
    if len(weight) < ENOUGH_ROWS or not weight.any():
        return list(lost)
    share = weight / weight.sum()
    best = min(lost, key=lambda name: float(share @ lost[name]))
    kept = []
    for name, loss in lost.items():
        more = loss - lost[best]
        behind = float(share @ more)
        if not behind > CLEAR * float(np.sqrt(share**2 @ (more - behind) ** 2)):
            kept.append(name)
    return kept
