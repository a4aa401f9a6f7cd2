"""What a fitted model keeps of its study for the diagnostics: samples of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide.data.arrow import take_rows
from confide.data.encoding import EncodedRows, as_table
from confide.data.splits import Rows
from confide.diagnostics.randomisation import MOST_ROWS
from confide.diagnostics.records import ASKED_ROWS, ArmSample

if TYPE_CHECKING:
    from confide.data.study import Study
    from confide.typing import Floats, Label, Places, Table


def sampled_arms(encoder: Any, study: Study, own: bool, seed: int) -> dict[Label, ArmSample]:
    """Return a sample of each arm's rows; ``own`` as in `EncodedRows`."""
    encoded = EncodedRows(encoder, study.X, own=own)
    X: Any = {label: encoded.part(study.treatment == label) for label in study.arms}
    return {
        label: ArmSample.of(Rows(X[label], study.y[mine]), study.trial[mine], seed)
        for label in study.arms
        for mine in [study.treatment == label]
    }


def sampled_trial(
    encoded: EncodedRows, study: Study, rng: np.random.Generator
) -> tuple[Floats, Places, Floats | None] | None:
    """Return covariates, numbers of treatments and probabilities of trial rows; None if rows are dependent."""
    places = rng.permutation(np.flatnonzero(study.trial))[:MOST_ROWS]
    if study.cluster is not None:
        return None
    arm = np.searchsorted(np.array(study.arms), study.treatment[places])
    return encoded[places], arm, None if study.assignment is None else study.assignment[places]


def sampled_people(study: Study, rng: np.random.Generator) -> Table:
    """Return covariates of some of the people that are asked about: the target's, or the trial's."""
    table, places = study.X, np.flatnonzero(study.trial)
    if study.target is not None:
        own = isinstance(study.target, str)
        table = study.X if own else study.target
        places = np.flatnonzero(~study.trial) if own else np.arange(len(as_table(table)))
    return take_rows(table, rng.permutation(places)[:ASKED_ROWS])
