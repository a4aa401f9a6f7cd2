"""A cache for the duration of a ``with`` block, shared by methods: of fits, and of matrices that are large."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from contextvars import ContextVar
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Of those that joblib offers the faster one, with the instructions that processors have for it.
HASH = "sha1"
# Of what is made, the latest is kept, up to this size in bytes.
KEPT_BYTES = 2**28


class Fits(dict[str, Any]):
    """Fitted models, by a hash of the unfitted model and of what it was fitted on; and what else was made, `Made`."""

    def __init__(self) -> None:
        super().__init__()
        self.made = Made()


class Made:
    """What was made of the same things before: the latest, up to `KEPT_BYTES`.

    Arrays in it cannot be written to, so that each needs to be hashed but once.
    """

    def __init__(self) -> None:
        # By what made it and of what: the result, its arrays, and things whose identity is part of the key.
        self._found: dict[Any, tuple[Any, list[Any], tuple[Any, ...]]] = {}
        # Digests of arrays and of parts of them, by the identity of the whole.
        self._digests: dict[int, dict[Any, str]] = {}
        self._things: dict[str, Any] = {}

    def make(self, make: Callable[..., Any], *given: Any) -> Any:
        """Return ``make(*given)``, or what it was before; what may change since, a writable array, is not looked up."""
        if any(isinstance(each, np.ndarray) and each.flags.writeable for each in given):
            return make(*given)
        key = (make, *(self._name(each) for each in given))  # things in it are held, so that none takes another's place
        found = self._found.pop(key, None)
        if found is None:
            value = make(*given)
            found = value, _frozen(value), given
            self._digests.update({id(array): {} for array in found[1]})
        self._found[key] = found  # the latest one is the last
        self._forget()
        return found[0]

    def same(self, thing: Any) -> Any:
        """Return the first thing that equals this one."""
        return self._things.setdefault(str(joblib.hash(thing, hash_name=HASH)), thing)

    def digest(self, array: Any) -> str:
        """Return a hash of an array's values and of how they lie in memory."""
        whole, place = _place(array)
        known = self._digests.get(whole, {})
        if place not in known:
            known[place] = _digest(array)
        return known[place]

    def _name(self, given: Any) -> Any:
        """Return what stands for a thing in a key: an array's values, a plain value itself, or a thing's identity."""
        if isinstance(given, np.ndarray) and not given.dtype.hasobject:
            place = _place(given)
            return place if place[0] in self._digests else self.digest(given)  # what was made here needs no hash
        return given if given is None or isinstance(given, str | int | float) else id(given)

    def _forget(self) -> None:
        size = sum(array.nbytes for _, arrays, _ in self._found.values() for array in arrays)
        while size > KEPT_BYTES:
            _, arrays, _ = self._found.pop(next(iter(self._found)))
            size -= sum(array.nbytes for array in arrays)
            for array in arrays:
                self._digests.pop(id(array), None)


_shared: ContextVar[tuple[dict[str, Any], Made] | None] = ContextVar("_shared", default=None)


@contextmanager
def sharing_fits(fits: dict[str, Any] | None = None) -> Iterator[None]:
    """Cache fits inside the block: equal models on equal rows are fitted once. For many methods on the same data.

    Inside another such block, that one's cache is used. ``fits`` is a cache to go on with, for work that is interrupted
    between blocks, as a generator's is.
    """
    own = Fits() if fits is None else fits
    made = own.made if isinstance(own, Fits) else Made()
    token = _shared.set(_shared.get() or (own, made))
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
    fits, made = shared
    try:
        key = joblib.hash((model, tuple(_Hashed.of(each, made) for each in data), params), hash_name=HASH)
    except (PicklingError, AttributeError, TypeError):
        return model.fit(*data, **params)
    if key not in fits:
        fits[key] = model.fit(*data, **params)
    return fits[key]


def make_once(make: Callable[..., Any], *given: Any) -> Any:
    """Return ``make(*given)``; inside `sharing_fits`, what the same function made of the same things before.

    Arrays are the same if their values are, and must not be writable; plain values if they are equal; all else if it is
    one object. Arrays that are returned cannot be written to. A result is one, a tuple of them, or something small.
    """
    shared = _shared.get()
    return make(*given) if shared is None else shared[1].make(make, *given)


def same(thing: Any) -> Any:
    """Return a thing; inside `sharing_fits`, the first one that equals it, by a hash."""
    shared = _shared.get()
    return thing if shared is None else shared[1].same(thing)


class _Hashed:
    """What stands for rows in a key: a hash of them."""

    def __init__(self, rows: int, digest: str) -> None:
        self.rows, self.digest = rows, digest

    @classmethod
    def of(cls, data: Any, made: Made) -> Any:
        """Return what stands for an array of numbers; other data stand for themselves."""
        if type(data) is not np.ndarray or data.dtype.hasobject:
            return data
        return cls(len(data), made.digest(data))

    def __len__(self) -> int:
        return self.rows


def _place(array: Any) -> tuple[int, Any]:
    """Return the identity of the array that this one is a part of, or is, and where in it."""
    whole = array if array.base is None else array.base
    return id(whole), (array.__array_interface__["data"], array.shape, array.strides, array.dtype.str)


def _digest(array: Any) -> str:
    form = repr((array.shape, array.strides, array.dtype.str))
    found = hashlib.new(HASH, form.encode(), usedforsecurity=False)
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _frozen(value: Any) -> list[Any]:
    """Return the arrays of a result, which cannot be written to from now on."""
    arrays = [each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, np.ndarray)]
    for array in arrays:
        array.setflags(write=False)
    return arrays
