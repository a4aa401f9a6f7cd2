"""Learning from rows that are not in memory: shares of them, one model each, and the mean of these models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.base.threads import threads_for
from confide.data.encoding import encoded_by, encoded_names
from confide.exceptions import RefusalError
from confide.models.lightgbm_model import MoreRows, Trees, import_lightgbm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confide.data.rest import Reading, Rest, RestOfPart
    from confide.models.lightgbm_model import LightGBMRegressor
    from confide.typing import Floats, Label

# Rows that LightGBM is given at a time.
BATCH_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class ArmRest(MoreRows):
    """One treatment's rows of a large table beyond the sample in memory.

    They are divided into shares that fit into the memory, by the number of rows alone. Each share gives a model, and
    the arm's model is their mean, weighted by their rows. It has all trees.
    """

    rest: Rest
    label: Label
    encoder: Any
    own: bool

    def __len__(self) -> int:
        return self.rest.rows

    def trees(self, model: LightGBMRegressor) -> tuple[Trees, int]:
        """Return the trees that the model learns from all rows, and the number of their columns."""
        import_lightgbm()
        columns = len(encoded_names(self.encoder, len(self.rest.reading.covariates)))
        asked = model, self.rest.reading, self.label, self.encoder, self.own
        found = [each for each in self.rest.map(learn_share, self.rest.shares(columns), *asked) if each is not None]
        if not found:
            raise RefusalError(
                f"no observational row received {self.label!r} beyond the sample in memory: give a number of rows "
                "instead of all."
            )
        trees, rows, widths = zip(*found, strict=True)
        return Trees.averaged(trees, rows), widths[0]


def learn_share(
    share: list[RestOfPart], model: LightGBMRegressor, reading: Reading, label: Label, encoder: Any, own: bool
) -> tuple[Trees, int, int] | None:
    """Return the trees that a share's rows of one treatment give, and the numbers of rows and columns; None: no rows.

    Outcomes are read first. Covariates are read and encoded twice by batches: for the bins of each column, and to be
    put into them.
    """
    outcome = reading.outcome[0]
    y = np.concatenate(
        [np.empty(0), *(reading.outcomes(some) for rest in share for some in rest.of_arm(reading, label, [outcome]))]
    )
    if not len(y):
        return None

    def blocks() -> Iterator[Floats]:
        for rest in share:
            for some in rest.of_arm(reading, label, reading.covariates):
                if len(some):
                    yield encoded_by(encoder, some.select(list(reading.covariates)), own=own)

    with threads_for(len(y)):
        rows = _sequence(blocks, len(y))
        width = rows[0:1].shape[1]
        return model.learn(rows, y), len(y), width


def _sequence(blocks: Any, length: int) -> Any:
    """Return rows that come in blocks as a `lightgbm.Sequence`, which is read in order and holds one block."""

    class Rows(import_lightgbm().Sequence):  # type: ignore[misc]
        batch_size = BATCH_ROWS

        def __init__(self) -> None:
            self.restart()

        def restart(self) -> None:
            self.coming = blocks()
            self.first, self.block = 0, next(self.coming)

        def __len__(self) -> int:
            return length

        def __getitem__(self, index: Any) -> Floats:
            if isinstance(index, slice):
                start, stop, _ = index.indices(length)
                return self.rows(start, stop)
            found: Floats = self.rows(index, index + 1)[0]
            return found

        def rows(self, start: int, stop: int) -> Floats:
            if start < self.first:
                self.restart()
            found = []
            while start < stop:
                end = self.first + len(self.block)
                if start < end:
                    found.append(self.block[start - self.first : stop - self.first])
                    start = min(stop, end)
                else:
                    self.first, self.block = end, next(self.coming)
            return np.concatenate(found)

    return Rows()
