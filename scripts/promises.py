"""Write README's table of promises from METHODS; with --check, only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from confide import METHODS

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- promises: made by `make promises` -->", "<!-- end of promises -->"


def table() -> str:
    """Return the promises as a Markdown table."""
    rows = ["| method | what it is | what it uses | promised coverage |", "| --- | --- | --- | --- |"]
    for record in METHODS.values():
        cells = [f"`{record.name}`", record.summary, record.uses, record.promise]
        escaped = [cell.replace("|", "\\|") for cell in cells]
        rows.append(f"| {' | '.join(escaped)} |")
    return "\n".join(rows)


def updated(text: str) -> str:
    """Return the README with the table made anew."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    old = README.read_text(encoding="utf-8")
    new = updated(old)
    if "--check" in sys.argv:
        sys.exit("README's table of promises is out of date: run `make promises`." if old != new else 0)
    README.write_text(new, encoding="utf-8")
