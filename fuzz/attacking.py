"""The attacks by hand: every module of `fuzz.attacks` is one, and its ``CASES`` are functions by their name in words.

A case returns one sentence on what was seen to hold, and raises if something broke.
"""

from __future__ import annotations

import pkgutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from fuzz import attacks
from fuzz.runner import run_block
from fuzz.verdict import ANSWERED, DEFECT, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confide.base.csv_rows import Row

# Cases that one process runs, one after the other.
BLOCK = 10


@cache
def names() -> list[str]:
    """Return the names of the attacks; modules that begin with an underscore help others."""
    return sorted(each.name for each in pkgutil.iter_modules(attacks.__path__) if not each.name.startswith("_"))


@cache
def cases() -> list[tuple[str, str, Callable[[], str]]]:
    """Return attack, name and function of every case, in the order of their numbers."""
    modules = {attack: import_module(f"fuzz.attacks.{attack}") for attack in names()}
    return [(attack, name, case) for attack, module in modules.items() for name, case in module.CASES.items()]


def attempt(number: int) -> Verdict:
    """Run one case in this process."""
    attack, _, case = cases()[number]
    try:
        seen = case()
    except Exception as error:  # noqa: BLE001  (any error is a case that broke)
        return Verdict(attack, DEFECT, " ".join(f"{type(error).__name__}: {error}".split()))
    return Verdict(attack, ANSWERED, " ".join(seen.split()))


def run_attacks(only: Sequence[str], jobs: int, report_progress: Callable[[int], None] = lambda _: None) -> list[Row]:
    """Return one row per case of some attacks: attack, case, whether it held, and what was seen."""
    asked = [number for number, (attack, _, _) in enumerate(cases()) if attack in only]
    blocks = [each for attack in only for each in _blocks([n for n in asked if cases()[n][0] == attack])]

    def ran(block: list[int]) -> list[Row]:
        rows = run_block("fuzz.attacking", block[0], len(block), "")
        report_progress(len(rows))
        return rows

    with ThreadPoolExecutor(jobs) as hands:
        return [_row(row) for rows in hands.map(ran, blocks) for row in rows]


def _blocks(numbers: list[int]) -> list[list[int]]:
    """Return numbers that follow each other in blocks."""
    return [numbers[first : first + BLOCK] for first in range(0, len(numbers), BLOCK)]


def _row(row: Row) -> Row:
    attack, name, _ = cases()[row["case"]]
    return {"attack": attack, "case": name, "held": int(row["outcome"] == ANSWERED), "seen": row["said"]}
