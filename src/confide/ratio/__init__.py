"""Where weights come from: density ratios between the trial and the observational data."""

from __future__ import annotations

from typing import Any

from confide.checks import suggest
from confide.ratio.base import DensityRatio
from confide.ratio.classifier import ClassifierRatio
from confide.ratio.oracle import OracleRatio
from confide.ratio.propensity import PropensityRatio

__all__ = ["RATIOS", "ClassifierRatio", "DensityRatio", "OracleRatio", "PropensityRatio", "check_ratio"]

RATIOS: dict[str, type[DensityRatio]] = {"classifier": ClassifierRatio, "propensity": PropensityRatio}


def check_ratio(ratio: Any) -> Any:
    """Return the density ratio of that name, or the estimator itself."""
    if isinstance(ratio, str):
        if ratio not in RATIOS:
            raise ValueError(f"ratio {ratio!r} is unknown; {suggest(ratio, RATIOS)}")
        return RATIOS[ratio]()
    if not (hasattr(ratio, "fit") and hasattr(ratio, "predict")):
        raise ValueError(f"ratio must be a name or a density-ratio estimator, got {ratio!r}.")
    return ratio
