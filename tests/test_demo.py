"""The demonstration says what the data show."""

import numpy as np
import pytest

from confide import METHODS, CounterfactualIntervals, stack
from confide import demo as story
from confide.datasets import load_star
from confide.demo import ALPHA, star_story

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("story")]


@pytest.fixture(scope="module")
def draws():
    """Two draws of the pupils, by their seed."""
    return {seed: story._draw(seed).story for seed in (2, 3)}


def test_the_numbers_are_means_over_draws_of_the_pupils(draws):
    one = draws[3]
    data = load_star(random_state=3)
    assert (one.observational, one.trial, one.held_out) == tuple(map(len, (data.observational, data.trial, data.test)))
    small, score = (data.test[name].to_numpy() for name in ("small", "score"))
    assert one.true == pytest.approx(score[small == 1].mean() - score[small == 0].mean())
    model = CounterfactualIntervals("naive", alpha=ALPHA, random_state=3)
    model.fit(*stack(data.observational, data.trial, treatment="small", outcome="score"))
    new = data.test.drop_columns(["small", "score"])
    inside = model.predict_interval(new, treatment=small).contains(score)
    assert one.lines[1].coverage == pytest.approx([inside[small == arm].mean() for arm in (0, 1)])


def test_each_draw_is_told_and_enters_the_means(draws, monkeypatch):
    monkeypatch.setattr(story, "DRAWS", 2)
    steps = []
    told, first = star_story(1, steps.append)
    assert steps == [1, 1]
    assert first.story == draws[2]
    for number, line in enumerate(told.lines):
        mine = [each.lines[number] for each in draws.values()]
        np.testing.assert_allclose(line.coverage, np.mean([each.coverage for each in mine], axis=0))
        np.testing.assert_allclose(line.width, np.mean([each.width for each in mine], axis=0))
    assert told.claimed == pytest.approx(np.mean([each.claimed for each in draws.values()]))
    assert told.lines[0].promise.exists is False
    assert told.lines[2].promise == METHODS["transfer-centred"].promise
