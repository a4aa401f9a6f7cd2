"""Both arms of the paper's synthetic data, and the plain baselines they are compared on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confide.data.splits import Rows
from confide.datasets import synthetic

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Plain baselines: split conformal prediction on the trial alone around a simple model.
BASELINES: dict[str, Any] = {
    "constant": DummyRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
    "GradientBoostingRegressor": GradientBoostingRegressor(),
}


@dataclass(frozen=True)
class Setting:
    """One arm's encoded rows.

    Attributes
    ----------
    arm : str
        The potential outcome, "Y(0)" or "Y(1)".
    X, y, trial : arrays
        The rows that methods are fitted on, and whether they are the trial's.
    population : array
        Covariates of all observational rows.
    test : Rows
        The test rows.
    others : Rows
        The other arm's observational rows, for methods that use them.
    truth : object
        What is known of the data, if it is generated: an `Oracle`; else None.
    """

    arm: str
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    trial: NDArray[np.bool_]
    population: NDArray[np.float64]
    test: Rows
    others: Rows | None = None
    truth: Any = field(default=None, repr=False)


def synthetic_settings(n: int, m: int, d: int, n_test: int, seed: int) -> list[Setting]:
    """Return both arms of the paper's synthetic data: n observational, m trial and n_test fresh rows."""
    observational, trial, test = (
        synthetic(rows, d=d, randomized=randomized, random_state=np.random.RandomState([seed, part]))
        for part, (rows, randomized) in enumerate([(n, False), (m, True), (n_test, True)])
    )
    return settings_of(observational, trial, test)


def settings_of(observational: Any, trial: Any, test: Any, truth: Any = None) -> list[Setting]:
    """Return both arms of generated data (`confide.datasets.synthetic` and its like)."""
    X, y = np.concatenate([observational.X, trial.X]), np.concatenate([observational.y, trial.y])
    treatment = np.concatenate([observational.treatment, trial.treatment])
    is_trial = np.repeat([False, True], [len(observational.y), len(trial.y)])
    return [
        Setting(
            f"Y({arm})",
            X[mine],
            y[mine],
            is_trial[mine],
            observational.X,
            Rows(test.X, outcome),
            Rows(X, y)[~mine & ~is_trial],
            truth,
        )
        for arm, outcome in enumerate([test.y0, test.y1])
        for mine in [treatment == arm]
    ]
