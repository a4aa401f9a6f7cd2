"""Caches for the duration of a ``with`` block: of fits, shared by methods, and of predictions, shared by levels."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import joblib

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_shared: ContextVar[dict[str, Any] | None] = ContextVar("_shared", default=None)


@contextmanager
def sharing_fits() -> Iterator[None]:
    """Cache fits inside the block: equal models on equal rows are fitted once. For many methods on the same data."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def fit_once(model: Any, *data: Any, **params: Any) -> Any:
    """Return the model fitted on the data; inside `sharing_fits`, the cached fit of an equal model on equal data."""
    shared = _shared.get()
    if shared is None:
        return model.fit(*data, **params)
    key = joblib.hash((model, data, params))
    if key not in shared:
        shared[key] = model.fit(*data, **params)
    return shared[key]


_asked: ContextVar[dict[tuple[int, int], tuple[Any, Any, Any]] | None] = ContextVar("_asked", default=None)


@contextmanager
def sharing_predictions() -> Iterator[None]:
    """Cache predictions inside the block: a model predicts an array once, for its points and all its levels."""
    token = _asked.set({})
    try:
        yield
    finally:
        _asked.reset(token)


def predict_once(model: Any, X: NDArray[np.float64]) -> Any:
    """Return the model's prediction; inside `sharing_predictions`, the cached one for the same array object."""
    asked = _asked.get()
    if asked is None:
        return model.predict(X)
    key = id(model), id(X)
    if key not in asked:
        asked[key] = model, X, model.predict(X)  # a reference to both, so that their ids are not reused
    return asked[key][2]
