"""`prognostic`: what its stack and its choice cost beside its own models.

Its models are the prognostic score μ̂, and σ̂, the size of the score's errors on rows held out. To fit is to train them
and to stack 250 trial rows; to answer is to ask them and to solve the sets, the choice among candidates included.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from confide import Prognostic
from confide.base.threads import cores, one_thread
from confide.data.splits import Rows
from confide.models.prognosis import learn_prognosis
from confide.predict.batches import _in_order
from timing import current_mebibytes, peak_mebibytes, require, tell

OBSERVATIONAL, COLUMNS, TRIAL, NEW = 100_000, 20, 250, 1_000_000
# New rows are answered in batches, as streams are.
BATCH = 50_000
BASES = {
    "boosting": HistGradientBoostingRegressor(random_state=0),
    "ridge": Ridge(),
}


def people(rows, seed):
    """Return covariates, and outcomes with unequal noise of which covariates explain two thirds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    return X, X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + np.exp(X[:, 4] / 2) * rng.normal(size=rows)


def main():
    X, y = people(OBSERVATIONAL + TRIAL, 0)
    y[:OBSERVATIONAL] += 0.5
    trial = np.arange(len(y)) >= OBSERVATIONAL
    new = people(NEW, 1)[0]
    for name, base in BASES.items():
        began = time.perf_counter()
        learn_prognosis(base, Rows(X[~trial], y[~trial]), 0)
        models = time.perf_counter() - began
        began = time.perf_counter()
        arm = Prognostic(base=base, random_state=0).fit(X, y, trial=trial)
        fit = time.perf_counter() - began
        tell(f"{name}: fit on {OBSERVATIONAL:,} × {COLUMNS} rows", fit, "s")
        require(f"  {name}: times the training of its models", fit / models, 1.3, "")
        arm.predict_set(new[:BATCH])
        before = max(peak_mebibytes(), current_mebibytes())
        tell(f"{name}: candidates that are chosen among", len(arm.candidates_), "")
        for threads in sorted({1, cores()}):
            with one_thread():
                own = answered(arm.base_.predict, new, threads)
                all_of_it = answered(arm.predict_set, new, threads)
            what = f"  {name}, {threads} batch{'es' * (threads > 1)} at once"
            tell(f"{what}: its models alone", own, "s")
            tell(f"{what}: sets", all_of_it, "s")
            share = own / all_of_it
            if name == "boosting" and threads == 1:
                require(f"{what}: share of its models' throughput", share, 1 / 3, "", at_least=True)
            else:
                tell(f"{what}: share of its models' throughput", share, "")
        require(f"  {name}: growth of memory while answering", peak_mebibytes() - before, 200, "MiB")


def answered(ask, rows, threads):
    """Return how long it takes to ask for all rows, in batches, several at once as streams are answered."""
    batches = (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
    began = time.perf_counter()
    for _ in _in_order(ask, batches, threads):
        pass
    return time.perf_counter() - began
