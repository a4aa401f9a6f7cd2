"""Density ratios between the trial and the observational data, from which weights are made."""

from confide.ratio.base import DensityRatio
from confide.ratio.classifier import ClassifierRatio
from confide.ratio.kernel import KLIEP, KernelMeanMatching, KernelRatio
from confide.ratio.naive_bayes import NaiveBayesRatio
from confide.ratio.oracle import OracleRatio
from confide.ratio.propensity import PropensityRatio
from confide.ratio.registry import RATIOS, check_ratio, ratio_on

__all__ = [
    "KLIEP",
    "RATIOS",
    "ClassifierRatio",
    "DensityRatio",
    "KernelMeanMatching",
    "KernelRatio",
    "NaiveBayesRatio",
    "OracleRatio",
    "PropensityRatio",
    "check_ratio",
    "ratio_on",
]
