"""`confide predict` on ten million rows: its throughput against the base models' own, and its memory.

The base models' own time is that of their `predict` alone, on rows that are read and encoded already, in the batches
that the command uses. The command's time is all of it: Python's start, reading, encoding, answering, writing. The
command answers several batches at once, so the share is also told against the base models asked in the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingRegressor

from confide import CounterfactualIntervals, Transfer, load, stack
from confide.base.threads import cores, environment
from confide.data.files import read_batches
from confide.datasets import load_star
from confide.predict.batches import _in_order, _threads, covariates
from timing import require, tell

ROWS = 10_000_000
SHARE = 0.8
# Batches that are encoded beforehand to be asked at once.
KEPT = 20


def main():
    star = load_star()
    study = stack(star.observational, star.trial, treatment=star.treatment, outcome=star.outcome)
    pupils = star.test.drop_columns([star.treatment, star.outcome])
    boosting = Transfer(base=HistGradientBoostingRegressor(random_state=0), base_on="centred")
    with tempfile.TemporaryDirectory() as folder:
        files = {rows: _write(Path(folder) / f"{rows}.parquet", pupils, rows) for rows in (ROWS // 10, ROWS)}
        for name, method in (("transfer-centred", "transfer-centred"), ("boosting", boosting)):
            path = Path(folder) / "model.confide"
            CounterfactualIntervals(method, random_state=0).fit(study).save(path)
            for threads in (1, cores()):
                what = f"{name}, {threads} thread{'s' * (threads > 1)}"
                own, at_once = map(float, _run([sys.executable, __file__, path, files[ROWS]], threads)[0].split())
                peaks = {}
                for rows, file in files.items():
                    command = [Path(sys.executable).with_name("confide"), "predict", path, file]
                    _, taken, peaks[rows] = _run([*command, "--out", Path(folder) / "out.parquet"], threads)
                tell(f"{what}, {ROWS:,} rows", taken, "s")
                tell("  the base models alone", own, "s")
                require(f"  {what}: share of the base models' throughput", own / taken, SHARE, "", at_least=True)
                tell("  share of their throughput with as many batches at once", at_once / taken, "")
                growth = peaks[ROWS] / peaks[ROWS // 10]
                tell("  peak of memory", peaks[ROWS], "MiB")
                require(f"  {what}: growth of memory with ten times the rows", growth, 1.1, "")


def _write(path, pupils, rows):
    """Write pupils drawn with replacement, as many as asked for."""
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pupils.schema) as writer:
        for start in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - start)
            writer.write_table(pupils.take(pa.array(rng.integers(0, len(pupils), size))))
    return path


def _run(command, threads):
    """Return the output of a command, its wall time, and its peak of memory in MiB."""
    began = time.perf_counter()
    environ = {**os.environ, **environment(threads)}
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environ) as started:  # noqa: S603
        output = started.stdout.read()
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit(f"{command} failed")
    return output, time.perf_counter() - began, used.ru_maxrss / 1024


def predict_alone(model, file):
    """Print how long the base models take for the rows of a file: batch after batch, and some batches at once."""
    names, taken, kept = covariates(model), 0.0, []
    for batch in read_batches(str(file)):
        encoded = model.encode(batch.read.select(names))
        kept += [encoded] if len(kept) < KEPT else []
        began = time.perf_counter()
        _ask(model, encoded)
        taken += time.perf_counter() - began
    began = time.perf_counter()
    for _ in _in_order(partial(_ask, model), kept, _threads(model)):
        pass
    share = sum(map(len, kept)) / ROWS
    print(taken, (time.perf_counter() - began) / share)


def _ask(model, encoded):
    for arm in model.arms_.values():
        arm.base_.predict(encoded)


if __name__ == "__main__":
    predict_alone(load(sys.argv[1]), sys.argv[2])
