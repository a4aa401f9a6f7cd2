"""Some cases of each attack by hand, and what the runner makes of a case that breaks; `make attacks` runs them all."""

import pytest

from fuzz import attacking
from fuzz.page import page
from fuzz.verdict import ANSWERED, DEFECT

FEW = 3


def of(attack):
    return [number for number, case in enumerate(attacking.cases()) if case[0] == attack]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "attack",
    # Designs are exchanged row by row, which takes long; tests/fuzz/test_designs.py has quick ones.
    [pytest.param(each, marks=pytest.mark.slow if each == "designs" else ()) for each in attacking.names()],
)
def test_a_few_cases(attack):
    numbers = of(attack)
    assert len(numbers) >= FEW
    for number in numbers[:: max(1, len(numbers) // FEW)][:FEW]:
        verdict = attacking.attempt(number)
        assert verdict.outcome == ANSWERED, (attacking.cases()[number][1], verdict.said)
        assert verdict.said


def test_a_case_that_breaks(monkeypatch):
    def breaks():
        assert 1 + 1 == 3, "two\nlines"

    monkeypatch.setattr(attacking, "cases", lambda: [("tables", "sums", breaks), ("tables", "fine", lambda: "held.")])
    broken = attacking.attempt(0)
    assert broken.outcome == DEFECT
    assert "\n" not in broken.said
    assert attacking.attempt(1).outcome == ANSWERED


def test_the_page_tells_what_was_seen():
    rows = [
        {"attack": "tables", "case": "a <b> file", "held": 1, "seen": "one line."},
        {"attack": "tables", "case": "another", "held": 0, "seen": "a traceback."},
    ]
    text = page([], [], rows)
    assert "2 attacks by hand and 0 faults, with 1 defect when they were last run" in text
    assert "| tables | 2 | 1 | 1 |" in text
    assert "- a \\<b\\> file: one line." in text
    assert "- another: **broke**: a traceback." in text
