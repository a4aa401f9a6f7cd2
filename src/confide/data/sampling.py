"""An exact uniform sample of the rows of a table that is too long to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import PCG64

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Number of keys that are drawn at a time; it changes nothing but memory.
KEYS = 1 << 20


def chosen_rows(rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the places of at most ``most`` of the rows, in order: every subset of that size is equally likely.

    Each row has a random key of 64 bits, by its place alone, and the rows with the smallest keys are chosen; equal keys
    are followed by a second one. So the choice depends on the seed and the number of rows, not on how they are divided
    into files and batches; and with the same seed a smaller sample is part of a larger one.
    """
    if most >= rows:
        return np.arange(rows)
    if most <= 0:
        return np.empty(0, dtype=np.int64)
    stream = PCG64(seed)
    places, keys = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint64)]
    last, held = np.iinfo(np.uint64).max, 0
    for start in range(0, rows, KEYS):
        drawn = _keys(stream, min(KEYS, rows - start))
        near = np.flatnonzero(drawn <= last)
        places.append(start + near)
        keys.append(drawn[near])
        held += len(near)
        if held > 2 * most or start + KEYS >= rows:
            together, found = np.concatenate(keys), np.concatenate(places)
            last = np.partition(together, most - 1)[most - 1]
            inside = together <= last
            places, keys, held = [found[inside]], [together[inside]], int(inside.sum())
    found, together = places[0], keys[0]
    if held > most:
        tied = np.flatnonzero(together == last)
        second = [_keys(PCG64([seed, int(place)]), 1)[0] for place in found[tied]]
        found = np.delete(found, tied[np.argsort(second, kind="stable")][most - held :])
    return found


def _keys(stream: PCG64, size: int) -> NDArray[np.uint64]:
    """Return the next keys of a stream."""
    return np.asarray(stream.random_raw(size), dtype=np.uint64)
