"""Where the time and the memory of a fit of the default go, on a wide table with text and dates.

`python benchmarks/wide.py 1000000x50` makes tables like a registry's in memory and fits in this process, on one thread.
It prints CPU seconds per step, and the most memory that the process has held so far at the end of each.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from confide import CounterfactualIntervals, stack
from confide.base.threads import one_thread
from confide.data import encoding
from confide.models import auto, comparison, prognosis
from confide.models.preprocessing import Learner
from registries import registry
from timing import current_mebibytes, peak_mebibytes, tell

TRIAL = 1000
# What is at work, each inside the one before.
at_work = []


def watched(place, name, what, spent):
    """Let a function add its CPU seconds, less those of watched ones inside it, to what was spent."""
    work = getattr(place, name)

    def called(*args, **params):
        at_work.append(0.0)
        began = time.process_time()
        try:
            return work(*args, **params)
        finally:
            took = time.process_time() - began
            spent[what] += took - at_work.pop()
            if at_work:
                at_work[-1] += took

    setattr(place, name, called)


def main(rows=100_000, columns=50):
    observational, trial = registry(rows, columns), registry(TRIAL, columns, seed=1, randomised=True)
    spent = Counter()
    watched(encoding, "encoded_by", "encoding", spent)
    watched(auto, "compare", "comparing candidates", spent)
    watched(prognosis, "fit_once", "the size of errors", spent)
    watched(comparison, "answered", "comparing candidates", spent)
    watched(Learner, "predict", "predicting", spent)
    watched(prognosis, "learn", "the winner on all rows", spent)
    before, began = current_mebibytes(), time.process_time()
    study = stack(observational, trial, treatment="t", outcome="y")
    spent["stacking"] = time.process_time() - began
    tell(f"{rows:,} × {columns}: tables", (observational.nbytes + trial.nbytes) / 2**20, "MiB")
    tell("  memory above the tables, stacked", peak_mebibytes() - before, "MiB")
    model = CounterfactualIntervals(random_state=0).fit(study)
    total = time.process_time() - began
    tell("  memory above the tables, fitted", peak_mebibytes() - before, "MiB")
    tell("  columns when encoded", next(iter(model.arms_.values())).n_features_in_, "")
    tell("  stacking and fitting", total, "s of CPU")
    for what, seconds in spent.most_common():
        tell(f"    {what}", seconds, "s of CPU")
    tell("    all else", total - spent.total(), "s of CPU")


if __name__ == "__main__":
    with one_thread():
        main(*map(int, sys.argv[1].split("x")) if sys.argv[1:] else ())
