"""What faults do to a Dask cluster's work: the right result, or one clear error, and after how long.

    python benchmarks/dask_faults.py folder --out docs/dask_faults.csv

Tables of two million rows are written into the folder, where they are not there yet.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import dask.array as da
import distributed
import lightgbm
import numpy as np
import pyarrow.parquet as pq

import confide.dask
from confide import CounterfactualIntervals
from confide.base.csv_rows import write_rows
from confide.base.threads import one_thread_from_the_start
from confide.dask.cluster import Cluster, connected
from confide.dask.predictions import answer_files
from confide.exceptions import ClusterError
from dask_scale import cluster_of, trial_rows, write_table
from files import people

ROWS = 2_000_000
# Seconds after which a cluster is harmed, and that LightGBM's own estimator is given.
AFTER, GIVEN = 3.0, 90.0


class Work:
    """Fits and answers on a cluster, and whether they are right."""

    def __init__(self, folder):
        self.folder = folder
        self.table = write_table(folder / f"observational-{ROWS}", ROWS, 0, randomised=False)
        self.new = write_table(folder / f"new-{ROWS}", ROWS, 2, randomised=True, drop=("t", "y"))
        self.trial = trial_rows().slice(0, 1000)
        self.asked = people(1000, [9, 0], randomised=True).drop_columns(["t", "y"])
        with cluster_of() as local, distributed.Client(local) as client:
            self.model = self.fitted(client)
        self.right = np.asarray(self.model.predict_interval(self.asked, 1))

    def fitted(self, client, table=None):
        model = CounterfactualIntervals("transfer", base="lightgbm", random_state=0)
        return confide.dask.fit(model, str(table or self.table), self.trial, train="all", client=client, timeout=600)

    def fit(self, client):
        same = np.array_equal(self.fitted(client).predict_interval(self.asked, 1), self.right)
        return "the right result" if same else "WRONG"

    def fit_broken(self, spoil):
        """Return a fit on the table, one file of which is spoilt."""

        def fit(client):
            with tempfile.TemporaryDirectory(dir=self.folder) as inside:
                broken = Path(shutil.copytree(self.table, f"{inside}/table"))
                spoil(max(broken.iterdir()))
                self.fitted(client, broken)
            return "WRONG"

        return fit

    def answer(self, client):
        with tempfile.TemporaryDirectory(dir=self.folder) as inside:
            counted = answer_files(Cluster(client), self.model, str(self.new), f"{inside}/out")
            rows = sum(pq.read_metadata(each).num_rows for each in Path(f"{inside}/out").iterdir())
        return "the right result" if counted.rows == rows == ROWS else "WRONG"


def kill_one(pids, _):
    os.kill(pids[0], signal.SIGKILL)


def end_workers(_, local):
    local.scale(0)


def end_scheduler(_, local):
    local.close()


def damage(path):
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 300 + data[304:])


def drop_column(path):
    pq.write_table(people(1000, [5, 5], randomised=False).drop_columns(["x3"]), path)


def nobody(_):
    with connected("tcp://127.0.0.1:9"):
        return "WRONG"


def lightgbm_alone(client):
    """Return what LightGBM's own Dask estimator does, in a thread of its own."""
    rng = da.random.default_rng(0)
    X = rng.standard_normal((4_000_000, 20), chunks=(500_000, 20)).persist()
    y = (X[:, 0] + rng.standard_normal(4_000_000, chunks=500_000)).persist()
    distributed.wait([X, y])
    pid = next(iter(client.run(os.getpid).values()))
    ended = []

    def fit():
        try:
            lightgbm.DaskLGBMRegressor(client=client, n_estimators=500, verbosity=-1).fit(X, y)
            ended.append("it ended")
        except Exception as error:  # noqa: BLE001  (whatever it is)
            ended.append(f"{type(error).__name__}: {error}"[:160])

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    time.sleep(2 * AFTER)
    os.kill(pid, signal.SIGKILL)
    thread.join(GIVEN)
    return ended[0] if ended else f"it still waits after {GIVEN:g} s"


def tried(fault, work, harm=None):
    """Return what became of some work on a cluster that is harmed after a while."""
    with cluster_of() as local, distributed.Client(local) as client:
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(AFTER, harm or (lambda *_: None), (pids, local))
        timer.start()
        began = time.monotonic()
        try:
            result = work(client)
        except (ClusterError, ValueError) as error:
            result = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        seconds = round(time.monotonic() - began, 1)
        timer.cancel()
    print(f"{fault}: {result} ({seconds} s)", flush=True)
    return {"fault": fault, "result": result, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for the tables, which are kept")
    parser.add_argument("--out", type=Path, help="CSV of what happened")
    given = parser.parse_args()
    work = Work(given.folder)
    found = [
        tried("none", work.fit),
        tried("a worker is killed during fit", work.fit, kill_one),
        tried("a worker is killed during predict", work.answer, kill_one),
        tried("all workers end during fit", work.fit, end_workers),
        tried("the scheduler ends during fit", work.fit, end_scheduler),
        tried("the scheduler does not answer", nobody),
        tried("a file cannot be read", work.fit_broken(damage)),
        tried("a column is missing in one file", work.fit_broken(drop_column)),
        tried("LightGBM's own Dask estimator, a worker is killed", lightgbm_alone),
    ]
    if given.out is not None:
        write_rows(given.out, found, list(found[0]))
    os._exit(0)  # LightGBM's thread may still wait


if __name__ == "__main__":
    one_thread_from_the_start()
    main()
