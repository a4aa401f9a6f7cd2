"""Write docs/reproduction.md from docs/reproduction/*.csv; with --from FOLDER take these from a finished run first.

With --check only say whether the page is that of the CSV files; without any there must be no page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from confide.base.atomic import atomic_write
from confide.paper.page import make_page
from confide.paper.tables import TABLES

DOCS = Path(__file__).parents[1] / "docs"


def take(source: Path, folder: Path) -> None:
    """Copy the results of a run, tables, figures and times, in place of those of an earlier one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in [f"{table}.{kind}" for table in TABLES for kind in ("csv", "png")] + ["times.csv"]:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)


def check(page: Path, folder: Path) -> str | None:
    """Return what is wrong; None where the page is that of the CSV files."""
    if not folder.is_dir():
        return f"{page.name} has no CSV files." if page.exists() else None
    if not page.is_file() or page.read_text(encoding="utf-8") != make_page(folder):
        return f"{page.name} is not what its CSV files make: run `make reproduction-page`."
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, help="folder that `confide reproduce all` wrote")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    parser.add_argument("--check", action="store_true", help="only say whether the page is that of the CSV files")
    arguments = parser.parse_args()
    page, folder = arguments.docs / "reproduction.md", arguments.docs / "reproduction"
    if arguments.check:
        sys.exit(check(page, folder))
    if arguments.source is not None:
        take(arguments.source, folder)
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: run `confide reproduce all`, then `make reproduction-page FROM=folder`.")
    with atomic_write(page) as file:
        file.write(make_page(folder).encode())
