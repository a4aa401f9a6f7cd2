"""The demonstration says what the data show."""

import numpy as np
import pytest

from confide import METHODS
from confide.datasets import load_star
from confide.experiments.story import ALPHA, tell_star, write_star
from confide.formats import read_file

STORY = tell_star(0)


def test_the_story_is_true():
    """What the text claims of the three lines holds in their numbers."""
    blind, trial, both = STORY.lines
    assert (blind.promise, trial.promise) == ("nothing", METHODS["naive"].promise)
    assert both.promise == METHODS["transfer-centred"].promise
    for arm in blind.arms:
        assert arm.high < 1 - ALPHA  # the exact interval of its coverage lies below what was asked for
    for line in (trial, both):
        assert all(arm.coverage >= 1 - ALPHA for arm in line.arms)
    assert all(ours.width < alone.width for ours, alone in zip(both.arms, trial.arms, strict=True))
    assert STORY.claimed > 3 * STORY.true > 0


def test_the_numbers_are_those_of_the_pupils():
    data = load_star(random_state=0)
    assert (STORY.observational, STORY.trial, STORY.held_out) == tuple(
        map(len, (data.observational, data.trial, data.test))
    )
    small, score = (data.test[name].to_numpy() for name in ("small", "score"))
    assert STORY.true == pytest.approx(score[small == 1].mean() - score[small == 0].mean())
    assert [sum(arm.n for arm in line.arms) for line in STORY.lines] == [len(data.test)] * 3


def test_each_step_is_told():
    steps = []
    tell_star(0, steps.append)
    assert steps == [1, 1, 1]


def test_the_pupils_as_files(tmp_path):
    write_star(str(tmp_path / "deep" / "star"), 0)
    data = load_star(random_state=0)
    parts = {
        name: read_file(str(tmp_path / "deep" / "star" / f"{name}.csv")) for name in ("observational", "trial", "new")
    }
    for name, original in (("observational", data.observational), ("trial", data.trial), ("new", data.test)):
        assert len(np.unique(parts[name]["pupil"])) == len(original)
        np.testing.assert_array_equal(parts[name]["birth"], original["birth"])
    assert "score" not in parts["new"].column_names
    assert "small" not in parts["new"].column_names
