"""For whom answers hold: draws of studies whose people, assignment or dependence break a promise without weights."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from confide import CounterfactualIntervals, method, stack
from confide.base.cache import sharing_fits
from confide.conformal.marks import Marks
from confide.datasets import load_star, load_within_study
from confide.weights.arm_weights import ArmWeights
from studies.whom_setup import (
    ALPHA,
    METHODS,
    NEW_ROWS,
    OBSERVATIONAL,
    Answered,
    People,
    both,
    fitted,
    in_trial,
    joined,
    people,
    told,
    with_noise,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from studies.whom_setup import Floats

# Sizes of clusters are geometric with this median, from 1 to 60.
MEDIAN_SIZE = 9
DIVIDED = "people assigned one by one"
SMALL_DIFFER = "small ones differ more"
SPREAD_TWICE = "treated vary twice as much"
VARYING = "π from 0.1 to 0.9"


def stratified(setting: str, seed: int) -> list[Answered]:
    """Draw a trial whose probability of treatment rises with the covariate by which outcomes vary more."""
    rng = np.random.default_rng(seed)
    trial, new = people(rng, 400, spread=0.7), people(rng, NEW_ROWS, spread=0.7)
    chance, asked = (0.5 + 0.4 * np.clip(2 * each.X[:, 0], -1, 1) for each in (trial, new))
    treatment = (rng.random(len(chance)) < chance).astype(np.intp)
    received = np.where(treatment == 1, chance, 1 - chance)
    rows, truth, found = joined(rng, trial, treatment), [new.y0, new.y1], []
    for name in METHODS:
        plain, weighted = fitted(name, rows), fitted(name, rows, assignment=in_trial(received))
        for way, intervals in (
            ("without probabilities", both(plain, new.X)),
            ("with those of the trial", both(weighted, new.X)),
            ("with those of new rows too", both(weighted, new.X, asked)),
        ):
            # The arm whose people vary less, the control, is the one that fails.
            found.append(told("stratified", setting, name, way, seed, intervals[:1], truth[:1]))
    return found


class ShiftOfNormals:
    """The density ratio of a standard normal distribution that is moved, to be asked as a `TargetRatio` is."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def predict(self, X: Floats) -> Floats:
        """Return the ratio at covariates."""
        ratio: Floats = np.exp(self.shift * X.sum(axis=1) - X.shape[1] * self.shift**2 / 2)
        return ratio


def target(setting: str, seed: int) -> list[Answered]:
    """Draw new people whose two covariates are larger than the trial's, and who vary more."""
    rng = np.random.default_rng(seed)
    shift = float(setting.split(maxsplit=1)[0])
    trial, new = people(rng, 600), people(rng, NEW_ROWS, shift=shift)
    treatment = rng.integers(2, size=len(trial.X))
    rows, found = joined(rng, trial, treatment), []
    known = people(rng, 3000, shift=shift).X
    for name in METHODS:
        ways = {"unweighted": fitted(name, rows), "weights estimated": fitted(name, rows, target=known)}
        for way, model in ways.items():
            found.append(told("target", setting, name, way, seed, both(model, new.X), [new.y0, new.y1]))
        X, y, received, in_both = rows
        intervals = []
        for arm in (0, 1):
            mine = received == arm
            exact = ShiftOfNormals(shift)
            weights = ArmWeights(Marks(weight=exact.predict(X[mine & in_both])), target=exact)  # type: ignore[arg-type]
            one = method(name, base="ridge", alpha=ALPHA, random_state=0)
            one.fit(X[mine], y[mine], trial=in_both[mine], weights=weights)
            intervals.append(one.predict_interval(new.X))
        found.append(told("target", setting, name, "weights known", seed, intervals, [new.y0, new.y1]))
    return found


def clusters(setting: str, seed: int) -> list[Answered]:
    """Draw clusters of unequal size whose people have something in common, and new people of new clusters."""
    rng = np.random.default_rng(seed)
    count, common = 2 * int(setting.split(maxsplit=1)[0]), float(setting.split("ICC ")[1][:3])
    small_differ = SMALL_DIFFER in setting

    def shared(sizes: NDArray[np.intp]) -> Floats:
        strength = np.where(sizes <= MEDIAN_SIZE, 2.5, 0.4) if small_differ else np.ones(len(sizes))
        values: Floats = np.sqrt(common) * strength * rng.normal(size=len(sizes))
        return values

    def drawn(sizes: NDArray[np.intp], rows_of: NDArray[np.intp]) -> People:
        noise = shared(sizes)[rows_of] + np.sqrt(1 - common) * rng.normal(size=len(rows_of))
        return with_noise(rng.normal(size=(len(rows_of), 2)), noise, rows_of)

    sizes, new_sizes = (np.minimum(rng.geometric(0.08, each), 60) for each in (count, NEW_ROWS))
    trial = drawn(sizes, np.repeat(np.arange(count), sizes))
    new = drawn(new_sizes, np.arange(NEW_ROWS))
    if DIVIDED in setting:
        treatment = rng.integers(2, size=len(trial.X))
    else:
        treatment = (rng.permutation(count) < count // 2).astype(np.intp)[trial.cluster]
    rows, found = joined(rng, trial, treatment), []
    for name in ("prognostic", "transfer"):
        for way, carried in (("rows as if independent", None), ("clusters", in_trial(trial.cluster, -1))):
            intervals = both(fitted(name, rows, cluster=carried), new.X)
            found.append(told("clusters", setting, name, way, seed, intervals, [new.y0, new.y1]))
    return found


def selected(setting: str, seed: int) -> list[Answered]:
    """Draw people who are asked about because they are badly predicted, for reasons that nobody recorded."""
    rng = np.random.default_rng(seed)
    bound = float(setting.rsplit(maxsplit=1)[-1])
    trial = people(rng, 400, spread=0.0)
    rows = joined(rng, trial, rng.integers(2, size=400))
    found = []
    for name in ("prognostic", "transfer"):
        ways = {"plain": {}, f"gamma = {bound:g}": {"gamma": bound}}
        for way, params in ways.items():
            model = fitted(name, rows, params)
            for how, factor in (("at the bound", 1.0), ("at 1.5 times the bound", 1.5)):
                pool = people(rng, 4 * NEW_ROWS, spread=0.0)
                worst = np.argsort(-np.abs(pool.y0 - pool.X[:, 0] - 0.5 * pool.X[:, 1]))
                chosen = worst[: round(len(worst) / (bound * factor))]
                new = People(pool.X[chosen], pool.y0[chosen], pool.y1[chosen], pool.cluster[chosen])
                some = both(model, new.X)
                found.append(told("selected", setting, name, f"{way}, {how}", seed, some, [new.y0, new.y1]))
    return found


def groups(_setting: str, seed: int) -> list[Answered]:
    """Draw a small group, of one person in seven, whose outcomes vary more."""
    rng = np.random.default_rng(seed)

    def drawn(count: int) -> tuple[People, NDArray[np.bool_]]:
        small = rng.random(count) < 1 / 7
        X = np.column_stack([rng.normal(size=count), small])
        return with_noise(X, np.where(small, 2.5, 1.0) * rng.normal(size=count)), small

    (trial, _), (new, small) = drawn(400), drawn(NEW_ROWS)
    X, hidden = drawn(OBSERVATIONAL)[0].X, rng.normal(size=OBSERVATIONAL)
    received = (hidden + rng.normal(size=OBSERVATIONAL) > 0).astype(np.intp)
    treatment = rng.integers(2, size=400)
    rows = (
        np.concatenate([X, trial.X]),
        np.concatenate(
            [with_noise(X, hidden + rng.normal(size=OBSERVATIONAL)).outcomes(received), trial.outcomes(treatment)]
        ),
        np.concatenate([received, treatment]),
        np.arange(OBSERVATIONAL + 400) >= OBSERVATIONAL,
    )
    found = []
    for name in METHODS:
        for way, params in {"everybody together": {}, "by group": {"groups": 1}}.items():
            model = fitted(name, rows, params)
            for who, mine in (("small group", small), ("large group", ~small)):
                some = both(model, new.X[mine])
                found.append(told("groups", who, name, way, seed, some, [new.y0[mine], new.y1[mine]]))
    return found


def sides(_setting: str, seed: int) -> list[Answered]:
    """Draw skewed outcomes: bounds with one end beside the ends of intervals with two, of outcomes and effects."""
    rng = np.random.default_rng(seed)

    def drawn(count: int) -> People:
        return with_noise(rng.normal(size=(count, 2)), rng.gamma(1.0, 1.0, count) - 1)

    trial, new = drawn(300), drawn(NEW_ROWS)
    rows, found = joined(rng, trial, rng.integers(2, size=300)), []
    for name in METHODS:
        for side in ("both", "lower", "upper"):
            model = fitted(name, rows, {"side": side})
            outcome, effect = model.predict_interval(new.X, 1), model.predict_effect_interval(new.X)
            for what, one, truth in (("outcome", outcome, new.y1), ("effect", effect, new.y1 - new.y0)):
                for end in ("lower", "upper") if side == "both" else (side,):
                    values = getattr(one, end)
                    inside = values <= truth if end == "lower" else truth <= values
                    reach = float(np.median(np.abs(values - truth.mean())))
                    way = f"{end} end of two" if side == "both" else f"{end} bound"
                    infinite = float(np.isinf(values).mean())
                    found.append(Answered("sides", what, name, way, seed, float(inside.mean()), infinite, reach))
    return found


def schools(setting: str, seed: int) -> list[Answered]:
    """Draw schools of Project STAR: pupils of schools in no table, each school counting alike."""
    data = load_star(trial_size=int(setting.split(maxsplit=1)[0]), random_state=seed, by_school=True)
    covariates = [name for name in data.trial.column_names if name not in (data.treatment, data.outcome, "school_id")]
    score, school = data.test["score"].to_numpy(), data.test["school_id"].to_numpy()
    arm = data.test["small"].to_numpy()
    found = []
    for name in ("prognostic", "transfer"):
        for way, cluster in (("pupils as if independent", None), ("schools as clusters", "school_id")):
            study = stack(data.observational, data.trial, "small", "score", covariates, cluster=cluster)
            model = CounterfactualIntervals(name, alpha=ALPHA, random_state=0).fit(study)
            intervals = model.predict_interval(data.test, arm)
            share = {key: 1 / count for key, count in zip(*np.unique(school, return_counts=True), strict=True)}
            weight = np.array([share[key] for key in school.tolist()])
            covered = float(np.average(intervals.contains(score), weights=weight))
            infinite, width = float(np.isinf(intervals.width).mean()), float(np.median(intervals.width))
            found.append(Answered("schools", setting, name, way, seed, covered, infinite, width))
    return found


def choosers(setting: str, seed: int) -> list[Answered]:
    """Draw the within-study comparison, and ask about the people who would choose mathematics."""
    data = load_within_study(int(setting.split(maxsplit=1)[0]), seed, hidden=False, choice=True)
    covariates = [name for name in data.trial.column_names if name not in (data.treatment, data.outcome, "mathSel")]
    mathematics = pc.equal(data.test["mathSel"], 1)
    asked, known = data.test.filter(mathematics), data.observational.filter(pc.equal(data.observational["mathSel"], 1))
    found = []
    for name in METHODS:
        for way, target in (("unweighted", None), ("weights estimated", known.select(covariates))):
            study = stack(data.observational, data.trial, "mathGrp", "mathPost", covariates, target=target)
            model = CounterfactualIntervals(name, alpha=ALPHA, random_state=0).fit(study)
            for arm, label in enumerate(("vocabulary", "mathematics")):
                mine = asked.filter(pc.equal(asked[data.treatment], arm))
                some, truth = model.predict_interval(mine, arm), mine[data.outcome].to_numpy()
                found.append(told("choosers", f"{setting}, {label}", name, way, seed, [some], [truth]))
    return found


def participants(setting: str, seed: int) -> list[Answered]:
    """Draw people whose outcome under one treatment is known: participants, and people of the observational table."""
    rng = np.random.default_rng(seed)
    spread = 2.0 if SPREAD_TWICE in setting else 1.0

    def drawn(count: int, hidden: Floats | float = 0.0) -> People:
        X = rng.normal(size=(count, 2))
        size = np.exp(0.7 * X[:, 0]) if VARYING in setting else 1.0
        y0 = X[:, 0] + 0.5 * X[:, 1] + size * rng.normal(size=count) + hidden
        y1 = X[:, 0] + X[:, 1] + 1 + spread * size * rng.normal(size=count) + hidden
        return People(X, y0, y1, np.zeros(count, dtype=np.intp))

    hidden = rng.normal(size=OBSERVATIONAL)
    table, trial, new = drawn(OBSERVATIONAL, 2 * hidden), drawn(400), drawn(NEW_ROWS)
    chance = 0.5 + 0.4 * np.clip(2 * trial.X[:, 0], -1, 1) if VARYING in setting else np.full(400, 0.5)
    chose = (hidden + rng.normal(size=OBSERVATIONAL) > 0).astype(np.intp)
    lot = (rng.random(400) < chance).astype(np.intp)
    rows = (
        np.concatenate([table.X, trial.X]),
        np.concatenate([table.outcomes(chose), trial.outcomes(lot)]),
        np.concatenate([chose, lot]),
        np.arange(OBSERVATIONAL + 400) >= OBSERVATIONAL,
    )
    known: dict[str, Any] = (
        {"assignment": in_trial(np.where(lot == 1, chance, 1 - chance))} if VARYING in setting else {}
    )
    found = []
    for name in ("prognostic", "transfer"):
        model, plain = fitted(name, rows, **known), fitted(name, rows)
        ways = [("new people, two steps", model.predict_effect_interval(new.X), new)]
        own: dict[str, Any] = {"assignment": chance} if known else {}
        for way, one, who, received, more in (
            ("participants", model, trial, lot, own),
            *([("participants, without probabilities", plain, trial, lot, {})] if known else []),
            ("people of the table, as if participants", plain, table, chose, {}),
        ):
            some = slice(None, NEW_ROWS)
            answer = one.predict_effect_interval(
                who.X[some], received=received[some], outcome=who.outcomes(received)[some], **more
            )
            ways.append((way, answer, People(who.X[some], who.y0[some], who.y1[some], who.cluster[some])))
        for way, intervals, who in ways:
            found.append(told("participants", setting, name, way, seed, [intervals], [who.y1 - who.y0]))
    return found


CASES: dict[str, tuple[Callable[[str, int], list[Answered]], tuple[str, ...]]] = {
    "stratified": (stratified, (VARYING,)),
    "target": (target, ("1 standard deviation", "2 standard deviations")),
    "clusters": (
        clusters,
        (
            *(f"{count} per arm, ICC {common}" for common in (0.3, 0.6) for count in (10, 20, 60)),
            f"20 per arm, ICC 0.6, {SMALL_DIFFER}",
            f"20 per arm, ICC 0.6, {DIVIDED}",
            f"20 per arm, ICC 0.6, {SMALL_DIFFER}, {DIVIDED}",
        ),
    ),
    "selected": (selected, ("Γ = 1", "Γ = 1.5", "Γ = 2")),
    "groups": (groups, ("both",)),
    "sides": (sides, ("both",)),
    "participants": (participants, ("arms alike", SPREAD_TWICE, VARYING)),
    "schools": (schools, ("400 pupils",)),
    "choosers": (choosers, ("400 people",)),
}


def draw(case: str, setting: str, seed: int) -> list[Answered]:
    """Return what every way of asking covered in one draw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of infinite intervals, which are counted, and unlike rows
        with sharing_fits():  # the large table's models are the same in every way of asking
            return CASES[case][0](setting, seed)
