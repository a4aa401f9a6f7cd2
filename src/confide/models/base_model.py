"""Base models: checks, fitting, and the rows they are trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

from confide.base.cache import fit_once
from confide.base.validation import suggest
from confide.models.auto import AutoRegressor
from confide.models.fitting import seeded, weights_for
from confide.models.lightgbm_model import LightGBMRegressor
from confide.models.preprocessing import Learner, prepared, ridge_on_splines, settled_ridge, standardised
from confide.models.ridge import BlockRidge

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.data.splits import Rows
    from confide.typing import Floats, Regressor

# Which rows train the base model; all but the first include trial fit rows, which then may not calibrate.
BASE_ON = ("observational", "trial", "weighted", "grounded")
# Base models by name.
BASES: dict[str, Callable[[], Regressor]] = {
    "auto": AutoRegressor,
    "constant": DummyRegressor,
    "linear": lambda: standardised(LinearRegression()),
    "ridge": ridge_on_splines,
    "boosting": HistGradientBoostingRegressor,
    "lightgbm": LightGBMRegressor,
    "forest": lambda: standardised(RandomForestRegressor(min_samples_leaf=5)),
}


def check_base_on(base_on: str, known: tuple[str, ...] = BASE_ON) -> str:
    """Return base_on, or raise a ValueError that lists the known values."""
    if base_on not in known:
        raise ValueError(f"base_on={base_on!r} is unknown; {suggest(base_on, known)}")
    return base_on


def learn(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model fitted on the rows; None means `AutoRegressor`.

    If there are more rows than those in memory, it learns from them by batches, and those in memory are held out.
    """
    base = seeded(check_base(base), seed)
    if rows.more is not None:
        return fit_once(Learner.of(base), rows.more)
    model = prepared(base, copy=not isinstance(base, AutoRegressor | HistGradientBoostingRegressor | LightGBMRegressor))
    try:
        model = fit_once(model, rows.X, rows.y, **weights_for(model, rows.weight))
    except ValueError as error:
        if "only supported for dataframes" not in str(error):  # scikit-learn's words
            raise
        raise ValueError(
            "the base model picks columns by name, and base models get a matrix of numbers. Give the step that picks "
            "them as encoder=, and the rest as base=."
        ) from error
    return _checked(model, rows.X[:2])


def predictions(base: Any, X: Floats) -> Floats:
    """Return the base model's predictions; raise if one is NaN or infinite."""
    found: Floats = np.asarray(base.predict(X), dtype=np.float64)
    bad = ~np.isfinite(found)
    if bad.any():
        raise ValueError(
            f"the base model predicts {'NaN' if np.isnan(found).any() else 'infinity'} for "
            f"{bad.reshape(len(bad), -1).any(axis=1).sum()} rows. Use a base model that always predicts a number."
        )
    return found


def _checked(model: Any, X: Floats) -> Any:
    """Return a fitted model; raise unless it predicts one number per row, which a model of one's own may not."""
    found = model.predict(X)
    if not isinstance(found, np.ndarray) or found.shape != (len(X),) or found.dtype.kind not in "biuf":
        given = f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else f"a {type(found).__name__}"
        text = " of text or objects" if isinstance(found, np.ndarray) and found.dtype.kind not in "biuf" else ""
        raise ValueError(
            f"the base model must predict an array of one number per row: for {len(X)} rows of shape ({len(X)},), got "
            f"{given}{text}. Let its predict return np.asarray(…, dtype=float).ravel()."
        )
    if np.isinf(found).any():
        raise ValueError("the base model predicts infinity. Use a base model that always predicts a number.")
    return model


def settled(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model with all tuning fixed, for refits; None is tuned once, on these rows.

    Tuning again for each candidate outcome would cost time and split prediction sets into pieces. Early stopping is
    such tuning, and so is the automatic model's choice of candidate and penalty.
    """
    base = check_base(base)
    if isinstance(base, AutoRegressor):
        base = seeded(base, seed).fit(rows.X, rows.y).model_
        if isinstance(base, Pipeline) and isinstance(base[-1], BlockRidge):
            base = settled_ridge(base[-1])
    base = clone(base)
    params = base.get_params(deep=True)
    stops: dict[str, Any] = {name: False for name in params if name.split("__")[-1] == "early_stopping"}
    for name in params:
        prefix, _, last = name.rpartition("n_iter_no_change")
        # Gradient boosting stops early if this is a number; other models use it only with `early_stopping`.
        if not last and f"{prefix}validation_fraction" in params and f"{prefix}early_stopping" not in params:
            stops[name] = None
    return base.set_params(**stops)


def check_base(base: Any) -> Any:
    """Return the base model, None being the automatic one; raise unless it is a regressor or a name of one."""
    if base is None:
        return AutoRegressor()
    if isinstance(base, str):
        if base not in BASES:
            raise ValueError(f"base {base!r} is unknown; {suggest(base, BASES)}")
        return BASES[base]()
    if isinstance(base, type) or not all(
        hasattr(base, name) for name in ("fit", "predict", "get_params", "__sklearn_tags__")
    ):
        raise ValueError(
            f"base must be an unfitted scikit-learn regressor, a name ({', '.join(BASES)}) or None, got {base!r}. A "
            "class of your own needs sklearn.base.RegressorMixin and BaseEstimator."
        )
    return base


def share_explained(y: Floats, points: Floats) -> float | None:
    """Return R², the share of the outcomes' variance that points explain; None if outcomes do not vary.

    Points beyond all numbers of the outcome, whose errors have no square, explain -inf.
    """
    total = float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0
    with np.errstate(over="ignore"):
        return 1 - float(np.sum((y - points) ** 2)) / total if total > 0 else None


def name_of_base(model: Any) -> str:
    """Return what a fitted base model is, in a word: the automatic one's winner, "ridge", or the name of the class."""
    while not isinstance(model, AutoRegressor):
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "models"):  # the mean and its error, or the median between two quantiles
            model = model.models[(len(model.models) - 1) // 2]
        elif hasattr(model, "model"):
            model = model.model
        elif isinstance(model, BlockRidge) and model.features is not None:
            return "ridge"
        else:
            return type(model).__name__
    return f"{model.name_} (chosen from {', '.join(model.errors_)})" if model.errors_ else str(model.name_)
