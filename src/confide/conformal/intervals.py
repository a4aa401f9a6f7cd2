"""What predictions return: one interval per row, or a union of intervals per row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.advice import Advice
from confide.base.notebook import MOST_ROWS, html_table
from confide.conformal.quantile import rows_needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from confide.typing import Level


def shortage(alpha: Level, rows: str, source: str, consequence: str, units: str = "rows") -> Advice:
    """Return the warning that intervals cannot be finite, with the remedy; ``units`` may be clusters."""
    return Advice.of(
        f"alpha={float(alpha):g} needs {rows_needed(alpha)} {source} calibration {units} for a finite interval; "
        f"there {rows}. {consequence}.",
        f"Use a larger alpha or more {source} {units}.",
    )


def count_rows(rows: int) -> str:
    """Return "is 1" or "are 12"."""
    return f"is {rows}" if rows == 1 else f"are {rows}"


@dataclass(frozen=True, eq=False)
class Intervals:
    """Closed intervals, one per row; ``lower, upper = intervals`` unpacks them.

    Ends may be infinite. An empty interval has NaN ends, width 0, and contains nothing. ``intervals[3]`` is the pair of
    one row's ends; a slice, a mask or a list of rows gives the intervals of these rows. Rows count by place: the index
    of a mask, or of outcomes, has no part in it.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    # What the rows came in: makes `to_frame` give a frame of the caller's kind.
    origin: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape:
            raise ValueError(
                f"lower and upper must be two vectors of one length, got shapes "
                f"{self.lower.shape} and {self.upper.shape}."
            )

    def __len__(self) -> int:
        return len(self.lower)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.lower, self.upper))

    def __eq__(self, other: object) -> bool:
        """Return whether all ends are the same; empty intervals are."""
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(np.asarray(self), np.asarray(other), equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, Integral) and not isinstance(rows, bool):
            return float(self.lower[rows]), float(self.upper[rows])
        origin = None if self.origin is None else self.origin.take(np.arange(len(self))[rows])
        return Intervals(self.lower[rows], self.upper[rows], origin)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Intervals keep two vectors: an (n, 2) array is always a copy.")
        return np.column_stack([self.lower, self.upper]).astype(dtype or np.float64, copy=False)

    @property
    def width(self) -> NDArray[np.float64]:
        """Upper minus lower end; 0 where the interval is empty."""
        return np.where(np.isnan(self.lower), 0.0, self.upper - self.lower)

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Whether at least one end is infinite."""
        return np.isinf(self.lower) | np.isinf(self.upper)

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each row's interval contains its outcome (or the one outcome given)."""
        y = _one_per_row(y, len(self))
        return (self.lower <= y) & (y <= self.upper)

    def clip(self, lo: float, hi: float) -> Intervals:
        """Return the intersection with [lo, hi]; an interval wholly outside becomes empty."""
        _check_bounds(lo, hi)
        lower, upper = np.maximum(self.lower, lo), np.minimum(self.upper, hi)
        empty = ~(lower <= upper)
        return Intervals(np.where(empty, np.nan, lower), np.where(empty, np.nan, upper), self.origin)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame with the columns ``lower`` and ``upper``.

        ``backend`` is "pyarrow", or "pandas" or "polars" where it is installed. None: the kind of the frame that the
        rows came in; "pyarrow" if they came as an array. A frame of the kind that they came in has its index.
        """
        import narwhals as nw  # noqa: PLC0415  (only here, so that plain arrays never pay for it)

        columns = {"lower": self.lower, "upper": self.upper}
        if self.origin is not None and self.origin.is_of(backend):
            return self.origin.frame(columns)
        kind: Any = backend or "pyarrow"
        try:
            return nw.from_dict(columns, backend=kind).to_native()
        except ValueError as error:
            raise ValueError(f"backend must be 'pyarrow', 'pandas' or 'polars', got {backend!r}.") from error

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for notebooks; rows are named by the caller's index if there is one."""
        index = None if self.origin is None else self.origin.index
        names = range(len(self)) if index is None else index
        shown = zip(names[:MOST_ROWS], self.lower, self.upper, self.width, strict=False)
        return html_table(["", "lower", "upper", "width"], list(shown), max(len(self) - MOST_ROWS, 0))


def moved_apart(lower: NDArray[np.float64], upper: NDArray[np.float64], offset: ArrayLike) -> Intervals:
    """Return [lower - offset, upper + offset], empty where the ends cross, and rounded outwards.

    Rounded to nearest, an end may exclude the very outcome whose score is the offset: by a unit in the last place,
    which counts where outcomes are tied.
    """
    offset = np.asarray(offset, dtype=np.float64)
    slack = 4 * np.finfo(np.float64).eps * np.maximum(np.maximum(np.abs(lower), np.abs(upper)), np.abs(offset))
    return Intervals(lower - offset - slack, upper + offset + slack).clip(-np.inf, np.inf)


def moved_out(end: NDArray[np.float64], offset: ArrayLike, side: str) -> Intervals:
    """Return intervals with one end, the "lower" or the "upper" one, moved outwards by the offset and rounded so."""
    offset = np.asarray(offset, dtype=np.float64)
    out = offset + 4 * np.finfo(np.float64).eps * np.maximum(np.abs(end), np.abs(offset))
    nowhere = np.full(np.broadcast_shapes(np.shape(end), out.shape), np.inf)
    return Intervals(end - out, nowhere) if side == "lower" else Intervals(-nowhere, end + out)


@dataclass(frozen=True, eq=False)
class IntervalSets:
    """A union of disjoint closed intervals for each row.

    Row i owns the components ``starts[i]`` to ``starts[i + 1]`` of ``lower`` and ``upper``, in increasing
    order; ``sets[i]`` gives them as a (components, 2) array. A row without components is the empty set. Where
    the outcome is discrete, the components are single values.

    Attributes
    ----------
    whole : (n,) boolean array or None
        Whether each row's set is the whole range searched; None if no search was made.
    approximate : bool
        Whether a component, or a gap between two, may have been missed, because few candidates were refitted.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    starts: NDArray[np.intp]
    discrete: bool = False
    whole: NDArray[np.bool_] | None = None
    approximate: bool = False

    @classmethod
    def of_values(cls, values: NDArray[np.float64], member: NDArray[np.bool_]) -> IntervalSets:
        """Return subsets of the values; ``member[i, j]`` says whether row i's set has the j-th value."""
        chosen = values[np.nonzero(member)[1]]
        starts = np.concatenate([[0], np.cumsum(member.sum(axis=1))])
        return cls(chosen, chosen, starts, discrete=True, whole=np.asarray(member.all(axis=1)))

    @classmethod
    def of(cls, intervals: Intervals) -> IntervalSets:
        """Return sets of one interval each; an empty interval becomes the empty set."""
        present = ~np.isnan(intervals.lower)
        starts = np.concatenate([[0], np.cumsum(present)])
        return cls(intervals.lower[present], intervals.upper[present], starts)

    @classmethod
    def concatenate(cls, parts: list[IntervalSets]) -> IntervalSets:
        """Return the rows of all parts, in order."""
        counts = [np.diff(part.starts) for part in parts]
        starts = np.concatenate([[0], np.cumsum(np.concatenate([[], *counts]))]).astype(np.intp)
        lower = np.concatenate([[], *(part.lower for part in parts)])
        upper = np.concatenate([[], *(part.upper for part in parts)])
        known = [part.whole for part in parts if part.whole is not None]
        whole = np.concatenate(known) if known and len(known) == len(parts) else None
        discrete, approximate = any(part.discrete for part in parts), any(part.approximate for part in parts)
        return cls(lower, upper, starts, discrete, whole, approximate)

    def joined(self, intervals: Intervals) -> IntervalSets:
        """Return the unions of each row's set with one more interval; an empty one adds nothing."""
        lower, upper = intervals.lower.copy(), intervals.upper.copy()
        owner = self.rows
        # Components that meet it are merged with it. A comparison with NaN, an empty interval, is False.
        meets = (self.lower <= upper[owner]) & (self.upper >= lower[owner])
        np.minimum.at(lower, owner[meets], self.lower[meets])
        np.maximum.at(upper, owner[meets], self.upper[meets])
        added = np.flatnonzero(~np.isnan(lower))
        row = np.concatenate([owner[~meets], added])
        lower = np.concatenate([self.lower[~meets], lower[added]])
        upper = np.concatenate([self.upper[~meets], upper[added]])
        order = np.lexsort((lower, row))
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self)))])
        return IntervalSets(lower[order], upper[order], starts, whole=self.whole, approximate=self.approximate)

    def clip(self, lo: float, hi: float) -> IntervalSets:
        """Return the intersections with [lo, hi]; a component wholly outside is left out."""
        _check_bounds(lo, hi)
        lower, upper = np.maximum(self.lower, lo), np.minimum(self.upper, hi)
        kept = lower <= upper
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return replace(self, lower=lower[kept], upper=upper[kept], starts=starts)

    def scaled(self, unit: float) -> IntervalSets:
        """Return the sets in another unit of the outcome, above 0; exact if that is a power of two."""
        return replace(self, lower=self.lower * unit, upper=self.upper * unit)

    def take(self, order: NDArray[np.intp]) -> IntervalSets:
        """Return the sets of those rows, in that order."""
        counts = self.components[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        index = np.arange(starts[-1]) + np.repeat(self.starts[:-1][order] - starts[:-1], counts)
        whole = None if self.whole is None else self.whole[order]
        return IntervalSets(self.lower[index], self.upper[index], starts, self.discrete, whole, self.approximate)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> NDArray[np.float64]:
        """Return the intervals of one row's set, as a (components, 2) array."""
        components = slice(*self.starts[range(len(self))[row] :][:2])
        return np.column_stack([self.lower[components], self.upper[components]])

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Return whether all rows have the same set."""
        if not isinstance(other, IntervalSets):
            return NotImplemented
        return all(np.array_equal(getattr(self, each), getattr(other, each)) for each in ("starts", "lower", "upper"))

    __hash__ = None  # type: ignore[assignment]

    @property
    def components(self) -> NDArray[np.intp]:
        """Number of intervals in each row's set."""
        return np.diff(self.starts)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Whether each row's set is empty; its hull then has NaN ends."""
        return np.asarray(self.components == 0)

    @property
    def disconnected(self) -> NDArray[np.bool_]:
        """Whether each row's set has a gap, which its hull fills; False for discrete sets."""
        return np.asarray((self.components > 1) & (not self.discrete))

    def summary(self) -> str:
        """Return the number of sets, and of each unusual kind of set, as text."""
        kinds = {
            "empty": self.empty,
            "of several intervals": self.disconnected,
            "all that was searched": np.zeros(len(self), dtype=bool) if self.whole is None else self.whole,
        }
        counted = ", ".join(f"{int(rows.sum())} {kind}" for kind, rows in kinds.items())
        return f"{len(self)} sets: {counted}" + ("; by few candidates, approximate" if self.approximate else "")

    @property
    def rows(self) -> NDArray[np.intp]:
        """The row that each component belongs to."""
        return np.repeat(np.arange(len(self)), self.components)

    @property
    def measure(self) -> NDArray[np.float64]:
        """Total length of each row's set, or the number of its values where the outcome is discrete."""
        if self.discrete:
            return self.components.astype(np.float64)
        measure: NDArray[np.float64] = np.bincount(self.rows, self.upper - self.lower, len(self)).astype(np.float64)
        return measure

    def _repr_html_(self) -> str:
        """Return the first sets as a table, for notebooks."""
        shown = [(row, self._named(row), self.measure[row]) for row in range(min(len(self), MOST_ROWS))]
        return html_table(["", "set", "measure"], shown, len(self) - len(shown))

    def _named(self, row: int) -> str:
        """Return one row's set as text."""
        if self.discrete:
            return "{" + ", ".join(f"{low:.6g}" for low, _ in self[row]) + "}"
        return " ∪ ".join(f"[{low:.6g}, {high:.6g}]" for low, high in self[row]) or "empty"

    def hull(self) -> Intervals:
        """Return the smallest interval around each row's set; NaN ends where the set is empty."""
        lower, upper = np.full((2, len(self)), np.nan)
        present = self.components > 0
        lower[present] = self.lower[self.starts[:-1][present]]
        upper[present] = self.upper[self.starts[1:][present] - 1]
        return Intervals(lower, upper)

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each row's set contains its outcome (or the one outcome given)."""
        y = _one_per_row(y, len(self))[self.rows]
        hits = (self.lower <= y) & (y <= self.upper)
        return np.bincount(self.rows, weights=hits, minlength=len(self)) > 0


def _check_bounds(lo: Any, hi: Any) -> None:
    """Raise unless lo is at most hi: all intervals would be empty."""
    try:
        ordered = bool(np.all(np.asarray(lo, dtype=np.float64) <= np.asarray(hi, dtype=np.float64)))
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise ValueError(
            f"clip needs two numbers, lo at most hi, got {lo!r} and {hi!r}. For no bound give -inf or inf."
        )


def _one_per_row(y: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return the outcomes, one per row; a single number is used for all rows."""
    outcomes = np.asarray(y, dtype=np.float64)
    if outcomes.ndim and outcomes.shape != (rows,):
        raise ValueError(f"y must be one outcome or {rows} outcomes, got shape {outcomes.shape}.")
    return np.broadcast_to(outcomes, rows)
