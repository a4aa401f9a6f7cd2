"""For whom answers hold: what weights, clusters and groups cost beside the same model without them.

Two arms, 100,000 observational rows, 2,000 trial rows and 100,000 new ones, 20 covariates. Each variant is fitted on
the same rows, and asked for one interval per new row and arm. Seconds are those of the processor, on
one thread (others would burn some while they wait): the shortest of a few runs, in which the variants take turns. Each
method and base has a process of its own: where trees lie in the memory of one that has fitted others before changes how
fast they are walked through.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from confide import CounterfactualIntervals, Study
from confide.base.threads import one_thread
from timing import require, tell

OBSERVATIONAL, TRIAL, NEW, COLUMNS = 100_000, 2_000, 100_000, 20
# The methods, and how often each is fitted.
METHODS = {"transfer": 6, "prognostic": 2}
ASKS = 6
BASES = ("ridge", "boosting")
VARIANTS = ("without", "assignment", "target", "cluster", "groups")
# Times the model without.
FIT, PREDICT = 1.1, 1.2


def people(rows, seed):
    """Return covariates, the last of which has two values, and outcomes with unequal noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS))
    X[:, -1] = X[:, -1] > 0
    return X, X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + np.exp(X[:, 4] / 2) * rng.normal(size=rows)


def chance(X):
    """Return the probability of arm 1 in the trial, from .2 to .8."""
    return 0.5 + 0.3 * np.tanh(X[:, 0])


def study(variant):
    X, y = people(OBSERVATIONAL + TRIAL, 0)
    rng = np.random.default_rng(1)
    trial = np.arange(len(y)) >= OBSERVATIONAL
    treated = rng.random(len(y)) < np.where(trial, chance(X), 0.5)
    y[~trial] += 0.5
    more = {
        "assignment": {"assignment": np.where(treated, chance(X), 1 - chance(X))},
        "target": {"target": "observational"},
        "cluster": {"cluster": np.arange(len(y)) // 4},
    }
    return Study(X, y + treated, treated.astype(int), trial, **more.get(variant, {}))


def fitted(method, base, variant, data):
    """Return a fitted model."""
    groups = {"groups": [COLUMNS - 1]} if variant == "groups" else {}
    return CounterfactualIntervals(method, base=base, random_state=0, **groups).fit(data)


def ask(model, variant, new):
    """Ask for the intervals of both arms."""
    for arm in (0, 1):
        known = {"assignment": chance(new) if arm else 1 - chance(new)} if variant == "assignment" else {}
        model.predict_interval(new, arm, **known)


def clocked(work, *arguments):
    """Return what the work returns, and seconds of the processor."""
    began = time.process_time()
    found = work(*arguments)
    return found, time.process_time() - began


def turned(turn):
    """Return the variants, in each turn another one first: what a process did just before matters a little."""
    first = turn % len(VARIANTS)
    return (*VARIANTS[first:], *VARIANTS[:first])


def taken(method, base):
    """Return the seconds of each variant's fits, and those of its answers."""
    data = {variant: study(variant) for variant in VARIANTS}
    new = people(NEW, 2)[0]
    fits, asks, models = ({variant: [] for variant in VARIANTS} for _ in range(3))
    with one_thread():
        for turn in range(METHODS[method]):
            for variant in turned(turn):
                models[variant], needed = clocked(fitted, method, base, variant, data[variant])
                fits[variant].append(needed)
        for turn in range(ASKS):
            for variant in turned(turn):
                asks[variant].append(clocked(ask, models[variant], variant, new)[1])
    return fits, asks


def main():
    fresh = multiprocessing.get_context("spawn")
    for base in BASES:
        for method in METHODS:
            with ProcessPoolExecutor(1, fresh) as process:
                fits, asks = process.submit(taken, method, base).result()
            for what, each, bound in (("fit", fits, FIT), ("predict", asks, PREDICT)):
                plain = min(each["without"])
                tell(f"{method}, {base}: {what} without weights", plain, "s")
                for variant in VARIANTS[1:]:
                    require(f"  {method}, {base}: {what} with {variant}", min(each[variant]) / plain, bound, "")
