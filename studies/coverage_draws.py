"""One draw of a setup of the coverage study: what was covered, what was promised, and how much at most."""

from __future__ import annotations

import math
import warnings
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from confide import CounterfactualIntervals, method
from confide.base.cache import sharing_fits
from confide.conformal.marks import Marks
from confide.ratio import OracleRatio
from confide.weights.arm_weights import ArmWeights
from studies.coverage_processes import PROCESSES, Floats, People, Process
from studies.coverage_setup import LeastSquares, Setup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.data.splits import Rows
    from confide.methods.promise import Promise

# Rows from which the error of a ratio is taken.
FRESH = 2000
# Which rows of an arm calibrate: half of the trial's, or half of the table's; else all of the trial's.
HALF_OF_TRIAL = ("naive", "wscp", "pooled")
HALF_OF_TABLE = ("wcp", "wtcp")
# Methods whose promise needs a table that is drawn anew each time, because its rows calibrate.
TABLE_CALIBRATES = ("wcp", "wtcp", "pooled", "wscp-dr-exact", "wscp-dr*-exact")
# How strongly people of one cluster are alike, where outcomes vary so much.
SHARED = {"paper": 0.2}


@dataclass(frozen=True)
class Found:
    """One question at one level: shares over new people, and what was promised; NaN if nothing was, or is not known."""

    asks: str
    alpha: float
    coverage: float
    infinite: float
    promised: float
    ceiling: float


def batch(setup: Setup, number: int) -> list[Found]:
    """Return means over some draws, with one observational table where its rows do not calibrate."""
    rng = np.random.default_rng([number, crc32(repr(setup).encode())])
    process = PROCESSES[setup.process]
    tables, found = drawn_tables(setup, process, rng), []
    with warnings.catch_warnings(), sharing_fits():
        warnings.simplefilter("ignore", UserWarning)  # of infinite intervals, which are counted, and unlike rows
        for _ in range(setup.draws):
            if setup.method.startswith(TABLE_CALIBRATES):
                tables = drawn_tables(setup, process, rng)
            found.append((ask_study if setup.whole_study else ask_arm)(setup, process, tables, number, rng))
    return [mean_of(each) for each in zip(*found, strict=True)]


def mean_of(found: tuple[Found, ...]) -> Found:
    """Return the means of one question over draws."""
    coverage, infinite, promised, ceiling = np.mean([astuple(each)[2:] for each in found], axis=0).tolist()
    return Found(found[0].asks, found[0].alpha, coverage, infinite, promised, ceiling)


def drawn_tables(setup: Setup, process: Process, rng: np.random.Generator) -> list[Rows]:
    """Return the observational rows of both arms."""
    count = 2 * setup.rows if setup.method.startswith(HALF_OF_TABLE) else setup.table
    return [process.table(rng, 0 if setup.alone else count, arm) for arm in (0, 1)]


def trial_rows(setup: Setup) -> int:
    """Return how many trial rows of an arm make its calibration rows as many as they should be."""
    if setup.method.startswith(HALF_OF_TABLE):
        return setup.trial
    halved = setup.method.startswith(HALF_OF_TRIAL) or setup.alone or setup.params.get("base_on") in PARTED
    return 2 * setup.rows if halved else setup.rows


PARTED = ("grounded", "trial", "weighted")


def unfitted(setup: Setup, process: Process, arm: int = 1) -> Any:
    """Return the arm's estimator."""
    params = dict(setup.params)
    known = process.ratio(arm)
    if "ratio" in params and params["ratio"] in ("oracle", "blind", "reversed"):
        functions = {
            "oracle": known,
            "blind": lambda rows: np.ones(len(rows)),
            "reversed": lambda rows: 1 / known(rows),  # type: ignore[misc]
        }
        params["ratio"] = OracleRatio(functions[params["ratio"]])  # type: ignore[arg-type]
        if setup.method == "wcp":
            params["ratio"] = OracleRatio(lambda X: 0.5 / PROCESSES["known propensity"].propensity(X, arm), on="x")  # type: ignore[attr-defined]
    if setup.method.startswith("wscp"):
        params.setdefault("second_stage", LeastSquares())
    params.setdefault("base", LeastSquares())
    return method(setup.method, outcome_values=process.values, **params)


def ask_arm(setup: Setup, process: Process, tables: list[Rows], seed: int, rng: np.random.Generator) -> list[Found]:
    """Return one draw of treatment 1's arm; equal seeds share what is learnt from equal tables."""
    trial, table = process.people(rng, trial_rows(setup)), tables[1]
    new = process.people(rng, setup.new)
    weights = None
    if setup.carries == "weights":
        weights = ArmWeights(Marks(weight=likeness(process, trial.X)), target=Likeness(process))  # type: ignore[arg-type]
        new = chosen(process, rng, setup.new)
    arm = unfitted(setup, process).set_params(alpha=setup.alphas[0], random_state=seed)
    arm.fit(
        np.concatenate([table.X, trial.X]),
        np.concatenate([table.y, trial.y1]),
        trial=np.arange(len(table) + len(trial)) >= len(table),
        population=np.concatenate([each.X for each in tables]) if setup.method == "wcp" else None,
        weights=weights,
    )
    lost = loss_of(setup, process, arm, len(trial), rng)
    rows, found = arm._new_rows(new.X), []  # noqa: SLF001  (predicted once for all levels)
    for alpha in setup.alphas:
        at = arm.with_alpha(alpha)
        sets = at.predict_set(rows)
        found.append(
            Found(
                "outcome",
                alpha,
                float(sets.contains(new.y1).mean()),
                float(sets.hull().infinite.mean()),
                promised_at(at.promise, alpha, lost),
                ceiling_of(setup, at, rows, new.y1) if setup.ceiling else np.nan,
            )
        )
    return found


def promised_at(promise: Promise, alpha: float, lost: float) -> float:
    """Return the promised coverage, less what is lost; NaN if nothing is promised, or the loss is not known."""
    level = promise.level(alpha)
    if level is None:
        return np.nan
    # With a guard a second promise holds, whatever is lost beyond the first.
    guard = promise.guard if promise.guard is not None and math.isfinite(promise.guard) else np.nan
    return float(level - np.fmin(lost if promise.loss is not None or promise.searched else 0.0, guard))


def loss_of(setup: Setup, process: Process, arm: Any, trial: int, rng: np.random.Generator) -> float:
    """Return what the promise loses in this draw; NaN if nobody knows."""
    promise = arm.promise
    lost = 2 * promise.times / (trial + 1) if promise.searched else 0.0
    if promise.loss is None or setup.params.get("ratio") == "oracle":
        return lost
    known = process.ratio(1)
    if known is None or (promise.assumption and setup.process != "known propensity"):
        return np.nan
    table = process.table(rng, FRESH, 1)
    rows = np.column_stack([table.X, table.y])
    estimated = arm.ratio_.predict(rows)
    return lost + half_distance(known(rows), estimated)


def half_distance(true: Floats, estimated: Floats) -> float:
    """Return ½·E|r - r̂/E r̂|, the true ratio scaled to mean 1 as well."""
    return float(np.abs(true / true.mean() - estimated / estimated.mean()).mean() / 2)


def ceiling_of(setup: Setup, arm: Any, rows: Any, y: Floats) -> float:
    """Return the most that an arm covers on average without ties: 1 - α, and the largest share of one row's weight.

    With n rows of equal weight it is ⌈(1-α)(n+1)⌉/(n+1). The offset of `pooled-dr` is that of a new row of infinite
    ratio, and may cover 2/(m+1) more.
    """
    alpha = float(arm.alpha_)
    if setup.method == "pooled-dr":
        return min(1.0, 1 - alpha + 2 / (len(arm.trial_calibration_.scores) + 1))
    if arm.promise.misses != (None,) and arm.beside_ is not None:
        return float(arm._clipped_at(alpha).ceiling)  # noqa: SLF001
    if arm.weights_ is None and not setup.method.startswith(HALF_OF_TABLE):
        return min(1.0, math.ceil(round((1 - alpha) * (setup.rows + 1), 9)) / (setup.rows + 1))
    weights = np.diff(arm.calibration_.cumulative) if arm.weights_ is None else arm.marks_.weights()
    own = np.broadcast_to(arm._test_weight(rows, y), len(y))  # noqa: SLF001
    share = np.maximum(weights.max(), own) / (weights.sum() + own)
    return float(np.minimum(1.0, 1 - alpha + share).mean())


def likeness(process: Process, X: Floats) -> Floats:
    """Return how likely people are to be in the target population: the higher their standing, the more."""
    chance: Floats = 1 / (1 + np.exp(-2 * process.standing(X)))
    return chance


@dataclass(frozen=True)
class Likeness:
    """The weights of a target that are known, to be asked as a `TargetRatio` is."""

    process: Process

    def predict(self, X: Floats) -> Floats:
        """Return the weights at covariates."""
        return likeness(self.process, X)


def chosen(process: Process, rng: np.random.Generator, count: int) -> People:
    """Return people of the target population."""
    pool = process.people(rng, 4 * count + 50)
    return pool[np.flatnonzero(rng.random(len(pool)) < likeness(process, pool.X))[:count]]


def probability(process: Process, X: Floats) -> Floats:
    """Return the probability of treatment 1, from 0.1 to 0.9."""
    chance: Floats = 0.5 + 0.4 * np.clip(process.standing(X), -1, 1)
    return chance


def in_clusters(
    setup: Setup, process: Process, count: int, rng: np.random.Generator, *, one_each: bool
) -> tuple[People, NDArray[np.intp]]:
    """Return people of so many clusters, whose small ones differ more; or one person of each."""
    sizes = np.minimum(rng.geometric(0.2, count), 20)
    cluster = np.arange(count) if one_each else np.repeat(np.arange(count), sizes)
    shared = SHARED.get(setup.process, 1.0) * np.where(sizes <= 3, 1.5, 0.5) * rng.normal(size=count)
    people = process.people(rng, len(cluster))
    return People(people.X, people.y0 + shared[cluster], people.y1 + 1.5 * shared[cluster]), cluster


def ask_study(setup: Setup, process: Process, tables: list[Rows], seed: int, rng: np.random.Generator) -> list[Found]:
    """Return one draw of both arms together; equal seeds share what is learnt from equal tables."""
    size, carried = 2 * trial_rows(setup), {}
    new = chosen(process, rng, setup.new) if setup.carries == "target" else process.people(rng, setup.new)
    trial, treatment = process.people(rng, size), rng.permutation(np.arange(size) % 2)
    if setup.carries == "cluster":
        trial, cluster = in_clusters(setup, process, size, rng, one_each=False)
        treatment = rng.permutation(np.arange(size) % 2)[cluster]
        new, _ = in_clusters(setup, process, setup.new, rng, one_each=True)
        carried["cluster"] = beside(tables, cluster, -1)
    chance, chance_new = (probability(process, each.X) for each in (trial, new))
    if setup.carries == "assignment":
        treatment = (rng.random(len(trial)) < chance).astype(np.intp)
        received = np.where(treatment == 1, chance, 1 - chance)
        carried["assignment"] = beside(tables, received, np.nan)
    if setup.carries == "target":
        carried["target"] = chosen(process, rng, 1000).X
    grouped = setup.model.get("groups") is not None
    covariates = [*(each.X for each in tables), trial.X, new.X]
    people = [with_group(process, X) if grouped else X for X in covariates]
    model = CounterfactualIntervals(unfitted(setup, process), alpha=setup.alphas[0], random_state=seed, **setup.model)
    model.fit(
        np.concatenate(people[:3]),
        np.concatenate([*(each.y for each in tables), trial.under(treatment)]),
        np.concatenate([np.repeat([0, 1], [len(each) for each in tables]), treatment]),
        np.arange(sum(map(len, tables)) + len(trial)) >= sum(map(len, tables)),
        **carried,
    )
    asked = Asked(people[3], new, people[2], trial, treatment, people[3][:, -1] == 1 if grouped else slice(None))
    if setup.carries == "assignment" and setup.knows_new:
        asked = replace(asked, chance=chance_new, chance_trial=chance)
    lost = target_loss(process, model, rng) if setup.carries == "target" else 0.0
    return [
        answer(setup, model.with_alpha(alpha), asks, alpha, asked, lost)
        for alpha in setup.alphas
        for asks in setup.asks
    ]


@dataclass(frozen=True)
class Asked:
    """Who is asked about: new people and the trial's, their covariates as the model takes them, and who counts."""

    X: Floats
    new: People
    X_trial: Floats
    trial: People
    treatment: NDArray[np.intp]
    who: Any
    chance: Floats | None = None
    chance_trial: Floats | None = None


def answer(setup: Setup, model: Any, asks: str, alpha: float, asked: Asked, lost: float) -> Found:
    """Return what one question at one level covered."""
    new, promise = asked.new, model.promise_ if asks == "outcome" else model.effect_promise_
    if asks == "participants":
        who, truth, promise = asked.trial, asked.trial.y1 - asked.trial.y0, model.participant_promise_
        known = {"received": asked.treatment, "outcome": who.under(asked.treatment)}
        found = [(model.predict_effect_interval(asked.X_trial, assignment=asked.chance_trial, **known), truth)]
    elif asks == "effect":
        found = [(model.predict_effect_interval(asked.X, assignment=asked.chance), new.y1 - new.y0)]
    else:
        chances = (None, None) if asked.chance is None else (1 - asked.chance, asked.chance)
        found = [(model.predict_set(asked.X, arm, assignment=each), new.under(arm)) for arm, each in enumerate(chances)]
    share = [float(each.contains(y)[asked.who].mean()) for each, y in found]
    # The hardest selection that a bound of Γ allows takes the people first who are not covered.
    gamma = float(setup.model.get("gamma", 1.0))
    covered = max(0.0, 1 - gamma * (1 - float(np.mean(share))))
    ends = [each.hull() if asks == "outcome" else each for each, _ in found]
    side = setup.model.get("side", "both")
    infinite = [each.infinite if side == "both" else np.isinf(getattr(each, side)) for each in ends]
    steps = 1 if asks == "outcome" else 2
    promised = promised_at(promise, alpha, steps * lost)
    ceiling = min(1.0, 1 - alpha + 1 / (setup.rows + 1)) if setup.ceiling else np.nan
    return Found(asks, alpha, covered, float(np.mean([each[asked.who].mean() for each in infinite])), promised, ceiling)


def beside(tables: list[Rows], values: Any, fill: float) -> NDArray[Any]:
    """Return a column of the trial's rows, after rows of the tables that have none."""
    return np.concatenate([np.full(sum(map(len, tables)), fill), values])


def with_group(process: Process, X: Floats) -> Floats:
    """Return covariates with a column that marks a small group, one person in six."""
    return np.column_stack([X, process.standing(X) > 0.95])


def target_loss(process: Process, model: Any, rng: np.random.Generator) -> float:
    """Return ½·E|w - ŵ/E ŵ| over the trial's people, the larger one of both arms."""
    people = process.people(rng, FRESH)
    true = likeness(process, people.X)
    return max(half_distance(true, arm.weights_.target.predict(people.X)) for arm in model.arms_.values())
