"""wTCP-DR in its split form: time a row, and memory for a million rows."""

from __future__ import annotations

import multiprocessing

import numpy as np
from sklearn.linear_model import LinearRegression

from confide import WTCPDR
from confide.datasets import synthetic
from timing import current_mebibytes, figures, peak_mebibytes, require, seconds, tell


def control_arm(calibration_rows):
    """Return the rows of the synthetic study's control arm, so that this many of them calibrate."""
    observational = synthetic(4 * calibration_rows, random_state=0)
    trial = synthetic(250, randomized=True, random_state=1)
    first = np.flatnonzero(observational.treatment == 0)[: 2 * calibration_rows]
    second = np.flatnonzero(trial.treatment == 0)
    X = np.concatenate([observational.X[first], trial.X[second]])
    y = np.concatenate([observational.y[first], trial.y[second]])
    return X, y, np.repeat([False, True], [len(first), len(second)])


def membership_on_candidates(arm, X, candidates):
    """Ask the rule at every candidate of every row: what the solver saves."""
    for row in X:
        weights = arm.ratio_.predict(np.column_stack([np.repeat(row[None], len(candidates), axis=0), candidates]))
        scores = np.abs(candidates - arm.base_.predict(row[None]))
        arm.calibration_.contains(scores, arm.alpha_, weights)


def fitted_arm():
    X, y, trial = control_arm(5_000)
    return WTCPDR(base=LinearRegression(), random_state=0).fit(X, y, trial=trial)


def a_million_rows(told):
    """Run in a process of its own, whose peak is then the solver's, and hand over what was told."""
    arm = fitted_arm()
    many = synthetic(1_000_000, randomized=True, random_state=3).X
    before = current_mebibytes()
    took = seconds(lambda: arm.predict_set(many), runs=1)
    peak = peak_mebibytes() - before
    sets = arm.predict_set(many[:1000])
    answer = 1000 * (sets.lower.nbytes + sets.upper.nbytes + sets.starts.nbytes) / 2**20
    tell("10⁶ new rows", took, "s")
    tell("  the answer", answer, "MiB")
    require("  peak memory above the start, less three times the answer", peak - 3 * answer, 256, "MiB")
    told.put(figures)


def main():
    arm = fitted_arm()
    new = synthetic(200, randomized=True, random_state=2).X
    solver = seconds(lambda: arm.predict_set(new)) / len(new)
    every = seconds(lambda: membership_on_candidates(arm, new[:5], np.linspace(0, 1, 100_000)), runs=1) / 5
    require("5,000 calibration rows, 200 new rows, MLP ratio, a row", 1e3 * solver, 1, "ms")
    tell("  the membership rule at 10⁵ candidates a row", every / solver, "times that")
    processes = multiprocessing.get_context("spawn")
    told = processes.SimpleQueue()
    process = processes.Process(target=a_million_rows, args=(told,))
    process.start()
    process.join()
    if process.exitcode:
        require("10⁶ new rows, processes that failed", 1, 0, "")
    else:
        figures.extend(told.get())
