"""Every method on held-out rows of one's own trial."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from confide.counterfactual import CounterfactualIntervals
from confide.diagnostics import Coverage, coverage_report
from confide.intervals import InfiniteIntervalWarning
from confide.methods.registry import METHODS
from confide.tables import is_frame, read_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confide.study import Study

# Trial rows that no method sees; the others fit and calibrate.
HELD_OUT = 0.3


@dataclass(frozen=True)
class Compared:
    """One method on the held-out rows.

    Attributes
    ----------
    method : str
        Its name.
    promise : str
        What it may promise.
    arms : list of Coverage
        Coverage with its exact interval and mean width, one record a treatment; empty where the method refuses.
    refused : str or None
        Why it could not be fitted.
    """

    method: str
    promise: str
    arms: list[Coverage]
    refused: str | None = None


def compare_on_held_out(study: Study, alpha: float, seed: int, names: Any = tuple(METHODS)) -> Iterator[Compared]:
    """Yield how each method does on trial rows that it has not seen, the same for all of them.

    Choosing a method by these figures needs yet other rows to report the winner's coverage on.
    """
    rows = np.arange(len(study))
    in_trial = rows[study.trial]
    _, test = train_test_split(
        in_trial, test_size=HELD_OUT, random_state=seed, stratify=_strata(study.treatment[study.trial])
    )
    kept = np.setdiff1d(rows, test)
    X, X_test = (_take(study.X, index) for index in (kept, test))
    for name in names:
        promise = METHODS[name].promise
        model = CounterfactualIntervals(name, alpha=alpha, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
            warnings.filterwarnings("ignore", ".*calibrates on the trial alone")
            try:
                model.fit(X, study.y[kept], study.treatment[kept], study.trial[kept])
            except ValueError as error:
                yield Compared(name, promise, [], str(error))
                continue
        yield Compared(name, promise, coverage_report(model, X_test, study.y[test], study.treatment[test]))


def _strata(treatment: Any) -> Any:
    """Return the labels to keep shares alike, or None where one has a single row."""
    return treatment if np.unique(treatment, return_counts=True)[1].min() > 1 else None


def _take(X: Any, rows: Any) -> Any:
    return read_frame(X)[rows.tolist()].to_native() if is_frame(X) else X[rows]
