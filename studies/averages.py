"""Average effects: draws of trials whose true average effect is known, and of real ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta, norm

from confide import CounterfactualIntervals, InfiniteIntervalWarning, PopulationWarning, Study, average_effect, stack
from confide.datasets import load_star, load_within_study, synthetic
from confide.effects.contrast import mean_differences
from studies.ancova import ancova, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from confide.effects.contrast import Estimate

ALPHA = 0.05
TRIAL = 200
# Groups of the trial; the last is the rest, which is not shown.
GROUPS = (12, 20, 50, 118)
CLUSTERS = (10, 20, 60)
CORRELATIONS = (0.3, 0.6)
# Trial rows where a tenth of the people are treated with this probability, and their outcomes are higher by so much and
# have this standard deviation.
STRATIFIED, RARE, RARE_CHANCE, HIGHER, SPREAD = (400, 800, 2000), 0.1, 0.1, 3.0, 4.0
PER_ARM = (6, 10, 25, 100)
RISKS = ((0.02, 0.02), (0.1, 0.1), (0.5, 0.5), (0.02, 0.1), (0.1, 0.5))
SHARED_RISKS = ((0.02, 0.1), (0.05, 0.05), (0.3, 0.4))
# Correlation of the oracle's score with the outcome, without treatment.
CORRELATION = 0.7
EFFECT, SLOPE_OF_EFFECT = 0.5, 0.3
SCORES = ("oracle", "confounded", "reversed", "useless")
# Observational and trial rows of the draws that are fitted.
FITTED = (1000, 100)
# Real data: name, trial rows.
REAL = (("within-study", 60), ("within-study", 200), ("within-study", 500), ("STAR", 400), ("STAR", 1000))
SCHOOLS = ("STAR, by school", 1000)
# The covariate that an analyst of the trial would name beforehand for an analysis of covariance.
NAMED = {"within-study": ("mathPre",), "STAR": ("lunch",)}


@dataclass(frozen=True)
class Draw:
    """One interval: the cell that it belongs to, whether it covers, with the score and without, and widths.

    Where a model is fitted there are those of analysis of covariance on the trial alone too: on the covariate that an
    analyst would name (of generated data all), and on all covariates.
    """

    case: str
    score: str
    size: str
    covers: bool
    unadjusted_covers: bool
    width: float
    unadjusted_width: float
    ancova_covers: bool = False
    ancova_width: float = float("nan")
    ancova_all_width: float = float("nan")


def score_of(kind: str, x: Any, z: Any, rng: np.random.Generator) -> Any:
    """Return a prognostic score as observational rows would teach it, well or badly.

    ``x`` predicts the outcome; ``z`` does not in the trial, but does among people who chose their treatment.
    """
    return {
        "oracle": x,
        "confounded": x + 1.5 * np.tanh(2 * z),
        "reversed": -x,
        "useless": rng.normal(size=len(x)),
    }[kind]


def of_groups(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield the groups of a trial and everybody, assigned with one probability or with many."""
    rng = np.random.default_rng([seed, SCORES.index(kind), 1])
    x, z, noise = rng.normal(size=(3, TRIAL))
    chance = np.clip(1 / (1 + np.exp(-1.3 * x)), 0.1, 0.9)
    if case == "one probability":
        treated, weight = rng.permutation(TRIAL) < TRIAL // 2, None
    else:
        treated = rng.random(TRIAL) < chance
        weight = 1 / np.where(treated, chance, 1 - chance)
    y = 5 + CORRELATION * x + (1 - CORRELATION**2) ** 0.5 * noise + treated * (EFFECT + SLOPE_OF_EFFECT * x)
    told: dict[str, Any] = {"y": y, "score": score_of(kind, x, z, rng), "treated": treated, "weight": weight}
    every = mean_differences(**told, alpha=ALPHA)
    groups = mean_differences(**told, group=np.repeat(np.arange(len(GROUPS)), GROUPS), alpha=ALPHA)
    for size, pair in zip((*GROUPS, TRIAL), (*groups, *every), strict=True):
        if size != GROUPS[-1]:
            yield drawn(case, kind, f"{size}", pair, EFFECT)


def of_strata(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield trials in which a few treated rows stand for a tenth of the people, who are unlike the others."""
    for number, rows in enumerate(STRATIFIED):
        rng = np.random.default_rng([seed, SCORES.index(kind), 7, number])
        rare = rng.random(rows) < RARE
        chance = np.where(rare, RARE_CHANCE, 0.5)
        treated = rng.random(rows) < chance
        x, z, noise = rng.normal(size=(3, rows))
        y = np.where(rare, HIGHER + SPREAD * noise, noise) + EFFECT * treated
        weight = 1 / np.where(treated, chance, 1 - chance)
        (pair,) = mean_differences(y, score_of(kind, x, z, rng), treated, weight=weight, alpha=ALPHA)
        size = f"{rows}, of which {RARE * RARE_CHANCE * rows:g} stand for {100 * RARE:g} %"
        yield drawn(case, kind, size, pair, EFFECT)


def of_clusters(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield trials of clusters of 1 to 20 rows; an effect that grows with the cluster's own mean."""
    for number, (count, share) in enumerate((count, share) for count in CLUSTERS for share in CORRELATIONS):
        rng = np.random.default_rng([seed, SCORES.index(kind), 2, number])
        cluster = np.repeat(np.arange(count), rng.integers(1, 21, size=count))
        own, (x, z, noise) = rng.normal(size=count)[cluster], rng.normal(size=(3, len(cluster)))
        whole = case == "whole clusters"
        treated = (rng.permutation(count) < count // 2)[cluster] if whole else rng.random(len(cluster)) < 0.5
        left = share**0.5 * own + (1 - share) ** 0.5 * noise
        y = CORRELATION * x + (1 - CORRELATION**2) ** 0.5 * left + treated * (EFFECT + SLOPE_OF_EFFECT * own)
        score = score_of(kind, x, z, rng)
        (pair,) = mean_differences(y, score, treated, cluster=cluster, alpha=ALPHA)
        yield drawn(case, kind, f"{count} clusters, ICC {share:g}", pair, EFFECT)


def of_risks(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield trials whose outcome is 0 or 1."""
    for number, (per_arm, risks) in enumerate((per_arm, risks) for per_arm in PER_ARM for risks in RISKS):
        rng = np.random.default_rng([seed, SCORES.index(kind), 3, number])
        x, z, noise = rng.normal(size=(3, 2 * per_arm))
        treated = np.arange(2 * per_arm) < per_arm
        limit = np.where(treated, norm.ppf(risks[1]), norm.ppf(risks[0]))
        y = (CORRELATION * x + (1 - CORRELATION**2) ** 0.5 * noise < limit).astype(float)
        score = score_of(kind, x, z, rng)
        (pair,) = mean_differences(y, score, treated, binary=True, alpha=ALPHA)
        yield drawn(case, kind, f"{per_arm} an arm, {risks[0]:g} and {risks[1]:g}", pair, risks[1] - risks[0])


def of_shared_risks(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield trials of whole clusters of 20 whose outcome is 0 or 1, with risks that differ between clusters."""
    settings = [(count, share, risks) for count in (10, 20) for share in CORRELATIONS for risks in SHARED_RISKS]
    for number, (count, share, risks) in enumerate(settings):
        rng = np.random.default_rng([seed, SCORES.index(kind), 5, number])
        treated = np.repeat(np.arange(2 * count) < count, 20)
        cluster = np.repeat(np.arange(2 * count), 20)
        mean = np.where(treated, risks[1], risks[0])[::20]
        # Risks of a beta distribution: two outcomes of a cluster have a correlation of 1/(1 + a + b).
        place, whole = rng.random(2 * count), 1 / share - 1
        risk = beta.ppf(place, mean * whole, (1 - mean) * whole)[cluster]
        y = (rng.random(len(cluster)) < risk).astype(float)
        score = score_of(kind, norm.ppf(place)[cluster], rng.normal(size=len(cluster)), rng)
        (pair,) = mean_differences(y, score, treated, cluster=cluster, binary=True, alpha=ALPHA)
        size = f"{count} clusters an arm, ICC {share:g}, {risks[0]:g} and {risks[1]:g}"
        yield drawn(case, kind, size, pair, risks[1] - risks[0])


def of_unequal_risks(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield trials of 200 whose outcome is 0 or 1 and whose probability of treatment is 0.1 or 0.9, by x."""
    for number, (low, high) in enumerate(((0.1, 0.01), (0.01, 0.1), (0.3, 0.1))):
        rng = np.random.default_rng([seed, SCORES.index(kind), 6, number])
        x, z = rng.normal(size=(2, TRIAL))
        chance = np.where(x > 0, 0.9, 0.1)
        treated = rng.random(TRIAL) < chance
        y = (rng.random(TRIAL) < np.where(x > 0, low, high) + 0.05 * treated).astype(float)
        weight = 1 / np.where(treated, chance, 1 - chance)
        (pair,) = mean_differences(y, score_of(kind, x, z, rng), treated, weight=weight, binary=True, alpha=ALPHA)
        yield drawn(case, kind, f"{low:g} where x is above 0, {high:g} below", pair, 0.05)


def drawn(case: str, kind: str, size: str, pair: tuple[Estimate, Estimate], truth: float) -> Draw:
    """Return what became of one pair of intervals."""
    (covers, width), (plain_covers, plain) = (
        (each.low <= truth <= each.high, float(each.high - each.low)) for each in pair
    )
    return Draw(case, kind, size, bool(covers), bool(plain_covers), width, plain)


def of_fits(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield the average effect by a model that is fitted on rows whose people chose by what is hidden."""
    rng = np.random.default_rng([seed, 4])
    rows = sum(FITTED)
    trial = np.arange(rows) >= FITTED[0]
    X, hidden, noise = rng.normal(size=(rows, 3)), rng.normal(size=rows), rng.normal(size=rows)
    wanted = hidden + 0.5 * X[:, 0] + rng.normal(size=rows) > 0
    treated = np.where(trial, rng.random(rows) < 0.5, wanted)
    y = 1.5 * X[:, 0] + X[:, 1] + 1.5 * hidden * (X[:, 2] > 0) + noise + treated * (EFFECT + SLOPE_OF_EFFECT * X[:, 0])
    yield answered(case, kind, f"{FITTED[1]}", Study(X, y, treated.astype(int), trial), EFFECT)


@cache
def effect_of_the_papers_data() -> float:
    """Return the average effect of the paper's data, from many rows."""
    rows = synthetic(1_000_000, randomized=True, random_state=0)
    return float((rows.y1 - rows.y0).mean())


def of_the_paper(kind: str, case: str, seed: int) -> Iterator[Draw]:
    """Yield the average effect of the paper's data, whose outcomes are skewed, by a fitted model."""
    observational, trial = (
        synthetic(rows, randomized=randomized, random_state=np.random.RandomState([seed, part]))
        for part, (rows, randomized) in enumerate(zip(FITTED, (False, True), strict=True))
    )
    study = Study(
        np.concatenate([observational.X, trial.X]),
        np.concatenate([observational.y, trial.y]),
        np.concatenate([observational.treatment, trial.treatment]),
        np.repeat([False, True], FITTED),
    )
    yield answered(case, kind, f"{FITTED[1]}", study, effect_of_the_papers_data())


def of_real(name: str, size: int, seed: int) -> Iterator[Draw]:
    """Yield the average effect in real data; the truth is not known, and whether it is covered is not counted."""
    if name == "within-study":
        data = load_within_study(size, seed)
    else:
        data = load_star(trial_size=size, random_state=seed, by_school=name == SCHOOLS[0])
    cluster = "school_id" if name == SCHOOLS[0] else None
    treatment = str(data.treatment)
    covariates = [each for each in data.trial.column_names if each not in (treatment, data.outcome, cluster)]
    study = stack(data.observational, data.trial, treatment, data.outcome, covariates, cluster=cluster)
    yield answered(name, "fitted", f"{size}", study, 0.0)


def answered(case: str, kind: str, size: str, study: Study, truth: float) -> Draw:
    """Return the average effect of a study over everybody, by ridge regression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (InfiniteIntervalWarning, PopulationWarning))
        model = CounterfactualIntervals("transfer", base="ridge", random_state=0).fit(study)
    (found,) = average_effect(model, study, alpha=ALPHA)
    rival = _rivals(study, NAMED.get(case, ())) if study.cluster is None else {}
    low, high = rival.get("named", (np.nan, np.nan))
    return Draw(
        case,
        kind,
        size,
        found.low <= truth <= found.high,
        found.unadjusted_low <= truth <= found.unadjusted_high,
        found.high - found.low,
        found.unadjusted_high - found.unadjusted_low,
        low <= truth <= high,
        high - low,
        float(np.diff(rival["all"]).item()) if rival else np.nan,
    )


def _rivals(study: Study, named: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Return the intervals of analysis of covariance on the trial alone, by which covariates it has."""
    trial = np.asarray(study.trial)
    y, treated = study.y[trial], (study.treatment[trial] == np.max(study.treatment)).astype(float)
    return {
        what: ancova(y, treated, numbers_of(study.X, names)[trial], ALPHA)
        for what, names in (("named", named), ("all", ()))
    }


# What draws each case, and the scores that it is drawn with.
CASES: dict[str, tuple[Callable[[str, str, int], Iterator[Draw]], tuple[str, ...]]] = {
    "one probability": (of_groups, SCORES),
    "probabilities of 0.1 to 0.9": (of_groups, SCORES),
    "few rows for many people": (of_strata, ("useless",)),
    "whole clusters": (of_clusters, SCORES),
    "divided clusters": (of_clusters, SCORES),
    "outcomes of 0 and 1": (of_risks, SCORES),
    "outcomes of 0 and 1, whole clusters": (of_shared_risks, SCORES),
    "outcomes of 0 and 1, probabilities of 0.1 and 0.9": (of_unequal_risks, SCORES),
    "fitted on confounded rows": (of_fits, ("fitted",)),
    "fitted on the paper's data": (of_the_paper, ("fitted",)),
}
