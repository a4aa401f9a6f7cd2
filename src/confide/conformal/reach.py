"""How far a new row's residual may reach: where enough trial rows have a smaller score (see `stacked`).

Above, with τ = R_new = s/u_new and v = u_new·ψ_new, a trial row's score is smaller than τ iff

    r_i < τ·(u_i + ψ_iᵀv)   and   -r_i < τ·(ℓ_i - ψ_iᵀv).

Below, with τ = -s/ℓ_new and v = -ℓ_new·ψ_new, the two conditions are the same. So both ends are one function of v. The
sum of the two factors is positive, so each trial row is smaller on one interval of τ. It starts at |r_i| divided by the
factor on its own side (never, if that is not positive), and it ends only if the other factor is negative, which needs
a new row of high leverage. Without such ends the set reaches to the k-th smallest start; otherwise a sweep over all
starts and ends finds it, perhaps with gaps.

For many new rows at once, a bound on all of their v leaves few trial rows that can have the k-th smallest start.

If trial rows have weights, the set reaches to the first start at which those of smaller scores weigh enough, instead of
the k-th smallest: how much is enough depends on the new row's own weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.grid import MAX_NUMBERS
from confide.conformal.unions import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from confide.conformal.stacked import NewRows, Stack

# New rows that share a bound: at most this many, and with lengths of v that differ by at most this factor, or share.
BLOCK = 2048
GROWTH = 1.2
SHARE = 0.02
# Bounds that hold for all v up to some length are tabulated at so many lengths.
STEPS = 64
# Of trial rows with weights there are so many such tables per doubling of the weight that is left.
TABLES = 8

# What a reach has for each trial row, apart from its weight.
PER_ROW = (
    "numerator",
    "base",
    "factor",
    "end_numerator",
    "end_base",
    "end_factor",
    "zero",
    "floor",
    "norms",
)

Parts = tuple["NDArray[np.intp]", "NDArray[np.float64]", "NDArray[np.float64]"]


def blocks_of(lengths: NDArray[np.float64], limit: float, most: int = BLOCK) -> Iterator[NDArray[np.intp]]:
    """Yield the rows in blocks of similar length, at most so many; ``limit`` is a length that matters."""
    order = np.argsort(lengths)
    ordered, begin = lengths[order], 0
    while begin < len(order):
        similar = np.searchsorted(ordered, GROWTH * ordered[begin] + SHARE * limit, side="right")
        end = max(begin + 1, min(begin + most, int(similar)))
        yield order[begin:end]
        begin = end


@dataclass(frozen=True)
class Reach:
    """Starts and ends of the trial rows' intervals, as functions of v.

    A row starts at ``numerator / (base + factor·(v, |v|))`` and ends at ``end_numerator / -(end_base +
    end_factor·(v, |v|))``. Numerators and factors include what rounding may change, always to enlarge the set.

    Attributes
    ----------
    rank : int
        k, the number of smaller scores that puts an outcome outside, if trial rows weigh the same.
    weights : (m,) array or None
        The trial rows' weights. New rows then come with the weight that is enough to put an outcome outside.
    side : {"both", "lower", "upper"}
        Which ends the sets have.
    zero : (m,) boolean array
        Whether rounding hides the sign of the residual, so that the smaller factor counts.
    floor, norms : (m,) arrays
        The smaller of the two factors is at least ``floor - norms·|v|``.
    limit : float
        If v is shorter than this, all factors are positive.
    tables : dict
        Bounds that are known already, by the weight that is left.
    """

    rank: int
    numerator: NDArray[np.float64]
    base: NDArray[np.float64]
    factor: NDArray[np.float64]
    end_numerator: NDArray[np.float64]
    end_base: NDArray[np.float64]
    end_factor: NDArray[np.float64]
    zero: NDArray[np.bool_]
    floor: NDArray[np.float64]
    norms: NDArray[np.float64]
    limit: float
    weights: NDArray[np.float64] | None = None
    side: str = "both"
    tables: dict[float, NDArray[np.float64]] = field(init=False, compare=False, default_factory=dict)

    @classmethod
    def of(cls, stack: Stack, rank: int, weights: NDArray[np.float64] | None = None, side: str = "both") -> Reach:
        """Return the starts and ends for the k-th smallest score, or for trial rows with weights."""
        off, slack, size = stack.rounding, stack.slack, np.abs(stack.residuals)
        norms = np.linalg.norm(stack.features, axis=1)
        least = np.minimum(stack.lower, stack.upper)
        positive = stack.residuals > 0
        signed = np.where(positive, 1.0, -1.0)[:, None] * stack.features
        # The sign of a residual within the slack is unknown: its smaller factor decides, and it never ends.
        zero = size <= slack
        with np.errstate(divide="ignore"):
            limit = (least / norms).min(initial=np.inf) * (1 - off) / (1 + off)
        return cls(
            rank,
            numerator=np.where(zero, 2 * slack, size + slack),
            base=np.where(positive, stack.upper, stack.lower) * (1 - off),
            factor=np.column_stack([signed, -off * norms]),
            end_numerator=np.where(zero, np.inf, size - slack),
            end_base=np.where(positive, stack.lower, stack.upper) * (1 - off),
            end_factor=np.column_stack([-signed, -off * norms]),
            zero=zero,
            floor=least * (1 - off),
            norms=norms * (1 + 2 * off),
            limit=float(limit),
            weights=weights,
            side=side,
        )

    def among(self, rows: NDArray[np.intp], rank: int) -> Reach:
        """Return the starts and ends of some trial rows, which weigh the same, for the k-th smallest score of these."""
        each = {name: getattr(self, name)[rows] for name in PER_ROW}
        return replace(self, rank=rank, weights=None, **each)

    def unbounded(self, enough: NDArray[np.float64] | None) -> NDArray[np.bool_] | bool:
        """Return whether all trial rows together are too few, or for which new rows they weigh too little."""
        if self.weights is None or enough is None:
            return self.rank > len(self.base)
        return np.asarray(enough > self.weights.sum())

    def residuals(self, new: NewRows, enough: NDArray[np.float64] | None = None) -> Parts:
        """Return the residuals in each new row's set, as intervals: the rows, and the ends of s.

        ``enough`` is the weight that puts an outcome outside, per new row, if trial rows have weights.
        """
        everywhere = new.free | self.unbounded(enough)
        at, rest = np.flatnonzero(~everywhere), np.flatnonzero(everywhere)
        features, upper, lower = new.features[at], new.upper[at], new.lower[at]
        enough = None if enough is None else enough[at]
        (below, below_ends), down = self._to_side("lower", -lower[:, None] * features, enough)
        (above, above_ends), up = self._to_side("upper", upper[:, None] * features, enough)
        swept = below_ends | above_ends
        plain, hard = np.flatnonzero(~swept), np.flatnonzero(swept)
        parts = [
            (rest, np.full(len(rest), -np.inf), np.full(len(rest), np.inf)),
            (at[plain], -(lower * below)[plain], (upper * above)[plain]),
        ]
        if len(hard):
            some = None if enough is None else enough[hard]
            row, start, stop = self._sweep_side("lower", down[hard], some)
            parts.append((at[hard[row]], -lower[hard[row]] * stop, -lower[hard[row]] * start))
            row, start, stop = self._sweep_side("upper", up[hard], some)
            parts.append((at[hard[row]], upper[hard[row]] * start, upper[hard[row]] * stop))
        row, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
        return row, low, high

    def _to_side(
        self, side: str, directions: NDArray[np.float64], enough: NDArray[np.float64] | None
    ) -> tuple[tuple[NDArray[np.float64], NDArray[np.bool_]], NDArray[np.float64]]:
        """Return what `quantiles` returns, and its directions; +∞ on a side where sets have no end."""
        if self.side in ("both", side):
            return self.quantiles(directions, enough), directions
        return (np.full(len(directions), np.inf), np.zeros(len(directions), dtype=bool)), directions

    def _sweep_side(self, side: str, directions: NDArray[np.float64], enough: NDArray[np.float64] | None) -> Parts:
        """Return what `sweep` returns; everything on a side where sets have no end."""
        if self.side in ("both", side):
            return self.sweep(directions, enough)
        return np.arange(len(directions)), np.zeros(len(directions)), np.full(len(directions), np.inf)

    def farthest(self, lengths: NDArray[np.float64], enough: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return an upper bound of how far sets reach for every v of these lengths, from a table."""
        if np.all(self.unbounded(enough)):
            return np.full(len(lengths), np.inf)
        longest = self.limit if np.isfinite(self.limit) else 1.0
        table = self._table(longest, None if enough is None else enough[~self.unbounded(enough)].max())
        return table[np.clip(np.ceil(lengths * (STEPS / longest)), 1, STEPS + 1).astype(np.intp) - 1]

    def _table(self, longest: float, most: float | None) -> NDArray[np.float64]:
        """Return how far sets reach at most for v up to each of the tabulated lengths, and +∞ beyond them.

        ``most`` is a weight that is enough for all new rows. What is left of the weights then is rounded downwards, so
        that many new rows share a table.
        """
        left = 0.0
        if self.weights is not None and most is not None and self.weights.sum() > most:
            left = float(2.0 ** (np.floor(TABLES * np.log2(self.weights.sum() - most)) / TABLES))
        if left not in self.tables:
            steps = np.linspace(0, longest, STEPS + 1)[1:]
            factors = np.where(self.zero, self.floor, self.base) - self.norms * steps[:, None]
            with np.errstate(divide="ignore"):
                starts = np.where(factors > 0, self.numerator / factors, np.inf) * (1 + 1e-9)
            enough = None if self.weights is None else np.full(STEPS, self.weights.sum() - left)
            self.tables[left] = np.append(self._smallest(starts, self.rank, np.arange(len(self.base)), enough), np.inf)
        return self.tables[left]

    def _smallest(
        self,
        starts: NDArray[np.float64],
        rank: int,
        kept: NDArray[np.intp],
        enough: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Return the k-th smallest start of each row, or the one at which these trial rows weigh enough; +∞ if none."""
        if self.weights is None or enough is None:
            found: NDArray[np.float64] = np.partition(starts, rank - 1, axis=1)[:, rank - 1]
            return found
        order = np.argsort(starts, axis=1)
        reached = np.cumsum(np.take(self.weights[kept], order), axis=1) >= enough[:, None]
        first = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        return np.where(reached.any(axis=1), np.take_along_axis(starts, first, axis=1)[:, 0], np.inf)

    def quantiles(
        self, directions: NDArray[np.float64], enough: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return how far each v's set reaches, and whether a trial row's interval ends: more may be inside."""
        lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
        found, ends = np.empty(len(directions)), np.zeros(len(directions), dtype=bool)
        for block in blocks_of(lengths, self.limit if np.isfinite(self.limit) else 1.0):
            places = np.column_stack([directions[block], lengths[block]])
            needed = None if enough is None else enough[block]
            kept, below = self._kept(places, needed)
            if lengths[block[-1]] < self.limit and not self.zero[kept].any():
                starts = self.numerator[kept] / (self.base[kept] + places @ self.factor[kept].T)
                left = None if self.weights is None or needed is None else needed - self.weights[below].sum()
                found[block] = self._smallest(starts, self.rank - len(below), kept, left)
                continue
            every = np.arange(len(self.base))
            for part in np.array_split(np.arange(len(block)), 1 + len(block) * len(self.base) // MAX_NUMBERS):
                starts, stops = self._intervals(places[part])
                found[block[part]] = self._smallest(starts, self.rank, every, None if needed is None else needed[part])
                ends[block[part]] = np.isfinite(stops).any(axis=1)
        return found, ends

    def _kept(
        self, places: NDArray[np.float64], enough: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the trial rows that can have the start that decides, and those that certainly start before it."""
        centre = places[:, :-1].mean(axis=0)
        radius = np.sqrt(((places[:, :-1] - centre) ** 2).sum(axis=1).max()) * (1 + 1e-9)
        middle, wide = self.base + self.factor[:, :-1] @ centre, self.norms * radius
        longest = places[:, -1].max()
        least = np.where(self.zero, self.floor - self.norms * longest, middle - wide + self.factor[:, -1] * longest)
        with np.errstate(divide="ignore"):
            first = np.where(self.zero, 0.0, self.numerator / (middle + wide))
            last = np.where(least > 0, self.numerator / least, np.inf)
        # Rounding of these bounds is far below this margin.
        every = np.arange(len(self.base))
        least, most = (None, None) if enough is None else (enough.min(keepdims=True), enough.max(keepdims=True))
        lowest = self._smallest(first[None], self.rank, every, least) * (1 - 1e-9)
        highest = self._smallest(last[None], self.rank, every, most) * (1 + 1e-9)
        below = last < lowest
        return np.flatnonzero(~below & (first <= highest)), np.flatnonzero(below)

    def _intervals(self, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where each trial row's score begins and ceases to be smaller; +∞ for never."""
        factors, ends = self.base + places @ self.factor.T, self.end_base + places @ self.end_factor.T
        factors = np.where(self.zero, np.minimum(factors, ends), factors)
        with np.errstate(divide="ignore", over="ignore"):
            start = np.where(factors > 0, self.numerator / factors, np.inf)
            stop = np.where(ends < 0, self.end_numerator / -ends, np.inf)
        empty = start >= stop
        start[empty], stop[empty] = np.inf, np.inf
        return start, stop

    def sweep(self, directions: NDArray[np.float64], enough: NDArray[np.float64] | None = None) -> Parts:
        """Return all τ ≥ 0 with fewer than k smaller scores, as intervals: the places in v, and their ends."""
        lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
        places, found = np.column_stack([directions, lengths]), []
        at_once = max(1, MAX_NUMBERS // (2 * len(self.base) + 1))
        for begin in range(0, len(places), at_once):
            starts, stops = self._intervals(places[begin : begin + at_once])
            # A stable sort puts stops before starts: a score that is tied counts for neither.
            cuts = np.concatenate([stops, starts], axis=1)
            order = np.argsort(cuts, axis=1, kind="stable")
            cuts = np.pad(np.take_along_axis(cuts, order, axis=1), ((0, 0), (1, 0)))
            weights = np.ones(len(self.base)) if self.weights is None else self.weights
            smaller = np.cumsum(np.concatenate([-weights, weights])[order], axis=1)
            needed = self.rank if enough is None else enough[begin : begin + at_once, None]
            inside = (np.pad(smaller, ((0, 0), (1, 0))) < needed) & np.isfinite(cuts)
            row, first, last = runs(inside)
            ends = np.pad(cuts, ((0, 0), (0, 1)), constant_values=np.inf)
            found.append((row + begin, cuts[row, first], ends[row, last]))
        row, low, high = (np.concatenate(each) for each in zip(*found, strict=True))
        return row, low, high
