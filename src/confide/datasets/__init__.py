"""Data to try confide on, and to measure it with."""

from confide.datasets.synthetic import Synthetic, synthetic

__all__ = ["Synthetic", "synthetic"]
