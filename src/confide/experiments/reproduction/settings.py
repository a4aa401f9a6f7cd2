"""Sizes of the reproduction: the paper's, unless a test asks for less."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 0.1
# Digits of a figure in the CSV files.
DIGITS = 6
# What knows p(y|x), among the methods.
ORACLE = "oracle"
# Whose ratings.
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
        Fresh rows that are asked about, and how many of them, the first, with true refits: the paper's 200.
    refits_a_part : int
        Rows that are refitted in one part, and lost by a kill.
    dimensions, trial_sizes : tuple of int
        The sweeps.
    oracle_rows : int or None
        Covariates that stand for the population in the oracle's width; None: as many as it takes.
    factors : int
        Length of the factors of users and items.
    coat : (int, int)
        Trial ratings of Coat that fit and that calibrate.
    coat_random : int
        Coat's random ratings, duplicates among them: what the sweep's shares are shares of.
    coat_shares : tuple of float
        The sweep.
    yahoo : (int, int)
        The same of Yahoo.
    users, items : int
        Of the simulated ratings that stand in for Yahoo's.
    draws : int
        Draws a seed in each case of the theorem.
    cases : int or None
        How many of the theorem's cases, the first; None: all.
    """

    n: int = 10_000
    m: int = 250
    n_test: int = 2_000
    n_refit: int = 200
    refits_a_part: int = 20
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
