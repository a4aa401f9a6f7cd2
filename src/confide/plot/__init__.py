"""Plots of the library's results: effects, intervals, coverage, weights, calibration, balance, sensitivity.

Every function takes records, computes only positions, and returns the matplotlib Axes: those given as ``ax``, or those
of a new figure, ``ax.figure``. No pyplot, no global settings, no screen. matplotlib comes with
``pip install 'confide[plot]'``.
"""

from confide.plot.averages import average_effects
from confide.plot.correlations import correlation_curve
from confide.plot.deciles import calibration_by_decile
from confide.plot.individuals import intervals
from confide.plot.levels import calibration
from confide.plot.love import love_plot
from confide.plot.methods import coverage
from confide.plot.tipping import tipping_point
from confide.plot.weight_shares import weights

__all__ = [
    "average_effects",
    "calibration",
    "calibration_by_decile",
    "correlation_curve",
    "coverage",
    "intervals",
    "love_plot",
    "tipping_point",
    "weights",
]
