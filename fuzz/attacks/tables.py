"""The attack of a data engineer who did not write the code: real files, frames and commands.

A case breaks by an answer that is not that of the clean table, by a refusal of more than one clear line, or by a file
that is left or lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.attacks import _as_cells, _as_columns, _as_files, _as_frames, _as_labels, _as_paths, _as_spreadsheets

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = (_as_files, _as_columns, _as_cells, _as_labels, _as_paths, _as_frames, _as_spreadsheets)
CASES: dict[str, Callable[[], str]] = {name: case for part in PARTS for name, case in part.CASES.items()}
