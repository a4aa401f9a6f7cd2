"""What faults do to a Dask cluster's work: the right result, or one clear error, and after how long.

    python benchmarks/dask_faults.py folder --rows 1000000 --out docs/dask_faults.csv

Tables of that many rows are written into the folder, where they are not there yet. The table that is printed at the end
is the one in docs/scale.md. Seconds are counted from the fault, where one comes during the work. What is left behind is
looked for in the folder that the work writes into, half a second after its end.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import dask
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
from confide.dask.predictions import ANSWERING, answer_files
from confide.dask.tables import LEARNING, READING
from confide.models.lightgbm_model import LightGBMRegressor
from dask_scale import cluster_of, trial_rows, write_table
from files import people

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds into a step after which a cluster is harmed, and that LightGBM's own estimator is given.
AFTER, GIVEN = 0.5, 90.0
# Trees of a model that is not learnt in time, and the time in seconds.
MANY_TREES, TIME = 20_000, 10.0
# Memory of workers that have too little, and seconds after which the scheduler gives up one that does not answer.
LITTLE, TTL = "300MB", "15 s"
# What Dask does with a worker whose memory is short is set under this name.
MEMORY = "distributed.worker.memory"
RIGHT, WRONG = "the right result", "WRONG"
# Addresses and ports differ from run to run.
ADDRESS = re.compile(r"tcp://[\d.]+:\d+")


@dataclass(frozen=True)
class Harmed(Cluster):
    """A cluster that is harmed when a step of the work is under way.

    Parameters
    ----------
    step : str
        What is being done then.
    harm : function of the client
        What is done to it.
    times : list
        When it was.
    """

    step: str = field(default="", kw_only=True)
    harm: Callable[[distributed.Client], None] = field(default=lambda _: None, kw_only=True)
    times: list[float] = field(default_factory=list, kw_only=True)

    def map(self, what, function, *arguments):
        if what == self.step and not self.times:
            self.times.append(time.monotonic() + AFTER)
            threading.Timer(AFTER, self.harm, (self.client,)).start()
        return super().map(what, function, *arguments)


class Work:
    """Fits and answers on a cluster, and whether they are right."""

    def __init__(self, folder, rows):
        self.folder, self.rows = folder, rows
        self.table = write_table(folder / f"observational-{rows}", rows, 0, randomised=False)
        self.new = write_table(folder / f"new-{rows}", rows, 2, randomised=True, drop=("t", "y"))
        self.trial = trial_rows().slice(0, 1000)
        self.asked = people(1000, [9, 0], randomised=True).drop_columns(["t", "y"])
        with cluster_of() as local, distributed.Client(local) as client:
            self.model = self.fitted(Cluster(client))
        self.right = np.asarray(self.model.predict_interval(self.asked, 1))

    def fitted(self, cluster, table=None, base="lightgbm"):
        model = CounterfactualIntervals("transfer", base=base, random_state=0)
        return confide.dask.fit(model, str(table or self.table), self.trial, train="all", client=cluster)

    def fit(self, cluster, _):
        same = np.array_equal(self.fitted(cluster).predict_interval(self.asked, 1), self.right)
        return RIGHT if same else WRONG

    def fit_slowly(self, cluster, _):
        self.fitted(cluster, base=LightGBMRegressor(n_estimators=MANY_TREES))
        return WRONG

    def fit_broken(self, spoil):
        """Return a fit on the table, one file of which is spoilt."""

        def fit(cluster, _):
            with self.spoilt(self.table, spoil) as broken:
                self.fitted(cluster, broken)
            return WRONG

        return fit

    def answer(self, cluster, inside, new=None):
        counted = answer_files(cluster, self.model, str(new or self.new), f"{inside}/out")
        rows = sum(pq.read_metadata(each).num_rows for each in Path(f"{inside}/out").iterdir())
        shutil.rmtree(f"{inside}/out")
        return RIGHT if counted.rows == rows == self.rows else WRONG

    def answer_broken(self, spoil):
        """Return answers for new rows, one file of which is spoilt."""

        def answer(cluster, inside):
            with self.spoilt(self.new, spoil) as broken:
                return self.answer(cluster, inside, broken)

        return answer

    @contextmanager
    def spoilt(self, table, spoil):
        """Yield a copy of a table, the last file of which is spoilt."""
        with tempfile.TemporaryDirectory(dir=self.folder) as inside:
            broken = Path(shutil.copytree(table, f"{inside}/table"))
            spoil(max(broken.iterdir()))
            yield broken


def busy_pid(client):
    """Return the process of a worker that has tasks."""
    address = next((each for each, tasks in client.processing().items() if tasks), None)
    return client.cluster.workers_of[address] if address else next(iter(client.cluster.workers_of.values()))


def kill_one(client):
    os.kill(busy_pid(client), signal.SIGKILL)


def stop_one(client):
    os.kill(busy_pid(client), signal.SIGSTOP)


def end_workers(client):
    client.cluster.scale(0)


def end_scheduler(client):
    client.cluster.close()


def damage(path):
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 300 + data[304:])


def drop_column(path):
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["x3"]), path)


def nobody(*_):
    with connected("tcp://127.0.0.1:9"):
        return WRONG


def silent(*_):
    """Connect to somebody who accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server, connected(f"tcp://127.0.0.1:{server.getsockname()[1]}"):
        return WRONG


def lightgbm_alone(cluster, _):
    """Return what LightGBM's own Dask estimator does, in a thread of its own."""
    client, rows = cluster.client, 4_000_000
    rng = da.random.default_rng(0)
    X = rng.standard_normal((rows, 20), chunks=(rows // 8, 20)).persist()
    y = (X[:, 0] + rng.standard_normal(rows, chunks=rows // 8)).persist()
    distributed.wait([X, y])
    ended = []

    def fit():
        try:
            lightgbm.DaskLGBMRegressor(client=client, n_estimators=500, verbosity=-1).fit(X, y)
            ended.append("it ended")
        except Exception as error:  # noqa: BLE001  (whatever it is)
            ended.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    time.sleep(6)
    cluster.times.append(time.monotonic())
    kill_one(client)
    thread.join(GIVEN)
    return ended[0] if ended else f"it still waits after {GIVEN:g} s"


def tried(fault, work, folder, step="", harm=None, *, timeout=None, config=None, **settings):
    """Return what became of some work on a cluster that is harmed during a step."""
    with (
        dask.config.set(config or {}),
        tempfile.TemporaryDirectory(dir=folder) as inside,
        cluster_of(**settings) as local,
        distributed.Client(local) as client,
    ):
        local.workers_of = client.run(os.getpid)
        cluster = Harmed(client, timeout, step=step, harm=harm or (lambda _: None))
        began = time.monotonic()
        try:
            result = work(cluster, inside)
        except Exception as error:  # noqa: BLE001  (whatever it is)
            result = f"{type(error).__name__}: {error}"
        ended = time.monotonic()
        time.sleep(AFTER)
        left = ", ".join(sorted(os.listdir(inside))) or "nothing"  # noqa: PTH208
    result = ADDRESS.sub("tcp://…", " ".join(result.split()))
    result = re.sub(rf"{re.escape(str(Path(folder).resolve()))}/\w+/", "", result)
    seconds = round(ended - max([began, *cluster.times]), 1)
    record = {"fault": fault, "result": result, "seconds": seconds, "left": left}
    print(record, flush=True)
    return record


def printed(records):
    """Print the table of docs/scale.md."""
    print("\n| fault | what happened | after | left behind |\n| --- | --- | --- | --- |")
    for each in records:
        print(f"| {each['fault']} | {each['result']} | {each['seconds']:.1f} s | {each['left']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for the tables, which are kept")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table, and of those answered")
    parser.add_argument("--only", help="only faults with this text in their name")
    parser.add_argument("--out", type=Path, help="CSV of what happened")
    given = parser.parse_args()
    work = Work(given.folder, given.rows)
    ttl, short = {"config": {"distributed.scheduler.worker-ttl": TTL}}, {"memory_limit": LITTLE}
    faults = {
        "none, fit": (work.fit, {}),
        "none, predict": (work.answer, {}),
        "a worker is killed while it reads": (work.fit, {"step": READING, "harm": kill_one}),
        "a worker is killed while it learns": (work.fit, {"step": LEARNING, "harm": kill_one}),
        "a worker is killed during predict": (work.answer, {"step": ANSWERING, "harm": kill_one}),
        f"a worker stops answering (`worker-ttl` {TTL})": (work.fit, {**ttl, "step": LEARNING, "harm": stop_one}),
        "all workers end during fit": (work.fit, {"step": LEARNING, "harm": end_workers}),
        "all workers end during predict": (work.answer, {"step": ANSWERING, "harm": end_workers}),
        "the scheduler ends during fit": (work.fit, {"step": LEARNING, "harm": end_scheduler}),
        "the scheduler ends during predict": (work.answer, {"step": ANSWERING, "harm": end_scheduler}),
        "nobody is at the scheduler's address": (nobody, {}),
        "the scheduler does not answer": (silent, {}),
        "a file of the table cannot be read": (work.fit_broken(damage), {}),
        "a file of new rows cannot be read": (work.answer_broken(damage), {}),
        "a column is missing in one file of the table": (work.fit_broken(drop_column), {}),
        "a column is missing in one file of new rows": (work.answer_broken(drop_column), {}),
        f"workers of {LITTLE} pause": (work.fit, {**short, "config": {f"{MEMORY}.terminate": False}}),
        f"workers of {LITTLE} are ended": (work.fit, {**short, "config": {f"{MEMORY}.pause": False}}),
        f"learning takes longer than `timeout={TIME:g}`": (work.fit_slowly, {"step": LEARNING, "timeout": TIME}),
        "LightGBM's own Dask estimator, a worker is killed": (lightgbm_alone, {}),
    }
    found = []
    for fault, (what, how) in faults.items():
        if given.only is None or given.only in fault:
            found.append(tried(fault, what, given.folder, **how))
            if given.out is not None:
                write_rows(given.out, found, list(found[0]))
    printed(found)
    os._exit(0)  # LightGBM's thread may still wait


if __name__ == "__main__":
    one_thread_from_the_start()
    main()
