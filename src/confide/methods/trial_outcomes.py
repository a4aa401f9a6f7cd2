"""What became of an arm's trial rows, beside what other rows predicted: for choosing people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from confide.typing import Floats


@dataclass(frozen=True)
class TrialOutcomes:
    """Scores and outcomes of trial rows that are as frequent as people in the trial's population.

    Attributes
    ----------
    score : (m,) array
        The score of each row, learnt from other rows.
    y : (m,) array
        Its outcome.
    rounding : float
        By how much the score of a row may differ between a table and the row alone.
    """

    score: Floats
    y: Floats
    rounding: float

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def thinned(cls, score: Floats, y: Floats, rounding: float, chance: Floats | None, seed: int) -> TrialOutcomes:
        """Return the rows, each kept with its chance; None: all of them.

        An arm's rows are people of the trial, drawn with their probabilities π of this treatment. Kept with the chance
        π_min/π, which depends on nothing else, they are people of the trial drawn alike. π_min is the smallest
        probability that the trial tells of.
        """
        if chance is None:
            return cls(score, y, rounding)
        kept = np.random.default_rng(seed).random(len(y)) < chance
        return cls(score[kept], y[kept], rounding)
