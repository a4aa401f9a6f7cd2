"""Hostile input, attacks by hand and faults: `python -m fuzz tables`; `--help` lists the rest. Tables go to docs/."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from confide.base.csv_rows import Row, read_rows, write_rows
from fuzz import attacking
from fuzz.faults import run_faults
from fuzz.page import page, summed
from fuzz.runner import BLOCK, FUZZERS, attempt, run_cases
from fuzz.verdict import DEFECT

DOCS = Path(__file__).parents[1] / "docs"
TRIED, FAULTS, PAGE = DOCS / "robustness.csv", DOCS / "faults.csv", DOCS / "robustness.md"
ATTACKS = DOCS / "attacks_by_hand.csv"


def main() -> None:
    """Run what is asked for, and write the tables and the page."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("what", choices=[*FUZZERS, "attacks", "faults", "page"])
    parser.add_argument("--cases", type=int, default=10_000, help="how many cases; by default 10,000")
    parser.add_argument("--case", type=int, help="run this case only, here, and show what comes of it")
    parser.add_argument("--only", nargs="+", choices=attacking.names(), help="these attacks; by default all")
    parser.add_argument("--kills", type=int, default=50, help="how often each command is killed; by default 50")
    parser.add_argument("--jobs", type=int, default=2, help="processes; by default 2")
    given = parser.parse_args()
    if given.case is not None:
        print(attempt("fuzz.attacking" if given.what == "attacks" else f"fuzz.{given.what}", given.case))
        return
    if given.what in FUZZERS:
        _fuzz(given.what, given.cases, given.jobs)
    elif given.what == "attacks":
        _attack(given.only or attacking.names(), given.jobs)
    elif given.what == "faults":
        write_rows(FAULTS, run_faults(given.kills, print), [])
    PAGE.write_text(page(_rows(TRIED), _rows(FAULTS), _rows(ATTACKS)), encoding="utf-8")
    print(f"{PAGE} is written.")


def _fuzz(fuzzer: str, cases: int, jobs: int) -> None:
    """Run the cases of one fuzzer, show the defects, and put its rows into the table."""
    began, done = time.monotonic(), 0

    def tell(blocks: int) -> None:
        nonlocal done
        done += blocks
        print(f"{fuzzer}: {min(done * BLOCK, cases):,} of {cases:,}, {time.monotonic() - began:.0f} s", file=sys.stderr)

    rows = run_cases(fuzzer, cases, jobs, tell)
    for row in rows:
        if row["outcome"] == DEFECT:
            print(f"{fuzzer} {row['case']}, {row['family']}: {row['said']}")
    others = [row for row in _rows(TRIED) if row["fuzzer"] != fuzzer]
    order = {name: place for place, name in enumerate(FUZZERS)}
    write_rows(TRIED, sorted([*others, *summed(fuzzer, rows)], key=lambda row: order[row["fuzzer"]]), [])


def _attack(only: list[str], jobs: int) -> None:
    """Run the cases of some attacks, show what broke, and put their rows into the table."""
    began, done = time.monotonic(), 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        print(f"attacks: {done} cases, {time.monotonic() - began:.0f} s", file=sys.stderr)

    rows = attacking.run_attacks(only, jobs, tell)
    for row in rows:
        if not row["held"]:
            print(f"{row['attack']}, {row['case']}: {row['seen']}")
    others = [row for row in _rows(ATTACKS) if row["attack"] not in only]
    write_rows(ATTACKS, sorted([*others, *rows], key=lambda row: row["attack"]), [])


def _rows(path: Path) -> list[Row]:
    return read_rows(path) if path.is_file() else []


if __name__ == "__main__":
    main()
