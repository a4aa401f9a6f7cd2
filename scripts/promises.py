"""Write the promises of METHODS into README (a table) and docs/promises.md (in full); with --check, only say whether.

Everything between the two marks is made here; the rest of a page is written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from confide import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
START, END = "<!-- promises: made by `make promises` -->", "<!-- end of promises -->"


def table() -> str:
    """Return the promises as a Markdown table."""
    rows = ["| method | what it is | what it uses | promised coverage |", "| --- | --- | --- | --- |"]
    for record in METHODS.values():
        cells = [f"`{record.name}`", record.summary, record.uses, str(record.promise)]
        escaped = [cell.replace("|", "\\|") for cell in cells]
        rows.append(f"| {' | '.join(escaped)} |")
    return "\n".join(rows)


def sections() -> str:
    """Return the promises as one section per method, readable on a narrow screen."""
    parts = []
    for record in METHODS.values():
        lines = [f"### `{record.name}`", "", record.summary, ""]
        lines += [f"- Promised coverage: **{record.promise}**"]
        lines += [f"- {use[0].upper()}{use[1:]}" for use in record.uses.split("; ")]
        parts.append("\n".join(lines))
    return "\n\n".join(["", *parts, ""])


PAGES: dict[Path, Callable[[], str]] = {ROOT / "README.md": table, ROOT / "docs" / "promises.md": sections}


def updated(text: str, made: str) -> str:
    """Return a page with what stands between the marks renewed."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{made}\n{END}{after}"


if __name__ == "__main__":
    for page, make in PAGES.items():
        old = page.read_text(encoding="utf-8")
        new = updated(old, make())
        if "--check" not in sys.argv:
            page.write_text(new, encoding="utf-8")
        elif old != new:
            sys.exit(f"The promises in {page.name} are out of date: run `make promises`.")
