"""The study of average effects: what a draw is, and when a cell is called below."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from studies import averages_study
from studies.ancova import ancova, numbers_of
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


def test_analysis_of_covariance_is_least_squares_with_its_errors():
    """Without covariates it is the difference of means, with HC2 the errors of Welch's interval."""
    rng = np.random.default_rng(0)
    y, treated = rng.normal(size=30), np.arange(30) < 12
    low, high = ancova(y, treated, np.empty((30, 0)), 0.05)
    arms = y[treated], y[~treated]
    error = sum(arm.var(ddof=1) / len(arm) for arm in arms) ** 0.5
    assert (low + high) / 2 == pytest.approx(arms[0].mean() - arms[1].mean())
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 28) * error)
    told = y + rng.normal(size=30) / 10
    narrow = ancova(y, treated, np.column_stack([told, told]), 0.05)  # a column twice changes nothing
    assert narrow == pytest.approx(ancova(y, treated, told, 0.05))
    assert narrow[1] - narrow[0] < (high - low) / 3


def test_columns_become_numbers():
    table = pa.table({"age": [1.0, None, 3.0], "town": ["a", "b", None], "left": [0, 1, 0]})
    assert numbers_of(table).shape == (3, 1 + 2 + 1)
    assert numbers_of(table, ("age",))[:, 0].tolist() == [1.0, 2.0, 3.0]
