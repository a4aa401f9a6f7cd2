"""What rounding may do to a score, so that scores that are equal but for it count as tied.

A model sums in one order for a table and in another for a single row: the same row's prediction differs in its last
bits. Where outcomes are discrete many scores are equal, and such a difference alone would decide who is covered. So
calibration scores are raised by what a new row's score may be off by: equal scores then count for the new row, however
it was predicted, and the set can only grow. How far predictions are off depends on the model (a column of mean 10⁴ and
standard deviation 1 costs four digits, single precision nine), so the model is asked: some calibration rows are
predicted again, one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# What a sum may be off by, as a share of the largest number of its kind: measured on models of scaled columns, times 8.
ROUNDING = 32 * float(np.finfo(np.float64).eps)
# Rows predicted alone, at most and until so many of them differ; trees never do, two columns seldom.
ROWS_ALONE = 32
ROWS_THAT_DIFFER = 4
# The largest difference over all rows was at most 7 times the largest of these (8 rows, 23 models).
MARGIN = 16
# Larger differences, as a share of the largest prediction, are no rounding: a tree's jump, or predictions at random.
LARGEST = 1e-5


def predictions_off(
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    X: NDArray[np.float64],
    predicted: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what a prediction may be off by: one number, or one a column of predictions.

    Parameters
    ----------
    predict : callable
        The model's ``predict``.
    X : (n, d) array
        Calibration rows.
    predicted : (n,) or (n, k) array
        What the model predicts for them together.
    """
    size = np.abs(predicted).max(axis=0, initial=0.0)
    seen, differ = np.zeros(predicted.shape[1:]), 0
    for row in np.unique(np.linspace(0, len(X) - 1, min(ROWS_ALONE, len(X))).astype(np.intp)):
        alone = np.asarray(predict(X[row : row + 1]), dtype=np.float64)[0]
        difference = np.abs(alone - predicted[row])
        seen, differ = np.maximum(seen, difference), differ + bool(difference.any())
        if differ == ROWS_THAT_DIFFER:
            break
    return np.asarray(ROUNDING * size + np.minimum(MARGIN * seen, LARGEST * size))


def slack(
    score: Callable[..., NDArray[np.float64]],
    predicted: NDArray[np.float64],
    off: NDArray[np.float64],
    *truth: NDArray[np.float64],
) -> float:
    """Return what scores may be off by: their largest change where predictions and outcomes move by what they may.

    Predictions move by ``off``, column by column, outcomes by their own rounding; the changes add up.

    Parameters
    ----------
    score : callable
        ``score(predicted, *truth)`` returns one score a row.
    predicted : (n,) or (n, k) array
        Predictions of the calibration rows.
    off : float or (k,) array
        What they may be off by, from `predictions_off`.
    truth : (n,) arrays
        Their outcomes, or the ends of the intervals that are to be held; infinite ones do not count.
    """
    with np.errstate(all="ignore"):
        scores = score(predicted, *truth)
        changes = np.zeros(len(scores))
        for column in np.ndindex(predicted.shape[1:]):
            step = np.zeros(predicted.shape[1:])
            step[column] = off[column]
            changes += _larger(scores, score(predicted - step, *truth), score(predicted + step, *truth))
        for place, values in enumerate(truth):
            step = ROUNDING * np.abs(values[np.isfinite(values)]).max(initial=0.0)
            below, above = ((*truth[:place], values + sign * step, *truth[place + 1 :]) for sign in (-1, 1))
            changes += _larger(scores, score(predicted, *below), score(predicted, *above))
    return float(changes.max(initial=0.0))


def _larger(scores: NDArray[np.float64], below: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the larger of two changes of each score; 0 where it is none of a finite score."""
    change = np.maximum(np.abs(below - scores), np.abs(above - scores))
    return np.where(np.isfinite(change), change, 0.0)
