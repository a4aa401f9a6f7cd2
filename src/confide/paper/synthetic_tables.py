"""Repetitions on the paper's synthetic data: all methods on both arms, with refits, and nested effects."""

from __future__ import annotations

import copy
import warnings
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor

from confide.base.cache import sharing_fits
from confide.conformal.grid import widened_range
from confide.conformal.intervals import Intervals
from confide.data.splits import Rows
from confide.effects.base import difference
from confide.effects.nested import Nested
from confide.exceptions import InfiniteIntervalWarning, RefusalError, TrialAloneWarning
from confide.methods.registry import method
from confide.methods.wtcp_dr import WTCPDR
from confide.paper.oracle_width import oracle_width
from confide.paper.runs import Task
from confide.paper.settings import ALPHA, DIGITS, ORACLE
from confide.paper.synthetic_arms import BASELINES, Setting, synthetic_settings
from confide.ratio import ClassifierRatio, KernelRatio

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from confide.base.csv_rows import Row
    from confide.methods.base import ArmEstimator
    from confide.paper.runs import Part
    from confide.paper.settings import Settings

# The paper's methods in the order of its Table 2, then ours, and the plain baselines.
PAPER = ("wscp-dr-inexact", "wscp-dr-exact", "wtcp-dr", "wcp", "naive")
OURS = ("transfer", "transfer-centred", "wscp-dr-calibrated", "pooled-dr")
PLAIN = {f"{name}, trial alone": BASELINES[name] for name in ("constant", "ridge")}
ROWS = (*PAPER, *OURS, *PLAIN)
REFITS = "wtcp-dr, refits"
RATIOS: dict[str, Any] = {"MLP": ClassifierRatio, "kernel": KernelRatio}
# Methods with a density ratio.
WEIGHTED = ("wscp-dr-inexact", "wscp-dr-exact", "wtcp-dr", "wscp-dr-calibrated", "pooled-dr")
FORMS = ("inexact", "exact")
# An end within this share of the searched range from its edge counts as at the edge: refits are no more exact.
NEAR = 0.011
# The range of outcomes searched; False: no search.
Edges = tuple[float, float] | Literal[False]


def cell_tasks(settings: Settings, seeds: int, d: int, m: int, ratio: str = "MLP") -> list[Task]:
    """Return the repetitions of one cell: all methods, or with another ratio those that have one."""
    sizes = {"n": settings.n, "m": m, "d": d, "n_test": settings.n_test}
    return [
        Task(synthetic_cell, f"d{d}-m{m}-{ratio.lower()}-seed{seed}", {**sizes, "ratio": ratio, "seed": seed})
        for seed in range(seeds)
    ]


def refit_tasks(settings: Settings, seeds: int) -> list[Task]:
    """Return the repetitions with true refits, a few rows each."""
    sizes = {"n": settings.n, "m": settings.m, "d": 1, "n_test": settings.n_test}
    asked = min(settings.n_refit, settings.n_test)
    starts = range(0, asked, settings.refits_per_part)
    return [
        Task(
            refitted_rows,
            f"seed{seed}-y{arm}-from{start:04d}",
            {**sizes, "arm": arm, "start": start, "stop": min(start + settings.refits_per_part, asked), "seed": seed},
        )
        for seed in range(seeds)
        for arm in (0, 1)
        for start in starts
    ]


def nested_tasks(settings: Settings, seeds: int) -> list[Task]:
    """Return the repetitions of nested effects."""
    sizes = {"n": settings.n, "m": settings.m, "d": 1, "n_test": settings.n_test}
    return [Task(nested_effects, f"seed{seed}", {**sizes, "seed": seed}) for seed in range(seeds)]


def oracle_tasks(settings: Settings, dimensions: Iterable[int]) -> list[Task]:
    """Return the tasks of the oracle, which has no seed."""
    return [Task(oracle_widths, f"d{d}", {"d": d, "rows": settings.oracle_rows}) for d in dimensions]


def synthetic_cell(n: int, m: int, d: int, n_test: int, ratio: str, seed: int) -> list[Row]:
    """Return coverage and width of every method for Y(0), Y(1) and the effect in one repetition.

    The effect's interval is the difference of the arms' intervals, each at α, as the paper has it.
    """
    arms = synthetic_settings(n, m, d, n_test, seed)
    rows = []
    with sharing_fits(), _quiet():
        for name in ROWS if ratio == "MLP" else WEIGHTED:
            weighted = name in WEIGHTED
            fitted = [_fitted(_unfitted(name, RATIOS[ratio]), arm, seed) for arm in arms]
            asked = list(zip(fitted, arms, strict=True))
            hulls = [None if one is None else one.predict_interval(arm.test.X) for one, arm in asked]
            edges = [one is not None and one._searches() and _edges(arm) for one, arm in asked]
            known = {"d": d, "m": m, "ratio": ratio if weighted else "", "method": name, "seed": seed}
            rows += _rows_of_arms(known, hulls, [arm.test.y for arm in arms], edges)
    return rows


def _unfitted(name: str, ratio: Any = ClassifierRatio) -> ArmEstimator:
    """Return a method with the paper's base model, or a plain model on the trial alone."""
    if name in PLAIN:
        return method("naive", base=clone(PLAIN[name]))
    given = {"ratio": ratio()} if name in WEIGHTED else {}
    ends = {"second_stage": "auto"} if name.startswith("wscp") else {}  # both ends, as in Algorithm 3
    return method(name, base=GradientBoostingRegressor(), **given, **ends)


def _edges(arm: Setting) -> tuple[float, float]:
    """Return the range of outcomes that is searched."""
    return widened_range(arm.y)


def refitted_rows(n: int, m: int, d: int, n_test: int, arm: int, start: int, stop: int, seed: int) -> list[Row]:
    """Return the intervals of a few fresh rows by Algorithm 2: gradient boosting refitted for every candidate."""
    setting = synthetic_settings(n, m, d, n_test, seed)[arm]
    asked = slice(start, stop)
    with _quiet():
        fitted = _fitted(WTCPDR(base=GradientBoostingRegressor(), refit=True), setting, seed)
        if fitted is None:
            return []
        intervals = fitted.predict_interval(setting.test.X[asked])
    return [
        {"arm": arm, "seed": seed, "row": start + place, "lower": lower, "upper": upper, "truth": truth}
        for place, (lower, upper, truth) in enumerate(zip(*intervals, setting.test.y[asked], strict=True))
    ]


def nested_effects(n: int, m: int, d: int, n_test: int, seed: int) -> list[Row]:
    """Return coverage and width of nested effects of every method, inexact and exact, both steps at α."""
    arms = synthetic_settings(n, m, d, n_test, seed)
    sources = {label: _by_source(arm) for label, arm in enumerate(arms)}
    truth = arms[1].test.y - arms[0].test.y
    rows = []
    with sharing_fits(), _quiet():
        for name in ROWS:
            asked = (_fitted(_unfitted(name), arm, seed) for arm in arms)
            fitted = {label: one for label, one in enumerate(asked) if one is not None}
            known = {"d": d, "m": m, "ratio": "MLP" if name in WEIGHTED else "", "method": name, "seed": seed}
            known["target"] = "ITE"
            if len(fitted) < len(arms):
                rows += [{"form": form, **known, **_figures(None, truth)} for form in FORMS]
                continue
            exact = Nested(exact=True).fit(fitted, sources, ALPHA, seed)
            inexact = copy.copy(exact)
            inexact.exact = False
            new = {label: arm._new_rows(arms[0].test.X) for label, arm in fitted.items()}
            rows += [
                {"form": form, **known, **_figures(effect.predict_interval(new, 1, 0), truth)}
                for form, effect in zip(FORMS, (inexact, exact), strict=True)
            ]
    return rows


def oracle_widths(d: int, rows: int | None) -> list[Row]:
    """Return the mean width that an oracle of p(y|x) needs."""
    return [
        {"d": d, "method": ORACLE, "target": target, "width": round(oracle_width(target, d, ALPHA, rows=rows), DIGITS)}
        for target in ("Y(0)", "Y(1)", "ITE")
    ]


def join_refits(parts: list[Part]) -> list[Row]:
    """Return coverage and width from the intervals of single rows."""
    rows = sorted((row for part in parts for row in part.rows), key=lambda row: (row["seed"], row["arm"], row["row"]))
    joined = []
    for seed, mine in groupby(rows, key=lambda row: row["seed"]):
        arms: list[list[Row]] = [[], []]
        for row in mine:
            arms[row["arm"]].append(row)
        truths = [np.array([row["truth"] for row in arm]) for arm in arms]
        if not all(map(len, truths)):  # an arm that the method refused
            truths = [np.empty(0)] * 2
        hulls = [_hulls_of(arm) if len(truth) else None for arm, truth in zip(arms, truths, strict=True)]
        sizes = {name: parts[0].task.arguments[name] for name in ("n", "m", "d", "n_test")}
        edges = [_edges(arm) for arm in synthetic_settings(**sizes, seed=seed)]
        known = {"d": sizes["d"], "m": sizes["m"], "ratio": "MLP", "method": REFITS, "seed": seed}
        joined += _rows_of_arms(known, hulls, truths, edges)
    return joined


def _hulls_of(rows: list[Row]) -> Intervals:
    """Return the intervals of single rows."""
    return Intervals(*(np.array([row[end] for row in rows]) for end in ("lower", "upper")))


def _by_source(arm: Setting) -> tuple[Rows, Rows]:
    """Return the arm's observational and trial rows."""
    rows = Rows(arm.X, arm.y)
    return rows[~arm.trial], rows[arm.trial]


def _fitted(unfitted: ArmEstimator, arm: Setting, seed: int) -> ArmEstimator | None:
    """Return the method fitted on this arm; None if it refuses for lack of rows."""
    unfitted.set_params(random_state=seed, alpha=ALPHA)
    try:
        return unfitted.fit(arm.X, arm.y, trial=arm.trial, population=arm.population)
    except RefusalError:
        return None


def _rows_of_arms(
    known: Row, hulls: list[Intervals | None], truths: list[NDArray[np.float64]], edges: Sequence[Edges]
) -> list[Row]:
    """Return one row per arm, and one for their difference; ``edges`` are the ends of each arm's search, if any."""
    control, treated = hulls
    effect = None if control is None or treated is None else difference(treated, control)
    answers = [
        ("Y(0)", control, truths[0], edges[0]),
        ("Y(1)", treated, truths[1], edges[1]),
        ("ITE", effect, truths[1] - truths[0], False),
    ]
    return [{**known, "target": target, **_figures(hull, truth, ends)} for target, hull, truth, ends in answers]


def _figures(hulls: Intervals | None, truth: NDArray[np.float64], edges: Edges = False) -> Row:
    """Return coverage, mean width of the finite intervals, and the shares of infinite ones and of those at an edge."""
    if hulls is None:
        return dict.fromkeys(("coverage", "width", "infinite", "edge"), np.nan) | {"tested": 0}
    finite = ~hulls.infinite
    at_edge = np.zeros(len(truth), dtype=bool)
    if edges:
        low, high = edges
        near = NEAR * (high - low)
        at_edge = (hulls.lower <= low + near) | (hulls.upper >= high - near)
    return {
        "tested": len(truth),
        "coverage": round(float(hulls.contains(truth).mean()), DIGITS),
        "width": round(float(hulls.width[finite].mean()), DIGITS) if finite.any() else np.inf,
        "infinite": round(float(hulls.infinite.mean()), DIGITS),
        "edge": round(float(at_edge.mean()), DIGITS),
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about infinite intervals, which the tables count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        warnings.simplefilter("ignore", TrialAloneWarning)
        # Ridge on a single row, which no penalty fits better than another: it is a constant.
        warnings.filterwarnings("ignore", "invalid value", RuntimeWarning, "sklearn.linear_model._ridge")
        yield
