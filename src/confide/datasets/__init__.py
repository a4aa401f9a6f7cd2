"""Datasets: bundled trials, loaders, and simulations."""

from confide.datasets.coat import load_coat
from confide.datasets.dataset import Dataset
from confide.datasets.nsw import load_nsw
from confide.datasets.ratings import simulate_ratings
from confide.datasets.star import load_star
from confide.datasets.synthetic import Synthetic, synthetic
from confide.datasets.yahoo_r3 import load_yahoo_r3

__all__ = [
    "Dataset",
    "Synthetic",
    "load_coat",
    "load_nsw",
    "load_star",
    "load_yahoo_r3",
    "simulate_ratings",
    "synthetic",
]
