"""Yahoo! R3: ratings of songs that users chose themselves, and of songs that were drawn for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.datasets.rating_files import (
    HIGHEST,
    LOWEST,
    REMEDY,
    as_dataset,
    check_between,
    find_files,
    pairs,
    read_integers,
)

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from confide.datasets.dataset import Dataset
    from confide.typing import RandomState

FILES = ("ydata-ymusic-rating-study-v1_0-train.txt", "ydata-ymusic-rating-study-v1_0-test.txt")
# Of the users with self-selected ratings, the first took part in the survey of random songs.
USERS, SURVEYED, ITEMS = 15_400, 5_400, 1_000
SELECTED, RANDOM = 129_179, 54_000
SWAPPED = "Are the two files swapped? If not, the file is damaged: get the original again."


def load_yahoo_r3(
    path: str | os.PathLike[str],
    drop_duplicates: bool = True,
    *,
    trial_size: int = 21_600,
    random_state: RandomState = 0,
) -> Dataset:
    """Return the Yahoo! R3 ratings of music, from files that only Yahoo! Webscope may hand out.

    5,400 users rated songs that they came across themselves (129,179 ratings, the observational table) and ten songs
    each that were drawn at random (54,000 ratings, the trial and the test part). The other 10,000 users of the first
    file saw no random songs and are left out.

    Parameters
    ----------
    path : path
        Directory with ``ydata-ymusic-rating-study-v1_0-train.txt`` and ``…-test.txt`` as they were published: lines of
        user, song and rating between tabs. The numbers of rows and the ranges are verified; the order of lines
        does not matter. A rating altered within 1 to 5 is not detected, because no checksum is published.
    drop_duplicates : bool, default True
        Leave pairs that are in both files out of the random part.
    trial_size : int, default 21600
        Number of random ratings in the trial; the others are the test part. The paper has 10,800 to fit, 10,800 to
        calibrate and the rest to test.
    random_state : int, RandomState instance or None, default 0
        Decides which random ratings are held out.

    Returns
    -------
    Dataset
        No treatment, outcome ``"rating"`` (1 to 5). Covariates: ``user`` (1 to 5,400) and ``item`` (1 to 1,000), as in
        the files. ``notes`` says how many pairs were in both files, if any, and what was done.

    References
    ----------
    B. M. Marlin and R. S. Zemel (2009). Collaborative prediction and ranking with non-random missing data. Proceedings
    of the third ACM conference on recommender systems.
    """
    train, test = find_files(path, FILES)
    observational, random = _read(train, USERS, SELECTED), _read(test, SURVEYED, RANDOM)
    return as_dataset(
        observational, random, trial_size=trial_size, random_state=random_state, drop_duplicates=drop_duplicates
    )


def _read(path: Path, users: int, expected: int) -> NDArray[np.int64]:
    """Return the ratings by surveyed users in one file, one row (user, item, rating) each, by user and item."""
    ratings = read_integers(path, 3, "\t")
    check_between(path, "user", ratings[:, :1], 1, users, SWAPPED)
    check_between(path, "song", ratings[:, 1:2], 1, ITEMS)
    check_between(path, "rating", ratings[:, 2:], LOWEST, HIGHEST)
    _, first, place = np.unique(pairs(ratings), return_index=True, return_inverse=True)
    again = np.flatnonzero(first[place] != np.arange(len(ratings)))
    if len(again):
        user, song, _ = ratings[again[0]]
        earlier = first[place[again[0]]] + 1
        raise ValueError(
            f"{path}, line {again[0] + 1}: user {user} rated song {song} in line {earlier} already. {REMEDY}"
        )
    kept = ratings[ratings[:, 0] <= SURVEYED]
    if len(kept) != expected:
        raise ValueError(
            f"{path}: expected {expected:,} ratings by users 1 to {SURVEYED:,}, got {len(kept):,}. {SWAPPED}"
        )
    return kept[np.lexsort((kept[:, 1], kept[:, 0]))]
