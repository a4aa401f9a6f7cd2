"""A cache of fits for the duration of a ``with`` block, shared by methods."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import joblib

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fitted models, by a hash of the unfitted model and of what it was fitted on.
Fits = dict[str, Any]

# Of those that joblib offers the faster one, with the instructions that processors have for it.
HASH = "sha1"

_shared: ContextVar[Fits | None] = ContextVar("_shared", default=None)


@contextmanager
def sharing_fits(fits: Fits | None = None) -> Iterator[None]:
    """Cache fits inside the block: equal models on equal rows are fitted once. For many methods on the same data.

    Inside another such block, that one's cache is used. ``fits`` is a cache to go on with, for work that is interrupted
    between blocks, as a generator's is.
    """
    outer = _shared.get()
    token = _shared.set(({} if fits is None else fits) if outer is None else outer)
    try:
        yield
    finally:
        _shared.reset(token)


def fit_once(model: Any, *data: Any, **params: Any) -> Any:
    """Return the model fitted on the data; inside `sharing_fits`, the cached fit of an equal model on equal data.

    A model that cannot be hashed, because it holds a function without a name, is fitted each time.
    """
    shared = _shared.get()
    if shared is None:
        return model.fit(*data, **params)
    try:
        key = joblib.hash((model, data, params), hash_name=HASH)
    except (PicklingError, AttributeError, TypeError):
        return model.fit(*data, **params)
    if key not in shared:
        shared[key] = model.fit(*data, **params)
    return shared[key]
