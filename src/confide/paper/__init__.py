"""The paper's tables and figures, run again: our figure beside the published one, and why they differ."""

from confide.paper.reproduce import Reproduced, Reproduction
from confide.paper.screen import reproduction_parts
from confide.paper.settings import Settings
from confide.paper.tables import TABLES

__all__ = ["TABLES", "Reproduced", "Reproduction", "Settings", "reproduction_parts"]
