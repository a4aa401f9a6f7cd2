"""The study of choosing people: its cells, and the rule that calls a rate exceeded."""

from dataclasses import asdict, replace

import pytest

from studies.selection import CASES, RATES, Cell, Found, cells, measure
from studies.selection_study import page


@pytest.mark.parametrize("case", [case for case in CASES if case != "model"])
def test_draws_are_repeated_exactly_and_are_shares(case):
    cell = next(replace(each, people=50) for each in cells() if each.case == case and each.rows >= 100)
    found = measure(cell, 20)
    assert found == measure(cell, 20)
    assert [each.rate for each in found] == list(RATES)
    for each in found:
        assert 0 <= each.false <= each.any <= 1
        assert each.power <= each.any


def test_rows_that_are_not_thinned_give_too_many_false_picks():
    cell = Cell("stratified", "good", 1000, 300, 0.5, "rows as they are")
    left, thinned = measure(cell, 60)[0], measure(replace(cell, way="thinned"), 60)[0]
    assert left.false > 0.1 > thinned.false


def found(score, false, way="select", **more):
    told = Found("plain", score, 100, 200, 0.5, way, 0.1, 1000, false, 0.1, 0.5, 0.1, 1.0)
    return asdict(replace(told, **more))


def test_the_page_says_which_rates_are_exceeded():
    rows = [found("good", 0.102), found("reversed", 0.13), found("trial alone", 0.05, power=0.4)]
    text = page(rows)
    assert "3 cells promise the rate: 1 of them are above it. Of 0 that promise nothing, none are." in text
    assert "| good | 100 | 0.102 (0.50) |" in text
    assert "| reversed | 100 | 0.130 (0.50), **above** |" in text
    assert "good in 1 of 1 cells" in text
