"""How far long work has come: told from inside to whoever listens, as a share of the whole.

Work that has parts runs each of them inside `part`. Parts may have parts. Nobody needs to know who asks.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Who listens, and the share of the whole at which the work inside the block begins and ends.
_listener: ContextVar[tuple[Callable[[float], None], float, float] | None] = ContextVar("_listener", default=None)


@contextmanager
def listening(tell: Callable[[float], None]) -> Iterator[None]:
    """Call ``tell`` with the share of the work inside the block that is done, after each of its parts."""
    token = _listener.set((tell, 0.0, 1.0))
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(number: int, of: int) -> Iterator[None]:
    """Do one of several parts that take about as long; the first has the number 0."""
    found = _listener.get()
    if found is None:
        yield
        return
    tell, begin, end = found
    begin, end = (begin + (end - begin) * place / of for place in (number, number + 1))
    token = _listener.set((tell, begin, end))
    try:
        yield
    finally:
        _listener.reset(token)
    tell(end)
