"""Run the benchmarks named on the command line, or all of them: `make bench`. Status 1 if a bound does not hold.

With --out the figures go into a CSV file too, from which `make benchmarks-page` makes docs/benchmarks.md; those of
benchmarks that are not run stay as they are there.
"""

from __future__ import annotations

import argparse
import platform
import sys
from dataclasses import asdict, fields
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from confide.base.csv_rows import read_rows, write_rows
from confide.base.threads import cores, one_thread
from timing import Figure, figures

# Modules beside this one, each with a `main`.
BENCHMARKS = (
    "quantile",
    "split_wtcp",
    "refits",
    "permutation",
    "persistence",
    "prognostic",
    "fit_default",
    "whom",
    "scores",
    "stream",
    "files",
    "growth",
    "kernel_ratio",
    "recommend",
    "paper_methods",
    "threads",
    "commands",
)
PACKAGES = ("confide", "numpy", "scipy", "scikit-learn", "crepes", "mapie", "densratio", "scikit-surprise")


def machine():
    """Return what the figures depend on beside the code: text in place of numbers."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    processor = next((line.partition(": ")[2] for line in described.splitlines() if "model name" in line), "unknown")
    facts = {
        "processor": processor,
        "cores": cores(),
        "Python": platform.python_version(),
    }
    facts |= {name: version(name) for name in PACKAGES}
    return [{"benchmark": "machine", "what": what, "value": value} for what, value in facts.items()]


def keep(path, name):
    """Write the figures of a benchmark in place of its earlier ones, each benchmark in its order."""
    parts = {"machine": machine(), name: [{"benchmark": name, **asdict(figure)} for figure in figures]}
    for row in read_rows(path) if path.exists() else []:
        if row["benchmark"] not in ("machine", name):
            parts.setdefault(row["benchmark"], []).append(row)
    rows = [row for each in ("machine", *BENCHMARKS) for row in parts.get(each, [])]
    write_rows(path, rows, ["benchmark", *(field.name for field in fields(Figure))])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--out", type=Path, help="CSV file for the figures")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}.")
    sys.path.append(str(Path(__file__).parents[1]))  # for the studies
    failures = []
    for name in arguments.names or BENCHMARKS:
        print(f"\n# {name}", flush=True)
        figures.clear()
        with one_thread():  # the peers too: timings mean one core
            import_module(name).main()
        failures += [f"{name}, {figure.what.strip()}" for figure in figures if not figure.holds]
        if arguments.out is not None:
            keep(arguments.out, name)
    sys.exit(f"\nbounds that do not hold: {'; '.join(failures)}" if failures else 0)
