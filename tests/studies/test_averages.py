"""The study of average effects: what a draw is, and when a cell is called below."""

import numpy as np
import pytest

from studies import averages_study
from studies.averages import CASES, EFFECT, GROUPS, TRIAL, Draw, of_groups

FAST = [case for case in CASES if not case.startswith("fitted")]


@pytest.mark.parametrize("case", FAST)
def test_one_draw_has_every_cell_once(case):
    draw, scores = CASES[case]
    drawn = [one for score in scores for one in draw(score, case, 0)]
    assert len({(one.case, one.score, one.size) for one in drawn}) == len(drawn)
    assert {one.score for one in drawn} == set(scores)


def test_groups_and_everybody():
    drawn = list(of_groups("oracle", "one probability", 3))
    assert [one.size for one in drawn] == [*map(str, GROUPS[:-1]), str(TRIAL)]
    assert sum(GROUPS) == TRIAL
    assert drawn[-1].width < drawn[-1].unadjusted_width < 4 * EFFECT


def test_rows_count_what_covers_and_average_what_is_finite():
    draws = [
        Draw("one probability", "oracle", "12", covers, True, width, 4.0)
        for covers, width in ((True, 1.0), (False, 3.0), (True, np.inf))
    ]
    row = averages_study._row("one probability", "oracle", "12", draws)
    assert (row["draws"], row["covers"], row["unadjusted_covers"], row["infinite"]) == (3, 2, 3, 1)
    assert (row["width"], row["share_of_width"]) == (2.0, 0.5)
    assert averages_study._row("STAR", "fitted", "400", draws)["covers"] == ""


@pytest.mark.parametrize(("covers", "below"), [(950, False), (930, False), (900, True)])
def test_below_is_a_binomial_test_for_all_cells(covers, below):
    assert averages_study._is_below({"covers": covers, "draws": 1000}, "covers", 160) is below
