"""For whom: blocks, groups, clusters and a target, together with sides, tails and discrete outcomes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from confide import CounterfactualIntervals, PopulationWarning, Prognostic
from fuzz.designs.exchange import (
    BLOCKS,
    LARGE,
    LEARNT,
    MORE,
    ON_TRIAL,
    SMALL,
    Cases,
    Design,
    assert_same,
    at_least,
    blocked,
    expect,
    people,
)

CASES = Cases()


CASES.weighed(
    "blocks with probabilities of 0.2 to 0.75",
    0.2,
    lambda: Design(LARGE, blocked(MORE), "prognostic", {"alpha": 0.2}, BLOCKS),
)
CASES.weighed(
    "blocks, a lower bound, learnt tails",
    0.2,
    lambda: Design(LARGE, blocked(MORE), LEARNT, {"alpha": 0.2, "side": "lower"}, BLOCKS),
)
CASES.weighed(
    "blocks, centred, atoms in outcomes, gamma 2",
    0.2,
    lambda: Design(
        LARGE.round(), blocked(MORE).assign(y=MORE.y.round()), "transfer-centred", {"alpha": 0.4, "gamma": 2}, BLOCKS
    ),
)
CASES.weighed(
    "blocks, ratings, an upper bound",
    0.2,
    lambda: Design(
        LARGE.assign(y=LARGE.y.round().clip(-2, 2)),
        blocked(SMALL).assign(y=SMALL.y.round().clip(-2, 2)),
        Prognostic(outcome_values=[-2, -1, 0, 1, 2]),
        {"alpha": 0.2, "side": "upper"},
        BLOCKS,
    ),
)


def stood_in() -> str:
    """Return whether an unknown probability gives sets that contain those of a known one."""
    trial = blocked(MORE)
    for each in (*ON_TRIAL, LEARNT):
        for side in ("both", "upper"):
            model = Design(LARGE, trial, each, {"alpha": 0.2, "side": side}, BLOCKS).fitted(trial)
            inner, outer = (
                model.predict_interval(trial, 1, **kind) for kind in ({"assignment": trial.p.clip(0.3)}, {})
            )
            expect((outer.lower <= inner.lower + 1e-6).all(), "a larger own weight gives a smaller set")
            expect((outer.upper >= inner.upper - 1e-6).all(), "a larger own weight gives a smaller set")
    return "sets of a larger own weight contain those of a smaller one, for four methods and two sides"


CASES["a probability that is not known"] = stood_in


@CASES.put("a probability of 1/4 is two copies of a row of 1/2")
def _() -> str:
    trial = MORE.assign(p=np.where(np.arange(len(MORE)) % 3 == 0, 0.25, 0.5))
    copies = pd.concat([MORE, MORE[trial.p == 0.25]])
    for side in ("both", "lower", "upper"):
        for alpha in (0.1, 0.3):
            given = {"alpha": alpha, "side": side}
            one = Design(LARGE, trial, "transfer", given, BLOCKS).fitted(trial)
            other = Design(LARGE, copies, "transfer", given).fitted(copies)
            for arm in (0, 1):
                found = one.predict_interval(SMALL, arm, assignment=np.full(len(SMALL), 0.5))
                assert_same(found, other.predict_interval(SMALL, arm), "weights are not copies")
    return "the same intervals at two levels, three sides and two arms"


def in_groups(name: str, each: Any, more: dict[str, Any], trial: pd.DataFrame, study: dict[str, Any]) -> None:
    """Put a case: in each of two groups the rows of that group are exchanged."""

    def check() -> str:
        told, mine = [], trial.t == 1
        for inside in (True, False):
            bag = np.flatnonzero(mine & ((trial.x > 0.2) == inside))
            large = LARGE.assign(y=(LARGE.y > 1) * 1.0) if trial.y.isin((0, 1)).all() else LARGE
            found = Design(large, trial, each, {"alpha": 0.25, "groups": "x > 0.2", **more}, study, bag=bag)
            weight = 1 / trial.p.iloc[bag] if study else np.ones(len(bag))
            told.append(at_least(found.covered(), weight, 0.25))
        return "; ".join(told)

    CASES[name] = check


in_groups("groups, everything chosen automatically, learnt tails", Prognostic(tails="auto"), {}, MORE, {})
in_groups("groups and blocks, centred", "transfer-centred", {}, blocked(MORE), BLOCKS)
in_groups("groups, blocks and an upper bound", "prognostic", {"side": "upper"}, blocked(MORE), BLOCKS)
in_groups("groups of yes or no outcomes", Prognostic(outcome_values=[0, 1]), {}, MORE.assign(y=(MORE.y > 1) * 1.0), {})


@CASES.put("a group that only the other arm has")
def _() -> str:
    trial = MORE.assign(g=np.where((MORE.t == 0) & (MORE.x > 0), "a", "b"))
    for each in ON_TRIAL:
        for side in ("both", "lower"):
            design = Design(LARGE.assign(g="b"), trial, each, {"alpha": 0.2, "side": side, "groups": "g"})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PopulationWarning)  # of the group that the encoder has not seen
                found = design.fitted(trial).predict_interval(trial, 1)
            expect(np.isinf(found.lower[trial.g == "a"]).all(), "a finite end without a row to rank among")
            expect(np.isfinite(found.lower[trial.g == "b"]).all(), "an infinite end with enough rows")
    return "infinite there and finite elsewhere, for three methods and two sides"


def clustered(name: str, each: Any, more: dict[str, Any], *, twins: bool) -> None:
    """Put a case: whole clusters of an arm are exchanged, and a person at random of the new one is asked about."""

    def check() -> str:
        trial = people(48, 5)
        sizes = np.full(24, 2) if twins else np.tile([1, 3], 12)
        trial = trial.sort_values("t").reset_index(drop=True)
        trial["school"] = np.repeat(np.arange(24), sizes)[: len(trial)]
        trial["t"] = trial.school % 2
        if twins:
            trial = trial.iloc[(trial.index // 2) * 2].reset_index(drop=True)
        design = Design(LARGE, trial, each, {"alpha": 0.25, **more}, {"cluster": "school"})
        names, shares = trial.school[trial.t == 1].unique(), []
        for new in names:
            model, rows = design.fitted(trial[trial.school != new].reset_index(drop=True)), trial[trial.school == new]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shares.append(float(model.predict_set(rows, 1).contains(rows.y).mean()))
        expect(np.sum(shares) >= 0.75 * len(names) - 1e-9, f"clusters of {np.mean(shares):.3f} are covered")
        return f"people at random of {len(names)} clusters are covered in {np.mean(shares):.3f}"

    CASES[name] = check


clustered("clusters of one and of three rows", "transfer", {}, twins=False)
clustered("clusters of one and of three rows, a lower bound", "transfer", {"side": "lower"}, twins=False)
clustered("clusters of twins, chosen automatically", "prognostic", {}, twins=True)
clustered("clusters of twins, centred, in groups", "transfer-centred", {"groups": "x > -9"}, twins=True)


@CASES.put("a target, blocks and groups together: any weights keep the weighted share")
def _() -> str:
    told = []
    for groups, study in (({}, {}), ({"groups": "z > -9"}, BLOCKS)):
        trial = blocked(MORE)
        seen: list[float] = []

        def ask(model: CounterfactualIntervals, person: pd.DataFrame, study: Any = study, seen: Any = seen) -> bool:
            weights: Any = model.arms_[1].weights_
            known = {"assignment": person.p} if study else {}
            seen.append(float(weights.own(model.encode(person), known.get("assignment"))[0]))
            return bool(model.predict_set(person, 1, **known).contains(person.y)[0])

        model = {"alpha": 0.2, **groups}
        design = Design(LARGE, trial, "prognostic", model, {"target": "observational", **study}, ask=ask)
        covered = design.covered()
        told.append(at_least(covered, seen, 0.2))
    return "; ".join(told)
