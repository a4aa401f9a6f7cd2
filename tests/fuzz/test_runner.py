"""Cases that end their process, hang, or ask for too much memory are defects, and the others are run."""

from pathlib import Path

import pytest

from fuzz import page, runner
from fuzz.verdict import ANSWERED, DEFECT


@pytest.mark.slow
def test_cases_that_go_wrong(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setattr(runner, "SECONDS", 8)
    rows = runner.run_block("crashing", 0, 6, "")
    assert [row["case"] for row in rows] == list(range(6))
    assert [row["outcome"] for row in rows] == [ANSWERED, DEFECT, DEFECT, DEFECT, DEFECT, ANSWERED]
    said = [row["said"] for row in rows]
    assert said[1] == "the process ended with status 3"
    assert said[2] == "no answer in 8 seconds"
    assert "KeyError" in said[3]
    assert "MemoryError" in said[4]


def test_the_page_counts_cases():
    rows = [
        {"family": family, "outcome": outcome} for family, outcome in (("a", ANSWERED), ("a", DEFECT), ("b", ANSWERED))
    ]
    summed = page.summed("tables", rows)
    assert [(row["family"], row["cases"], row[DEFECT]) for row in summed] == [("a", 2, 1), ("b", 1, 0)]
    fault = {"fault": "killed", "command": "run", "injected": 5, "in_the_middle": 4, "survived": 5, "defects": ""}
    text = page.page(summed, [fault])
    assert "3 hostile inputs and 5 faults, with 1 defect when they were last run" in text
    assert "| **all** | 3 | 2 | 0 | 1 |" in text
