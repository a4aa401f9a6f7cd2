"""Full conformal prediction with a ridge regression that is refitted with every new row. In closed form.

m trial rows have features φ_i, an offset o_i, a scale σ_i > 0 and shares ℓ_i, u_i > 0 of the lower and the upper tail,
all of them independent of the trial's outcomes. For a new row and its candidate outcome y, over the m+1 rows,

    β(y) = argmin Σ ((y_i - o_i - φ_iᵀβ)/σ_i)² + βᵀΛβ,   e_i = (y_i - o_i - φ_iᵀβ(y))/σ_i,
    R_i = max(-e_i/ℓ_i, e_i/u_i),

and y is in the set iff #{i ≤ m: R_i < R_new} < (1-α)(m+1). The scores are one symmetric function of m+1 rows: if these
are exchangeable, coverage is ≥ 1-α, and ≤ 1-α + 1/(m+1) without ties.

No model is refitted. Let ψ_i = φ_i/σ_i in coordinates in which Σ_{i≤m} ψ_iψ_iᵀ + Λ is the identity, r_i the residuals
of the m rows alone, and s the new row's own residual after the refit. By Sherman and Morrison,

    e_i = r_i - (ψ_iᵀψ_new)·s,   e_new = s,   y = o + σ·(ψ_newᵀβ̂ + (1 + |ψ_new|²)·s),

so everything is a line in s, and an increasing line leads from s to y.

Exchangeability needs ties to be ties. Scores that differ by rounding alone count as tied, and ends are rounded
outwards: the set can only grow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from confide.base.rounding import ROUNDING
from confide.base.threads import threads_for
from confide.conformal.intervals import IntervalSets
from confide.conformal.quantile import check_alpha
from confide.conformal.reach import Reach
from confide.conformal.unions import union_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Level

# Directions of the features whose singular value, relative to the largest, is below this are not determined.
DETERMINED = 1e-7
# New rows are solved in chunks of at most so many, so that memory does not grow with their number.
CHUNK = 2**15


def rank_of(alpha: Level, rows: int) -> int:
    """Return the rank of the quantile, k = ⌈(1-α)(m+1)⌉, in rational arithmetic."""
    return math.ceil((1 - check_alpha(alpha)) * (rows + 1))


@dataclass(frozen=True)
class Rows:
    """Rows as one candidate sees them: everything but the outcome.

    Attributes
    ----------
    features : (n, p) array
        What the outcome minus the offset is regressed on; p may be 0.
    offset : (n,) array
        What is subtracted from the outcome.
    scale : (n,) array
        The size of a residual, above 0.
    lower, upper : (n,) arrays
        Shares of the lower and the upper tail, above 0.
    """

    features: NDArray[np.float64]
    offset: NDArray[np.float64]
    scale: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        features: ArrayLike,
        offset: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        lower: ArrayLike = 1.0,
        upper: ArrayLike = 1.0,
    ) -> Rows:
        """Return the rows; a single number serves all of them. Raise if a value is not finite or not above 0."""
        table = np.asarray(features, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(f"features must have two dimensions, got shape {table.shape}.")
        columns = {"offset": offset, "scale": scale, "lower": lower, "upper": upper}
        vectors = {name: _vector(values, name, len(table)) for name, values in columns.items()}
        for name, values in {"features": table, **vectors}.items():
            bad = ~np.isfinite(values) | ((values <= 0) if name in {"scale", "lower", "upper"} else False)
            if bad.any():
                above = "" if name in {"features", "offset"} else " and above 0"
                raise ValueError(f"{name} must be finite{above}, got {values[bad].flat[0]}.")
        return cls(table, **vectors)

    def __len__(self) -> int:
        return len(self.features)

    def take(self, index: slice | NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(self.features[index], *(each[index] for each in (self.offset, self.scale, self.lower, self.upper)))

    def chunks(self) -> Iterator[slice]:
        """Yield slices of at most `CHUNK` rows, of about equal length."""
        length = math.ceil(len(self) / math.ceil(len(self) / CHUNK)) if len(self) else 1
        return (slice(start, start + length) for start in range(0, len(self), length))


def _vector(values: ArrayLike, name: str, rows: int) -> NDArray[np.float64]:
    """Return one value per row."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim and array.shape != (rows,):
        raise ValueError(f"{name} must be one number or {rows} numbers, got shape {array.shape}.")
    return np.broadcast_to(array, rows)


@dataclass(frozen=True)
class NewRows:
    """New rows in the coordinates of a stack: y = centre + stretch·s, with s the new row's own residual.

    Attributes
    ----------
    features : (n, r) array
        ψ_new. 0 for rows that are ``free``.
    squared : (n,) array
        |ψ_new|², so that the leverage is |ψ_new|²/(1 + |ψ_new|²).
    centre, stretch : (n,) arrays
        The line that leads from s to y.
    lower, upper : (n,) arrays
        Shares of the tails.
    size : (n,) array
        The largest number in the sum that makes the centre: its rounding error is relative to this one.
    free : (n,) boolean array
        Whether the trial rows leave the new row's prediction undetermined: its residual is 0 for every outcome.
    """

    features: NDArray[np.float64]
    squared: NDArray[np.float64]
    centre: NDArray[np.float64]
    stretch: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    size: NDArray[np.float64]
    free: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.centre)

    def take(self, index: NDArray[np.intp]) -> NewRows:
        """Return some of the rows."""
        return NewRows(*(getattr(self, each.name)[index] for each in fields(self)))

    def outcomes(
        self, row: NDArray[np.intp] | slice, below: NDArray[np.float64], above: NDArray[np.float64], rounding: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the outcomes at two residuals of those rows, rounded outwards."""
        centre, stretch = self.centre[row], self.stretch[row]
        low, high = centre + stretch * below, centre + stretch * above
        return low - rounding * (self.size[row] + np.abs(low)), high + rounding * (self.size[row] + np.abs(high))


@dataclass(frozen=True)
class Stack:
    """A ridge regression on m trial rows, and what full conformal prediction with it needs; independent of alpha.

    Attributes
    ----------
    whiten : (p, r) array
        From ψ to coordinates in which the m rows' matrix is the identity.
    unseen : (p, q) array
        Directions that the trial rows and the penalty leave undetermined, in features divided by ``lengths``.
    lengths : (p,) array
        Lengths of the features' columns.
    features, residuals : (m, r) and (m,) arrays
        ψ_i and r_i of the trial rows.
    lower, upper : (m,) arrays
        Shares of their tails.
    coefficients : (r,) array
        β̂ of the m rows.
    widths : float
        Σ (ℓ_i + u_i)·σ_i over the trial rows.
    rounding : float
        Relative rounding error of products of features.
    slack : (m,) array
        Residuals no further apart than this are tied.
    determined : bool
        Whether m+1 rows are more than the features without a penalty; otherwise every residual may be 0.
    """

    whiten: NDArray[np.float64]
    unseen: NDArray[np.float64]
    lengths: NDArray[np.float64]
    features: NDArray[np.float64]
    residuals: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    widths: float
    rounding: float
    slack: NDArray[np.float64]
    determined: bool

    @classmethod
    def of(cls, rows: Rows, y: ArrayLike, penalty: ArrayLike = 0.0, slack: float = 0.0) -> Stack:
        """Return the stack of trial rows.

        Parameters
        ----------
        rows : Rows
            The trial rows.
        y : (m,) array
            Their outcomes.
        penalty : float or (p,) array
            The diagonal of Λ, at least 0: 0 for the intercept, little for a slope.
        slack : float
            Scores that differ by no more count as tied. Rounding in this file is taken care of; this one is for
            features and offsets that a model predicts, and that differ in their last bits from one call to the next.
        """
        y = _vector(y, "y", len(rows))
        penalties = _vector(penalty, "penalty", rows.features.shape[1])
        if not (np.isfinite(y).all() and np.isfinite(penalties).all() and (penalties >= 0).all()):
            raise ValueError("y must be finite, and penalty finite and at least 0.")
        whiten, unseen, lengths, condition = _whitening(rows.features / rows.scale[:, None], penalties)
        features, target = rows.features / rows.scale[:, None] @ whiten, (y - rows.offset) / rows.scale
        coefficients = features.T @ target
        size = (np.maximum(np.abs(y), np.abs(rows.offset)) / rows.scale).max(initial=0.0)
        rounding = ROUNDING * condition
        return cls(
            whiten,
            unseen,
            lengths,
            features,
            target - features @ coefficients,
            rows.lower,
            rows.upper,
            coefficients,
            widths=float(((rows.lower + rows.upper) * rows.scale).sum()),
            rounding=rounding,
            slack=rounding * size + slack * np.maximum(rows.lower, rows.upper),
            determined=bool(len(rows) + 1 > (penalties == 0).sum()),
        )

    def __len__(self) -> int:
        return len(self.residuals)

    def place(self, new: Rows) -> NewRows:
        """Return new rows in the coordinates of this stack."""
        if new.features.shape[1] != len(self.whiten):
            raise ValueError(f"new rows need {len(self.whiten)} features, got {new.features.shape[1]}.")
        free = self._undetermined(new.features)
        features = np.where(free[:, None], 0.0, new.features / new.scale[:, None] @ self.whiten)
        squared, fitted = np.einsum("ij,ij->i", features, features), new.scale * (features @ self.coefficients)
        return NewRows(
            features,
            squared,
            centre=new.offset + fitted,
            stretch=new.scale * (1 + squared),
            lower=new.lower,
            upper=new.upper,
            size=np.maximum(np.abs(new.offset), new.scale * np.sqrt(squared) * np.linalg.norm(self.coefficients)),
            free=free,
        )

    def _undetermined(self, features: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether the trial rows leave the prediction of each new row undetermined."""
        if not self.determined or not self.unseen.size:
            return np.full(len(features), not self.determined)
        relative = features / self.lengths
        unseen: NDArray[np.float64] = np.abs(relative @ self.unseen).max(axis=1)
        return np.asarray(unseen > DETERMINED * np.abs(relative).max(axis=1))

    def sets(self, new: Rows, alpha: Level) -> IntervalSets:
        """Return each new row's set of outcomes; the whole line where m is too small for alpha.

        Parameters
        ----------
        new : Rows
            New rows with the same features as the trial's.
        alpha : float
            Miscoverage level, strictly between 0 and 1, read as the decimal that was typed.
        """
        reach = Reach.of(self, rank_of(alpha, len(self)))
        with threads_for(len(new)):
            parts = [self.solve(self.place(new.take(part)), reach) for part in new.chunks()]
        return IntervalSets.concatenate(parts)

    def contains(self, new: Rows, values: ArrayLike, alpha: Level) -> NDArray[np.bool_]:
        """Return whether each new row's set contains each value: an (n, v) array, for discrete outcomes."""
        return contained(self.sets(new, alpha), values)

    def solve(self, placed: NewRows, reach: Reach, enough: NDArray[np.float64] | None = None) -> IntervalSets:
        """Return the sets of new rows in the coordinates of this stack; ``enough`` as in `Reach.residuals`."""
        row, below, above = reach.residuals(placed, enough)
        lower, upper = placed.outcomes(row, below, above, self.rounding)
        return union_of(row, lower, upper, len(placed))


def whole_line(rows: int) -> IntervalSets:
    """Return the whole line for each row."""
    ends = np.full(rows, np.inf)
    return IntervalSets(-ends, ends, np.arange(rows + 1), whole=np.ones(rows, dtype=bool))


def contained(sets: IntervalSets, values: ArrayLike) -> NDArray[np.bool_]:
    """Return whether each set contains each of the values, as an (n, v) array."""
    each = np.asarray(values, dtype=np.float64)
    if each.ndim != 1:
        raise ValueError(f"values must be one vector of outcomes, got shape {each.shape}.")
    return np.stack([sets.contains(value) for value in each], axis=1) if len(each) else np.zeros((len(sets), 0), bool)


def _whitening(
    scaled: NDArray[np.float64], penalties: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Return W with Wᵀ(ΨᵀΨ + Λ)W = 1, the undetermined directions, the columns' lengths, and the condition of the rest.

    The scale of a feature must not matter: singular values are compared for columns of length 1.
    """
    stacked = np.concatenate([scaled, np.diag(np.sqrt(penalties))])
    lengths = np.linalg.norm(stacked, axis=0)
    lengths[lengths == 0] = 1.0
    _, values, directions = np.linalg.svd(stacked / lengths, full_matrices=False)
    kept = values > DETERMINED * values.max(initial=0.0)
    whiten = directions[kept].T / values[kept] / lengths[:, None]
    return whiten, directions[~kept].T, lengths, float(values.max(initial=1.0) / values[kept].min(initial=1.0))
