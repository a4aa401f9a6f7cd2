"""Diagnostics: what to check before trusting a fitted model."""

from confide.conformal.quantile import effective_sample_size
from confide.diagnostics.confounding_test import ConfoundingTest, hidden_confounding_test
from confide.diagnostics.correlation import AtCorrelation, correlation_curve
from confide.diagnostics.covariate_balance import Balance, balance
from confide.diagnostics.coverage import Coverage, coverage_by_alpha, coverage_report
from confide.diagnostics.deciles import PartCoverage, coverage_by_decile
from confide.diagnostics.flow import RowFlow, row_flow
from confide.diagnostics.records import ArmDiagnostics
from confide.diagnostics.tipping import AtGamma, gamma_curve, tipping_point
from confide.diagnostics.weights import Weights, calibration_weights

__all__ = [
    "ArmDiagnostics",
    "AtCorrelation",
    "AtGamma",
    "Balance",
    "ConfoundingTest",
    "Coverage",
    "PartCoverage",
    "RowFlow",
    "Weights",
    "balance",
    "calibration_weights",
    "correlation_curve",
    "coverage_by_alpha",
    "coverage_by_decile",
    "coverage_report",
    "effective_sample_size",
    "gamma_curve",
    "hidden_confounding_test",
    "row_flow",
    "tipping_point",
]
