"""New people: their covariates as numbers, and what tells for whom an answer must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from confide.typing import Floats, Label


@dataclass(frozen=True)
class People:
    """New rows as a model reads them.

    Attributes
    ----------
    X : (n, d) array
        Encoded covariates.
    group : (n,) array of integers or None
        The number of each row's group; -1 for a group without trial rows. None: there are no groups.
    assignment : mapping of label to (n,) array
        The probabilities of treatments, as the trial would assign them, where they are known.
    """

    X: Floats
    group: NDArray[np.intp] | None
    assignment: Mapping[Label, Floats]

    def __len__(self) -> int:
        return len(self.X)
