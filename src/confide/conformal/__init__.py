"""Conformal inference on plain arrays: no treatments, no data frames, no scikit-learn."""

from confide.conformal.quantile import Calibration, weighted_quantile

__all__ = ["Calibration", "weighted_quantile"]
