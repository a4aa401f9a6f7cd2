"""Conformal inference on plain arrays: no treatments, no data frames, no scikit-learn."""

from confide.conformal.permutation import permutation_weights
from confide.conformal.quantile import Calibration, weighted_quantile

__all__ = ["Calibration", "permutation_weights", "weighted_quantile"]
