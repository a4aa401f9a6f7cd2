"""The error Δ of each density ratio where the truth is known."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RatioError:
    """One ratio, one pair of sample sizes, one repetition: Δ = ½·E|r - r̂/E r̂| over fresh observational rows."""

    ratio: str
    n: int
    m: int
    seed: int
    error: float
    seconds: float


def gaussian_rows(rows: int, shift: float, seed: list[int], d: int = 2) -> NDArray[np.float64]:
    """Return d covariates around 0 and an outcome around the shift, all of variance 1."""
    sample = np.random.default_rng(seed).standard_normal((rows, d + 1))
    sample[:, -1] += shift
    return sample


def gaussian_error(name: str, ratio: Any, n: int, m: int, seed: int) -> RatioError:
    """Return the error for trial outcomes N(0, 1) and observational ones N(1, 1): r(x, y) = exp(½ - y)."""
    trial, observational, fresh = (
        gaussian_rows(rows, shift, [seed, part])
        for part, (rows, shift) in enumerate([(m, 0.0), (n, 1.0), (10_000, 1.0)])
    )
    ratio = clone(ratio)
    if "random_state" in ratio.get_params():
        ratio.set_params(random_state=seed)
    started = time.perf_counter()
    estimate = ratio.fit(trial, observational).predict(fresh)
    seconds = time.perf_counter() - started
    error = float(np.mean(np.abs(np.exp(0.5 - fresh[:, -1]) - estimate / estimate.mean())) / 2)
    return RatioError(name, n, m, seed, error, seconds)
