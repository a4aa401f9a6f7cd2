"""The default fitted on 20 mixed columns: CPU beside two plain boosting fits, and memory beside the table.

The plain fits are scikit-learn's boosting on the same observational rows, encoded, one per arm. Each measurement has a
process of its own. Memory is the most that stacking, encoding and fitting hold above the tables themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingRegressor

from confide import CounterfactualIntervals, stack
from confide.base.threads import environment, one_thread
from confide.data.encoding import TableEncoder
from confide.models.preprocessing import Learner
from timing import current_mebibytes, peak_mebibytes, require, tell

SIZES, TRIAL, COLUMNS = (1000, 10_000, 100_000, 1_000_000), 1000, 20
# From here on the bounds are asked for; that of memory from the last size on, where samples of fixed size count little.
LARGE = 100_000
CATEGORIES = (3, 6, 12, 25)
# The models at work, each inside the one before.
at_work = []


def people(rows, randomised, seed):
    """Return a table: 12 numbers, two of them with gaps, 2 flags, a count, 4 columns of text and a date; t and y."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((rows, 12))
    hidden = rng.standard_normal(rows)
    table = {f"number {place}": pa.array(column) for place, column in enumerate(numbers.T)}
    for place in (1, 4):
        table[f"number {place}"] = pa.array(numbers[:, place], mask=rng.random(rows) < 0.05)
    table["number 3"] = pa.array(np.exp(numbers[:, 3]))
    table["number 5"] = pa.array(np.round(10 * numbers[:, 5]))
    table |= {f"flag {place}": pa.array(rng.random(rows) < 0.3) for place in range(2)}
    table["count"] = pa.array(rng.poisson(2, rows))
    codes = [rng.integers(0, count, rows) for count in CATEGORIES]
    for place, (code, count) in enumerate(zip(codes, CATEGORIES, strict=True)):
        table[f"text {place}"] = pa.array([f"value {each}" for each in range(count)]).take(pa.array(code))
    table["day"] = pa.array(rng.integers(15_000, 19_000, rows).astype(np.int32)).cast(pa.date32())
    chance = 0.5 if randomised else 1 / (1 + np.exp(-0.5 * (numbers[:, 0] + hidden)))
    t = (rng.random(rows) < chance).astype(int)
    y = numbers[:, 0] + 0.5 * np.sin(2 * numbers[:, 1]) + 0.3 * numbers[:, 2] * np.exp(numbers[:, 3]) + 0.5 * hidden
    y += 0.4 * (codes[0] == 1) + 0.05 * codes[2] + t * (0.5 + 0.3 * numbers[:, 4])
    y += np.exp(0.3 * numbers[:, 0]) * rng.standard_normal(rows)
    return pa.table(table | {"t": t, "y": y})


def plain(observational, trial):
    """Return the CPU seconds of a plain boosting fit per arm, and the growth of memory in MiB, encoding included."""
    before = current_mebibytes()
    study = stack(observational, trial, treatment="t", outcome="y")
    X = TableEncoder().fit_transform(study.X)
    arms = [(study.treatment == label) & ~study.trial for label in (0, 1)]
    data = [(X[mine], study.y[mine]) for mine in arms]
    began = time.process_time()
    for rows in data:
        HistGradientBoostingRegressor(random_state=0).fit(*rows)
    return {"cpu": time.process_time() - began, "memory": peak_mebibytes() - before}


def default(observational, trial):
    """Return the CPU seconds of stacking and fitting, those of the models alone, and the growth of memory in MiB."""
    spent = [timed(Learner, name) for name in ("fit", "predict")]
    before, began = current_mebibytes(), time.process_time()
    CounterfactualIntervals(random_state=0).fit(stack(observational, trial, treatment="t", outcome="y"))
    cpu = time.process_time() - began
    return {"cpu": cpu, "models": sum(map(sum, spent)), "memory": peak_mebibytes() - before}


def timed(kind, name):
    """Return a list that grows with the CPU seconds of every call of a method that is not inside another one."""
    call, spent = getattr(kind, name), []

    def called(self, *arguments, **params):
        at_work.append(self)
        began = time.process_time()
        try:
            return call(self, *arguments, **params)
        finally:
            at_work.pop()
            if not at_work:
                spent.append(time.process_time() - began)

    setattr(kind, name, called)
    return spent


def measured(what, rows):
    """Return what a new process finds."""
    command = [sys.executable, __file__, what, str(rows)]
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, **environment(1), "PYTHONPATH": paths}
    told = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout  # noqa: S603
    return json.loads(told)


def main():
    for rows in SIZES:
        boosting, found = measured("plain", rows), measured("default", rows)
        table = rows * COLUMNS * 8 / 2**20
        tell(f"{rows:,} rows: two plain boosting fits", boosting["cpu"], "s of CPU")
        tell("  memory of the plain fits above the tables", boosting["memory"], "MiB")
        tell("  the default", found["cpu"], "s of CPU")
        ratio, share = found["cpu"] / boosting["cpu"], 1 - found["models"] / found["cpu"]
        tell("  memory above the tables", found["memory"], "MiB")
        if rows < LARGE:
            tell("  times the plain fits", ratio, "")
            tell("  share outside the models", share, "")
            continue
        require(f"  {rows:,} rows: times the plain fits", ratio, 3, "")
        require(f"  {rows:,} rows: share outside the models", share, 0.1, "")
        if rows == SIZES[-1]:
            require(f"  {rows:,} rows: memory, times the table", found["memory"] / table, 4, "")
        else:
            tell("  memory, times the table", found["memory"] / table, "")


if __name__ == "__main__":
    what, rows = sys.argv[1], int(sys.argv[2])
    with one_thread():
        tables = people(rows, randomised=False, seed=0), people(TRIAL, randomised=True, seed=1)
        print(json.dumps({"plain": plain, "default": default}[what](*tables)))
