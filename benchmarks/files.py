"""A large table in Parquet files: CPU time and memory of `confide run`, beside training the same models on its rows.

The table has ten columns: seven numbers, two of text and a date, which are 46 columns when they are encoded. By itself
the benchmark takes a million rows; `python benchmarks/files.py --rows 10000000` takes those of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from confide import CounterfactualIntervals, LargeTable, stack
from confide.base.csv_rows import write_rows
from confide.base.threads import environment
from confide.diagnostics import coverage_report
from confide.methods import prognostic
from timing import require, tell

ROWS, TRIAL, PEOPLE = 1_000_000, 10_000, 1_000_000
# Numbers of rows that widths are measured at, with how many of the trial, and on how many people.
SIZES = (1000, 10_000, 100_000, 1_000_000)
SMALL_TRIAL = 1000
ASKED = 5000
FILE_ROWS = 500_000
CONFIDE = Path(sys.executable).with_name("confide")


def people(rows, seed, *, randomised):
    """Return people with ten covariates; what is hidden moves treatment and outcome where it is not randomised."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((rows, 7))
    region, plan = rng.integers(0, 8, rows), rng.integers(0, 30, rows)
    joined = rng.integers(0, 2000, rows)
    hidden = rng.standard_normal(rows)
    chance = 0.5 if randomised else 1 / (1 + np.exp(-numbers[:, 0] - hidden))
    treated = (rng.uniform(size=rows) < chance).astype(np.int64)
    y = numbers[:, 0] + np.sin(2 * numbers[:, 1]) + 0.3 * region + treated * (1 + 0.5 * numbers[:, 2]) + hidden
    y += 0.01 * np.sqrt(joined) + np.exp(0.3 * numbers[:, 3]) * rng.standard_normal(rows)
    numbers[rng.uniform(size=rows) < 0.02, 4] = np.nan
    columns = {f"x{place}": pa.array(column, from_pandas=True) for place, column in enumerate(numbers.T)}
    columns["region"] = pa.array(np.array([f"region {each}" for each in range(8)])[region])
    columns["plan"] = pa.array(np.array([f"plan {each}" for each in range(30)])[plan])
    columns["joined"] = pa.array(joined.astype("datetime64[D]"))
    return pa.table({**columns, "t": treated, "y": y})


def write(folder, rows, seed=0):
    """Write the observational table in files, the trial and new people; return the folder."""
    table = Path(folder) / "table"
    table.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, rows, FILE_ROWS)):
        size = min(FILE_ROWS, rows - start)
        pq.write_table(people(size, [seed, part], randomised=False), table / f"{part:04d}.parquet")
    pq.write_table(people(TRIAL, [seed + 1, 0], randomised=True), Path(folder) / "trial.parquet")
    new = people(PEOPLE, [seed + 2, 0], randomised=True).drop_columns(["t", "y"])
    pq.write_table(new, Path(folder) / "new.parquet")
    return Path(folder)


def run(folder, *more):
    """Return the JSON of `confide run` on the files, its CPU seconds, and its peak of memory in GB."""
    tables = ["--observational", folder / "table", "--trial", folder / "trial.parquet"]
    people = ["--predict", folder / "new.parquet", "--out", folder / "out.parquet"]
    command = [CONFIDE, "run", *tables, *people, "--treatment", "t", "--outcome", "y", "--json", *more]
    return measured(command)


def measured(command):
    """Return a command's JSON, the CPU seconds of its one thread, and its peak of memory in GB."""
    environ = {**os.environ, **environment(1)}
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environ) as started:  # noqa: S603
        output = started.stdout.read()
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit(f"{command} failed")
    return json.loads(output), used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6


def fit(folder):
    """Print the CPU seconds of reading, of fitting, and of the models within it, as JSON."""
    spent = 0.0
    learn = prognostic.learn_prognosis

    def timed(*arguments):
        nonlocal spent
        began = time.process_time()
        found = learn(*arguments)
        spent += time.process_time() - began
        return found

    prognostic.learn_prognosis = timed
    began = time.process_time()
    study = stack(ds.dataset(folder / "table"), pq.read_table(folder / "trial.parquet"))
    read = time.process_time() - began
    CounterfactualIntervals(random_state=0).fit(study)
    print(json.dumps({"read": read, "fit": time.process_time() - began - read, "models": spent}))


def widths(folder, sizes):
    """Return the mean width and the coverage of the default's intervals by the number of rows that it learns from."""
    trial = pq.read_table(folder / "trial.parquet").slice(0, SMALL_TRIAL)
    new = people(ASKED, [99, 0], randomised=True)
    found = []
    for rows in sizes:
        study = stack(LargeTable(ds.dataset(folder / "table"), rows=rows), trial)
        model = CounterfactualIntervals(random_state=0).fit(study)
        records = coverage_report(model, new, new["y"], treatment=new["t"])
        coverage, width = np.mean([[each.coverage, each.width] for each in records], axis=0)
        found.append({"rows": rows, "width": width, "coverage": coverage})
        print(f"{rows:,} rows: width {width:.3f}, coverage {coverage:.3f}", flush=True)
    return found


def main(rows=ROWS):
    with tempfile.TemporaryDirectory() as temporary:
        folder = write(temporary, rows)
        for _ in range(2):  # the second time counts: files and, on a virtual machine, memory are at hand
            parts, _, peak = measured([sys.executable, __file__, "--fit", folder])
        tell(f"{rows:,} rows × 10 columns in files, and {TRIAL:,} of the trial: read", parts["read"], "s CPU")
        tell("  fit", parts["fit"], "s CPU")
        require("  overhead over training the models", (parts["read"] + parts["fit"]) / parts["models"] - 1, 0.2, "")
        tell("  peak of memory", peak, "GB")
        answered, taken, peak = run(folder)
        tell(f"  fit and answer {answered['answered']['rows']:,} people", taken, "s CPU")
        require("  peak of memory", peak, 8, "GB")
        *_, small = run(folder, "--train-rows", rows // 10)
        tell("  peak of memory if a tenth of the rows is learnt from", small, "GB")
        _, taken, peak = run(folder, "--base", "lightgbm", "--all-rows", "--memory", "2GB")
        tell("  LightGBM on all rows by batches: fit and answer", taken, "s CPU")
        require("  peak of memory, set to 2GB", peak, 2, "GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="observational rows")
    parser.add_argument("--fit", type=Path, metavar="folder", help="only fit, on files that are there")
    parser.add_argument("--widths", type=Path, metavar="csv", help="widths by number of rows instead, to this file")
    arguments = parser.parse_args()
    if arguments.fit is not None:
        fit(arguments.fit)
    elif arguments.widths is not None:
        with tempfile.TemporaryDirectory() as temporary:
            sizes = [size for size in SIZES if size <= arguments.rows]
            found = widths(write(temporary, arguments.rows), sizes)
        write_rows(arguments.widths, found, list(found[0]))
    else:
        main(arguments.rows)
