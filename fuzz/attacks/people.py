"""The attack of a data scientist in a hurry who did not write the code: Python, plots, saved models, page, commands.

A case breaks by an answer that is not the one that it must be, or by a refusal of more than one clear line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.attacks import _people_asking, _people_life, _people_pages

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: dict[str, Callable[[], str]] = {**_people_life.CASES, **_people_asking.CASES, **_people_pages.CASES}
