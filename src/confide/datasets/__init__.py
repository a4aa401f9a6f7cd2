"""Datasets: real trials that come with the package, loaders of your own files, and simulations.

| function | what it is for |
| --- | --- |
| `load_within_study` | a real trial, real preferences, strong covariates: where the large table helps |
| `load_star` | a real trial, from which pupils are selected by their scores: hidden confounding of a chosen strength |
| `load_nsw` | a real trial with survey respondents as controls: where the large table misleads |
| `load_coat`, `load_yahoo_r3` | ratings, from the files of their authors |
| `simulate_ratings` | ratings of the same kind, simulated |
| `synthetic` | the paper's simulation |
| `synthetic_clinic` | strong covariates, unequal and skewed noise, a declared bias; the oracle knows the truth |
| `synthetic_shop` | half of the outcomes are 0, the others skewed; the oracle knows the truth |
"""

from confide.datasets.clinic import synthetic_clinic
from confide.datasets.coat import load_coat
from confide.datasets.dataset import Dataset
from confide.datasets.nsw import load_nsw
from confide.datasets.oracle import Oracle, OracleSynthetic
from confide.datasets.ratings import simulate_ratings
from confide.datasets.shop import synthetic_shop
from confide.datasets.star import load_star
from confide.datasets.synthetic import Synthetic, synthetic
from confide.datasets.within_study import load_within_study
from confide.datasets.yahoo_r3 import load_yahoo_r3

__all__ = [
    "Dataset",
    "Oracle",
    "OracleSynthetic",
    "Synthetic",
    "load_coat",
    "load_nsw",
    "load_star",
    "load_within_study",
    "load_yahoo_r3",
    "simulate_ratings",
    "synthetic",
    "synthetic_clinic",
    "synthetic_shop",
]
