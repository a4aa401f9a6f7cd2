"""The large table on a Dask cluster of two processes: time, memory and bytes moved, by the number of rows.

    python benchmarks/dask_scale.py grow folder --rows 1000000 10000000 50000000 --out docs/dask.csv
    python benchmarks/dask_scale.py paper docs/dask.csv --rows 1000000000 --workers 20

`grow` writes tables of ten columns (those of benchmarks/files.py) into the folder, where they are not there yet, and
fits and answers on a cluster of two worker processes: with a sample of a million rows, and with all rows; there is one
row to be answered per five of the table. `paper` reckons a larger table from the figures of the first.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from functools import partial
from pathlib import Path

import distributed
import numpy as np
import psutil
import pyarrow.parquet as pq

import confide.dask
from confide import CounterfactualIntervals
from confide.base.csv_rows import read_rows, write_rows
from confide.base.memory import peak_memory
from confide.base.threads import PASSIVE, environment, one_thread_from_the_start
from confide.dask.cluster import Cluster
from confide.dask.predictions import answer_files
from files import FILE_ROWS, people

TRIAL = 10_000
SAMPLE = 1_000_000
WORKERS = 2
LARGEST_GB = 6.0
# Rows of the table per row that is answered.
PER_ANSWER = 5


def write_table(folder, rows, seed, *, randomised, drop=()):
    """Write a table in files of half a million rows, where they are not there yet; return its folder."""
    table = Path(folder)
    table.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, rows, FILE_ROWS)):
        path = table / f"{part:05d}.parquet"
        if not path.exists():
            some = people(min(FILE_ROWS, rows - start), [seed, part], randomised=randomised)
            pq.write_table(some.drop_columns(list(drop)), path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)
    return table


def trial_rows():
    return people(TRIAL, [1, 0], randomised=True)


def cluster_of(workers=WORKERS, **settings):
    """Return a cluster of processes with one thread each."""
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", env={**PASSIVE, **environment(1)}, **settings
    )


def moved():
    """Return the bytes that this machine has sent to itself: between the cluster's processes, if nothing else does."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def cpu_of(client):
    """Return the CPU seconds of all workers."""
    return sum(client.run(_cpu).values())


def _cpu():
    times = psutil.Process().cpu_times()
    return times.user + times.system


def measured(client, what, rows, work):
    """Do some work on the cluster; return a record of what it took."""
    cpu, bytes_before = cpu_of(client) + time.process_time(), moved()
    began = time.monotonic()
    work()
    record = {
        "what": what,
        "rows": rows,
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(cpu_of(client) + time.process_time() - cpu, 1),
        "peak_worker_gb": round(max(client.run(peak_memory).values()) / 1e9, 2),
        "peak_here_gb": round(peak_memory() / 1e9, 2),
        "moved_mb": round((moved() - bytes_before) / 1e6, 1),
    }
    print(record, flush=True)
    return record


def grow(folder, sizes, out):
    """Tell what fitting and answering take by the number of rows, and write it after each number."""
    found = []
    for rows in sizes:
        answers = rows // PER_ANSWER
        table = write_table(folder / f"observational-{rows}", rows, 0, randomised=False)
        new = write_table(folder / f"new-{answers}", answers, 2, randomised=True, drop=("t", "y"))
        for what, train, base in (("sample", SAMPLE, None), ("all", "all", "lightgbm")):
            model = CounterfactualIntervals(base=base, random_state=0)
            written = folder / "answers"
            shutil.rmtree(written, ignore_errors=True)
            with cluster_of() as local, distributed.Client(local) as client:
                fit = partial(confide.dask.fit, model, str(table), trial_rows(), train=train, client=client)
                found.append(measured(client, f"fit, {what}", rows, fit))
                answer = partial(answer_files, Cluster(client), model, str(new), str(written))
                found.append(measured(client, f"answer, {what}", answers, answer))
            shutil.rmtree(written)
        if out is not None:
            write_rows(out, found, list(found[0]))
    most = max(max(each["peak_worker_gb"], each["peak_here_gb"]) for each in found)
    print(f"largest process: {most:.2f} GB, must be below {LARGEST_GB:g} GB")
    if most >= LARGEST_GB:
        sys.exit("a process took more memory than it may")


def on_paper(path, rows, workers):
    """Print what a larger table would take, by the figures of the largest one that was measured."""
    records = read_rows(path)
    for what in dict.fromkeys(each["what"] for each in records):
        mine = sorted((each for each in records if each["what"] == what), key=lambda each: each["rows"])
        first, last = mine[0], mine[-1]
        more = last["rows"] - first["rows"]
        per_row = (last["cpu_seconds"] - first["cpu_seconds"]) / more if more else last["cpu_seconds"] / last["rows"]
        exponent = (
            np.log(last["cpu_seconds"] / first["cpu_seconds"]) / np.log(last["rows"] / first["rows"]) if more else 1
        )
        cpu = last["cpu_seconds"] + per_row * (rows - last["rows"])
        print(
            f"{what}: {1e6 * per_row:.1f} CPU s per million rows (exponent {exponent:.2f}); {rows:,} rows: {cpu:,.0f} "
            f"CPU s, {cpu / workers / 60:.0f} min on {workers} workers; a worker took {last['peak_worker_gb']} GB"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grow", "paper"])
    parser.add_argument("path", type=Path, help="folder for the tables, which are kept; of `paper`, the CSV")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--out", type=Path, help="CSV of the figures")
    given = parser.parse_args()
    if given.what == "paper":
        on_paper(given.path, given.rows[0], given.workers)
        return
    grow(given.path, given.rows, given.out)


if __name__ == "__main__":
    one_thread_from_the_start()
    main()
