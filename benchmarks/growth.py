"""Growth of CPU time: every method over observational rows, trial rows, new rows and columns, beside MAPIE and crepes.

The peers do the work of `transfer`: a base model per arm from observational rows, calibrated on the trial's rows of
that arm, and intervals for the new rows under both treatments. Base models and regressions of interval ends are least
squares everywhere, so that times are those of the methods and their density ratios. A curve ends where a point takes
longer than `--seconds`.

By itself the benchmark takes two decades; `make growth` takes three, writes docs/growth.csv and docs/growth.svg, and
prints the table of docs/scale.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from crepes import WrapRegressor
from mapie.regression import SplitConformalRegressor
from sklearn.linear_model import LinearRegression

from confide import METHODS, CounterfactualIntervals, Study, method
from confide.base.csv_rows import write_rows
from confide.base.threads import one_thread
from timing import require, tell

# What is held while one of them grows.
USUAL = {"observational rows": 3000, "trial rows": 300, "new rows": 300, "columns": 5}
SIZES = {
    "observational rows": (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "trial rows": (100, 300, 1000, 3000, 10_000, 30_000, 100_000),
    "new rows": (100, 300, 1000, 3000, 10_000, 30_000, 100_000),
    "columns": (2, 6, 20, 60, 200, 600, 2000),
}
REDUCED = 5
SECONDS = 20.0
# n·log n grows by this exponent from 10⁴ to 10⁵ rows; the rest is for a machine that is not idle.
MOST = 1.2
# Points below this time say more of the machine than of the growth.
LEAST_SECONDS = 0.05
# Points below this time are measured twice, and the shorter one counts: a first touch of memory takes long.
TWICE_SECONDS = 2.0


def people(rows, columns, seed, *, randomised):
    """Return covariates, outcomes and treatments; a hidden cause moves both where they are not randomised."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    hidden = rng.standard_normal(rows)
    treatment = (rng.uniform(size=rows) < (0.5 if randomised else 1 / (1 + np.exp(-X[:, 0] - hidden)))).astype(int)
    return X, X[:, 0] + treatment * (1 + X[:, 1]) + hidden + rng.standard_normal(rows), treatment


def with_confide(name, observational, trial, new):
    """Return the CPU seconds of fitting a method and of answering."""
    parts = (np.concatenate(each) for each in zip(observational, trial, strict=True))
    study = Study(*parts, np.repeat([False, True], [len(observational[1]), len(trial[1])]))
    ends = {"second_stage": LinearRegression()} if name.startswith("wscp") else {}
    model = CounterfactualIntervals(method(name, **ends), base=LinearRegression(), random_state=0)
    began = time.process_time()
    model.fit(study)
    fitted = time.process_time()
    for label in (0, 1):
        model.predict_interval(new, label)
    return fitted - began, time.process_time() - fitted


def with_peer(name, observational, trial, new):
    """Return the CPU seconds of a peer at the work of `transfer`."""
    fit, answer = 0.0, 0.0
    for label in (0, 1):
        (X, y), (trial_X, trial_y) = (
            (rows[0][rows[2] == label], rows[1][rows[2] == label]) for rows in (observational, trial)
        )
        began = time.process_time()
        base = LinearRegression().fit(X, y)
        if name == "MAPIE":
            peer = SplitConformalRegressor(base, confidence_level=0.9, prefit=True).conformalize(trial_X, trial_y)
            ask = peer.predict_interval
        else:
            peer = WrapRegressor(base)
            peer.calibrate(trial_X, trial_y)
            ask = partial(peer.predict_int, confidence=0.9)
        fitted = time.process_time()
        ask(new)
        fit, answer = fit + fitted - began, answer + time.process_time() - fitted
    return fit, answer


WORK = {"MAPIE": partial(with_peer, "MAPIE"), "crepes": partial(with_peer, "crepes")}
WORK |= {name: partial(with_confide, name) for name in METHODS}


def curves(axis, sizes, limit):
    """Return one record per method and size, until a point takes longer than the limit."""
    found = []
    for name, work in WORK.items():
        for size in sizes:
            now = {**USUAL, axis: size}
            observational = people(now["observational rows"], now["columns"], 0, randomised=False)
            trial = people(now["trial rows"], now["columns"], 1, randomised=True)
            new = people(now["new rows"], now["columns"], 2, randomised=True)[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit, answer = work(observational, trial, new)
                if fit + answer < TWICE_SECONDS:
                    fit, answer = min((fit, answer), work(observational, trial, new), key=sum)
            found.append({"axis": axis, "size": size, "method": name, "fit": fit, "answer": answer})
            if fit + answer > limit:
                break
    return found


def seconds_of(record):
    """Return the time that grows: of fit and answer, but with new rows that of the answer alone."""
    return record["answer"] + (0.0 if record["axis"] == "new rows" else record["fit"])


def exponent(records):
    """Return the slope of log time over log size over the last decade; None if times are too short to tell."""
    last = records[-1]["size"]
    used = [each for each in records if each["size"] * 10 >= last and seconds_of(each) >= LEAST_SECONDS]
    if len(used) < 2:
        return None
    sizes, times = np.log([(each["size"], seconds_of(each)) for each in used]).T
    return float(np.polyfit(sizes, times, 1)[0])


def draw(records, path):
    """Draw a picture per axis: fit and answer together, by size."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    grown = list(dict.fromkeys(each["axis"] for each in records))
    size = (5.5 * len(grown), 5)
    figure, axes = plt.subplots(1, len(grown), figsize=size, layout="constrained", squeeze=False)
    for axis, place in zip(grown, axes.flat, strict=True):
        for name, colour in zip(WORK, plt.get_cmap("tab20").colors, strict=False):
            mine = [each for each in records if (each["axis"], each["method"]) == (axis, name)]
            style = {"linestyle": "--", "color": "black"} if name in ("MAPIE", "crepes") else {"color": colour}
            marker = "s" if name == "MAPIE" else "o"
            total = [each["fit"] + each["answer"] for each in mine]
            place.loglog([each["size"] for each in mine], total, marker=marker, markersize=3, label=name, **style)
        place.set(xlabel=axis, ylabel="CPU seconds, fit and answer")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    figure.savefig(path)


def main(*, reduced=True, limit=SECONDS, out=None, axes=tuple(SIZES)):
    records = []
    for axis in axes:
        sizes = SIZES[axis]
        records += curves(axis, sizes[: REDUCED if reduced else None], limit)
        for name in WORK:
            mine = [each for each in records if (each["axis"], each["method"]) == (axis, name)]
            slope, what = exponent(mine), f"{name}: exponent over {axis}, to {mine[-1]['size']:,}"
            if slope is None:
                tell(f"{name}: {mine[-1]['size']:,} {axis}", seconds_of(mine[-1]), "s CPU")
            elif axis != "columns":  # least squares alone takes the square of their number
                require(what, slope, MOST, "")
            else:
                tell(what, slope, "")
    if out is not None:
        write_rows(out, records, list(records[0]))
        draw(records, out.with_suffix(".svg"))
        print("\n".join(table(records)))


def table(records):
    """Return the lines of the table of docs/scale.md: the time of the largest size, and the exponent in brackets."""
    grown = list(dict.fromkeys(each["axis"] for each in records))
    lines = [f"| | {' | '.join(grown)} |", f"| --- |{' --- |' * len(grown)}"]
    for name in WORK:
        cells = []
        for axis in grown:
            mine = [each for each in records if (each["axis"], each["method"]) == (axis, name)]
            slope = exponent(mine)
            told = f"{seconds_of(mine[-1]):.2g} s at {mine[-1]['size']:,}"
            cells.append(told if slope is None else f"{told} ({slope:.2f})")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="three decades")
    parser.add_argument("--axis", action="append", choices=list(SIZES), help="what grows; repeatable, all by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="longest point of a curve")
    parser.add_argument("--out", type=Path, help="CSV file for the points; the picture is drawn beside it")
    arguments = parser.parse_args()
    with one_thread():
        main(reduced=not arguments.full, limit=arguments.seconds, out=arguments.out, axes=arguments.axis or SIZES)
