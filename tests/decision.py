"""The decision rule of all coverage tests.

Each cell (a method, a level, a calibration size …) holds one coverage a repetition. A cell is rejected if its
mean lies below the promise, or above the ceiling, by more than a one-sided t-test at 1 % allows, divided by the
number of tests made together (Bonferroni).
"""

import numpy as np
from scipy import stats

LEVEL = 0.01


def p_value_below(coverages, promise):
    """P-value of the hypothesis that the mean coverage is at least the promise."""
    coverages = np.asarray(coverages, dtype=float)
    spread = coverages.std(ddof=1)
    if spread == 0:
        return 1.0 if coverages[0] >= promise else 0.0
    statistic = (coverages.mean() - promise) / (spread / np.sqrt(len(coverages)))
    return float(stats.t.cdf(statistic, len(coverages) - 1))


def assert_covers(cells, ceilings=None):
    """Check cells: {name: (coverages, promise)}; ceilings: {name: upper bound of the mean}."""
    ceilings = ceilings or {}
    level = LEVEL / (len(cells) + len(ceilings))
    failures = []
    for name, (coverages, promise) in cells.items():
        if p_value_below(coverages, promise) < level:
            failures.append(f"{name}: mean coverage {np.mean(coverages):.4f} is below {promise:.4f}")
        if name in ceilings and p_value_below(-np.asarray(coverages), -ceilings[name]) < level:
            failures.append(f"{name}: mean coverage {np.mean(coverages):.4f} is above {ceilings[name]:.4f}")
    assert not failures, "\n".join(failures)
