"""Helpers of the loaders of ratings: the user's files, read and checked line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.utils import check_random_state

from confide.datasets.dataset import Dataset, check_trial_size, rows

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from confide.typing import RandomState

LOWEST, HIGHEST = 1, 5
REMEDY = "The file is damaged or another one: get the original again."


def find_files(path: str | os.PathLike[str], names: Iterable[str]) -> list[Path]:
    """Return the files of these names in the directory; raise a FileNotFoundError for the first that is not there."""
    directory = Path(path)
    names = list(names)
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory} is not a directory. Give the one that holds {' and '.join(names)}.")
    for name in names:
        if not (directory / name).is_file():
            raise FileNotFoundError(
                f"{directory / name} is not there. Give the directory that holds {' and '.join(names)}, so named."
            )
    return [directory / name for name in names]


def read_integers(path: Path, columns: int, separator: str | None = None) -> NDArray[np.int64]:
    """Return a text file of whole numbers, one row per line; raise a ValueError that names the first bad line."""
    fields = [line.split(separator) for line in path.read_text(encoding="ascii", errors="replace").splitlines()]
    for line, values in enumerate(fields, start=1):
        if len(values) != columns:
            raise ValueError(f"{path}, line {line}: expected {columns} numbers, got {len(values)}. {REMEDY}")
    try:
        return np.array(fields, dtype=str).astype(np.int64).reshape(-1, columns)
    except (ValueError, OverflowError):
        line, value = next((line, value) for line, values in enumerate(fields, 1) for value in values if _is_bad(value))
        raise ValueError(f"{path}, line {line}: expected a whole number, got {value!r}. {REMEDY}") from None


def _is_bad(value: str) -> bool:
    try:
        np.array(value).astype(np.int64)
    except (ValueError, OverflowError):
        return True
    return False


def check_between(path: Path, what: str, values: NDArray[np.int64], low: int, high: int, remedy: str = REMEDY) -> None:
    """Raise a ValueError that names the first line with a value outside of the bounds; one row of values per line."""
    lines, columns = np.nonzero((values < low) | (values > high))
    if len(lines):
        value = values[lines[0], columns[0]]
        raise ValueError(f"{path}, line {lines[0] + 1}: the {what} must be {low} to {high}, got {value}. {remedy}")


def pairs(ratings: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number per (user, item) pair."""
    found: NDArray[np.int64] = ratings[:, 0] * (ratings[:, 1].max(initial=0) + 1) + ratings[:, 1]
    return found


def as_table(ratings: NDArray[np.int64]) -> pa.Table:
    """Return ratings, one row (user, item, rating) each, as a table."""
    return pa.table(dict(zip(("user", "item", "rating"), np.ascontiguousarray(ratings.T), strict=True)))


def as_dataset(
    observational: NDArray[np.int64],
    random: NDArray[np.int64],
    *,
    trial_size: Any,
    random_state: RandomState,
    drop_duplicates: bool = True,
) -> Dataset:
    """Return the record of self-selected and random ratings; the random ones are the trial and the test part.

    A pair that is in both is dropped from the random ones, or kept, and counted in the notes.
    """
    both = pairs(np.concatenate([observational, random]))
    twice = np.isin(both[len(observational) :], both[: len(observational)])
    notes: tuple[str, ...] = ()
    if twice.any():
        counted = f"{twice.sum():,} of {len(random):,} randomly assigned (user, item) pairs are also self-selected"
        fate = "they were dropped from the random part" if drop_duplicates else "they stand in both parts"
        notes = (f"{counted}: {fate}.",)
    if drop_duplicates:
        random = random[~twice]
    size = check_trial_size(trial_size, 1, len(random) - 1, f"{len(random):,} random ratings")
    trial, test = np.split(check_random_state(random_state).permutation(len(random)), [size])
    table = as_table(random)
    return Dataset(as_table(observational), rows(table, trial), rows(table, test), None, "rating", notes)
