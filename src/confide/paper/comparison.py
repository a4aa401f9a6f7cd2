"""The methods and the plain baselines on the same rows, arm by arm: the study that chose the default."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confide.base.cache import sharing_fits
from confide.data.arrow import take_rows
from confide.data.encoding import TableEncoder, kinds_of
from confide.data.splits import Rows
from confide.data.study import stack
from confide.datasets import Dataset, load_nsw, load_star, synthetic
from confide.exceptions import InfiniteIntervalWarning, RefusalError, TrialAloneWarning
from confide.methods.naive import Naive
from confide.methods.pooled_dr import PooledDR
from confide.methods.registry import METHODS, method
from confide.methods.transfer import Transfer
from confide.models.base_model import BASE_ON

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from confide.methods.base import ArmEstimator

ALPHA = 0.1
# Plain baselines: split conformal prediction on the trial alone around a simple model.
BASELINES: dict[str, Any] = {
    "constant": DummyRegressor(),
    "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
    "GradientBoostingRegressor": GradientBoostingRegressor(),
}
# The same around a constant with all trial rows: the gain from calibrating on all of them.
ALL_ROWS = "constant, all trial rows"
GUARD = 0.05
# Levels among which the width at equal coverage is searched, from the narrowest intervals to the widest.
LEVELS = (0.4, 0.3, 0.25, 0.2, 0.175, 0.15, 0.125, 0.1, 0.08, 0.06, 0.04, 0.02)
DIMENSIONS = (1, 3, 5, 10)
TRIAL_SIZES = (50, 100, 250, 1000)
CELLS = [f"synthetic, d = {d}, m = {m}" for d in DIMENSIONS for m in TRIAL_SIZES] + ["STAR", "NSW"]


@dataclass(frozen=True)
class Setting:
    """One arm's encoded rows: those that methods are fitted on, and the test rows."""

    arm: str
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    trial: NDArray[np.bool_]
    population: NDArray[np.float64]
    test: Rows


@dataclass(frozen=True)
class Outcome:
    """One configuration on one arm of one repetition; all NaN if the method refuses the arm.

    Attributes
    ----------
    equal_width : float
        Mean width at the level at which just 1-α of the test rows are covered; NaN if that needs a new fit.
    """

    cell: str
    configuration: str
    arm: str
    seed: int
    coverage: float
    width: float
    infinite: float
    equal_width: float


def configurations() -> dict[str, ArmEstimator]:
    """Return the unfitted models to compare: the baselines, every method, and its other values of base_on."""
    compared = {f"{name}, trial alone": method("naive", base=clone(base)) for name, base in BASELINES.items()}
    # Centred, a constant of whatever rows is the mean of the trial's: full conformal prediction on the trial alone.
    compared[ALL_ROWS] = method("transfer-centred", base=DummyRegressor())
    compared |= {name: method(name) for name in METHODS}
    for name in ("transfer", "pooled-dr", "wscp-dr-exact", "wscp-dr-calibrated"):
        # What observational rows alone teach is the default; transfer on the trial is naive.
        others = BASE_ON[2:] if name == "transfer" else BASE_ON[1:]
        compared |= {f"{name}, {base_on}": method(name, base_on=base_on) for base_on in others}
    compared[f"pooled-dr, grounded, floor={GUARD}"] = method("pooled-dr", base_on="grounded", floor=GUARD)
    return compared


def compare_cell(
    cell: str, seed: int, *, n: int = 10_000, n_test: int = 1000, names: Collection[str] | None = None
) -> list[Outcome]:
    """Return the result of every configuration, or of those named, in one repetition of a cell; equal fits once.

    Synthetic cells have n observational and m trial rows over both arms and n_test fresh rows; STAR and NSW those of
    their loaders.
    """
    outcomes = []
    for setting in _settings(cell, seed, n, n_test):
        with sharing_fits(), warnings.catch_warnings():
            warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
            warnings.simplefilter("ignore", TrialAloneWarning)
            for name, unfitted in configurations().items():
                if names is None or name in names:
                    outcomes.append(Outcome(cell, name, setting.arm, seed, *_ask(unfitted, setting, seed)))
    return outcomes


def _settings(cell: str, seed: int, n: int, n_test: int) -> list[Setting]:
    """Return both arms of a cell."""
    if cell == "STAR":
        return _of_dataset(load_star(random_state=seed))
    if cell == "NSW":
        return _of_dataset(load_nsw(random_state=seed))
    d, m = (int(part.split("=")[1]) for part in cell.split(",")[1:])
    return synthetic_settings(n, m, d, n_test, seed)


def synthetic_settings(n: int, m: int, d: int, n_test: int, seed: int) -> list[Setting]:
    """Return both arms of the paper's synthetic data: n observational, m trial and n_test fresh rows."""
    observational, trial, test = (
        synthetic(rows, d=d, randomized=randomized, random_state=np.random.RandomState([seed, part]))
        for part, (rows, randomized) in enumerate([(n, False), (m, True), (n_test, True)])
    )
    X, y = np.concatenate([observational.X, trial.X]), np.concatenate([observational.y, trial.y])
    treatment = np.concatenate([observational.treatment, trial.treatment])
    is_trial = np.repeat([False, True], [n, m])
    return [
        Setting(f"Y({arm})", X[mine], y[mine], is_trial[mine], observational.X, Rows(test.X, truth))
        for arm, truth in enumerate([test.y0, test.y1])
        for mine in [treatment == arm]
    ]


def _of_dataset(data: Dataset) -> list[Setting]:
    """Return both arms of real data; an arm's test rows are those that had its treatment."""
    study = stack(data.observational, data.trial, treatment=str(data.treatment), outcome=data.outcome)
    # The encoder is fitted on observational rows: in some methods they calibrate, but all categories here are frequent.
    encoder = TableEncoder(kinds_of(study.X)).fit(take_rows(study.X, ~study.trial))
    X = encoder.transform(study.X)
    test = Rows(encoder.transform(data.test.select(study.X.column_names)), data.test[data.outcome].to_numpy())
    labels = data.test[data.treatment].to_numpy()
    return [
        Setting(f"Y({arm})", X[mine], study.y[mine], study.trial[mine], X[~study.trial], test[labels == arm])
        for arm in (0, 1)
        for mine in [study.treatment == arm]
    ]


def _ask(unfitted: ArmEstimator, setting: Setting, seed: int) -> tuple[float, float, float, float]:
    """Return coverage, mean width, share infinite and mean width at equal coverage on the test rows."""
    arm = unfitted.set_params(random_state=seed, alpha=ALPHA)
    try:
        arm.fit(setting.X, setting.y, trial=setting.trial, population=setting.population)
    except RefusalError:
        return (np.nan,) * 4
    sets = arm.predict_set(setting.test.X)
    covered, hulls = sets.contains(setting.test.y).mean(), sets.hull()
    return float(covered), float(hulls.width.mean()), float(hulls.infinite.mean()), _equal_width(arm, setting.test)


def _equal_width(arm: ArmEstimator, test: Rows) -> float:
    """Return the mean width of the level, between those tried, at which 1-α of the test rows are covered."""
    if not isinstance(arm, Naive | Transfer | PooledDR):
        return np.nan
    tried = [arm._at(level).predict_interval(test.X) for level in LEVELS]
    finite = [(each.contains(test.y).mean(), each.width.mean()) for each in tried if not each.infinite.any()]
    if not finite:
        return np.nan
    coverage, width = np.array(finite).T
    return float(np.interp(1 - ALPHA, coverage, width, left=np.nan, right=np.nan))
