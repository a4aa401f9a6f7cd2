"""The paper's tables and figures, run anew: our figure beside the published one, and why they differ."""

from confide.experiments.reproduction.reproduce import Reproduced, Reproduction
from confide.experiments.reproduction.settings import Settings
from confide.experiments.reproduction.tables import TABLES

__all__ = ["TABLES", "Reproduced", "Reproduction", "Settings"]
