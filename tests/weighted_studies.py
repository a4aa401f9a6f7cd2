"""Studies whose trial was stratified and has sites, and models of them, for tests of whom answers hold for."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, stack

TWO_STAGES = pytest.param("wscp-dr-calibrated", marks=pytest.mark.slow)
RANKING = ("prognostic", "transfer", "transfer-centred", "naive", TWO_STAGES)
OTHERS = ("pooled-dr", "wcp", "wtcp-dr", "wscp-dr-exact", "wscp-dr-inexact")


def tables(seed=0, observational=400, trial=160):
    """An observational table, and a trial that was stratified by age and had sites."""
    rng = np.random.default_rng(seed)
    count = observational + trial
    frame = pd.DataFrame({"age": rng.normal(size=count), "sex": rng.choice(["f", "m"], count)})
    hidden, chance = rng.normal(size=count), np.where(frame.age > 0, 0.8, 0.2)
    by_lot = np.arange(count) >= observational
    treated = np.where(by_lot, rng.random(count) < chance, hidden + rng.normal(size=count) > 0)
    frame["t"] = treated.astype(int)
    frame["y"] = frame.age + treated + hidden + rng.normal(size=count)
    frame["p"] = np.where(treated, chance, 1 - chance)
    frame["site"] = rng.integers(20, size=count)
    return frame[~by_lot].drop(columns=["p", "site"]), frame[by_lot], frame[["age", "sex"]].head(30)


def model(method="prognostic", **params):
    return CounterfactualIntervals(method, base=Ridge(), random_state=0, **params)


def study(carry=("assignment",), seed=0, **params):
    observational, trial, _ = tables(seed, **params)
    given = {"assignment": "p", "cluster": "site", "target": "observational"}
    return stack(observational, trial, covariates=["age", "sex"], **{name: given[name] for name in carry})
