"""Conformity scores with the automatic base model: what `normalised` and `cqr` cost beside the plain residual.

The automatic model compares its candidates by cross-validation. Errors on rows held out, which the size of errors is
learnt from, come from that comparison; three quantiles (the median is the point) need one comparison each.
"""

from __future__ import annotations

import time

import numpy as np

from confide import Naive, Prognostic, Transfer
from timing import require, tell

OBSERVATIONAL, TRIAL, COLUMNS = 20_000, 150, 6


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(OBSERVATIONAL + TRIAL, COLUMNS))
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + np.exp(X[:, 4] / 2) * rng.normal(size=len(X))
    trial = np.arange(len(X)) >= OBSERVATIONAL
    arms = {
        "transfer": Transfer(random_state=0),
        "transfer, normalised": Transfer(conformity_score="normalised", random_state=0),
        "transfer, cqr": Transfer(conformity_score="cqr", random_state=0),
        "prognostic": Prognostic(random_state=0),
        "naive": Naive(random_state=0),
    }
    taken = {}
    for name, arm in arms.items():
        began = time.process_time()
        arm.fit(X, y, trial=trial)
        taken[name] = time.process_time() - began
        tell(f"{name}: fit on {OBSERVATIONAL:,} × {COLUMNS} observational and {TRIAL} trial rows", taken[name], "CPU s")
    for name, models in {"transfer, normalised": 2, "transfer, cqr": 3, "prognostic": 2}.items():
        require(f"  {name}: times that of transfer, per model", taken[name] / taken["transfer"] / models, 2, "")


if __name__ == "__main__":
    main()
