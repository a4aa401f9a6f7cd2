"""Effects: participants, nested ones, other levels; and what sides and ranges may change."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from confide import CounterfactualIntervals, Prognostic, Transfer, load
from fuzz.designs.exchange import (
    BLOCKS,
    LARGE,
    LEARNT,
    MORE,
    SMALL,
    Cases,
    Design,
    assert_same,
    at_least,
    blocked,
    expect,
    people,
)

if TYPE_CHECKING:
    import pandas as pd

CASES = Cases()


def participants(name: str, each: Any, more: dict[str, Any], *, binary: bool = False) -> None:
    """Put a case: one of arm 1's rows is a participant who received 0, and the effect must hold the known outcome."""

    def check() -> str:
        trial, large = blocked(MORE), LARGE
        if binary:
            trial, large = trial.assign(y=(trial.y > 1) * 1.0), large.assign(y=(large.y > 1) * 1.0)

        def ask(model: CounterfactualIntervals, person: pd.DataFrame) -> bool:
            received = {"received": [0], "outcome": [0.25], "assignment": person.p}
            if binary:
                received["outcome"] = [1.0]
            found = model.predict_effect_interval(person, 1, 0, **received)
            back = model.predict_effect_interval(person, 0, 1, **{**received, "assignment": 1 - person.p})
            if "side" not in more:
                assert_same(back, np.column_stack([-found.upper, -found.lower]), "the reversed effect is another")
            return bool(found.contains(person.y - received["outcome"][0])[0])

        design = Design(large, trial, each, {"alpha": 0.2, **more}, BLOCKS, ask=ask)
        rows = trial.iloc[design.places()]
        return at_least(design.covered(), (1 - rows.p) / rows.p, 0.2)

    CASES[name] = check


participants("participants of a trial with blocks", "prognostic", {})
participants(
    "participants, blocks, a lower bound, gamma", "transfer-centred", {"side": "lower", "gamma": 1.25, "alpha": 0.25}
)
participants("participants, blocks, learnt tails, in one group", LEARNT, {"groups": "x > -9"})
participants("participants with yes or no outcomes", Transfer(outcome_values=[0, 1]), {}, binary=True)


def nested(name: str, each: Any, more: dict[str, Any], study: dict[str, Any], arms: int = 2) -> None:
    """Put a case: rows of the treated arm are exchanged, and the effect must hold y minus the control's interval."""

    def check() -> str:
        trial = people(23 * arms, 2, arms=arms)
        trial = blocked(trial) if study else trial

        def ask(model: CounterfactualIntervals, person: pd.DataFrame) -> bool:
            known = {"assignment": person.p} if study else {}
            other = {"assignment": 1 - person.p} if study else {}
            effect: Any = model.effect_
            control = effect.controls_[0]._on_side({"lower": "upper"}.get(model.side_, "both"))  # noqa: SLF001
            group = None if model.groups_ is None else model.groups_.codes(person)
            rows = control._new_rows(model.encode(person), other.get("assignment"), group)  # noqa: SLF001
            below, above = control.predict_interval(rows)
            found = model.predict_effect_interval(person, 1, 0, **known)
            back = model.predict_effect_interval(person, 0, 1, **other)
            if model.side_ == "both":
                assert_same(back, np.column_stack([-found.upper, -found.lower]), "the reversed effect is another")
            lower, upper = float(person.y.iloc[0] - above[0]), float(person.y.iloc[0] - below[0])
            return bool(found.lower[0] <= lower and upper <= found.upper[0])

        parameters = {"alpha": 0.4, "effect": "nested-exact", **more}
        design = Design(people(150, 1, 1.0, arms), trial, each, parameters, study, ask=ask)
        rows = trial.iloc[design.places()]
        return at_least(design.covered(), 1 / rows.p if study else np.ones(len(rows)), 0.2)

    CASES[name] = check


nested("nested effects with blocks", "transfer", {}, BLOCKS)
nested("nested effects of three arms, a lower bound", "transfer", {"side": "lower"}, {}, 3)
nested("nested effects in one group, chosen automatically", "prognostic", {"groups": "x > -9"}, {})


@CASES.put("effects of all kinds are the same either way round, and gamma is the level it stands for")
def _() -> str:
    trial = people(60, 3, arms=3)
    for effect in ("bonferroni", "nested-exact", "nested-inexact"):
        design = Design(people(150, 1, 1.0, 3), trial, "transfer", {"alpha": 0.3, "effect": effect, "gamma": 1.5})
        model = design.fitted(trial)
        plain = replace(design, model={"alpha": 0.2, "effect": effect}).fitted(trial)
        for pair in combinations((0, 1, 2), 2):
            one, other = (model.predict_effect_interval(SMALL, *each) for each in (pair, pair[::-1]))
            assert_same(one, np.column_stack([-other.upper, -other.lower]), "the reversed effect is another")
            assert_same(one, plain.predict_effect_interval(SMALL, *pair), "gamma is not the level α/Γ")
    return "three effects of three pairs"


def moved(name: str, each: Any, more: dict[str, Any], study: dict[str, Any], trial: pd.DataFrame) -> None:
    """Put a case: another level, and a saved model, give the answers of a fit at that level."""

    def check() -> str:
        design = Design(LARGE, trial, each, {"alpha": 0.1, **more}, study)
        fitted = replace(design, model={**design.model, "alpha": 0.3}).fitted(trial)
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            there = design.fitted(trial).with_alpha(0.3)
            there.save(Path(folder) / "model.confide")
            for model in (there, load(Path(folder) / "model.confide")):
                for arm in (0, 1):
                    found, expected = (one.predict_interval(SMALL, arm) for one in (model, fitted))
                    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
                found, expected = (one.predict_effect_interval(SMALL) for one in (model, fitted))
                np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
                expect(str(model.promise_) == str(fitted.promise_), "another promise")
        return "outcomes of both arms, effects and promises are the same, loaded or not"

    CASES[name] = check


moved(
    "another level: groups, blocks, gamma, a lower bound",
    Prognostic(tails="auto"),
    {"groups": "place", "gamma": 1.5, "side": "lower"},
    BLOCKS,
    blocked(MORE),
)
moved(
    "another level: nested, groups, blocks, an upper bound",
    "transfer",
    {"groups": "place", "effect": "nested-exact", "side": "upper"},
    BLOCKS,
    blocked(MORE),
)
moved(
    "another level: clusters, a range, centred",
    Transfer(base_on="centred", outcome_range=(-99, 99)),
    {"gamma": 1.2},
    {"cluster": "school"},
    MORE.assign(school=np.arange(len(MORE)) // 2),
)
moved("another level: a target and learnt tails", LEARNT, {"side": "upper"}, {"target": "observational"}, MORE)


@CASES.put("a bound with one end is never farther than an end of two, of one candidate")
def _() -> str:
    for each in ("transfer", "transfer-centred", LEARNT, Prognostic(features="ridge", scale="none")):
        for alpha in (0.1, 0.3):
            both, lower, upper = (
                Design(LARGE, MORE, each, {"alpha": alpha, "side": side}).fitted(MORE).predict_interval(SMALL, 1)
                for side in ("both", "lower", "upper")
            )
            expect((lower.lower >= both.lower - 1e-9).all(), f"{each}: the lower bound is farther")
            expect((upper.upper <= both.upper + 1e-9).all(), f"{each}: the upper bound is farther")
    return "for four methods and two levels"


@CASES.put("a declared range or values cut the sets, and change nothing inside")
def _() -> str:
    large, trial, values = LARGE.assign(y=LARGE.y.round()), MORE.assign(y=MORE.y.round()), np.arange(-9.0, 10)
    for arm in (Transfer(), Transfer(base_on="centred"), Prognostic(), LEARNT):
        for side in ("both", "lower"):
            plain, cut, discrete = (
                Design(large, trial, method.set_params(**given), {"alpha": 0.2, "side": side}).fitted(trial)
                for method, given in (
                    (clone(arm), {}),
                    (clone(arm), {"outcome_range": (-9, 9)}),
                    (clone(arm), {"outcome_values": values}),
                )
            )
            sets = plain.predict_set(SMALL, 1)
            assert_same(cut.predict_set(SMALL, 1).hull(), sets.clip(-9, 9).hull(), "the range changes the set")
            among = discrete.predict_set(SMALL, 1)
            for value in values:
                expect((among.contains(value) == sets.contains(value)).all(), f"{arm}: {value} is in one set only")
    return "four methods, two sides, 19 values of 24 people"
