"""The demonstration says what the data show."""

from dataclasses import replace

import numpy as np
import pytest

from confide import METHODS, CounterfactualIntervals, stack
from confide import demo as story
from confide.base.csv_rows import read_rows
from confide.datasets.examples import EXAMPLES
from confide.demo import ALPHA, story_of
from pages import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("story")]


@pytest.fixture(scope="module")
def draws():
    """Two draws of the people, by their seed."""
    return {seed: story.draw_of(EXAMPLES["training"], seed).story for seed in (2, 3)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_names_the_columns_of_its_data(name):
    example = EXAMPLES[name]
    data = example.load(0)
    assert (example.treatment, example.outcome) == (data.treatment, data.outcome)
    assert sorted(set(data.trial[data.treatment].to_pylist())) == [0, 1]


def test_the_numbers_are_means_over_draws_of_the_people(draws):
    one = draws[3]
    data = EXAMPLES["training"].load(3)
    assert (one.observational, one.trial, one.held_out) == tuple(map(len, (data.observational, data.trial, data.test)))
    got, score = (data.test[name].to_numpy() for name in ("mathGrp", "mathPost"))
    assert one.true == pytest.approx(score[got == 1].mean() - score[got == 0].mean())
    model = CounterfactualIntervals(alpha=ALPHA, random_state=3)
    model.fit(*stack(data.observational, data.trial, treatment="mathGrp", outcome="mathPost"))
    new = data.test.drop_columns(["mathGrp", "mathPost"])
    inside = model.predict_interval(new, treatment=got).contains(score)
    assert one.lines[-1].coverage == pytest.approx([inside[got == arm].mean() for arm in (0, 1)])


def test_each_draw_is_told_and_enters_the_means(draws):
    steps = []
    told, first = story_of(replace(EXAMPLES["training"], draws=2), 1, steps.append)
    assert steps == [1, 1]
    assert first.story == draws[2]
    for number, line in enumerate(told.lines):
        mine = [each.lines[number] for each in draws.values()]
        np.testing.assert_allclose(line.coverage, np.mean([each.coverage for each in mine], axis=0))
        np.testing.assert_allclose(line.width, np.mean([each.width for each in mine], axis=0))
    assert told.claimed == pytest.approx(np.mean([each.claimed for each in draws.values()]))
    assert told.lines[0].promise.exists is False
    assert told.lines[-1].promise == METHODS["prognostic"].promise


def test_the_draws_are_those_of_the_picture(draws):
    """README's picture is made of docs/pictures/demo.csv, of as many draws of the first seed."""
    rows = [row for row in read_rows(ROOT / "docs" / "pictures" / "demo.csv") if row["seed"] == 0]
    for name, example in EXAMPLES.items():
        assert {row["draw"] for row in rows if row["data"] == name} == set(range(example.draws))
    for draw, told in draws.items():
        for line in told.lines:
            drawn = [row for row in rows if (row["data"], row["draw"], row["way"]) == ("training", draw, line.what)]
            np.testing.assert_allclose(line.coverage, [row["coverage"] for row in drawn], rtol=1e-3)
            np.testing.assert_allclose(line.width, [row["width"] for row in drawn], rtol=1e-3)
