"""A value that outcomes are to be above or below: what the page asks and counts."""

import numpy as np
import pytest

from confide.report.choosing import Choice
from confide.report.chosen import bounded, chosen_in_words
from confide.report.findings import Findings
from confide.report.individuals import Individuals
from confide.report.words import Words
from report_pages import expected, fitted, new_patients

WORDS = Words("days", "days", {"drug": "the drug"})


def asked(model, **choice):
    individuals = Individuals.of_table(model, new_patients(), choice=Choice(under="drug", **choice))
    return individuals, Findings.of(model, individuals)


def test_the_title_names_the_criterion_and_the_list_is_not_about_benefit():
    _, findings = asked(fitted(), below=1e6)
    told = chosen_in_words(findings, WORDS)[0]
    assert told["title"] == "Whose days will be below 1,000,000 under the drug?"
    assert told["brief"].startswith("This is not about who benefits from the drug: ")
    assert told["little"].startswith("The list tells little: ")
    assert "trial people under the drug are below" in told["little"]


def test_a_value_that_some_reach_needs_no_such_sentence():
    _, findings = asked(fitted(), above=4.0)
    told = chosen_in_words(findings, Words("score", "points"))[0]
    assert (told["title"], told["little"]) == ("Whose score will be above 4 points under drug?", "")


@pytest.mark.parametrize(("side", "given"), [("upper", "below"), ("lower", "above"), ("upper", "above")])
def test_bounds_beyond_the_value_are_counted(side, given):
    model = fitted(side=side, alpha=0.3)
    ends = expected(model, new_patients(), 0.3)
    value = float(np.median(ends[f"y_drug_{side}"])) + 0.001
    individuals, findings = asked(model, **{given: value})
    found = bounded(model, individuals, findings, WORDS, 150)
    counts = {}
    for label, name in (("drug", "the drug"), ("placebo", "placebo")):
        mine = ends[f"y_{label}_{side}"][:150]
        counts[name] = int((mine < value).sum() if side == "upper" else (mine > value).sum())
    assert dict(found.counts) == counts
    assert 0 < counts["the drug"] < 150
    where = "below" if side == "upper" else "above"
    assert found.title.startswith(f"Whose {side} bound of days is {where} ")


def test_intervals_of_two_ends_and_pages_without_a_value_have_no_such_count():
    model = fitted()
    assert bounded(model, *asked(model, below=4.0), WORDS, 150) is None
    bounds = fitted(side="upper", alpha=0.3)
    individuals = Individuals.of_table(bounds, new_patients())
    assert bounded(bounds, individuals, Findings.of(bounds, individuals), WORDS, 150) is None
