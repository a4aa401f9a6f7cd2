"""The four rows of the paper's Table 2 that its reference code needs 63 s a seed for, at the same setting.

The reference code is not run here: it needs library versions of its own. Its seconds are from a run on one core of
this kind of machine.
"""

from __future__ import annotations

from sklearn.ensemble import GradientBoostingRegressor

from confide import method
from studies.paper_setting import repeat_synthetic
from timing import require, seconds, tell

REFERENCE = {"naive": 4.8, "wscp-dr-inexact": 8.3, "wscp-dr-exact": 9.1, "wcp": 41.0}


def main():
    for label, params in {
        "automatic base": {},
        "GradientBoostingRegressor": {"base": GradientBoostingRegressor()},
    }.items():
        total = 0.0
        for name, reference in REFERENCE.items():
            took = seconds(lambda name=name, params=params: repeat_synthetic(name, method(name, **params), 0), runs=1)
            tell(f"{label}, {name}", took, "s")
            tell("  reference code", reference / took, "times that")
            total += took
        require(f"{label}, both arms and the effect, one seed", total, sum(REFERENCE.values()) / 5, "s")
