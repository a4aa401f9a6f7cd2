"""Write docs/benchmarks.md from docs/benchmarks.csv, which `make bench OUT=docs/benchmarks.csv` writes.

With --check only say whether the page is that of the CSV file; without it there must be no page.
"""

from __future__ import annotations

import argparse
import ast
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from confide.base.csv_rows import read_rows

ROOT = Path(__file__).parents[1]
INTRODUCTION = """# Benchmarks

Made by `make benchmarks-page` from figures that `make bench OUT=docs/benchmarks.csv` measured. One BLAS thread; times
are the shortest of a few runs. *Times that* compares a line that begins with a dot with the line above it, in one run;
it travels better between machines than seconds do. *Asked for* is a bound: the benchmark fails where it does not hold.

The machine: {machine}.
"""


def make_page(rows: list[dict[str, Any]]) -> str:
    """Return the page that the figures make."""
    parts = {name: list(each) for name, each in groupby(rows, key=lambda row: row["benchmark"])}
    machine = ", ".join(f"{row['what']} {row['value']}" for row in parts.pop("machine"))
    return "\n".join([INTRODUCTION.format(machine=machine), *(_section(*part) for part in parts.items())])


def _section(name: str, rows: list[dict[str, Any]]) -> str:
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    described = ast.get_docstring(ast.parse(source)) or ""
    lines = [f"## {name.replace('_', ' ')}", "", described, "", "| what | figure | asked for |", "| --- | --- | --- |"]
    return "\n".join([*lines, *map(_row, rows), ""])


def _row(row: dict[str, Any]) -> str:
    what = row["what"].replace("|", "\\|")
    what = f"· {what.strip()}" if what.startswith(" ") else what
    asked = ""
    if row["bound"] != "":
        least = row["at_least"] == "True"
        asked = f"at {'least' if least else 'most'} {row['bound']:g}"
        holds = row["value"] >= row["bound"] if least else row["value"] <= row["bound"]
        asked += "" if holds else ", **does not hold**"
    return f"| {what} | {_rounded(row['value'])} {row['unit']} | {asked} |"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def check(page: Path, figures: Path) -> str | None:
    """Return what is wrong; None where the page is that of the CSV file."""
    if not figures.is_file():
        return f"{page.name} has no {figures.name}." if page.exists() else None
    if not page.exists() or page.read_text(encoding="utf-8") != make_page(read_rows(figures)):
        return f"{page.name} is not what {figures.name} makes: run `make benchmarks-page`."
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--check", action="store_true", help="only say whether the page is that of the CSV file")
    arguments = parser.parse_args()
    page, figures = arguments.docs / "benchmarks.md", arguments.docs / "benchmarks.csv"
    if arguments.check:
        sys.exit(check(page, figures))
    if not figures.is_file():
        sys.exit(f"{figures} is not there: run `make bench OUT=docs/benchmarks.csv` first.")
    page.write_text(make_page(read_rows(figures)), encoding="utf-8")
