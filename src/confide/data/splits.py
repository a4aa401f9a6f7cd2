"""The random split into fit rows and calibration rows, which depends on the seed only."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from confide.base.cache import make_once
from confide.base.validation import check_seed
from confide.exceptions import RefusalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.conformal.marks import Marks
    from confide.typing import RandomState


@dataclass(frozen=True)
class Rows:
    """Covariates and outcomes, usually of one source.

    ``weight`` is for base models that are trained on both sources, ``marks`` for rows that calibrate. ``more`` are
    further rows that are not in memory (`confide.models.lightgbm_model.MoreRows`); a part of the rows has none.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    marks: Marks | None = None
    more: Any = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: Any) -> Rows:
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.X[index], self.y[index], weight, None if self.marks is None else self.marks[index])

    def __add__(self, other: Rows) -> Rows:
        """Return these rows, then the other's, without weights and marks."""
        return Rows(np.concatenate([self.X, other.X]), np.concatenate([self.y, other.y]))

    @property
    def cluster(self) -> NDArray[np.intp] | None:
        """The cluster of each row; None if rows are independent."""
        return None if self.marks is None else self.marks.cluster

    def one_per_cluster(self, seed: int) -> Rows:
        """Return one row of each cluster, drawn at random of those that count; all rows if they are independent."""
        if self.marks is None or self.cluster is None:
            return self
        counting = self.marks.weights() > 0
        some = one_of_each(self.cluster[counting], seed)
        return self[np.flatnonzero(counting)[some]]

    def joined(self) -> NDArray[np.float64]:
        """Return the rows as density ratios take them: covariates, then the outcome."""
        return join(self.X, self.y)


def as_slice(mask: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
    """Return rows that follow each other as a slice, so that to take them makes no copy; others as the mask."""
    places = np.flatnonzero(mask)
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return slice(int(places[0]), int(places[-1]) + 1)
    return mask


def one_of_each(cluster: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Return the place of one row of each cluster, drawn at random, in order."""
    order = np.random.default_rng(seed).permutation(len(cluster))
    return np.sort(order[np.unique(cluster[order], return_index=True)[1]])


def join(X: NDArray[np.float64], y: NDArray[np.float64] | float = np.nan) -> NDArray[np.float64]:
    """Return covariates, then the outcome as the last column; NaN where it is unknown."""
    return np.column_stack([X, np.broadcast_to(y, len(X))])


def spawn_seeds(random_state: RandomState, count: int) -> list[int]:
    """Return independent integer seeds for the parts of a fit, so that no part changes another's draws."""
    check_seed(random_state)
    entropy = int(check_random_state(random_state).randint(2**31 - 1))
    return [int(seed) for seed in np.random.SeedSequence(entropy).generate_state(count)]


def check_shares(calibration: Any) -> tuple[float, float]:
    """Return the shares of observational and of trial rows that calibrate: one number for both, or a pair."""
    both = tuple(calibration) if isinstance(calibration, tuple | list) else (calibration, calibration)
    if len(both) != 2 or not all(isinstance(share, Real) and 0 < float(share) < 1 for share in both):
        raise ValueError(
            "calibration is the share of rows that calibrate, strictly between 0 and 1, or a pair of shares, of "
            f"observational and of trial rows; got {calibration!r}."
        )
    return float(both[0]), float(both[1])


def calibration_size(count: int, calibration: float) -> int:
    """Return how many of ``count`` rows calibrate: the nearest to the share with at least one row on each side."""
    return min(max(round(count * calibration), 1), count - 1)


def split(rows: Rows, calibration: float, seed: int) -> tuple[Rows, Rows]:
    """Return the fit rows and the calibration rows, drawn at random; no row, and no cluster, is in both.

    ``calibration`` is the share of rows, or of clusters, that calibrate. At least one stays on each side.
    """
    if rows.marks is not None or rows.weight is not None:
        fit, calibrate = split_places(len(rows), calibration, seed, rows.cluster)
        return rows[fit], rows[calibrate]
    fit, calibrate = split_places(len(rows), calibration, seed)
    X, other = make_once(_split_matrix, rows.X, calibration, seed)
    return Rows(X, rows.y[fit]), Rows(other, rows.y[calibrate])


def _split_matrix(
    X: NDArray[np.float64], calibration: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    fit, calibrate = split_places(len(X), calibration, seed)
    return X[fit], X[calibrate]


def split_places(
    count: int, calibration: float, seed: int, cluster: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the fit rows and of the calibration rows among ``count`` rows, by cluster if given."""
    if cluster is None:
        order = np.random.default_rng(seed).permutation(count)
        size = calibration_size(count, calibration)
        return order[size:], order[:size]
    names, code = np.unique(cluster, return_inverse=True)
    if len(names) < 2:
        raise RefusalError(
            f"the trial rows of an arm come from {len(names)} cluster, and a method that splits them needs at least 2: "
            "one to learn from, one to calibrate on. Use transfer or prognostic, or a trial with more clusters."
        )
    fit, _ = split_places(len(names), calibration, seed)
    learns = np.isin(code, fit)
    return np.flatnonzero(learns), np.flatnonzero(~learns)
