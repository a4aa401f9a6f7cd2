"""Bounds on the rounding error of scores, so that scores that differ by rounding alone count as tied.

A model sums in one order for a table and in another for a single row, so the same row's prediction differs in its last
bits. If outcomes are discrete, many scores are equal, and such a difference alone would decide who is covered. So
calibration scores are raised by the possible rounding error of a new row's score. Equal scores then count as tied,
however the new row was predicted, and the set can only grow. The size of the error depends on the model (a column of
mean 10⁴ and standard deviation 1 costs four digits, single precision nine). So it is measured: some calibration rows
are predicted again, one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Rounding error of a sum, relative to the largest number of its kind: 8 times what models of scaled columns showed.
ROUNDING = 32 * float(np.finfo(np.float64).eps)
# Rows predicted alone: at most this many, and until this many differ. Trees never differ, two columns seldom.
ROWS_ALONE = 32
ROWS_THAT_DIFFER = 4
# The largest difference over all rows was at most 7 times the largest of these (8 rows, 23 models).
MARGIN = 16
# Larger differences, relative to the largest prediction, are not rounding: a tree's jump, or random predictions.
LARGEST = 1e-5


def predictions_off(
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    X: NDArray[np.float64],
    predicted: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the rounding error of a prediction: one number, or one per column of predictions.

    Parameters
    ----------
    predict : callable
        The model's ``predict``.
    X : (n, d) array
        Calibration rows.
    predicted : (n,) or (n, k) array
        The model's predictions of these rows, all at once.
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
    """Return the rounding error of scores: their largest change when predictions and outcomes change by theirs.

    Predictions change by ``off``, column by column, outcomes by their own rounding error; the changes are added.

    Parameters
    ----------
    score : callable
        ``score(predicted, *truth)`` returns one score per row.
    predicted : (n,) or (n, k) array
        Predictions of the calibration rows.
    off : float or (k,) array
        Their rounding error, from `predictions_off`.
    truth : (n,) arrays
        Their outcomes, or the ends of the intervals to be contained; infinite ones are ignored.
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
    """Return the larger of two changes of each score; 0 where a score or its change is not finite."""
    change = np.maximum(np.abs(below - scores), np.abs(above - scores))
    return np.where(np.isfinite(change), change, 0.0)
