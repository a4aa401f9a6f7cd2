"""Work done once: equal fits shared by methods, a prediction shared by levels, while a block lasts."""

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
    """Fit equal models on equal rows only once while the block lasts: for studies of many methods on the same data."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def fit_once(model: Any, *data: Any, **params: Any) -> Any:
    """Return the model fitted on the data; inside `sharing_fits` its equal that was fitted before, if there is one."""
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
    """Ask each model only once about the same rows while the block lasts: points and intervals of several levels."""
    token = _asked.set({})
    try:
        yield
    finally:
        _asked.reset(token)


def predict_once(model: Any, X: NDArray[np.float64]) -> Any:
    """Return the model's prediction; inside `sharing_predictions` the one that it gave for this very array before."""
    asked = _asked.get()
    if asked is None:
        return model.predict(X)
    key = id(model), id(X)
    if key not in asked:
        asked[key] = model, X, model.predict(X)  # both are kept, so that no other object takes their place
    return asked[key][2]
