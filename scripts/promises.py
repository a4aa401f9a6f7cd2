"""Write the promises of METHODS into docs/promises.md; with --check, only say whether they are there.

Everything between the two marks is made here; the rest of the page is written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from confide import METHODS

PAGE = Path(__file__).parents[1] / "docs" / "promises.md"
START, END = "<!-- promises: made by `make promises` -->", "<!-- end of promises -->"


def sections() -> str:
    """Return the promises as one section per method, readable on a narrow screen."""
    parts = []
    for record in METHODS.values():
        lines = [f"### `{record.name}`", "", record.summary, ""]
        lines += [f"- Promised coverage: **{record.promise}**"]
        lines += [f"- {use[0].upper()}{use[1:]}" for use in record.uses.split("; ")]
        parts.append("\n".join(lines))
    return "\n\n".join(["", *parts, ""])


def updated(text: str, made: str) -> str:
    """Return a page with what stands between the marks renewed."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{made}\n{END}{after}"


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    new = updated(old, sections())
    if "--check" not in sys.argv:
        PAGE.write_text(new, encoding="utf-8")
    elif old != new:
        sys.exit(f"The promises in {PAGE.name} are out of date: run `make promises`.")
