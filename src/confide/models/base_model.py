"""Base models: checks, fitting, and the rows they are trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import Pipeline

from confide.base.cache import fit_once
from confide.base.validation import suggest
from confide.models.auto import AutoRegressor
from confide.models.fitting import seeded, weights_for
from confide.models.preprocessing import Learner, prepared

if TYPE_CHECKING:
    from confide.data.splits import Rows

# Which rows train the base model; all but the first include trial fit rows, which then may not calibrate.
BASE_ON = ("observational", "trial", "weighted", "grounded")


def check_base_on(base_on: str, known: tuple[str, ...] = BASE_ON) -> str:
    """Return base_on, or raise a ValueError that lists the known values."""
    if base_on not in known:
        raise ValueError(f"base_on={base_on!r} is unknown; {suggest(base_on, known)}")
    return base_on


def learn(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model fitted on the rows; None means `AutoRegressor`."""
    model = AutoRegressor() if check_base(base) is None else base
    model = prepared(seeded(model, seed))
    return fit_once(model, rows.X, rows.y, **weights_for(model, rows.weight))


def settled(base: Any, rows: Rows, seed: int) -> Any:
    """Return the base model with all tuning fixed, for refits; None is tuned once, on these rows.

    Tuning again for each candidate outcome would cost time and split prediction sets into pieces. Early stopping is
    such tuning, and so is the automatic model's choice of candidate and penalty.
    """
    if check_base(base) is None or isinstance(base, AutoRegressor):
        base = seeded(AutoRegressor() if base is None else base, seed).fit(rows.X, rows.y).model_
        if isinstance(base, Pipeline) and isinstance(base[-1], RidgeCV):
            base = Learner.of(*base[:-1], Ridge(alpha=base[-1].alpha_))
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
    """Return the base model; raise unless it is a regressor or None."""
    if base is None:
        return None
    if isinstance(base, type) or not all(
        hasattr(base, name) for name in ("fit", "predict", "get_params", "__sklearn_tags__")
    ):
        raise ValueError(
            f"base must be an unfitted scikit-learn regressor or None, got {base!r}. A class of your own needs "
            "sklearn.base.RegressorMixin and BaseEstimator."
        )
    return base
