"""Coat Shopping: ratings of coats that people chose themselves, and of coats that were chosen for them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from confide.datasets.rating_files import HIGHEST, REMEDY, as_dataset, check_between, find_files, read_integers

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from confide.datasets.dataset import Dataset
    from confide.typing import RandomState

FILES = {
    "train.ascii": "a87bd9e7eaf3b89f976df3f25d4aa5d5d871be8a00b58947df9e6e015559bd37",
    "test.ascii": "de6714ab105a5e0be8166be7fd313901b29f9a09c3bea307901457d1d71847e6",
}
USERS, ITEMS = 290, 300


def load_coat(
    path: str | os.PathLike[str], drop_duplicates: bool = True, *, trial_size: int = 1856, random_state: RandomState = 0
) -> Dataset:
    """Return the Coat Shopping ratings from the files of its authors, which do not come with the package.

    290 people rated 24 coats of their choice (the observational table) and 16 that were drawn at random for each (the
    trial and the test part). The same people gave both, so that 366 of the 4,640 random pairs are also
    self-selected, with the same rating.

    Parameters
    ----------
    path : path
        Directory with ``train.ascii`` and ``test.ascii`` as they were published: 290 lines of 300 numbers, 0 where
        there is no rating. Their checksums are verified.
    drop_duplicates : bool, default True
        Leave pairs that are in both files out of the random part, since a unit in two tables would be seen in
        training before it is predicted. False: keep them, as the paper's numbers of rows suggest it did.
    trial_size : int, default 1856
        Number of random ratings in the trial; the others are the test part. The paper has 928 to fit, 928 to
        calibrate, and with duplicates 2,784 to test.
    random_state : int, RandomState instance or None, default 0
        Decides which random ratings are held out.

    Returns
    -------
    Dataset
        No treatment, outcome ``"rating"`` (1 to 5). Covariates: ``user`` (0 to 289) and ``item`` (0 to 299), the
        positions of line and number in the files. ``notes`` says how many pairs were in both files, and what was done.

    References
    ----------
    T. Schnabel, A. Swaminathan, A. Singh, N. Chandak and T. Joachims (2016). Recommendations as treatments: debiasing
    learning and evaluation. Proceedings of the 33rd International Conference on Machine Learning.
    """
    observational, random = (_read(file) for file in find_files(path, FILES))
    return as_dataset(
        observational, random, trial_size=trial_size, random_state=random_state, drop_duplicates=drop_duplicates
    )


def _read(path: Path) -> NDArray[np.int64]:
    """Return the ratings of one file, one row (user, item, rating) each."""
    matrix = read_integers(path, ITEMS)
    if len(matrix) != USERS:
        raise ValueError(f"{path}: expected {USERS} lines, one per person, got {len(matrix)}. {REMEDY}")
    check_between(path, "rating", matrix, 0, HIGHEST)  # 0: not rated
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != FILES[path.name]:
        other = [name for name, expected in FILES.items() if found == expected]
        cause = f"It is the original {other[0]}: the files are swapped." if other else REMEDY
        raise ValueError(f"{path}: the sha256 checksum must be {FILES[path.name]}, got {found}. {cause}")
    user, item = np.nonzero(matrix)
    return np.column_stack([user, item, matrix[user, item]])
