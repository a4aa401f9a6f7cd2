"""Small data that the tests share."""

import numpy as np

from confide.datasets import synthetic


def arm_rows(n=200, m=40, d=2, shift=0.5, seed=0):
    """One arm: n observational rows whose outcome is shifted, then m trial rows."""
    rng = np.random.default_rng(seed)
    trial = np.repeat([False, True], [n, m])
    X = rng.standard_normal((n + m, d))
    y = X[:, 0] + 0.5 * rng.standard_normal(n + m) + shift * ~trial
    return X, y, trial


def arms_study(**params):
    """A study of one label per arm_rows call, twice."""
    parts = [arm_rows(seed=seed, **params) for seed in (0, 1)]
    X, y, trial = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return X, y, np.repeat([0, 1], [len(part[1]) for part in parts]), trial


def study_arrays(n=400, m=120, d=1, seed=0):
    """The synthetic study as (X, y, treatment, trial)."""
    observational = synthetic(n, d=d, random_state=seed)
    trial = synthetic(m, d=d, randomized=True, random_state=seed + 10_000)
    return (
        np.concatenate([observational.X, trial.X]),
        np.concatenate([observational.y, trial.y]),
        np.concatenate([observational.treatment, trial.treatment]),
        np.repeat([False, True], [n, m]),
    )


def gaussians(n=4000, m=2000, seed=0):
    """Trial rows around (0, 0), observational rows around (0, 1), and their ratio r = exp(½ - y)."""
    rng = np.random.default_rng(seed)
    trial, observational = rng.standard_normal((m, 2)), rng.normal([0, 1], size=(n, 2))
    return trial, observational, lambda rows: np.exp(0.5 - rows[:, -1])


def delta(ratio, observational, truth):
    """Δ: half the mean absolute error over observational rows, r̂ normalised."""
    estimate = ratio.predict(observational)
    return 0.5 * np.mean(np.abs(truth(observational) - estimate / estimate.mean()))
