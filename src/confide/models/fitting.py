"""Fitting of models: with the rows' weights, and with every seed set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from confide.data.splits import Rows


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which every random_state that is None becomes the seed."""
    estimator = clone(estimator)
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))


def fitted(model: Any, rows: Rows) -> Any:
    """Return the model fitted on the rows, with their weights if they have any."""
    return model.fit(rows.X, rows.y, **weights_for(model, rows.weight))


def weights_for(model: Any, weight: NDArray[np.float64] | None) -> dict[str, NDArray[np.float64]]:
    """Return the keyword argument of ``fit`` that passes the weights to the model or to a pipeline's last step."""
    if weight is None:
        return {}
    name = "sample_weight"
    steps = []
    while isinstance(model, Pipeline):
        step, model = model.steps[-1]
        steps.append(step)
    if not has_fit_parameter(model, name):
        raise ValueError(
            f"base_on='weighted' needs a base model whose fit takes {name}, and {type(model).__name__}'s takes none. "
            "Use another base model, or base_on='grounded'."
        )
    return {"__".join([*steps, name]): weight}
