"""Exact permutation weights: the paper calls them exponential."""

from __future__ import annotations

import numpy as np

from confide.conformal import permutation_weights
from timing import require, seconds


def main():
    for count, m, bound in ((2_600, 62, 0.1), (40_000, 1_000, 5.0)):
        ratios = np.random.default_rng(0).gamma(0.3, size=count) + 1e-9
        took = seconds(lambda ratios=ratios, m=m: permutation_weights(ratios, m))
        require(f"{count:,} points, m = {m:,}", took, bound, "s")
