"""Plots of the library's results: intervals, coverage against width, weights, calibration, balance.

Every function takes records, computes only positions, and returns the matplotlib Axes: those given as ``ax``, or those
of a new figure, ``ax.figure``. No pyplot, no global settings, no screen. matplotlib comes with
``pip install confide[plot]``.
"""

from confide.plot.individuals import intervals
from confide.plot.levels import calibration
from confide.plot.love import love_plot
from confide.plot.methods import coverage
from confide.plot.weight_shares import weights

__all__ = ["calibration", "coverage", "intervals", "love_plot", "weights"]
