"""The candidates of `prognostic`: ways to use the large table, which of them are tried, and which are preferred."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from confide.typing import Floats

FEATURES = ("auto", "slope", "offset", "ridge", "none")
SCALES = ("auto", "observational", "root", "none")
TAILS = ("auto", "even", "learnt")
# The power of σ̂ in which errors are measured.
POWERS = {"observational": 1.0, "root": 0.5, "none": 0.0}
# With m trial rows, what learns from covariates has to look narrower than a constant by this factor over m: of several
# candidates that are alike, the luckiest one in few rows is not the best.
PRICE = 2.0
# The root of σ̂ has to look so much narrower than anything else. It is narrower on average than widths that are right
# for everybody, because it misses those who are hard to predict. Learnt tails have to look narrower too, by less.
EVENNESS = 1.15
SYMMETRY = 1.05
# With fewer trial rows than this a slope with unequal weights, and unequal tails, leave some sets unbounded.
FEW_ROWS = 20
# The penalty of ridge on the trial's own covariates, per covariate (scaled); next to none on the slope.
RIDGE_PENALTY = 1.0
SLOPE_PENALTY = 1e-3


@dataclass(frozen=True)
class Candidate:
    """One way to use the large table.

    Attributes
    ----------
    features : {"none", "ridge", "offset", "slope"}
        What the trial's outcomes are regressed on: nothing but a constant; the covariates, by ridge; nothing, after μ̂
        is subtracted; or μ̂.
    scale : {"none", "root", "observational"}
        Whether errors are measured in units of 1, of √σ̂ or of σ̂.
    tails : {"even", "learnt"}
        Whether the two tails reach equally far.
    """

    features: str
    scale: str = "none"
    tails: str = "even"

    def __str__(self) -> str:
        words = {
            "none": "a constant",
            "ridge": "ridge on the trial's covariates",
            "offset": "the prognostic score, centred",
            "slope": "the prognostic score with a slope",
        }[self.features]
        scaled = {"none": "", "root": ", scaled by the root", "observational": ", scaled"}[self.scale]
        return words + scaled + ", with learnt tails" * (self.tails == "learnt")

    def penalty(self, columns: int) -> Floats:
        """Return the penalty of each feature, given the number of covariates."""
        if self.features == "ridge":
            return np.concatenate([[0.0], np.full(columns, RIDGE_PENALTY * columns)])
        return np.array([0.0, SLOPE_PENALTY] if self.features == "slope" else [0.0])


def candidates(features: str, scale: str, tails: str, *, rows: int, columns: int, sized: bool) -> list[Candidate]:
    """Return what is chosen among: it depends on parameters, observational rows and the number of trial rows only.

    ``rows`` is the number of trial rows, ``columns`` that of covariates, and ``sized`` whether σ̂ is known.
    """
    few = rows < FEW_ROWS
    known = ("observational", "root") if sized else ("none",)
    scales = known if scale == "auto" else (scale,)
    reaches = (("even",) if few else ("even", "learnt")) if tails == "auto" else (tails,)
    if features != "auto":
        return [Candidate(features, *kind) for kind in product(scales, reaches)]
    # Two that ignore the observational rows, whatever scale and tails are.
    found = [Candidate("none"), *([Candidate("ridge")] if columns else [])]
    found += [Candidate("offset", *kind) for kind in product(scales, reaches)]
    return found + [Candidate("slope", *kind) for kind in product(("none",) if few else scales, reaches)]


def handicap(candidate: Candidate, features: str, scale: str, tails: str, *, rows: int) -> float:
    """Return the factor of a candidate's estimate, for what is less preferred, given the number of trial rows."""
    factor = 1.0
    if features == "auto" and candidate.features != "none":
        factor *= 1 + PRICE / max(rows, 1)
    if scale == "auto" and candidate.scale == "root":
        factor *= EVENNESS
    if tails == "auto" and candidate.tails == "learnt":
        factor *= SYMMETRY
    return factor
