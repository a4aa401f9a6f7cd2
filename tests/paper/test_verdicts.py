"""When a claim holds, is contradicted, or is neither."""

import pytest

from confide.paper.averages import lines
from confide.paper.verdicts import below, fails, reaches, verdict
from paper_rows import rows

pytestmark = pytest.mark.paper


@pytest.mark.parametrize(("coverage", "answer"), [(0.91, True), (0.9, True), (0.8995, None), (0.85, False)])
def test_what_counts_as_reached(coverage, answer):
    assert reaches(lines("table2", rows("naive", coverage, 1.0, targets=["Y(0)"]))[0]) is answer
    one_seed = rows("naive", coverage, 1.0, targets=["Y(0)"], seeds=2)[1:]
    assert reaches(lines("table2", one_seed)[0]) is (answer or None)


def test_a_claim_to_be_below_is_contradicted_beyond_noise_only():
    for coverage, answer in ((0.95, False), (0.9005, None), (0.8995, None), (0.85, True)):
        assert fails(lines("table2", rows("naive", coverage, 1.0, targets=["Y(0)"]))[0]) is answer
    assert fails(lines("table2", rows("naive", 0.5, 1.0, targets=["Y(0)"], seeds=1))[0]) is None


@pytest.mark.parametrize(
    ("differences", "answer"),
    [([], None), ([-1], None), ([-1, -1.1, -0.9], True), ([1, 1.1, 0.9], False), ([-2, 1, 0.5], None), ([0, 0], None)],
)
def test_what_counts_as_below(differences, answer):
    assert below(differences) is answer


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([True, True], "**Holds.**"),
        ([True, None], "**Holds in part.**"),
        ([True, False], "**Holds in part.**"),
        ([None, False], "**Does not hold.**"),
        ([None, None], "**Within noise.**"),
    ],
)
def test_no_evidence_is_no_evidence_for_a_claim(answers, words):
    assert verdict(answers) == words


def test_agreeing_seeds_do_not_make_few_test_rows_certain():
    few, many = (
        [{**row, "tested": tested} for row in rows("naive", 0.89, 1.0, targets=["Y(0)"])] for tested in (100, 10**6)
    )
    assert reaches(lines("table2", few)[0]) is None
    assert reaches(lines("table2", many)[0]) is False
