"""Make the documentation's tables: `python -m studies methods`, for instance; `--help` lists the rest.

Each study writes its repetitions as CSV and a Markdown page beside it under docs/.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from confide.base.csv_rows import read_rows, write_rows
from studies import (
    attacks_study,
    averages_study,
    confounding_study,
    coverage_page,
    coverage_study,
    default_page,
    default_study,
    joint_study,
    methods_study,
    misses_study,
    population_study,
    randomisation_study,
    ratios_study,
    selection_study,
    theorem_study,
    whom_study,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parents[1] / "docs"
Row = dict[str, Any]


class Made(NamedTuple):
    """How a study is made.

    Attributes
    ----------
    run : callable
        Takes the number of seeds, that of processes, and the names of cases (none: all); returns the repetitions.
    page : callable
        Takes the repetitions; returns the page.
    case : str
        The column that has the name of a repetition's case. Cases that were not run again are kept. Empty: there are
        no names, and all are run.
    """

    run: Callable[[int, int, list[str]], list[Row]]
    page: Callable[[list[Row]], str]
    case: str = "case"


STUDIES = {
    "methods": Made(methods_study.run, methods_study.page, "method"),
    "default": Made(default_study.run, default_page.page, "cell"),
    "ratios": Made(ratios_study.run, ratios_study.page, "ratio"),
    "confounding": Made(confounding_study.run, confounding_study.page),
    "misses": Made(misses_study.run, misses_study.page, "compared"),
    "theorem": Made(theorem_study.run, theorem_study.page, ""),
    "attacks": Made(attacks_study.run, attacks_study.page),
    "population": Made(population_study.run, population_study.page),
    "whom": Made(whom_study.run, whom_study.page),
    "randomisation": Made(randomisation_study.run, randomisation_study.page),
    "averages": Made(averages_study.run, averages_study.page),
    "selection": Made(selection_study.run, selection_study.page),
    "joint": Made(joint_study.run, joint_study.page),
    "coverage": Made(coverage_study.run, coverage_page.page),
}


def joined(old: list[Row], new: list[Row], case: str) -> list[Row]:
    """Return the new repetitions with the old ones of other cases, cases in the order in which they were."""
    order = list(dict.fromkeys(row[case] for row in (*old, *new)))
    again = {row[case] for row in new}
    kept = [row for row in old if row[case] not in again]
    return sorted(kept + new, key=lambda row: order.index(row[case]))


def page_of(name: str) -> str:
    """Return the page that a study's CSV makes."""
    return STUDIES[name].page(read_rows(DOCS / f"{name}.csv"))


def main() -> None:
    """Run a study and write its page, or only write it, or only check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=[], help="run only these and keep the others' repetitions")
    parser.add_argument("--pages-only", action="store_true", help="only write the page from the existing CSV")
    parser.add_argument("--check", action="store_true", help="only check whether the page agrees with the CSV")
    given = parser.parse_args()
    study, file = STUDIES[given.study], DOCS / f"{given.study}.csv"
    if not (given.pages_only or given.check):
        rows = study.run(given.seeds, given.jobs, given.only)
        if study.case:
            rows = joined(read_rows(file) if given.only else [], rows, study.case)
        write_rows(file, rows, list(rows[0]))
    page = file.with_suffix(".md")
    if not given.check:
        page.write_text(page_of(given.study), encoding="utf-8")
    elif page.read_text(encoding="utf-8") != page_of(given.study):
        sys.exit(f"{page.name} is not what its CSV makes: run `python -m studies {given.study} --pages-only`.")


if __name__ == "__main__":
    main()
