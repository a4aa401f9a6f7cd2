"""Exact checks of a promise: each row that calibrates is made the new one in turn, and everything is learnt again.

Given the rows of a bag, and not their order, each of them is the new one with a known probability. So coverage over the
bag is a number, not an estimate: without ties and with equal weights, exactly ⌈(1-α)(m+1)⌉ of the m+1 rows are in their
own sets.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from confide import CounterfactualIntervals, Prognostic, stack
from confide.base.cache import sharing_fits
from confide.data.splits import spawn_seeds, split_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Booleans = NDArray[np.bool_]
    Asked = Callable[[CounterfactualIntervals, pd.DataFrame], bool]
    Check = Callable[[], str]

# Roles that are no covariates.
ROLES = ("t", "y", "p", "school")
# Weights are compared with this relative tolerance, that of the weighted quantile.
ROUNDING = 1e-9


def needed(alpha: Any, rows: int) -> int:
    """Return ⌈(1-α)(m+1)⌉ for a bag of m+1 rows."""
    return math.ceil((1 - Fraction(str(alpha))) * rows)


def people(rows: int, seed: int, bias: float = 0.0, arms: int = 2) -> pd.DataFrame:
    """Return people with three covariates, treatments in turn and outcomes that the covariates explain in part."""
    rng = np.random.default_rng(seed)
    x, z, place, t = rng.standard_normal(rows), rng.standard_normal(rows), rng.integers(0, 3, rows), np.arange(rows)
    t = t % arms
    noise = rng.standard_normal(rows) * np.exp(z / 2)
    y = x + (1 + bias) * t + bias * z + 0.5 * place + noise
    return pd.DataFrame({"x": x, "z": z, "place": np.array(["east", "north", "west"])[place], "t": t, "y": y})


# A table of 75 people an arm whose outcomes are confounded; trials of 12 and of 23 people an arm.
LARGE, SMALL, MORE = people(150, 1, 1.0), people(24, 2), people(46, 2)
# Methods that rank new rows among all trial rows, and learn from the large table alone.
ON_TRIAL = ("transfer", "transfer-centred", "prognostic")
# One candidate with everything that is learnt from the large table.
LEARNT = Prognostic(tails="learnt", scale="observational", features="slope")
# A trial whose probabilities differ, see `blocked`.
BLOCKS = {"assignment": "p"}


def blocked(table: pd.DataFrame) -> pd.DataFrame:
    """Return a trial whose probabilities differ by blocks of z."""
    first = np.select([table.z < -0.4, table.z < 0.6], [0.2, 0.5], 0.75)
    return table.assign(p=np.where(table.t == 1, first, 1 - first))


@dataclass(frozen=True)
class Design:
    """A study, a model of it, and the rows of the trial that are exchangeable.

    Attributes
    ----------
    observational, trial : frames
        The tables. One row of the bag is left out of the trial in turn.
    method : str or arm estimator
        The method; its other parameters are in ``model``.
    model, study : dicts
        Parameters of the model and of `stack`.
    label : int
        The arm.
    bag : places or None
        Places of the bag in the trial; None: all rows of the arm.
    ask : callable or None
        ``ask(model, person)`` says whether the person is answered rightly; None: whether the set holds the outcome.
    """

    observational: Any
    trial: pd.DataFrame
    method: Any = "transfer"
    model: dict[str, Any] = field(default_factory=dict)
    study: dict[str, Any] = field(default_factory=dict)
    label: int = 1
    bag: NDArray[np.intp] | None = None
    ask: Asked | None = None

    def fitted(self, trial: pd.DataFrame) -> CounterfactualIntervals:
        """Return the model of the study with this trial."""
        covariates = [name for name in trial.columns if name not in ROLES]
        given: dict[str, Any] = {"treatment": "t", "outcome": "y", "covariates": covariates, **self.study}
        model = CounterfactualIntervals(self.method, **{"base": "linear", "random_state": 0, **self.model})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(stack(self.observational, trial, **given))

    def places(self) -> NDArray[np.intp]:
        """Return the places of the bag."""
        return np.flatnonzero(self.trial["t"] == self.label) if self.bag is None else self.bag

    def without(self, place: int) -> pd.DataFrame:
        """Return the trial without one row of the bag; the last one takes its place."""
        last = int(self.places()[-1])
        rows = [last if row == place else row for row in range(len(self.trial)) if row != last]
        return self.trial.iloc[rows].reset_index(drop=True)

    def covered(self) -> Booleans:
        """Return whether each row of the bag is answered rightly where it is the new one."""
        ask = self.ask or self._holds
        with sharing_fits(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            places = self.places().tolist()
            return np.array([ask(self.fitted(self.without(place)), self.trial.iloc[[place]]) for place in places])

    def _holds(self, model: CounterfactualIntervals, person: pd.DataFrame) -> bool:
        """Return whether a person's set holds the outcome, as the interval and the ends agree."""
        known = {"assignment": person["p"]} if "assignment" in self.study else {}
        sets = model.predict_set(person, self.label, **known)
        inside, hull = bool(sets.contains(person["y"])[0]), sets.hull()
        assert_same(model.predict_interval(person, self.label, **known), hull, "the interval is not the set's hull")
        if inside and not bool(hull.contains(person["y"])[0]):
            raise AssertionError("an outcome is in the set and not in its hull")
        return inside


def calibration_places(rows: int) -> NDArray[np.intp]:
    """Return which of an arm's rows calibrate, of a model with seed 0 whose method splits them in half."""
    return np.sort(split_places(rows, 0.5, spawn_seeds(0, 3)[0])[1])


def assert_same(found: Any, expected: Any, what: str, rtol: float = 1e-9) -> None:
    """Raise unless two answers are the same, infinite and empty ones included."""
    one, other = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    finite = np.abs(other[np.isfinite(other)])
    close = np.isclose(one, other, rtol=rtol, atol=rtol * float(finite.max(initial=1.0)), equal_nan=True)
    if one.shape != other.shape or not close.all():
        raise AssertionError(f"{what}: {one[~close][:3]} and {other[~close][:3]}")


def exactly(covered: Booleans, alpha: Any, *, ties: bool = False) -> str:
    """Return how many rows are in their own sets; raise unless it is the rank, or at least the rank with ties."""
    least, count, rows = needed(alpha, len(covered)), int(covered.sum()), len(covered)
    if count < least or (count > least and not ties and least <= rows - 1):
        raise AssertionError(f"{count} of {rows} rows are in their own sets at α = {alpha}, and it takes {least}")
    return f"{count} of {rows} rows are in their own sets, and it takes {least}"


def at_least(covered: Booleans, weight: Any, alpha: Any) -> str:
    """Return the share of the weight whose rows are in their own sets; raise unless it is at least 1-α."""
    weights = np.asarray(weight, dtype=np.float64)
    share, least = float(weights[covered].sum() / weights.sum()), 1 - float(Fraction(str(alpha)))
    if share < least - ROUNDING:
        raise AssertionError(f"rows of {share:.4f} of the weight are in their own sets at α = {alpha}")
    return f"rows of {share:.3f} of the weight are in their own sets, and it takes {least:.3f}"


def expect(holds: Any, otherwise: str) -> None:
    """Raise, with what broke, unless it holds."""
    if not holds:
        raise AssertionError(otherwise)


class Cases(dict[str, "Check"]):
    """Cases by name: each returns one sentence on what was seen to hold, or raises an AssertionError."""

    def put(self, name: str) -> Callable[[Check], Check]:
        """Return a decorator that puts a case under its name."""

        def put(check: Check) -> Check:
            self[name] = check
            return check

        return put

    def swapped(self, name: str, alpha: Any, design: Callable[[], Design], *, ties: bool = False) -> None:
        """Put a case: a design whose rows are counted."""
        self[name] = lambda: exactly(design().covered(), alpha, ties=ties)

    def weighed(self, name: str, alpha: Any, design: Callable[[], Design]) -> None:
        """Put a case: a design whose rows weigh 1/π."""

        def check() -> str:
            found = design()
            return at_least(found.covered(), 1 / found.trial.p.iloc[found.places()], alpha)

        self[name] = check
