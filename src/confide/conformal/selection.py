"""Whom to choose at a false discovery rate: conformal p-values and the Benjamini–Hochberg rule on them.

A person is to be chosen if their outcome is above c. m rows with known outcomes are exchangeable with each new one, and
a score μ̂(x), learnt from other rows, says who is likely to be above. The p-value of a new row is

    p = (1 + #{i: y_i ≤ c, μ̂(x_i) ≥ μ̂(x)})/(m + 1),

ties counting in full: the score of Jin and Candès (2023), M·1{y > c} - μ̂(x) with a large M. If the rows and the new
ones are drawn independently from one population, the rule's false discovery rate is at most q, whatever μ̂ is worth. If
new rows are up to Γ times as frequent as that, it is at most Γ·q: its proof takes one new row at a time.

Numerators of p-values are whole numbers, and are kept as such, so that the rule is exact in the decimal that was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray


def numerators(short: NDArray[np.float64], new: NDArray[np.float64], rounding: float = 0.0) -> NDArray[np.intp]:
    """Return (m + 1)·p of new rows.

    Parameters
    ----------
    short : (k,) array
        Scores of the rows that fall short of c.
    new : (n,) array
        Scores of the new rows.
    rounding : float
        Scores that differ by less are tied.
    """
    return np.asarray(1 + len(short) - np.searchsorted(np.sort(short), new - rounding, side="left"), dtype=np.intp)


def chosen(numerator: NDArray[np.intp], rows: int, rate: Fraction) -> NDArray[np.bool_]:
    """Return whom the Benjamini–Hochberg rule chooses: everybody up to the largest p-value p with p·n ≤ q·#{p_j ≤ p}.

    Parameters
    ----------
    numerator : (n,) array
        (m + 1)·p of the new rows.
    rows : int
        m.
    rate : Fraction
        q.
    """
    return np.asarray(numerator <= last_chosen(np.bincount(numerator), rows, rate))


def last_chosen(counts: NDArray[np.intp], rows: int, rate: Fraction) -> int:
    """Return the largest (m + 1)·p that is chosen, 0 if nobody is; ``counts`` says how many have 0, 1, 2 and so on."""
    least, most = rate.denominator * int(counts.sum()), rate.numerator * (rows + 1)
    last = 0
    values = np.flatnonzero(counts)
    for value, so_many in zip(values.tolist(), np.cumsum(counts[values]).tolist(), strict=True):
        if value * least <= so_many * most:
            last = value
    return last
