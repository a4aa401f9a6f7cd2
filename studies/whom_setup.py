"""For whom answers hold: the people that studies draw, the models they fit, and what one way of asking covered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide import CounterfactualIntervals

Floats = NDArray[np.float64]
ALPHA = 0.1
OBSERVATIONAL = 2000
NEW_ROWS = 500
METHODS = ("prognostic", "transfer", "transfer-centred", "naive")


@dataclass(frozen=True)
class Answered:
    """What one way of asking covered in one draw.

    Attributes
    ----------
    case, setting, method, way : str
        What was drawn, with which method, and how it was asked.
    seed : int
        The draw.
    coverage, infinite, width : float
        Share of new people that are covered, share of infinite intervals, and median width; of bounds with one end, how
        far the end is from the outcome's mean.
    """

    case: str
    setting: str
    method: str
    way: str
    seed: int
    coverage: float
    infinite: float
    width: float


@dataclass(frozen=True)
class People:
    """People with their covariates, outcomes under both treatments, and what a study needs of them."""

    X: Floats
    y0: Floats
    y1: Floats
    cluster: NDArray[np.intp]

    def outcomes(self, treatment: NDArray[np.intp]) -> Floats:
        """Return the outcomes under the treatments received."""
        return np.where(treatment == 1, self.y1, self.y0)


def people(rng: np.random.Generator, rows: int, *, shift: float = 0.0, spread: float = 0.5) -> People:
    """Return people whose outcomes vary more for a larger first covariate."""
    X = rng.normal(size=(rows, 2)) + shift
    return with_noise(X, np.exp(spread * X[:, 0]) * rng.normal(size=rows))


def with_noise(X: Floats, noise: Floats, cluster: NDArray[np.intp] | None = None) -> People:
    """Return people with these covariates and errors."""
    y0 = X[:, 0] + 0.5 * X[:, 1] + noise
    return People(X, y0, y0 + 1 + 0.5 * X[:, 1], np.zeros(len(X), dtype=np.intp) if cluster is None else cluster)


def registry(rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return observational rows, with a hidden cause of the treatment; their errors are alike for everybody."""
    X, hidden = rng.normal(size=(OBSERVATIONAL, 2)), rng.normal(size=OBSERVATIONAL)
    treatment = (hidden + rng.normal(size=OBSERVATIONAL) > 0).astype(np.intp)
    return X, with_noise(X, hidden + rng.normal(size=OBSERVATIONAL)).outcomes(treatment), treatment


def joined(rng: np.random.Generator, trial: People, treatment: NDArray[np.intp]) -> tuple[Any, ...]:
    """Return covariates, outcomes, treatments and the mask of the trial, of both tables."""
    X, y, received = registry(rng)
    return (
        np.concatenate([X, trial.X]),
        np.concatenate([y, trial.outcomes(treatment)]),
        np.concatenate([received, treatment]),
        np.arange(len(X) + len(trial.X)) >= len(X),
    )


def in_trial(values: Any, fill: float = np.nan) -> NDArray[Any]:
    """Return a column of the trial's rows, after rows that have none."""
    return np.concatenate([np.full(OBSERVATIONAL, fill), values])


def fitted(name: str, rows: tuple[Any, ...], params: dict[str, Any] | None = None, **carried: Any) -> Any:
    """Return a model of a study."""
    model = CounterfactualIntervals(name, base="ridge", alpha=ALPHA, random_state=0, **(params or {}))
    return model.fit(*rows, **carried)


def told(case: str, setting: str, name: str, way: str, seed: int, found: list[Any], truth: list[Floats]) -> Answered:
    """Return what intervals of both arms covered."""
    width = np.concatenate([each.width for each in found])
    inside = np.concatenate([each.contains(y) for each, y in zip(found, truth, strict=True)])
    return Answered(case, setting, name, way, seed, inside.mean(), np.isinf(width).mean(), float(np.median(width)))


def both(model: Any, X: Floats, chance: Floats | None = None) -> list[Any]:
    """Return the intervals of both arms; ``chance`` is the probability of the second."""
    known = (None, None) if chance is None else (1 - chance, chance)
    return [model.predict_interval(X, arm, assignment=each) for arm, each in enumerate(known)]
