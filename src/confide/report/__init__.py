"""The report: one HTML page with a model's predictions and the evidence for them. It needs no network and no server.

Nothing is computed here. The numbers come from the model, its diagnostics and the comparison on held-out rows.
"""

from confide.report.choosing import Choice
from confide.report.evidence import Evidence, measured_methods
from confide.report.findings import Findings
from confide.report.individuals import Gathered, Individuals
from confide.report.page import write_page, write_report
from confide.report.words import Words

__all__ = [
    "Choice",
    "Evidence",
    "Findings",
    "Gathered",
    "Individuals",
    "Words",
    "measured_methods",
    "write_page",
    "write_report",
]
