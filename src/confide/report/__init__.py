"""The report: one HTML page, which needs neither a network nor a server, with a model's answers and why to trust them.

Nothing is computed here. What the page says is asked of the model, its diagnostics and the comparison on held-out rows.
"""

from confide.report.evidence import Evidence
from confide.report.individuals import Individuals
from confide.report.page import write_page, write_report

__all__ = ["Evidence", "Individuals", "write_page", "write_report"]
