"""Sizes of the reproduction: the paper's by default; tests use smaller ones."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 0.1
# Digits of a figure in the CSV files.
DIGITS = 6
# Name of the oracle, which knows p(y|x), among the methods.
ORACLE = "oracle"
# Sources of ratings.
COAT, YAHOO, SIMULATED = "Coat", "Yahoo! R3", "simulated"
# Share of observational ratings that calibrate, as the paper has it; of all other rows half calibrate.
RATINGS_SHARE = 0.2


@dataclass(frozen=True)
class Settings:
    """Sizes, the paper's by default.

    Attributes
    ----------
    n, m : int
        Observational and trial rows of the synthetic data, over both arms.
    n_test, n_refit : int
        Number of fresh rows, and how many of them, the first, are predicted by true refits: the paper's 200.
    refits_per_part : int
        Number of rows refitted in one part; a killed run loses at most one part.
    dimensions, trial_sizes : tuple of int
        The sweeps.
    oracle_rows : int or None
        Number of covariate vectors for the oracle's width; None: its default.
    factors : int
        Length of the factors of users and items.
    coat : (int, int)
        Trial ratings of Coat that fit and that calibrate.
    coat_random : int
        Number of Coat's random ratings, duplicates included; the sweep's shares refer to it.
    coat_shares : tuple of float
        The sweep.
    yahoo : (int, int)
        The same for Yahoo.
    users, items : int
        Of the simulated ratings that replace Yahoo's.
    draws : int
        Number of draws per seed in each case of the theorem.
    cases : int or None
        Number of the theorem's cases, from the first on; None: all.
    """

    n: int = 10_000
    m: int = 250
    n_test: int = 2_000
    n_refit: int = 200
    refits_per_part: int = 20
    dimensions: tuple[int, ...] = (1, 3, 5, 10)
    trial_sizes: tuple[int, ...] = (10, 20, 50, 100, 250, 500, 750, 1000)
    oracle_rows: int | None = None
    factors: int = 64
    coat: tuple[int, int] = (928, 928)
    coat_random: int = 4640
    coat_shares: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2)
    yahoo: tuple[int, int] = (10_800, 10_800)
    users: int = 5400
    items: int = 1000
    draws: int = 10
    cases: int | None = None
