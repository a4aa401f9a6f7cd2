"""A test of randomisation: whether treatment in the trial depends on covariates beyond its stated probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.base.notebook import ShownRecord
from confide.models.preprocessing import SeenColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from confide.typing import Floats, Label

# The trial is drawn anew so often under the hypothesis; so many rows are used at most.
DRAWS = 999
MOST_ROWS = 4000
# At once, so that memory is bounded.
DRAWS_AT_ONCE = 100


@dataclass(frozen=True)
class Randomisation(ShownRecord):
    """The result of the test.

    Attributes
    ----------
    p_value : float
        How often a trial that assigns as stated looks at least as unbalanced.
    covariate : str
        The covariate that differs most between treatments.
    difference : float
        Its mean among the rows of ``treatment`` minus that among all other rows of the trial, in standard deviations;
        weighted by the stated probabilities, if there are some.
    rows : int
        The number of trial rows.
    treatment : label
        The treatment whose rows differ most; of two treatments the second.
    """

    p_value: float
    covariate: str
    difference: float
    rows: int
    treatment: Label


def randomisation_test(
    X: Floats,
    treatment: NDArray[np.intp],
    assignment: Floats | None = None,
    names: Sequence[str] = (),
    random_state: int = 0,
) -> Randomisation | None:
    """Test whether treatment in a trial depends on covariates beyond the probabilities that were stated.

    The sum of squared differences of covariates, and of their squares, between each treatment's rows and what was
    stated is compared with that of trials drawn anew: by permutation of the treatments, or by the stated probabilities
    of two treatments. The p-value is exact.

    Parameters
    ----------
    X : (n, d) array
        Covariates of the trial's rows, as numbers.
    treatment : (n,) array of integers
        The number of each row's treatment.
    assignment : (n,) array, default None
        The stated probability of the treatment received; None: the same for everybody.
    names : sequence of str
        Names of the covariates.
    random_state : int
        Decides the draws.

    Returns
    -------
    Randomisation or None
        Its ``treatment`` is a number, as in the argument. None with one treatment, without covariates that vary, or
        with stated probabilities of more than two treatments, of which only the one received is known.
    """
    arms = np.unique(treatment)
    if len(arms) < 2 or (assignment is not None and len(arms) > 2):
        return None
    rng = np.random.default_rng(random_state)
    some = np.sort(rng.permutation(len(X))[:MOST_ROWS])
    X, treatment = X[some], treatment[some]
    features, owner = _features(X)
    if not len(owner):
        return None
    received = (treatment[:, None] == arms).astype(np.float64)
    if assignment is None:
        stated = np.broadcast_to(received.mean(axis=0), received.shape)
    else:
        known = assignment[some][:, None]
        stated = np.where(received > 0, known, 1 - known)
    spread = np.sqrt(np.maximum((stated * (1 - stated)).T @ features**2, 1e-300))

    def imbalance(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((drawn - stated).transpose(0, 2, 1) @ features / spread)

    seen = imbalance(received[None])[0]
    larger = 0
    for begin in range(0, DRAWS, DRAWS_AT_ONCE):
        count = min(DRAWS_AT_ONCE, DRAWS - begin)
        if assignment is None:
            shuffled = rng.permuted(np.tile(treatment, (count, 1)), axis=1)
            drawn = (shuffled[:, :, None] == arms).astype(np.float64)
        else:
            first = rng.random((count, len(stated))) < stated[:, 0]
            drawn = np.stack([first, ~first], axis=2).astype(np.float64)
        larger += int(((imbalance(drawn) ** 2).sum(axis=(1, 2)) >= (seen**2).sum() * (1 - 1e-12)).sum())
    linear = np.flatnonzero(owner >= 0)
    arm, column = np.unravel_index(np.abs(seen[:, linear]).argmax(), (len(arms), len(linear)))
    arm = arms[1 if len(arms) == 2 else arm]  # two differ equally
    covariate = int(owner[linear[column]])
    weight = np.ones(len(X)) if assignment is None else 1 / assignment[some]
    means = [
        np.average(features[rows, linear[column]], weights=weight[rows])
        for rows in (treatment == arm, treatment != arm)
    ]
    name = str(names[covariate]) if len(names) else f"column {covariate}"
    return Randomisation((1 + larger) / (1 + DRAWS), name, float(means[0] - means[1]), len(X), int(arm))


def _features(X: Floats) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return covariates that vary, and squares of those with more than two values, standardised; and whose they are.

    The owner of a square is -1.
    """
    filled = SeenColumns(impute=True).fit(X).transform(X)[:, : X.shape[1]]
    columns, owner = [], []
    for place, column in enumerate(filled.T):
        spread = column.std()
        if not spread > 1e-12 * max(np.abs(column).max(), 1.0):
            continue
        scaled = (column - column.mean()) / spread
        columns.append(scaled)
        owner.append(place)
        if len(np.unique(column)) > 2:
            squared = np.minimum(scaled**2, 16.0)
            columns.append((squared - squared.mean()) / max(squared.std(), 1e-12))
            owner.append(-1)
    return np.array(columns).T.reshape(len(X), -1), np.array(owner, dtype=np.intp)
