"""Small studies that Hypothesis draws: numbers, categories, flags, holes, ties, and any labels of two treatments."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from confide import CounterfactualIntervals, Intervals, method, stack

ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class Small:
    """A study in two pandas tables, new people, and a level."""

    observational: pd.DataFrame
    trial: pd.DataFrame
    new: pd.DataFrame
    alpha: float

    def fitted(self, name, **model):
        """Return a model of the study, with base models that take no time."""
        params = {"second_stage": "linear"} if name.startswith("wscp") else {}
        arm = method(name, base="linear", **params)
        return CounterfactualIntervals(arm, **{"alpha": self.alpha, "random_state": 0, **model}).fit(
            stack(self.observational, self.trial)
        )

    def mapped(self, change):
        """Return the study with each table changed."""
        return replace(self, observational=change(self.observational), trial=change(self.trial), new=change(self.new))


@st.composite
def small_studies(draw, numbers_only=False):
    """Return 24 to 40 observational rows, 16 to 30 of the trial, and 5 to 9 new ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    tied, holes = draw(st.booleans()), draw(st.sampled_from((0.0, 0.15)))
    places, scale = draw(st.integers(2, 4)), draw(st.sampled_from((0.01, 1.0, 300.0)))

    def rows(count, bias, outcome=True):
        x, z, place = rng.standard_normal(count), rng.integers(0, 9, count) * 1.0, rng.integers(0, places, count)
        t = rng.permutation(np.arange(count) % 2)
        y = x + 0.5 * place + t + bias + rng.standard_normal(count)
        x[rng.random(count) < holes] = np.nan
        columns = {"x": x, "z": z}
        if not numbers_only:
            names = np.array(["east", "north", "south", "west"], dtype=object)[place]
            names[rng.random(count) < holes] = None
            columns |= {"place": names, "smoker": rng.random(count) < 0.4}
        return pd.DataFrame(columns | ({"t": t, "y": scale * (np.round(y) if tied else y)} if outcome else {}))

    return Small(
        rows(draw(st.integers(24, 40)), 0.7),
        rows(draw(st.integers(16, 30)), 0.0),
        rows(draw(st.integers(5, 9)), 0.0, outcome=False),
        draw(st.sampled_from(ALPHAS)),
    )


def answers(model, new, labels=(0, 1)):
    """Return everything that a model says of rows: points, intervals and effects, one row per person."""
    parts = []
    for label in labels:
        parts += [model.predict(new, label)[:, None], np.asarray(model.predict_interval(new, label))]
    effect = model.predict_effect_interval(new, labels[1], labels[0])
    return np.column_stack([*parts, model.predict_effect(new, labels[1], labels[0]), np.asarray(effect)])


def members(model, new, label, y):
    """Return whether each row's set contains each outcome."""
    sets = model.predict_set(new, label)
    return np.column_stack([sets.contains(np.full(len(new), value)) for value in y])


def within(inner, outer, slack):
    """Return whether each interval lies within the other one; an empty one lies within any."""
    inner, outer = (each if isinstance(each, Intervals) else Intervals(*each) for each in (inner, outer))
    empty = np.isnan(inner.lower)
    return empty | ((outer.lower <= inner.lower + slack) & (inner.upper <= outer.upper + slack))
