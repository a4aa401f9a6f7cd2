"""Data to try confide on, and to measure it with."""

from confide.datasets.dataset import Dataset
from confide.datasets.nsw import load_nsw
from confide.datasets.star import load_star
from confide.datasets.synthetic import Synthetic, synthetic

__all__ = ["Dataset", "Synthetic", "load_nsw", "load_star", "synthetic"]
