"""wTCP-DR with true refits: the closed form, and few refits against a loop over candidates as Algorithm 2 reads."""

from __future__ import annotations

from functools import partial
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from confide import WTCPDR
from confide.conformal import weighted_quantile
from confide.datasets import synthetic
from timing import require, tell
from timing import seconds as timed_seconds

ROWS = 6_600
CANDIDATES = 100
# All of this is the work of one process: its own seconds on one core.
seconds = partial(timed_seconds, clock=process_time)


def control_arm(rows, d=1):
    """Return the rows of the synthetic study's control arm, this many of them observational."""
    observational = synthetic(3 * rows + 100, d=d, random_state=0)
    trial = synthetic(250, d=d, randomized=True, random_state=1)
    first = np.flatnonzero(observational.treatment == 0)[:rows]
    second = np.flatnonzero(trial.treatment == 0)
    X = np.concatenate([observational.X[first], trial.X[second]])
    y = np.concatenate([observational.y[first], trial.y[second]])
    return X, y, np.repeat([False, True], [len(first), len(second)])


def fitted(base, rows=ROWS, d=1, **params):
    X, y, trial = control_arm(rows, d)
    return WTCPDR(base=base, refit=True, random_state=0, **params).fit(X, y, trial=trial)


def new_rows(count, d=1):
    return synthetic(count, d=d, randomized=True, random_state=2).X


def a_row(arm, X, runs=3):
    """Return seconds a row, and those of them that the ratio takes."""
    spent = []
    predict = arm.ratio_.predict

    def timed(rows):
        answers = []
        spent.append(seconds(lambda: answers.append(predict(rows)), runs=1))
        return answers[0]

    best = (np.inf, 0.0)
    arm.ratio_.predict = timed
    for _ in range(runs):
        spent.clear()
        best = min(best, (seconds(lambda: arm.predict_set(X), runs=1), sum(spent)))
    del arm.ratio_.predict
    return best[0] / len(X), best[1] / len(X)


def algorithm_2(arm, base, x, domain):
    """Return the candidates in one row's set: line by line of the paper, a refit for each of 100 candidates."""
    rows = arm.refits_.rows
    weights = arm.ratio_.predict(rows.joined())
    inside = []
    for candidate in np.linspace(*domain, CANDIDATES):
        X, y = np.concatenate([rows.X, x[None]]), np.append(rows.y, candidate)
        scores = np.abs(clone(base).fit(X, y).predict(X) - y)
        own = arm.ratio_.predict(np.append(x, candidate)[None])[0]
        if scores[-1] <= weighted_quantile(scores[:-1], weights, arm.alpha_, own):
            inside.append(candidate)
    return np.array(inside)


def closed_form():
    for d, bound in ((1, 10), (5, None)):
        for name, base in {
            "splines": make_pipeline(SplineTransformer(), Ridge()),
            "quantile splines, scaled": make_pipeline(SplineTransformer(knots="quantile"), StandardScaler(), Ridge()),
        }.items():
            arm = fitted(base, d=d, ratio_rows="all")
            total, ratio = a_row(arm, new_rows(50, d))
            what = f"ridge on {name}, n = {ROWS:,}, d = {d}, a row"
            if bound is None:
                tell(what, 1e3 * (total - ratio), "ms")
            else:
                require(what, 1e3 * (total - ratio), bound, "ms")
            tell("  and for the ratio", 1e3 * ratio, "ms")


def few_refits():
    base = GradientBoostingRegressor(random_state=0)
    arm = fitted(base, ratio_rows="all")
    domain = (arm.grid_[0], arm.grid_[-1])
    X = new_rows(4)
    answers = []
    ours = seconds(lambda: answers.append(arm.predict_set(X)), runs=1) / len(X)
    loop = seconds(lambda: answers.append([algorithm_2(arm, base, x, domain) for x in X]), runs=1) / len(X)
    spacing = (domain[1] - domain[0]) / (CANDIDATES - 1)
    tell(f"boosting of 100 trees, n = {ROWS:,}, a row", ours, "s")
    require("  a loop over candidates", loop / ours, 6, "times that", at_least=True)
    sets, members = answers
    ends = np.array([[each.min(), each.max()] for each in members])
    # An end is known to 1e-2 of the domain, rounded outwards, and the loop's to its spacing, rounded inwards.
    apart = np.abs(np.asarray(sets.hull()) - ends).max() / spacing
    require("  ends apart by at most", apart, 2, "spacings of the loop's candidates")
    print(f"  {sets.summary()}")


def growth():
    for name, base, sizes in (
        ("ridge on splines", make_pipeline(SplineTransformer(), Ridge()), (660, 6_600, 66_000)),
        ("nearest neighbours", KNeighborsRegressor(), (100, 1_000, 10_000)),
    ):
        took = [a_row(fitted(base, size, ratio_rows="all"), new_rows(10), runs=2)[0] for size in sizes]
        for each, size in zip(took, sizes, strict=True):
            tell(f"{name}, n = {size:,}, a row", 1e3 * each, "ms")
        slope = np.polyfit(np.log(sizes), np.log(took), 1)[0]
        require("  grows like n to the power", slope, 1.2, "")


def main():
    closed_form()
    few_refits()
    growth()
