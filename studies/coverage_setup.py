"""What is fitted in a draw of the coverage study: a setup, and the base model that most of them have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from studies.coverage_processes import Floats

# Observational rows per arm where they do not calibrate, and draws per batch.
TABLE, DRAWS = 200, 10


class LeastSquares(RegressorMixin, BaseEstimator):
    """A straight line and nothing else: most of a draw's time would go into the checks of a base model."""

    def fit(self, X: Floats, y: Floats, sample_weight: Floats | None = None) -> Self:
        """Learn the coefficients."""
        root = np.ones(len(y)) if sample_weight is None else np.sqrt(sample_weight)
        self.coef_ = np.linalg.lstsq(self._columns(X) * root[:, None], y * root)[0]
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the points on the line."""
        points: Floats = self._columns(X) @ self.coef_
        return points

    @staticmethod
    def _columns(X: Floats) -> Floats:
        return np.column_stack([np.ones(len(X)), X])


@dataclass(frozen=True)
class Setup:
    """What is fitted in a draw; each level and question is a cell of the table.

    Attributes
    ----------
    section : str
        Where it stands on the page.
    process, method : str
        Where people come from, and the method.
    rows : int
        Rows that calibrate, or clusters: per arm, and on average where chance decides.
    alphas : tuple of float
        The levels.
    told : str
        What differs from the usual, in words.
    params : mapping
        Parameters of the arm. ``ratio`` may be "oracle", "blind" or "reversed".
    carries : {"", "assignment", "cluster", "target", "weights"}
        What the study carries; "weights" are a target's, known.
    model : mapping
        Parameters of `CounterfactualIntervals`.
    asks : tuple of str
        "outcome", "effect", "participants" (the effect, where one outcome is known).
    knows_new : bool
        Whether new people's probabilities of treatment are given.
    alone : bool
        Whether there is no observational table.
    ceiling : bool
        Whether the theory has an upper bound: scores are not tied, and nothing is conservative on purpose.
    trial : int
        Trial rows of methods that calibrate on the table.
    table : int
        Observational rows per arm, where they do not calibrate.
    new, draws : int
        New people per draw, and draws per batch.
    """

    section: str
    process: str
    method: str
    rows: int
    alphas: tuple[float, ...]
    told: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    carries: str = ""
    model: Mapping[str, Any] = field(default_factory=dict)
    asks: tuple[str, ...] = ("outcome",)
    knows_new: bool = True
    alone: bool = False
    ceiling: bool = False
    trial: int = 20
    table: int = TABLE
    new: int = 100
    draws: int = DRAWS

    @property
    def name(self) -> str:
        """The setup in words."""
        told = f", {self.told}" if self.told else ""
        return f"{self.method}{told}, {self.process}, {self.rows} rows"

    @property
    def whole_study(self) -> bool:
        """Whether it is asked of `CounterfactualIntervals`; else of one arm."""
        return bool(self.model or self.carries in ("assignment", "cluster", "target") or self.asks != ("outcome",))
