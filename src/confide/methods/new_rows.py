"""New rows of one arm, and its base model's predictions for them, which points and all levels share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.models.base_model import predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Booleans, Floats, Places


class NewRows:
    """Covariates of new rows as numbers, and the base model's predictions, computed when they are first used.

    The methods of an arm take such rows in place of covariates: so a base model predicts rows once for points,
    intervals and effects.

    Attributes
    ----------
    X : (n, d) array
        Covariates.
    prediction : array
        One prediction per row: a number, or several, as the conformity score has it.
    weight : (n,) array
        Each row's own weight (see `confide.conformal.marks`).
    group : (n,) array of integers or None
        The group that each row is ranked in, -1 for one without trial rows; None: all rows are ranked together.
    """

    def __init__(
        self,
        X: Floats,
        base: Any,
        prediction: Floats | None = None,
        weight: ArrayLike = 1.0,
        group: NDArray[np.intp] | None = None,
    ) -> None:
        self.X = X
        self._base = base
        self._prediction = prediction
        self.weight: Floats = np.broadcast_to(np.asarray(weight, dtype=np.float64), len(X))
        self.group = group
        self._answers: dict[int, tuple[Any, Any]] = {}

    def once(self, key: Any, work: Callable[[], Any]) -> Any:
        """Return the result of work on these rows, or what it was for the very same key, as several levels share it."""
        if id(key) not in self._answers:
            self._answers[id(key)] = key, work()
        return self._answers[id(key)][1]

    @property
    def prediction(self) -> Floats:
        """The base model's predictions; an error if one is NaN or infinite."""
        if self._prediction is None:
            self._prediction = predictions(self._base, self.X)
        return self._prediction

    def predicted(self) -> NewRows:
        """Return the rows with their predictions, which parts of them then share."""
        return NewRows(self.X, self._base, self.prediction, self.weight, self.group) if len(self) else self

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice | Places | Booleans) -> NewRows:
        """Return some of the rows; predictions that are known are kept."""
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        known = None if self._prediction is None else self._prediction[rows]
        group = None if self.group is None else self.group[rows]
        return NewRows(self.X[rows], self._base, known, self.weight[rows], group)

    @classmethod
    def joined(cls, parts: Sequence[NewRows]) -> NewRows:
        """Return the rows of several parts, in order, with their predictions."""
        if len(parts) == 1:
            return parts[0]
        X, prediction, weight = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "prediction", "weight")
        )
        group = None if parts[0].group is None else np.concatenate([part.group for part in parts])
        return cls(X, parts[0]._base, prediction, weight, group)

    def chunks(self, size: int) -> Iterator[NewRows]:
        """Yield the rows in order, ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]
