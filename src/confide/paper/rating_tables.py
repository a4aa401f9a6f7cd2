"""Repetitions on ratings: Coat, Yahoo! R3, and simulated ratings of the same kind."""

from __future__ import annotations

import hashlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from confide.base.cache import fit_once, sharing_fits
from confide.data.splits import Rows, spawn_seeds, split
from confide.datasets import coat, load_coat, load_yahoo_r3, simulate_ratings, yahoo_r3
from confide.datasets.rating_files import find_files
from confide.datasets.ratings import rating_probabilities
from confide.exceptions import InfiniteIntervalWarning
from confide.methods.registry import method
from confide.models.auto import AutoRegressor
from confide.paper.oracle_width import oracle_values
from confide.paper.runs import Task
from confide.paper.settings import ALPHA, COAT, DIGITS, ORACLE, RATINGS_SHARE, SIMULATED, YAHOO
from confide.ratio import KernelRatio
from confide.recommend import CrossFittedRatio
from confide.recommend.factorization import MatrixFactorization

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from confide.base.csv_rows import Row
    from confide.conformal.intervals import Intervals
    from confide.datasets import Dataset
    from confide.methods.base import ArmEstimator
    from confide.paper.settings import Settings

VALUES = [1, 2, 3, 4, 5]
# Continuous candidates of `wcp-nb` reach beyond the scale by its length on each side: raw widths as in the paper.
SEARCHED = (-3.0, 9.0)
# The paper's methods in the order of its Table 3; then the sets of ratings, ours, and the plain baselines.
PAPER = ("wscp-dr-inexact", "wscp-dr-exact", "wscp-dr*-inexact", "wscp-dr*-exact", "wcp-nb", "naive")
OURS = ("wtcp-dr", "transfer", "transfer-centred", "wscp-dr-calibrated", "pooled-dr")
CONSTANT, ADDITIVE = "constant, trial alone", "additive, trial alone"
ROWS = (*PAPER, *OURS, CONSTANT, ADDITIVE)


def coat_tasks(
    settings: Settings,
    seeds: int,
    where: str | os.PathLike[str],
    fit: int | None = None,
    calibration: int | None = None,
) -> list[Task]:
    """Return the repetitions on Coat, with these numbers of trial ratings to fit and calibrate; None: the setting's."""
    sizes = {
        "fit": fit or settings.coat[0],
        "calibration": calibration or settings.coat[1],
        "factors": settings.factors,
    }
    return _tasks(f"coat-{sizes['fit']}-{sizes['calibration']}", COAT, seeds, sizes, where, settings)


def yahoo_tasks(settings: Settings, seeds: int, where: str | os.PathLike[str] | None) -> list[Task]:
    """Return the repetitions on Yahoo! R3, or on simulated ratings without its files."""
    sizes: Row = {"fit": settings.yahoo[0], "calibration": settings.yahoo[1], "factors": settings.factors}
    if where is None:
        known = {"users": settings.users, "items": settings.items}
        oracles = [
            Task(oracle_ratings, f"seed{seed}", {"trial": sum(settings.yahoo), **known, "seed": seed})
            for seed in range(seeds)
        ]
        return _tasks("simulated", SIMULATED, seeds, {**sizes, **known}) + oracles
    return _tasks("yahoo", YAHOO, seeds, sizes, where, settings)


def _tasks(
    label: str,
    data: str,
    seeds: int,
    sizes: Row,
    where: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
) -> list[Task]:
    given: Row = {}
    if where is not None and settings is not None:
        most, names = (settings.coat, coat.FILES) if data == COAT else (settings.yahoo, yahoo_r3.FILES)
        given = {"files": fingerprint(where, names), "trial": sum(most)}
    return [
        Task(
            rating_cell,
            f"{label}-seed{seed}",
            {"data": data, **sizes, **given, "seed": seed},
            None if where is None else str(where),
        )
        for seed in range(seeds)
    ]


def fingerprint(where: str | os.PathLike[str], names: Iterable[str]) -> str:
    """Return a digest of these files' content."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in find_files(where, names))).hexdigest()


def rating_cell(
    data: str,
    fit: int,
    calibration: int,
    factors: int,
    seed: int,
    users: int = 0,
    items: int = 0,
    trial: int = 0,
    files: str = "",  # noqa: ARG001  (it names the files that are read from ``where``)
    where: str = "",
) -> list[Row]:
    """Return coverage and width of every method on held-out random ratings, in one repetition."""
    found = load(data, where, trial or fit + calibration, seed, users, items)
    observational, random, test = (_rows(table) for table in (found.observational, found.trial, found.test))
    random = random[np.arange(fit + calibration)]
    both = observational + random
    is_trial = np.repeat([False, True], [len(observational), len(random)])
    share = calibration / (fit + calibration)
    rows = []
    with sharing_fits(), warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
        for name, arm in estimators(observational, factors, share, seed).items():
            arm.fit(both.X, both.y, trial=is_trial)
            known = {"data": data, "fit": fit, "calibration": calibration, "method": name, "seed": seed}
            rows.append({**known, "target": "rating", **_figures(arm, test)})
    return rows


def oracle_ratings(users: int, items: int, trial: int, seed: int) -> list[Row]:
    """Return coverage and size of the sets of an oracle that knows how likely each simulated rating is."""
    test = _rows(load(SIMULATED, "", trial, seed, users, items).test)
    user, item = test.X.T.astype(np.int64)
    sets = oracle_values(rating_probabilities(user, item, users, items, random_state=seed), ALPHA)
    lowest, highest = sets.argmax(axis=1), len(VALUES) - 1 - sets[:, ::-1].argmax(axis=1)
    width = round(float(np.where(sets.any(axis=1), highest - lowest, 0).mean()), DIGITS)
    found = {
        "tested": len(test),
        "coverage": round(float(sets[np.arange(len(test)), test.y.astype(np.int64) - VALUES[0]].mean()), DIGITS),
        "width": width,
        "infinite": 0.0,
        "clipped": width,
        "ratings": round(float(sets.sum(axis=1).mean()), DIGITS),
    }
    return [{"data": SIMULATED, "method": ORACLE, "seed": seed, "target": "rating", **found}]


def load(data: str, where: str, trial: int, seed: int, users: int = 0, items: int = 0) -> Dataset:
    """Return the ratings, split by the seed; pairs that are in both parts are dropped from the random one."""
    if data == COAT:
        return load_coat(where, trial_size=trial, random_state=seed)
    if data == YAHOO:
        return load_yahoo_r3(where, trial_size=trial, random_state=seed)
    return simulate_ratings(users, items, trial_size=trial, random_state=seed)


def estimators(observational: Rows, factors: int, share: float, seed: int) -> dict[str, ArmEstimator]:
    """Return what is compared, unfitted.

    The penalties of factors and biases are chosen once, by held-out ratings among the observational fit rows. Interval
    ends are regressed on that model's features of a pair, which do not depend on trial ratings. Density ratios use
    cross-fitted features only.
    """
    fit, _ = split(observational, RATINGS_SHARE, spawn_seeds(seed, 3)[0])  # the rows that fit in every method
    chosen = fit_once(MatrixFactorization(factors, random_state=seed), fit.X, fit.y)
    base = MatrixFactorization(
        factors, regularisation=chosen.regularisation_, bias_regularisation=chosen.bias_regularisation_
    )
    ratio = CrossFittedRatio(base, KernelRatio())
    ends = make_pipeline(FrozenEstimator(chosen), AutoRegressor())
    common = {"calibration": (RATINGS_SHARE, share), "alpha": ALPHA, "random_state": seed}

    weighted = {"base": base, "ratio": ratio}
    given: dict[str, Row] = {
        **{name: {**weighted, "second_stage": ends} for name in ROWS if name.startswith("wscp")},
        "wcp-nb": {"base": base, "outcome_range": SEARCHED},
        "naive": {"base": MatrixFactorization(factors)},
        "wtcp-dr": {**weighted, "outcome_values": VALUES},
        "transfer": {"base": base},
        "transfer-centred": {"base": base},
        "pooled-dr": weighted,
        CONSTANT: {"base": DummyRegressor()},
        ADDITIVE: {"base": MatrixFactorization(factors, regularisation=np.inf)},
    }
    alone = (CONSTANT, ADDITIVE)
    return {name: method("naive" if name in alone else name, **given[name], **common) for name in ROWS}


def _rows(table: Any) -> Rows:
    """Return ratings as rows: user and item, and the rating."""
    X = np.column_stack([table[name].to_numpy() for name in ("user", "item")]).astype(np.float64)
    return Rows(X, table["rating"].to_numpy().astype(np.float64))


def _figures(arm: ArmEstimator, test: Rows) -> Row:
    """Return coverage, and widths as the paper's, clipped to the scale, and in ratings."""
    sets = arm.predict_set(test.X)
    hulls: Intervals = sets.hull()
    finite = ~hulls.infinite
    values = np.array([sets.contains(value) for value in VALUES])
    return {
        "tested": len(test),
        "coverage": round(float(sets.contains(test.y).mean()), DIGITS),
        "width": round(float(hulls.width[finite].mean()), DIGITS) if finite.any() else np.inf,
        "infinite": round(float(hulls.infinite.mean()), DIGITS),
        "clipped": round(float(hulls.clip(VALUES[0], VALUES[-1]).width.mean()), DIGITS),
        "ratings": round(float(values.sum(axis=0).mean()), DIGITS),
    }
