"""Average effects in words."""

import numpy as np
import pytest

from confide.effects.averages import EVERYBODY, AverageEffect
from confide.effects.wording import better_in_words, few_in_words


def record(group=EVERYBODY, rows=(100, 100), clusters=None, effect=2.0, low=1.0, high=3.0, alpha=0.05):
    by_arm = {1: rows[0], 0: rows[1]}
    return AverageEffect(group, 1, 0, sum(rows), effect, low, high, effect, low, high, by_arm, clusters, alpha, None)


@pytest.mark.parametrize(
    ("effect", "lower_is_better", "told"),
    [
        (2.0, False, "With higher pain as the better, drug is the better of the two on average."),
        (2.0, True, "With lower pain as the better, placebo is the better of the two on average."),
        (-2.0, False, "With higher pain as the better, placebo is the better of the two on average."),
        (-2.0, True, "With lower pain as the better, drug is the better of the two on average."),
        (-2.0, None, ""),
    ],
)
def test_the_better_treatment_is_told_where_the_interval_does(effect, lower_is_better, told):
    names = {"treated": "drug", "control": "placebo", "outcome": "pain", "lower_is_better": lower_is_better}
    assert better_in_words(record(effect=effect, low=effect - 1, high=effect + 1), **names) == told
    assert not better_in_words(record(effect=effect, low=-3.0, high=3.0), **names)
    assert not better_in_words(record(effect=effect, low=-np.inf, high=np.inf), **names)


def test_intervals_from_few_rows_are_approximate():
    assert few_in_words([record(rows=(7, 90), alpha=0.1)], binary=False) == (
        "The interval is approximate with fewer than 50 rows of a treatment (here 7): if outcomes are very skewed, it "
        "may miss in more than 10 % of trials."
    )
    groups = [record(), record("sex = f", rows=(60, 40)), record("sex = m", rows=(30, 60))]
    assert few_in_words(groups, binary=False).startswith(
        "Intervals are approximate with fewer than 50 rows of a treatment (here 30 for sex = m): "
    )
    assert few_in_words([record(clusters=40)], binary=False).startswith(
        "The interval is approximate with fewer than 100 clusters (here 40): "
    )


@pytest.mark.parametrize(
    "records",
    [[record(rows=(50, 50))], [record(rows=(9, 9), clusters=100)], [record(rows=(1, 9), low=-np.inf, high=np.inf)]],
)
def test_no_sentence_where_rows_suffice_or_nothing_is_told(records):
    assert few_in_words(records, binary=False) == ""


def test_risks_from_few_rows_cover_their_level():
    """docs/averages.md: also with 6 people an arm."""
    assert few_in_words([record(rows=(7, 7))], binary=True) == ""
