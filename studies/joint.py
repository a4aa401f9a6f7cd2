"""Ways from two arms' intervals to one for the effect, on the data of the study of the default.

Every way makes the same promise, 1 - α: two steps that may miss α together. They differ in what the steps are, and in
how α is divided among them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from confide import CounterfactualIntervals
from confide.base.cache import sharing_fits
from confide.data.splits import Rows
from confide.effects.base import difference
from confide.effects.nested import Nested
from confide.exceptions import InfiniteIntervalWarning, TrialAloneWarning
from confide.methods.new_rows import NewRows
from studies.default_cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from confide.conformal.intervals import Intervals
    from confide.methods.base import ArmEstimator
    from confide.paper.synthetic_arms import Setting

ALPHA = Fraction(1, 10)
# Shares of α that the first step takes: the control's interval, or that of the arm which nesting starts from.
SHARES = {"a quarter": Fraction(1, 4), "half": Fraction(1, 2), "three quarters": Fraction(3, 4)}
# What the steps are.
BONFERRONI, FORWARD, BACKWARD = "bonferroni", "nested-exact, from the control", "nested-exact, from the treated"
STEPS = (BONFERRONI, FORWARD, BACKWARD)


@dataclass(frozen=True)
class Effects:
    """One way of one draw: coverage of the true effects (NaN if nobody knows them), mean width, share infinite."""

    case: str
    steps: str
    first: str
    seed: int
    coverage: float
    width: float
    infinite: float


def draw(case: str, seed: int) -> Iterator[Effects]:
    """Yield every way of one draw of a cell."""
    control, treated = CELLS[case](seed)
    people, effects = asked(control, treated)
    with warnings.catch_warnings(), sharing_fits():
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the table counts them
        warnings.simplefilter("ignore", TrialAloneWarning)
        model = fitted(control, treated, seed)
        encoded = model.encode(people)
        new = {label: NewRows(encoded, arm.base_) for label, arm in model.arms_.items()}
        trained = {label: parted(model, each) for label, each in enumerate((control, treated))}
        for first, share in SHARES.items():
            found = intervals(model.arms_, trained, new, share, seed)
            for steps, interval in zip(STEPS, found, strict=True):
                covered = np.nan if effects is None else float(interval.contains(effects).mean())
                yield Effects(
                    case, steps, first, seed, covered, float(interval.width.mean()), float(interval.infinite.mean())
                )


def intervals(
    arms: Mapping[int, ArmEstimator],
    trained: Mapping[int, tuple[Rows, Rows]],
    new: Mapping[int, NewRows],
    share: Fraction,
    seed: int,
) -> Iterator[Intervals]:
    """Yield the effect's intervals by each of the `STEPS`, if the first step takes that share of α."""
    levels = share * ALPHA, (1 - share) * ALPHA
    below, above = (arms[label].with_alpha(level).predict_interval(new[label]) for label, level in enumerate(levels))
    yield difference(above, below)
    for order in ((0, 1), (1, 0)):
        nested = Nested(exact=True).fit({label: arms[label] for label in order}, trained, levels[0], seed)
        nested.arm_alpha_ = levels[1]  # of the second step, the calibration
        yield nested.predict_interval(new, 1, 0)


def fitted(control: Setting, treated: Setting, seed: int) -> CounterfactualIntervals:
    """Return the default, fitted on both arms."""
    X, y, trial = (np.concatenate([getattr(control, name), getattr(treated, name)]) for name in ("X", "y", "trial"))
    treatment = np.repeat([0, 1], [len(control.y), len(treated.y)])
    # Its encoder learns from what none of the ways calibrates on.
    return CounterfactualIntervals(effect="nested-exact", alpha=float(ALPHA), random_state=seed).fit(
        X, y, treatment, trial
    )


def parted(model: CounterfactualIntervals, setting: Setting) -> tuple[Rows, Rows]:
    """Return an arm's observational and trial rows, as the model reads them."""
    rows = Rows(model.encode(setting.X), setting.y)
    return rows[~setting.trial], rows[setting.trial]


def asked(control: Setting, treated: Setting) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the people to ask about, and their effects if they are known."""
    if len(control.test) == len(treated.test) and (control.test.X == treated.test.X).all():
        return control.test.X, treated.test.y - control.test.y
    return np.concatenate([control.test.X, treated.test.X]), None
